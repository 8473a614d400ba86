/** Known facts about one request at its decision. Built once per request; evaluation only reads them. */
import type { Truth } from "./packed-outcome.ts";

/** Claims of a user that the identity provider did not send: neither present nor absent. */
export interface LeftOut {
  /** Groups are among the omitted claims. */
  readonly groups: boolean;
  /** Names of the omitted claims, sorted; [] if only the groups are known to be missing. */
  readonly claims: readonly string[];
  /** Further claims with unknown names may be missing. Then an absent claim is unknown. */
  readonly others?: true;
  /**
   * Result of requesting the groups elsewhere. answered: `groups` is false; the groups are known but exceed a token.
   * failed: they are unknown, and will be requested again soon. Absent: not requested.
   */
  readonly resolver?: "answered" | "failed";
}

/** @param names names of one claim: its path, and the first segment of the path */
export function isClaimOmitted(leftOut: LeftOut, claims: UserFacts["claims"], names: readonly string[]): boolean {
  return (
    names.some((name) => leftOut.claims.includes(name)) ||
    (leftOut.others === true && !names.some((name) => Object.hasOwn(claims, name)))
  );
}

/** Workload that acts for the user. */
export interface ActorFacts {
  /** User ID of the workload. */
  readonly id: string;
  /** ID of the agent run. */
  readonly run: string;
  /** Claims that its platform attested, by name as in the configuration. */
  readonly claims: Readonly<Record<string, string | readonly string[]>>;
}

export interface UserFacts {
  /** See shared/user-id.ts. */
  readonly id: string;
  /** As supplied and verified by the provider; compared in lower case. Can be "". */
  readonly email: string;
  readonly name: string;
  /** [] when none. */
  readonly groups: readonly string[];
  /** All claims of the identity, for `claim/<path>`. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Omitted claims: criteria about these are unknown. */
  readonly leftOut?: LeftOut;
  /** Absent: the user acts without an agent run. */
  readonly actor?: ActorFacts;
}

export interface McpFacts {
  /** JSON-RPC method; absent for GET, DELETE and posted responses. */
  readonly method?: string;
  /** Tool name, exactly as decoded from the body; only for `tools/call`. */
  readonly tool?: string;
  /** Its arguments; absent if unknown, as during a tool list. */
  readonly arguments?: ArgumentFacts;
  /** Name of the prompt that the message gets or completes. */
  readonly prompt?: string;
  /** URI of the resource that the message reads, subscribes to or completes, as sent. */
  readonly resource?: string;
}

export interface ArgumentFacts {
  /**
   * @param pointer member names and positions, see mcp/argument-values.ts
   * @param withNumbers numbers as `NumberToken`, exactly as written
   * @returns the value; undefined if absent
   */
  find(pointer: readonly string[], withNumbers: boolean): unknown;
  /** Budget for a waiting caller's arguments; absent if no caller waits. */
  readonly work?: ArgumentWork;
}

/** Budget of the criteria for one call: an owner can write thousands of them, and a caller can send megabytes. */
export interface ArgumentWork {
  /** Characters and elements that may still be inspected; after that, criteria on arguments are unknown. */
  left: number;
  /**
   * Results for long values by criterion: a call is evaluated several times, by shadow policies and for each reading of
   * its path.
   */
  readonly found: Map<string, Truth>;
}

/** Client certificate of the TLS handshake. */
export interface CertificateFacts {
  /**
   * Signed by an authority of `downstream_mtls`, not expired, and with few enough names. Otherwise only the fingerprint
   * is known.
   */
  readonly isValid: boolean;
  /** SHA-256 of the DER, 64 lower-case hex digits. */
  readonly fingerprint: string;
  /** SHA-256 of the public key (SubjectPublicKeyInfo, DER), base64. */
  readonly spkiHash: string;
  /** Subject alternative names; [] if there are none, or none that can be parsed with certainty. */
  readonly sanEmail: readonly string[];
  readonly sanDns: readonly string[];
  readonly sanUri: readonly string[];
}

/** A registered device whose key this browser session has proven to have. */
export interface DeviceFacts {
  readonly id: string;
  /** Verified by an administrator. */
  readonly isApproved: boolean;
  /**
   * Type at registration: `enclave_only` keys are bound to the device that made them, and require its user's presence.
   */
  readonly type: "any" | "enclave_only";
}

export interface Facts {
  /** Absent if not signed in. */
  readonly user?: UserFacts;
  /** At least one; absent if the session verified none, and for programs, which cannot. */
  readonly devices?: readonly DeviceFacts[];
  readonly http: {
    readonly method: string;
    /** Canonical path without query. */
    readonly path: string;
    /** The path as read by servers that strip parameters, in two variants; absent for a path without parameters. */
    readonly otherPaths?: readonly string[];
    readonly host: string;
    /** Address of the peer, as the listener saw it. */
    readonly ip: string;
    /** OPTIONS with Origin and Access-Control-Request-Method; absent means no. */
    readonly isCorsPreflight?: boolean;
    /** Absent if the client presented none, or no rule uses it. */
    readonly certificate?: CertificateFacts;
  };
  /** Only on MCP server routes. */
  readonly mcp?: McpFacts;
}

/** Approval still missing for a tool call that policy would otherwise allow. */
export interface ApprovalNeed {
  /** Lists of groups; the approver must be in one group of each. []: the calling user confirms. */
  readonly approvers: readonly (readonly string[])[];
  /** The decision after approval. */
  readonly approved: Decision;
}

/** Outcome of one check; reason lists are sorted, unique, and [] if empty. */
export interface Decision {
  /** The verdict: an allow rule matched and no deny rule did. */
  readonly allowed: boolean;
  /** True when a deny rule matched. */
  readonly denied: boolean;
  readonly allowWhyTrue: readonly string[];
  readonly allowWhyFalse: readonly string[];
  readonly denyWhyTrue: readonly string[];
  readonly denyWhyFalse: readonly string[];
  /** Present, with `allowed` false, if only an approval is missing. */
  readonly approval?: ApprovalNeed;
}
