/**
 * The 401 of an MCP server route for a user who opened its URL in a browser: a page instead of JSON.
 *
 * Promises: no MCP client gets the page. Clients of every revision accept `text/event-stream` for GET, or send no
 * Accept header; anything that is not clearly a browser window counts as a program. Status and challenge are the same
 * for both, so a client mistaken for a browser still starts to sign in (MCP authorization; RFC 9728 §5.1). The page
 * shows only public resource metadata (RFC 9728) and `support_url`.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { clientRecipes } from "../../features/mcp/known-clients.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondHtml } from "../../http/respond.ts";
import { isNavigation } from "../../identity/csrf.ts";
import { mcpAddressPage } from "../../pages/mcp-address.ts";
import { isMcpServerRoute } from "./find-issuer.ts";

/** Browser windows send none of these headers on navigation. */
const SENT_BY_PROGRAMS = [
  "authorization",
  "origin",
  "x-requested-with",
  "last-event-id",
  "mcp-protocol-version",
  "mcp-session-id",
  "mcp-method",
  "mcp-name",
];

const TYPES_OF_PROGRAMS = new Set(["application/json", "text/event-stream"]);

/**
 * @param code value of `error` in the JSON response
 * @param headers headers of the 401, including its challenge; flat
 * @returns false if the caller is not a browser window, and no response was sent
 */
export function showAddress(
  exchange: Exchange,
  snapshot: Snapshot,
  route: CompiledRoute,
  code: string,
  headers: readonly string[],
): boolean {
  if (!isMcpServerRoute(route) || !isBrowserVisit(exchange)) return false;
  const { name } = route;
  const url = route.mcp.resource;
  const recipes = clientRecipes(name, url, snapshot.settings.mcpAllowedClientIdDomains);
  const { id: requestId, supportUrl } = exchange;
  const page = mcpAddressPage({ status: 401, code, requestId, supportUrl, name, url, recipes });
  respondHtml(exchange, 401, page, headers);
  return true;
}

function isBrowserVisit(exchange: Exchange): boolean {
  if (exchange.method !== "GET" || exchange.hasBody || !isNavigation(exchange)) return false;
  if (SENT_BY_PROGRAMS.some((name) => exchange.headerValues(name).length > 0)) return false;
  const types = acceptedTypes(exchange.header("accept"));
  return types.includes("text/html") && !types.some((type) => TYPES_OF_PROGRAMS.has(type));
}

/** Media types, without those of quality 0 (RFC 9110 §12.5.1). */
function acceptedTypes(accept = ""): readonly string[] {
  return accept
    .toLowerCase()
    .split(",")
    .flatMap((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
      return parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [type];
    });
}
