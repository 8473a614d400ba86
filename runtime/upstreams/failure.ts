/** What a failed connection to an upstream is called, whichever of our clients met it. */
import type { UpstreamFailure } from "../features/connection/failure.ts";
import { REFUSED_ADDRESS } from "./reach.ts";

/** Marks an error of the request body so that it is not taken for the upstream's. */
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
  // RST_STREAM, and GOAWAY that ends all streams at once.
  ["ERR_HTTP2_STREAM_ERROR", "reset"],
  ["ERR_HTTP2_SESSION_ERROR", "reset"],
  [REQUEST_BODY_ERROR, "request-body"],
]);

/** @returns "protocol" for what has no code, or one that says nothing about the connection */
export function failureOf(error: NodeJS.ErrnoException): UpstreamFailure {
  return FAILURES.get(error.code ?? "") ?? "protocol";
}

/** Of a connection that was being opened: nothing was sent. */
export function failureOfOpening(error: NodeJS.ErrnoException | undefined): UpstreamFailure {
  const failure = error === undefined ? "reset" : failureOf(error);
  return failure === "reset" ? "unreachable" : failure;
}

/**
 * Of a connection that stood, by Node's word: a request may have been sent. What says the opposite (ETIMEDOUT when probes
 * stay unanswered, EHOSTUNREACH when the way is gone) would have it sent once more.
 */
export function failureOfEstablished(error: NodeJS.ErrnoException | undefined): UpstreamFailure {
  if (error === undefined) return "reset";
  const failure = failureOf(error);
  const isOfTls = error.syscall === undefined || error.code === "EPROTO";
  return failure === "protocol" && isOfTls ? "protocol" : "reset";
}
