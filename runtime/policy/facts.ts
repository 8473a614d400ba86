/** What is known about one request when it is decided. Built once per request; evaluation only reads it. */
import type { Truth } from "./packed-outcome.ts";

/** Claims that the identity provider has for a user and did not send: neither there nor not there. */
export interface LeftOut {
  /** The groups are among them. */
  readonly groups: boolean;
  /** Their names, sorted; [] when only the groups are known to be missing. */
  readonly claims: readonly string[];
  /** Present: there may be more, and what they are called is not known either. Then a claim that is not there is unknown. */
  readonly others?: true;
  /**
   * What became of asking for the groups elsewhere. answered: `groups` is false, they are known, and more than fit into a
   * token. failed: they are unknown, and asked for again soon. Absent: nobody was asked.
   */
  readonly resolver?: "answered" | "failed";
}

/** @param names of one claim: by its path, and by the first segment of that */
export function isClaimLeftOut(leftOut: LeftOut, claims: UserFacts["claims"], names: readonly string[]): boolean {
  return (
    names.some((name) => leftOut.claims.includes(name)) ||
    (leftOut.others === true && !names.some((name) => Object.hasOwn(claims, name)))
  );
}

export interface UserFacts {
  /** See shared/user-id.ts. */
  readonly id: string;
  /** As the provider gave and verified it; compared lower-cased. May be "". */
  readonly email: string;
  readonly name: string;
  /** [] when none. */
  readonly groups: readonly string[];
  /** All claims of the identity, for `claim/<path>`. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Present: what is about one of these is unknown. */
  readonly leftOut?: LeftOut;
}

export interface McpFacts {
  /** JSON-RPC method; absent for GET, DELETE and posted responses. */
  readonly method?: string;
  /** Tool name, exactly as decoded from the body; only for `tools/call`. */
  readonly tool?: string;
  /** Its arguments; absent when they are not known, as while tools are listed. */
  readonly arguments?: ArgumentFacts;
  /** Name of the prompt that the message gets or completes. */
  readonly prompt?: string;
  /** URI of the resource that the message reads, subscribes to or completes, as sent. */
  readonly resource?: string;
}

export interface ArgumentFacts {
  /**
   * @param pointer     member names and positions, see mcp/argument-values.ts
   * @param withNumbers numbers as `NumberToken`, exactly as written
   * @returns the value, undefined when it is not there
   */
  find(pointer: readonly string[], withNumbers: boolean): unknown;
  /** Of what a caller sends while it waits; absent where nobody does. */
  readonly work?: ArgumentWork;
}

/** What criteria may cost for one call: an owner writes thousands of them, and a caller sends megabytes. */
export interface ArgumentWork {
  /** Characters and elements that may yet be looked at; past it what arguments say is unknown. */
  left: number;
  /** By criterion, of long values: a call is decided on several times, by candidates and for each reading of its path. */
  readonly found: Map<string, Truth>;
}

/** The certificate that the client showed in the TLS handshake. */
export interface CertificateFacts {
  /** Signed by an authority of `downstream_mtls`, within its time, and with few enough names. Of any other only the fingerprint is known. */
  readonly isValid: boolean;
  /** SHA-256 of the DER, 64 lower-case hex digits. */
  readonly fingerprint: string;
  /** SHA-256 of the public key (SubjectPublicKeyInfo, DER), base64. */
  readonly spkiHash: string;
  /** Subject alternative names; [] when there are none, or none that can be read for certain. */
  readonly sanEmail: readonly string[];
  readonly sanDns: readonly string[];
  readonly sanUri: readonly string[];
}

/** A registered device whose key this browser session has shown to have. */
export interface DeviceFacts {
  readonly id: string;
  /** An administrator vouches for it. */
  readonly isApproved: boolean;
  /** As it was registered: `enclave_only` is bound to the device it was made on, and asks for its person. */
  readonly type: "any" | "enclave_only";
}

export interface Facts {
  /** Absent when nobody is signed in. */
  readonly user?: UserFacts;
  /** At least one; absent when the session has proven none, and for programs, which cannot. */
  readonly devices?: readonly DeviceFacts[];
  readonly http: {
    readonly method: string;
    /** Canonical path without query. */
    readonly path: string;
    /** The path as servers read it that cut parameters off, in their two ways; absent where it has none. */
    readonly otherPaths?: readonly string[];
    readonly host: string;
    /** Address of the peer, as the listener saw it. */
    readonly ip: string;
    /** OPTIONS with Origin and Access-Control-Request-Method; absent means no. */
    readonly isCorsPreflight?: boolean;
    /** Absent when the client showed none, or no rule asks for it. */
    readonly certificate?: CertificateFacts;
  };
  /** Only on MCP server routes. */
  readonly mcp?: McpFacts;
}

/** What a tool call still needs that policy would let pass otherwise. */
export interface ApprovalNeed {
  /** Lists of groups, of each of which the one who approves must be in one; []: the user who calls confirms. */
  readonly approvers: readonly (readonly string[])[];
  /** The decision once it is approved. */
  readonly approved: Decision;
}

/** The outcome of one check; reason lists are sorted, unique, and [] when empty. */
export interface Decision {
  /** The verdict: some allow rule matched and no deny rule did. */
  readonly allowed: boolean;
  /** True when a deny rule matched. */
  readonly denied: boolean;
  readonly allowWhyTrue: readonly string[];
  readonly allowWhyFalse: readonly string[];
  readonly denyWhyTrue: readonly string[];
  readonly denyWhyFalse: readonly string[];
  /** Present, and `allowed` false: nothing but an approval is missing. */
  readonly approval?: ApprovalNeed;
}
