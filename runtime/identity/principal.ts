import type { WorkloadRule } from "../features/sign-in/workload-rules.ts";
import type { ActorFacts, DeviceFacts, UserFacts } from "../policy/facts.ts";
import type { UserId } from "../shared/user-id.ts";

/** Facts of the user's current record. `version` increases whenever claims change. */
export interface User extends UserFacts {
  readonly id: UserId;
  readonly version: number;
  /** Issuer of the user, if it is not the first provider: name in `identity_issuers`, and `iss`. */
  readonly issuer?: { readonly name: string; readonly url: string };
  readonly actor?: Actor;
}

/** The workload of an agent run, which acts for the user with at most that user's access. */
export interface Actor extends ActorFacts {
  /** The platform and the rule that admitted it. Access ends without them. */
  readonly assertedBy: AssertedBy;
}

/** A device proven by a browser session, from its record. */
export interface ProvenDevice extends DeviceFacts {
  /** Revocation key of these facts only. The rest of the principal stays valid. */
  readonly revocationKey: string;
}

/** A trusted issuer, at the time when its assertion replaced a sign-in. */
export interface AssertedBy {
  /** Name in `identity_issuers`. */
  readonly name: string;
  /** `iss`. */
  readonly issuer: string;
  /** Origin of the host where the assertion was presented. */
  readonly origin: string;
  /** Workloads only: the rules that admitted it, at that time. */
  readonly rules?: readonly Pick<WorkloadRule, "name" | "digest">[];
}

/** The caller of a request, with the kind of credential. */
export interface Principal {
  /**
   * session: browser cookie; grant: MCP client; application: token of an MCP client route's back end; service-account:
   * service account; workload: job, pod or machine with its platform's token; programmatic: a program authorized by a
   * signed-in user; provider-token: a token of the identity provider itself.
   */
  readonly kind:
    | "session"
    | "grant"
    | "application"
    | "service-account"
    | "workload"
    | "programmatic"
    | "provider-token";
  readonly user: User;
  /** Session of the credential, for the assertion's `sid`; without a session, the id of the grant or service account. */
  readonly sid: string;
  readonly sessionId?: string;
  /** Grant, or agent run, of the credential. */
  readonly grantId?: string;
  /** Browser sessions only, at least one: the holder of a token may be on any device. */
  readonly devices?: readonly ProvenDevice[];
  /** Key of the MCP client route that an application's token was issued for. */
  readonly routeKey?: string;
  /** OAuth client, for grants. */
  readonly clientId?: string;
  /** OAuth clients only: tool scopes of their token; absent: none. */
  readonly scopes?: readonly string[];
  /** The credential is valid only with proofs by this key (DPoP): SHA-256 of the public key, RFC 7638. */
  readonly keyThumbprint?: string;
  /** Present: the caller is authenticated by an assertion, without sign-in or browser. */
  readonly assertedBy?: AssertedBy;
  /** Epoch seconds. The credential expires then, and open streams end. */
  readonly expiresAt: number;
  /**
   * Keys of the revocation feed that revoke this principal: "session:…", "grant:…", "run:…", "service-account:…",
   * "client:…", "user:…".
   */
  readonly revocationKeys: readonly string[];
}

export type AuthFailureReason =
  | "missing"
  | "malformed"
  | "expired"
  | "revoked"
  | "wrong-audience"
  | "wrong-kind"
  | "unknown-user"
  | "blocked"
  /** bound to a key, but presented without a proof; a proof that is not valid, or without the required nonce */
  | "proof-missing"
  | "proof-invalid"
  | "proof-nonce"
  /** not bound to a key, where the route requires it */
  | "not-bound"
  | "unavailable";

export type AuthResult =
  | { readonly ok: true; readonly principal: Principal }
  | { readonly ok: false; readonly reason: AuthFailureReason };

/** How pages name a user. */
export function nameOf({ email, name, id }: Pick<User, "email" | "name" | "id">): string {
  return email || name || id;
}
