/** The request headers that state how to read an MCP body, or repeat part of it. Untrusted input: all of them. */
import { trimBlanks } from "../shared/http/header-traits.ts";

/** Values trimmed of outer blanks, as received (latin1). */
export interface MessageHeaders {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly mcpMethod: string | undefined;
  readonly mcpName: string | undefined;
  readonly protocolVersion: string | undefined;
  /** `Mcp-Param-*`: the rest of the name in lower case, and the value; absent if there is none. */
  readonly params?: readonly (readonly [string, string])[];
  /**
   * One of them occurred more than once. Equal values are also rejected: upstreams pick the first, the last, or join
   * them.
   */
  readonly repeated: "content" | "mcp" | undefined;
}

type Slot = "contentType" | "contentEncoding" | "mcpMethod" | "mcpName" | "protocolVersion";

/** @param rawHeaders name, value, name, value… as received */
export function readMessageHeaders(rawHeaders: readonly string[]): MessageHeaders {
  let params: (readonly [string, string])[] | undefined;
  const found: Record<Slot, string | undefined> & { repeated: "content" | "mcp" | undefined } = {
    contentType: undefined,
    contentEncoding: undefined,
    mcpMethod: undefined,
    mcpName: undefined,
    protocolVersion: undefined,
    repeated: undefined,
  };
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const slot = slotOf(name);
    if (slot === undefined) {
      if (isParam(name))
        (params ??= []).push([name.slice(PARAM.length).toLowerCase(), trimBlanks(rawHeaders[i + 1] as string)]);
      continue;
    }
    if (found[slot] === undefined) found[slot] = trimBlanks(rawHeaders[i + 1] as string);
    else found.repeated = slot === "contentType" || slot === "contentEncoding" ? "content" : (found.repeated ?? "mcp");
  }
  return params === undefined ? found : { ...found, params };
}

const PARAM = "mcp-param-";

/** One letter separates most headers. */
export function isParam(name: string): boolean {
  return (name.charCodeAt(0) | 0x20) === 0x6d && name.slice(0, PARAM.length).toLowerCase() === PARAM;
}

/** `application/json` in any case, with no parameter but `charset=utf-8`. @see RFC 9110 §8.3.1 */
export function isJsonMediaType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  return contentType !== undefined && JSON_MEDIA_TYPE.test(contentType);
}

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-?8|"utf-?8")[ \t]*)?$/i;

export function isIdentityCoding(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding.toLowerCase() === "identity";
}

/**
 * The decoded value of a mirror header: printable ASCII unchanged, `=?base64?…?=` decoded.
 *
 * @returns undefined when it has other characters, or the coding is not exact base64 of UTF-8
 * @see MCP 2026-07-28, Streamable HTTP, header encoding
 */
export function decodeMirror(value: string): string | undefined {
  if (!/^[\x20-\x7e\t]*$/.test(value)) return undefined;
  // A value with only one half of the marker is literal.
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length)
    return value;
  const coded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(coded, "base64");
  // Buffer.from skips unknown characters, so equal re-encoding checks alphabet and padding.
  if (bytes.toString("base64") !== coded) return undefined;
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? text : undefined;
}

/** The inverse of `decodeMirror`. */
export function encodeMirror(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith(PREFIX);
  return isPlain ? text : PREFIX + Buffer.from(text).toString("base64") + SUFFIX;
}

const PREFIX = "=?base64?";
const SUFFIX = "?=";

function slotOf(name: string): Slot | undefined {
  // By length first: lower-casing every header of every request would cost more than the rest of this file.
  switch (name.length) {
    case 8:
      return name.toLowerCase() === "mcp-name" ? "mcpName" : undefined;
    case 10:
      return name.toLowerCase() === "mcp-method" ? "mcpMethod" : undefined;
    case 12:
      return name.toLowerCase() === "content-type" ? "contentType" : undefined;
    case 16:
      return name.toLowerCase() === "content-encoding" ? "contentEncoding" : undefined;
    case 20:
      return name.toLowerCase() === "mcp-protocol-version" ? "protocolVersion" : undefined;
    default:
      return undefined;
  }
}
