/** Settings of access as requests read them. */
import type { CompiledPolicy } from "../../policy/evaluate.ts";
import type { Shadow } from "../../policy/shadow.ts";

/** What `Authorization: Bearer` is on an ordinary route. */
export type BearerTokenFormat = "default" | "idp_access_token" | "idp_identity_token" | "jwt";

/** Who may pass a route. */
export interface AccessRoute {
  readonly policy: CompiledPolicy;
  /** What is decided beside the policy and never enforced; undefined for nearly all routes. */
  readonly shadow: Shadow | undefined;
  /** Somebody may pass without signing in (an `accept` allow rule and nothing that needs a user is decided by policy). */
  readonly allowsAnonymous: boolean;
  /** "default" on MCP routes. */
  readonly bearerTokenFormat: BearerTokenFormat;
  /** Audiences of the provider's access tokens. */
  readonly accessTokenAudiences: readonly string[];
  /** Denials name the rules that decided. */
  readonly showErrorDetails: boolean;
}
