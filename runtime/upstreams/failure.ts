/** Maps errors of upstream connections to failures, for all kinds of clients. */
import type { UpstreamFailure } from "../features/connection/failure.ts";
import { REFUSED_ADDRESS } from "./reach.ts";

/** Marks an error of the request body, so that it does not count as the upstream's. */
export const REQUEST_BODY_ERROR = "GATEWAY_REQUEST_BODY";

/** By the `code` of Node's errors. */
const FAILURES: ReadonlyMap<string, UpstreamFailure> = new Map([
  ["ECONNREFUSED", "unreachable"],
  ["ENOTFOUND", "unreachable"],
  ["EAI_AGAIN", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["EHOSTDOWN", "unreachable"],
  ["EADDRNOTAVAIL", "unreachable"],
  [REFUSED_ADDRESS, "unreachable"],
  ["ETIMEDOUT", "connect-timeout"],
  ["ECONNRESET", "reset"],
  ["EPIPE", "reset"],
  // RST_STREAM, and a GOAWAY that ends all streams immediately.
  ["ERR_HTTP2_STREAM_ERROR", "reset"],
  ["ERR_HTTP2_SESSION_ERROR", "reset"],
  [REQUEST_BODY_ERROR, "request-body"],
]);

/** @returns "protocol" for an error without a code, or with one that is not about the connection */
export function failureOf(error: NodeJS.ErrnoException): UpstreamFailure {
  return FAILURES.get(error.code ?? "") ?? "protocol";
}

/** Failure of a connection that was being opened: nothing was sent. */
export function failureOfOpening(error: NodeJS.ErrnoException | undefined): UpstreamFailure {
  const failure = error === undefined ? "reset" : failureOf(error);
  return failure === "reset" ? "unreachable" : failure;
}

/**
 * Failure of an established connection: a request may have been sent. Error codes that suggest otherwise (ETIMEDOUT after
 * unanswered probes, EHOSTUNREACH after a lost route) become "reset", since they would allow resending.
 */
export function failureOfEstablished(error: NodeJS.ErrnoException | undefined): UpstreamFailure {
  if (error === undefined) return "reset";
  const failure = failureOf(error);
  const isOfTls = error.syscall === undefined || error.code === "EPROTO";
  return failure === "protocol" && isOfTls ? "protocol" : "reset";
}
