/** The fields of a request in HTTP/2's form. */
import { headerTraits, isHeaderText } from "../../shared/http/header-traits.ts";
import type { UpstreamRequest } from "../transport-types.ts";

/**
 * @returns flat, pseudo-headers first; Host is `:authority`
 * @throws TypeError for input that would be read differently; its text is not quoted
 */
export function requestHead({ upstream, method, path, headers, body }: UpstreamRequest): string[] {
  let authority = "";
  const fields: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const { lower } = headerTraits(headers[index] as string);
    const value = headers[index + 1] as string;
    if (lower === "host") authority = value;
    else fields.push(lower, value);
  }
  if (Buffer.isBuffer(body)) fields.push("content-length", String(body.length));
  const scheme = upstream.origin.startsWith("https:") ? "https" : "http";
  const head = [":method", method, ":authority", authority, ":scheme", scheme, ":path", path, ...fields];
  if (!head.every(isHeaderText)) throw new TypeError(BAD_FIELD);
  return head;
}

const BAD_FIELD = "a header field of the request has an invalid character";
