import type { WorkloadRule } from "../features/sign-in/workload-rules.ts";
import type { DeviceFacts, UserFacts } from "../policy/facts.ts";
import type { UserId } from "../shared/user-id.ts";

/** The user as the newest identity record has them. `version` grows whenever claims change. */
export interface User extends UserFacts {
  readonly id: UserId;
  readonly version: number;
  /** Who vouches, where it is not the first provider: name in `identity_issuers`, and `iss`. */
  readonly issuer?: { readonly name: string; readonly url: string };
}

/** A device that a browser session has proven, as its record has it. */
export interface ProvenDevice extends DeviceFacts {
  /** Key of the revocation feed that ends these facts, and nothing else of the principal. */
  readonly revocationKey: string;
}

/** A trusted issuer, as it was when its assertion stood in the place of a sign-in. */
export interface AssertedBy {
  /** In `identity_issuers`. */
  readonly name: string;
  /** `iss`. */
  readonly issuer: string;
  /** Of the host where the assertion was presented. */
  readonly origin: string;
  /** Of a workload: those that let it in, as they were. */
  readonly rules?: readonly Pick<WorkloadRule, "name" | "digest">[];
}

/** Who makes a request, by which credential. */
export interface Principal {
  /**
   * session: browser cookie; grant: MCP client; application: token handed to an MCP client route's backend;
   * service-account: machine; workload: job, pod or machine by its platform's token; programmatic: a program that a
   * signed-in person let act; provider-token: a token of the identity provider itself.
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
  /** Session behind the credential, for the assertion's `sid`; the id of grant or service account where there is no session. */
  readonly sid: string;
  readonly sessionId?: string;
  readonly grantId?: string;
  /** Of browser sessions alone, at least one: a token may be anywhere. */
  readonly devices?: readonly ProvenDevice[];
  /** The MCP client route that an application's token was made for, by key. */
  readonly routeKey?: string;
  /** OAuth client, for grants. */
  readonly clientId?: string;
  /** Of OAuth clients: the scopes for tools that their token has; absent: none. */
  readonly scopes?: readonly string[];
  /** Present: nobody signed in, and nobody is in front of a browser. */
  readonly assertedBy?: AssertedBy;
  /** Epoch seconds after which the credential is worth nothing; open streams end then. */
  readonly expiresAt: number;
  /** Keys of the revocation feed that end this principal: "session:…", "grant:…", "service-account:…", "client:…", "user:…". */
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
  | "unavailable";

export type AuthResult =
  | { readonly ok: true; readonly principal: Principal }
  | { readonly ok: false; readonly reason: AuthFailureReason };
