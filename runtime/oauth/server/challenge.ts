/** The `WWW-Authenticate` value of an MCP server route. For a 401: where to sign in. For a 403: the required scopes. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { PROOF_ALGORITHMS } from "../../identity/dpop/proof.ts";
import type { AuthFailureReason } from "../../identity/principal.ts";
import { isMcpServerRoute, resourcePath } from "./find-issuer.ts";
import { protectedResourceUrl } from "./metadata.ts";
import { DEFAULT_SCOPE } from "./scope.ts";

/**
 * insufficient-scope: the token is valid, but needs more scope. not-connected: the token is valid, but its user must
 * connect the upstream at the authorization endpoint.
 */
export type ChallengeReason = AuthFailureReason | "not-connected" | "insufficient-scope";

/** Generic for clients; the log has the exact reason. */
const DESCRIPTIONS: Readonly<Record<ChallengeReason, string>> = {
  missing: "",
  malformed: "The access token is not valid",
  expired: "The access token expired",
  revoked: "The access token was revoked",
  "wrong-audience": "The access token is not for this resource",
  "wrong-kind": "The access token is not valid",
  "unknown-user": "The access token is not valid",
  blocked: "The access token is not valid",
  "proof-missing": "The access token is bound to a key and needs a DPoP proof",
  "proof-invalid": "The DPoP proof is not valid",
  "proof-nonce": "The DPoP proof needs the nonce of this response",
  "not-bound": "This server needs an access token that is bound to a key (DPoP)",
  unavailable: "The access token cannot be checked",
  "insufficient-scope": "The access token lacks a scope that this tool needs",
  "not-connected": "The upstream service must be connected by signing in again",
};

/** Errors of RFC 6750 §3.1 and RFC 9449 §7.1 and §9. */
const ERRORS: ReadonlyMap<ChallengeReason, string> = new Map([
  ["insufficient-scope", "insufficient_scope"],
  ["proof-invalid", "invalid_dpop_proof"],
  ["proof-nonce", "use_dpop_nonce"],
]);
const ABOUT_KEYS: ReadonlySet<ChallengeReason> = new Set([
  "proof-missing",
  "proof-invalid",
  "proof-nonce",
  "not-bound",
]);

/**
 * One line with one scheme (DPoP where only that helps, else Bearer), every value quoted, and no other parameter whose
 * name ends in "scope" or "error": the SDKs search for these with an unanchored expression.
 *
 * @param requestPath path of the request, if known. A client that was configured with the route's base gets metadata
 *   about the base, since it would reject metadata about a longer path
 * @param toolScopes for insufficient-scope: scopes that the operation needs
 * @see RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1
 */
export function challenge(
  route: CompiledRoute,
  origin: string,
  failure: ChallengeReason,
  requestPath?: string,
  toolScopes: readonly string[] = [],
): string {
  const parameters: string[] = [];
  // "If the request lacks any authentication information …, the resource server SHOULD NOT include an error code" (RFC 6750 §3.1).
  if (failure !== "missing") {
    parameters.push(
      `error="${ERRORS.get(failure) ?? "invalid_token"}"`,
      `error_description="${DESCRIPTIONS[failure]}"`,
    );
  }
  parameters.push(
    `resource_metadata="${protectedResourceUrl(origin, metadataPath(route, requestPath))}"`,
    // All scopes of the operation, including those that the token has (MCP authorization, "Scope Challenge Handling").
    `scope="${[DEFAULT_SCOPE, ...toolScopes].join(" ")}"`,
  );
  const needsKey = (isMcpServerRoute(route) && route.mcp.dpop === "required") || ABOUT_KEYS.has(failure);
  if (!needsKey) return `Bearer ${parameters.join(", ")}`;
  return `DPoP algs="${PROOF_ALGORITHMS.join(" ")}", ${parameters.join(", ")}`;
}

function metadataPath(route: CompiledRoute, requestPath: string | undefined): string {
  if (!isMcpServerRoute(route)) return route.base;
  const isBase = requestPath === route.base || requestPath === `${route.base}/`;
  return isBase ? route.base : resourcePath(route);
}
