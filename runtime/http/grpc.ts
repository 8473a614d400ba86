/**
 * Recognizes gRPC calls, and turns the gateway's own responses to them into a gRPC status in a response of trailers only. The
 * status follows from the HTTP status, so that no other code needs to know gRPC.
 *
 * gRPC-Web gets plain HTTP: its clients read HTTP statuses (they run in browsers, where redirects, CORS and the session
 * cookie are HTTP's), and CORS can hide a status in headers from a page.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import { STATUS_CODES } from "node:http";

import type { Exchange } from "./exchange.ts";
import type { ErrorParts } from "./codes.ts";

/**
 * Statuses that the gateway uses. None is reserved for applications (INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION …): a
 * client could take it for a status of its server.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/statuscodes.md, and gRPC proposal A54
 */
export const GRPC = {
  unknown: 2,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/**
 * The mapping of gRPC's clients (http-grpc-status-mapping.md), except where the gateway knows more: that a limit is exceeded,
 * and that an upstream did not answer in time.
 */
const BY_STATUS: Readonly<Record<number, number>> = {
  400: GRPC.internal,
  401: GRPC.unauthenticated,
  403: GRPC.permissionDenied,
  404: GRPC.unimplemented,
  405: GRPC.unimplemented,
  408: GRPC.deadlineExceeded,
  413: GRPC.resourceExhausted,
  414: GRPC.resourceExhausted,
  415: GRPC.unimplemented,
  421: GRPC.unimplemented,
  429: GRPC.resourceExhausted,
  431: GRPC.resourceExhausted,
  450: GRPC.permissionDenied,
  495: GRPC.unauthenticated,
  500: GRPC.internal,
  501: GRPC.unimplemented,
  502: GRPC.unavailable,
  503: GRPC.unavailable,
  504: GRPC.deadlineExceeded,
  508: GRPC.internal,
};

/** Codes whose HTTP status has another meaning here: nothing was sent, so the call may be tried again. */
const BY_CODE: Readonly<Record<string, number>> = { "upstream.connect-timeout": GRPC.unavailable };

/** @param status of HTTP @param code see `ErrorParts` */
export function grpcStatusOf(status: number, code = ""): number {
  // A page or a redirect is not a gRPC method.
  if (status < 400) return GRPC.unimplemented;
  return BY_CODE[code] ?? BY_STATUS[status] ?? GRPC.unknown;
}

/** True over HTTP/2, by POST, with the type "application/grpc", alone or with a message format. */
export function isGrpcCall(exchange: Pick<Exchange, "httpVersion" | "method" | "header">): boolean {
  if (exchange.httpVersion !== "2" || exchange.method !== "POST") return false;
  return /^application\/grpc(?:$|[+; \t])/i.test(exchange.header("content-type") ?? "");
}

/** True for gRPC-Web: a plain body that contains its trailers, over either version of HTTP. Its response may be a stream. */
export function isGrpcWebCall(exchange: Pick<Exchange, "hasBody" | "header">): boolean {
  return exchange.hasBody && /^application\/grpc-web(?:$|[-+; \t])/i.test(exchange.header("content-type") ?? "");
}

/**
 * Head of a response that is trailers only, flat, instead of a response with this status.
 *
 * @param headers of that response; those about its body, its address and its browser are dropped
 * @param failure the error, for a rejection or failure
 */
export function grpcHead(
  exchange: Exchange,
  status: number,
  headers: readonly string[],
  failure: ErrorParts | undefined,
): string[] {
  const head = ["content-type", "application/grpc"];
  for (let index = 0; index < headers.length; index += 2) {
    const name = (headers[index] as string).toLowerCase();
    if (!isOfBody(name)) head.push(name, headers[index + 1] as string);
  }
  head.push(...grpcTrailers(exchange, status, failure));
  return head;
}

/** Trailers that end a call whose response has begun, or the last fields of one that is trailers only; flat. */
export function grpcTrailers(exchange: Exchange, status: number, failure: ErrorParts | undefined): string[] {
  const text = `${failureText(status, failure)} (request ${exchange.id})`;
  return ["grpc-status", String(grpcStatusOf(status, failure?.code)), "grpc-message", encodeMessage(text)];
}

function failureText(status: number, failure: ErrorParts | undefined): string {
  if (failure)
    return [`${failure.code}: ${failure.message}`, ...(failure.details ?? []).map((each) => each.join(": "))].join(
      "; ",
    );
  return status < 400 ? "There is no gRPC method at this address" : (STATUS_CODES[status] ?? `HTTP ${status}`);
}

function isOfBody(lower: string): boolean {
  return lower.startsWith("content-") || lower.startsWith("grpc-") || OF_BROWSERS.has(lower);
}

const OF_BROWSERS: ReadonlySet<string> = new Set(["location", "refresh", "set-cookie"]);

/** Percent-encodes all bytes except printable ASCII other than "%", as the protocol defines. */
function encodeMessage(text: string): string {
  return Array.from(Buffer.from(text), (byte) =>
    byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** @param text value of grpc-timeout: "100m", "1S" @returns undefined for anything else */
export function parseGrpcTimeout(text: string): number | undefined {
  const [, count, unit] = /^([0-9]{1,8})([HMSmun])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * (UNIT_MS[unit] as number);
}
