/** What a failed connection to an upstream is called, whichever of our clients met it. */
import type { UpstreamFailure } from "../features/connection/failure.ts";
import { REFUSED_ADDRESS } from "./reach.ts";

/** Marks an error of the request body so that it is not taken for the upstream's. */
export const REQUEST_BODY_ERROR = "GATEWAY_REQUEST_BODY";

/** By the `code` of Node's errors and undici's. */
const FAILURES: ReadonlyMap<string, UpstreamFailure> = new Map([
  ["ECONNREFUSED", "unreachable"],
  ["ENOTFOUND", "unreachable"],
  ["EAI_AGAIN", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["EHOSTDOWN", "unreachable"],
  ["EADDRNOTAVAIL", "unreachable"],
  [REFUSED_ADDRESS, "unreachable"],
  ["UND_ERR_CONNECT_TIMEOUT", "connect-timeout"],
  ["ETIMEDOUT", "connect-timeout"],
  ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
  ["UND_ERR_BODY_TIMEOUT", "timeout"],
  ["UND_ERR_SOCKET", "reset"],
  ["ECONNRESET", "reset"],
  ["EPIPE", "reset"],
  ["UND_ERR_HEADERS_OVERFLOW", "protocol"],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "protocol"],
  ["UND_ERR_REQ_CONTENT_LENGTH_MISMATCH", "request-body"],
  [REQUEST_BODY_ERROR, "request-body"],
  ["UND_ERR_ABORTED", "aborted"],
  ["UND_ERR_DESTROYED", "closed"],
  ["UND_ERR_CLOSED", "closed"],
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
