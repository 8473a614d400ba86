/** Responses on connections without a request and response of node:http: the input was not a request, or not acceptable. */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

import type { ErrorCode } from "../codes.ts";
import { closeLingering } from "../linger.ts";
import { createRequestId } from "../../shared/http/request-id.ts";

/** The status for input that the parser of node:http could not read; undefined when the connection itself failed. */
export function statusOfParserError(code: string | undefined): number | undefined {
  if (code === "HPE_HEADER_OVERFLOW" || code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return 431;
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return code?.startsWith("HPE_") === true ? 400 : undefined;
}

/** Responds, and closes so that the response arrives. */
export function refuseConnection(socket: Duplex, status: number, code: ErrorCode = "request.malformed"): void {
  // A response may be half sent: a second status line would become part of it.
  const busy = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage?.headersSent === true;
  if (!socket.writable || busy) {
    socket.destroy();
    return;
  }
  const id = createRequestId();
  const body = JSON.stringify({
    error: code,
    message: status === 503 ? "The gateway is overloaded, try again" : "The gateway cannot understand this request",
    request_id: id,
  });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    `x-request-id: ${id}`,
    "x-content-type-options: nosniff",
    "cache-control: no-store",
    "connection: close",
    ...(status === 503 ? ["retry-after: 2"] : []),
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1");
  closeLingering(socket);
}
