/**
 * Responses of the gateway itself, each sent in one go. All carry the request ID, and none can be cached or read as another
 * type. All pass `respondBytes`, which turns them into a gRPC status for gRPC calls.
 */
import { errorTitle, errorPage } from "../pages/error.ts";
import { type Page, pageHeaders } from "../pages/layout.ts";
import { withAddedHeaders } from "../features/headers/apply-added.ts";
import type { ErrorCode, StatusOf, ErrorParts, CodeWith } from "./codes.ts";
import type { Exchange } from "./exchange.ts";
import { grpcHead, isGrpcCall } from "./grpc.ts";

const JSON_TYPE = "application/json";
const NOSNIFF = ["x-content-type-options", "nosniff"] as const;

/**
 * Sends any response of our own, with the headers that settings add. `nosniff` keeps browsers to the named type.
 *
 * @param headers all of its own, flat: name, value, …
 * @param failure the error, for a rejection or failure
 */
export function respondBytes(
  exchange: Exchange,
  status: number,
  headers: readonly string[],
  body?: Buffer | string,
  failure?: ErrorParts,
): void {
  const { addedHeaders: added } = exchange;
  const isGrpc = isGrpcCall(exchange);
  const base = isGrpc ? grpcHead(exchange, status, headers, failure) : headers;
  const own = has(base, NOSNIFF[0]) ? base : [...base, ...NOSNIFF];
  const all = added === undefined ? own : withAddedHeaders(own, added);
  if (!isGrpc) return exchange.respond(status, all, body);
  exchange.meantStatus = status;
  exchange.respond(200, all);
}

/** @param headers more headers, flat: name, value, … */
export function respondJson(exchange: Exchange, status: number, body: unknown, headers: readonly string[] = []): void {
  send(exchange, status, JSON_TYPE, JSON.stringify(body), headers);
}

export function respondText(exchange: Exchange, status: number, text: string, headers: readonly string[] = []): void {
  send(exchange, status, "text/plain; charset=utf-8", text, headers);
}

/** @param headers if one is a content-security-policy, they replace the headers of every page; see `pageHeaders()` */
export function respondHtml(exchange: Exchange, status: number, page: Page, headers: readonly string[] = []): void {
  const own = has(headers, "content-security-policy") ? headers : [...pageHeaders(exchange), ...headers];
  send(exchange, status, "text/html; charset=utf-8", page(exchange.branding), own);
}

/** @param location absolute URL or absolute path, already checked safe by the caller */
export function redirect(
  exchange: Exchange,
  status: 301 | 302 | 303 | 307 | 308,
  location: string,
  headers: readonly string[] = [],
): void {
  send(exchange, status, undefined, "", ["location", location, ...headers]);
}

/**
 * Sends a rejection or failure: as a page for browsers, as a status for gRPC calls and as JSON for everything else.
 *
 * @param status one of those that the table of codes has for this code
 */
export function respondError<Code extends ErrorCode>(
  exchange: Exchange,
  status: StatusOf<Code>,
  parts: ErrorParts<Code>,
  headers: readonly string[] = [],
): void {
  if (!acceptsHtml(exchange) || isGrpcCall(exchange)) {
    const details = Object.fromEntries(parts.details ?? []);
    const { code: error, message } = parts;
    const body = { error, message, request_id: exchange.id, ...(parts.details ? { details } : {}) };
    // A client that reads what the type says would fail on the body that HEAD omits.
    const type = exchange.method === "HEAD" ? undefined : JSON_TYPE;
    send(exchange, status, type, JSON.stringify(body), headers, parts);
    return;
  }
  const { code, title = errorTitle(status, code), message, user, details, links } = parts;
  const { id: requestId, supportUrl } = exchange;
  // A link would not send a form again.
  const canRetry = parts.canRetry === true && exchange.method === "GET";
  const page = errorPage({ status, title, code, message, user, details, links, requestId, canRetry, supportUrl });
  respondHtml(exchange, status, page, headers);
}

/** Headers of a 503: a dependency is unavailable, and the same request may succeed in a moment. */
export const AGAIN_LATER: readonly string[] = ["retry-after", "5"];

export function respondAgainLater(
  exchange: Exchange,
  parts: ErrorParts<CodeWith<503>>,
  headers: readonly string[] = [],
): void {
  respondError(exchange, 503, { ...parts, canRetry: true }, [...AGAIN_LATER, ...headers]);
}

/** True for what browsers send on navigation. Programs send wildcards only. */
export function acceptsHtml(exchange: Exchange): boolean {
  return exchange.header("accept")?.toLowerCase().includes("text/html") === true;
}

function send(
  exchange: Exchange,
  status: number,
  type: string | undefined,
  body: string,
  headers: readonly string[],
  failure?: ErrorParts,
): void {
  if (exchange.started) return;
  const bytes = Buffer.from(body);
  const all = ["x-request-id", exchange.id];
  if (type !== undefined && !has(headers, "content-type")) all.push("content-type", type);
  if (!has(headers, "cache-control")) all.push("cache-control", "no-store");
  all.push("content-length", String(bytes.length), ...headers);
  respondBytes(exchange, status, all, bytes, failure);
}

function has(headers: readonly string[], lowerName: string): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) return true;
  }
  return false;
}
