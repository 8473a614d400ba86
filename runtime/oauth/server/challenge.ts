/** The `WWW-Authenticate` value on an MCP server route: of a 401, how a client finds out where to sign in; of a 403, what it has to ask for. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { AuthFailureReason } from "../../identity/principal.ts";
import { isMcpServerRoute, resourcePath } from "./find-issuer.ts";
import { protectedResourceUrl } from "./metadata.ts";
import { DEFAULT_SCOPE } from "./scope.ts";

/**
 * insufficient-scope: the token is good, and more has to be asked for.
 * not-connected: the token is good, but its user has to connect the upstream, which the authorization endpoint does.
 */
export type ChallengeReason = AuthFailureReason | "not-connected" | "insufficient-scope";

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
  "insufficient-scope": "The access token lacks a scope that this tool needs",
  "not-connected": "The upstream service must be connected by signing in again",
};

/**
 * One line, Bearer only, every value quoted, and no other parameter whose name ends in "scope" or "error": the SDKs look
 * for these words with an unanchored expression.
 *
 * @param requestPath path of the request, when known: a client that was given the route's base is sent to metadata about
 *   the base, since it would refuse metadata about a longer path
 * @param toolScopes of insufficient-scope: what the operation needs
 * @see RFC 6750 §3, RFC 9728 §5.1
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
    const error = failure === "insufficient-scope" ? "insufficient_scope" : "invalid_token";
    parameters.push(`error="${error}"`, `error_description="${DESCRIPTIONS[failure]}"`);
  }
  parameters.push(
    `resource_metadata="${protectedResourceUrl(origin, metadataPath(route, requestPath))}"`,
    // All that the operation needs, also what the token has (MCP authorization, "Scope Challenge Handling").
    `scope="${[DEFAULT_SCOPE, ...toolScopes].join(" ")}"`,
  );
  return `Bearer ${parameters.join(", ")}`;
}

function metadataPath(route: CompiledRoute, requestPath: string | undefined): string {
  if (!isMcpServerRoute(route)) return route.base;
  const isBase = requestPath === route.base || requestPath === `${route.base}/`;
  return isBase ? route.base : resourcePath(route);
}
