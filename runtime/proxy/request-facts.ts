/** Facts of one request, for its policy. */
import type { Facts, McpFacts } from "../policy/facts.ts";
import type { Principal } from "../identity/principal.ts";
import type { RequestContext } from "./request-context.ts";

/** Facts of an MCP request that has no method of its own. */
export const NO_MESSAGE: McpFacts = {};

export function httpFacts({ exchange, otherPaths }: RequestContext, withCertificate = false): Facts["http"] {
  const { method, path, remoteAddress: ip } = exchange;
  const host = exchange.routedHost ?? exchange.host;
  // The Fetch standard: a preflight is OPTIONS with both of these headers.
  const isCorsPreflight =
    method === "OPTIONS" &&
    exchange.header("origin") !== undefined &&
    exchange.header("access-control-request-method") !== undefined;
  const http = isCorsPreflight ? { method, path, host, ip, isCorsPreflight } : { method, path, host, ip };
  const certificate = withCertificate ? exchange.clientCertificate : undefined;
  if (certificate === undefined && otherPaths === undefined) return http;
  return { ...http, ...(certificate && { certificate }), ...(otherPaths && { otherPaths }) };
}

/** One literal for each case: spreading absent members costs more than evaluating the policy. */
export function factsOf(principal: Principal | undefined, http: Facts["http"], mcp: McpFacts | undefined): Facts {
  if (principal === undefined) return mcp === undefined ? { http } : { http, mcp };
  const { user, devices } = principal;
  // Only browser sessions have devices, and they do not reach MCP servers.
  if (mcp !== undefined) return { user, http, mcp };
  return devices === undefined ? { user, http } : { user, devices, http };
}
