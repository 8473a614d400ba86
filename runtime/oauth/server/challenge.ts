/** The `WWW-Authenticate` value of a 401 on an MCP server route: how a client finds out where to sign in. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { AuthFailureReason } from "../../identity/principal.ts";
import { isMcpServerRoute, resourcePath } from "./find-issuer.ts";
import { protectedResourceUrl } from "./metadata.ts";
import { DEFAULT_SCOPE } from "./scope.ts";

/** not-connected: the token is good, but its user has to connect the upstream, which the authorization endpoint does. */
export type ChallengeReason = AuthFailureReason | "not-connected";

/** Generic on the wire, exact in the log. */
const DESCRIPTIONS: Readonly<Record<ChallengeReason, string>> = {
  missing: "",
  malformed: "The access token is not valid",
  expired: "The access token expired",
  revoked: "The access token was revoked",
  "wrong-audience": "The access token is not for this resource",
  "wrong-kind": "The access token is not valid",
  "unknown-user": "The access token is not valid",
  blocked: "The access token is not valid",
  unavailable: "The access token cannot be checked",
  "not-connected": "The upstream service must be connected by signing in again",
};

/**
 * One line, Bearer only, every value quoted, and no other parameter whose name ends in "scope" or "error": the SDKs look
 * for these words with an unanchored expression.
 *
 * @param requestPath path of the request, when known: a client that was given the route's base is sent to metadata about
 *   the base, since it would refuse metadata about a longer path
 * @see RFC 6750 §3, RFC 9728 §5.1
 */
export function challenge(
  route: CompiledRoute,
  origin: string,
  failure: ChallengeReason,
  requestPath?: string,
): string {
  const parameters: string[] = [];
  // "If the request lacks any authentication information …, the resource server SHOULD NOT include an error code" (RFC 6750 §3.1).
  if (failure !== "missing") {
    parameters.push('error="invalid_token"', `error_description="${DESCRIPTIONS[failure]}"`);
  }
  parameters.push(
    `resource_metadata="${protectedResourceUrl(origin, metadataPath(route, requestPath))}"`,
    `scope="${DEFAULT_SCOPE}"`,
  );
  return `Bearer ${parameters.join(", ")}`;
}

function metadataPath(route: CompiledRoute, requestPath: string | undefined): string {
  if (!isMcpServerRoute(route)) return route.base;
  const isBase = requestPath === route.base || requestPath === `${route.base}/`;
  return isBase ? route.base : resourcePath(route);
}
