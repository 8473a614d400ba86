/** Access settings, compiled for requests. */
import type { CompiledPolicy } from "../../policy/evaluate.ts";
import type { Shadow } from "../../policy/shadow.ts";

/** Meaning of `Authorization: Bearer` on an ordinary route. */
export type BearerTokenFormat = "default" | "idp_access_token" | "idp_identity_token" | "jwt";

/** Access to a route. */
export interface AccessRoute {
  readonly policy: CompiledPolicy;
  /** Shadow policies, evaluated in addition and never enforced; undefined for nearly all routes. */
  readonly shadow: Shadow | undefined;
  /** Anonymous requests may pass (an `accept` allow rule, and no deny rule that needs a user). */
  readonly allowsAnonymous: boolean;
  /** "default" on MCP routes. */
  readonly bearerTokenFormat: BearerTokenFormat;
  /** Accepted audiences of the provider's access tokens. */
  readonly accessTokenAudiences: readonly string[];
  /** Whether denials name the rules that decided. */
  readonly showErrorDetails: boolean;
}
