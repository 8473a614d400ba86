/**
 * The 401 of an MCP server route for a person who opened its address in a browser: a page instead of JSON.
 *
 * Promises: no MCP client is taken for a person. Clients of every revision accept `text/event-stream` for GET, or say
 * nothing; what does not clearly come from a window is a program. Status and challenge are the same for both, so that a
 * client that is mistaken for a browser still begins to sign in (MCP authorization; RFC 9728 §5.1).
 * The page tells what the metadata of the resource (RFC 9728) tells everybody, `support_url`, and nothing more.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { clientRecipes } from "../../features/mcp/known-clients.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondHtml } from "../../http/respond.ts";
import { isNavigation } from "../../identity/csrf.ts";
import { mcpAddressPage } from "../../pages/mcp-address.ts";
import { isMcpServerRoute } from "./find-issuer.ts";

/** Windows send none of them when they are led to an address. */
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
 * @param code what the JSON answer has as `error`
 * @param headers of the refusal, its challenge among them; flat
 * @returns false when no person asks, and nothing was answered
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

/** Media types by name, without those of quality 0 (RFC 9110 §12.5.1). */
function acceptedTypes(accept = ""): readonly string[] {
  return accept
    .toLowerCase()
    .split(",")
    .flatMap((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
      return parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [type];
    });
}
