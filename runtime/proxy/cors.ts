/**
 * CORS headers.
 *
 * Our metadata, registration and token endpoints are open to all origins, without credentials. MCP server routes are open to
 * the origins that may call them: the same host, loopback pages, and `mcp_allowed_origins`.
 */
import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondBytes } from "../http/respond.ts";

const MAX_AGE_SECONDS = "600";
const ALLOWED_HEADERS =
  "authorization, dpop, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id";
const EXPOSED_HEADERS = "www-authenticate, dpop-nonce, mcp-session-id, mcp-protocol-version";
const OPEN_TO_EVERYONE = [
  "access-control-allow-origin",
  "*",
  "access-control-expose-headers",
  "www-authenticate, dpop-nonce",
] as const;
const NOTHING: readonly string[] = [];
const MCP_METHODS = "GET, POST, DELETE, OPTIONS";

/** Preflight of one of our own endpoints. */
export function answerEndpointPreflight(exchange: Exchange, methods: string): void {
  respondBytes(exchange, 204, [
    "access-control-allow-origin",
    "*",
    "access-control-allow-methods",
    methods,
    "access-control-allow-headers",
    ALLOWED_HEADERS,
    "access-control-max-age",
    MAX_AGE_SECONDS,
    "x-request-id",
    exchange.id,
  ]);
}

/**
 * Preflight of an MCP server route, whose Origin has been checked. Before authentication, since browsers send no token with
 * it.
 */
export function answerRoutePreflight(exchange: Exchange, origin: string | undefined): void {
  if (origin === undefined) {
    respondBytes(exchange, 204, ["allow", MCP_METHODS, "x-request-id", exchange.id]);
    return;
  }
  respondBytes(exchange, 204, [
    ...routeCorsHeaders(origin),
    "access-control-allow-methods",
    MCP_METHODS,
    "access-control-allow-headers",
    requestedHeaders(exchange),
    "access-control-max-age",
    MAX_AGE_SECONDS,
    "x-request-id",
    exchange.id,
  ]);
}

/**
 * CORS headers for every response of an MCP server route to a page of another origin. Flat: name, value, …
 *
 * @param origin undefined for other callers
 */
export function routeCorsHeaders(origin: string | undefined): readonly string[] {
  if (origin === undefined) return NOTHING;
  return ["access-control-allow-origin", origin, "access-control-expose-headers", EXPOSED_HEADERS, "vary", "Origin"];
}

/**
 * Checks the Origin of a request to an MCP server route.
 *
 * @returns "none" without Origin (not a browser), else whether that page may call
 * @see MCP transports: servers MUST validate Origin, against DNS rebinding
 */
export function classifyOrigin(
  exchange: Exchange,
  route: CompiledRoute,
  settings: LiveSettings,
): "none" | "same" | "allowed" | "foreign" {
  const origin = exchange.header("origin");
  if (origin === undefined) return exchange.headerValues("origin").length === 0 ? "none" : "foreign";
  if (origin === route.origin) return "same";
  if (settings.mcpAllowedOrigins.includes(origin)) return "allowed";
  // Development tools run on the user's own machine, on any port.
  return /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?$/.test(origin) ? "allowed" : "foreign";
}

/** Adds headers that let any page read the response, in addition to the settings' headers. */
export function openToEveryone(exchange: Exchange): void {
  const { flat = [], names = new Set<string>() } = exchange.addedHeaders ?? {};
  exchange.addedHeaders = { flat: [...flat, ...OPEN_TO_EVERYONE], names };
}

/** Tool arguments mirrored into headers may have any name, so requested ones are allowed, and no other headers. */
function requestedHeaders(exchange: Exchange): string {
  const requested = exchange.header("access-control-request-headers")?.toLowerCase() ?? "";
  const params = requested
    .split(",")
    .map((name) => name.trim())
    .filter((name) => /^mcp-param-[a-z0-9_-]{1,64}$/.test(name))
    .slice(0, 32);
  return [ALLOWED_HEADERS, ...params].join(", ");
}
