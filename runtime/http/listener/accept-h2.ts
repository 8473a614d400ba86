/**
 * Checks the head of one HTTP/2 request (RFC 9113 §8) and brings it into the form that HTTP/1.1 requests have.
 *
 * nghttp2 has refused what breaks framing before: names in upper case, connection headers, pseudo-headers that are
 * unknown, repeated or late, a body of another length than declared. Here: a method that HTTP/1.1 has,
 * one authority, one scheme, a target that is a path, and names that may stand once.
 */
import {
  KNOWN_METHODS,
  MAX_HEADER_COUNT,
  MAX_TARGET_LENGTH,
  type RefusalStatus,
  type RequestRefusal,
} from "./accept-h1.ts";
import { headerTraits, type HeaderTraits } from "../../shared/http/header-traits.ts";
import { canonicalAuthority, canonicalTarget } from "../../shared/http/target.ts";
import { WEBSOCKET_VERSION } from "./websocket.ts";

export interface Http2Head {
  readonly ok: true;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  /** As of an HTTP/1.1 request: Host instead of pseudo-headers, one Cookie. */
  readonly rawHeaders: readonly string[];
  readonly headerTraits: readonly HeaderTraits[];
  readonly isWebSocket: boolean;
  /** The client may hold its body back until it is asked for it. */
  readonly awaitsContinue: boolean;
}

export type Http2HeadResult =
  | Http2Head
  | { readonly ok: false; readonly status: RefusalStatus; readonly reason: RequestRefusal };

/** @param raw flat, pseudo-headers first, as node:http2 gives it; all names in lower case */
export function parseRequestHead(raw: readonly string[], secure: boolean): Http2HeadResult {
  let method = "";
  let scheme: string | undefined;
  let authority: string | undefined;
  let target: string | undefined;
  let protocol: string | undefined;
  let host: string | undefined;
  let cookie: string | undefined;
  let version: string | undefined;
  let awaitsContinue = false;
  let seen = 0;
  const headers: string[] = ["host", ""];
  const known: HeaderTraits[] = [HOST];
  if (raw.length > 2 * MAX_HEADER_COUNT) return refuse(431, "too-many-headers");
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    switch (name) {
      case ":method":
        method = value;
        continue;
      case ":scheme":
        scheme = value;
        continue;
      case ":authority":
        authority = value;
        continue;
      case ":path":
        target = value;
        continue;
      case ":protocol":
        protocol = value;
        continue;
      case "cookie":
        // Split for compression; one field before it is passed on (RFC 9113 §8.2.3).
        cookie = cookie === undefined ? value : `${cookie}; ${value}`;
        continue;
      case "sec-websocket-version":
        version = value;
        break;
      case "expect":
        // Something else than 100-continue cannot be met (RFC 9110 §10.1.1).
        if (value.toLowerCase() !== "100-continue") return refuse(417, "expectation");
        awaitsContinue = true;
        break;
      default:
    }
    const traits = headerTraits(name);
    if (traits.singleBit !== 0) {
      if ((seen & traits.singleBit) !== 0) return refuse(400, "duplicate-header");
      seen |= traits.singleBit;
      if (name === "host") {
        host = value;
        continue;
      }
    }
    headers.push(name, value);
    known.push(traits);
  }
  if (cookie !== undefined) {
    headers.push("cookie", cookie);
    known.push(COOKIE);
  }

  if (method === "TRACE") return refuse(405, "method");
  if (method === "CONNECT") {
    // A tunnel to anywhere is not what this is for; the extended form names its protocol (RFC 8441 §4).
    if (protocol === undefined) return refuse(405, "method");
    if (protocol.toLowerCase() !== "websocket") return refuse(501, "protocol");
    if (version !== WEBSOCKET_VERSION) return refuse(400, "websocket-version");
  } else if (protocol !== undefined) return refuse(400, "protocol");
  // Some upstreams fold "get", or take the rest of what is no method for a target.
  if (!KNOWN_METHODS.has(method)) return refuse(501, "method");
  // A proxy that believed "http" here would send what was meant for TLS in the clear, or take it for another origin.
  // In the clear either is true: whoever ended TLS before us may say what its client asked for.
  if (scheme !== "https" && (secure || scheme !== "http")) return refuse(400, "scheme");
  const defaultPort = scheme === "https" ? "443" : "80";
  if (target === undefined || target.charCodeAt(0) !== 47) return refuse(400, "target-form");
  if (target.length > MAX_TARGET_LENGTH) return refuse(414, "target-too-long");
  // Without :authority Host stands for it; two of them must be the same (RFC 9113 §8.3.1).
  if (authority !== undefined && host !== undefined && host !== authority) {
    if (canonicalAuthority(host, defaultPort) !== canonicalAuthority(authority, defaultPort))
      return refuse(400, "authority-mismatch");
  }
  const canonical = canonicalTarget(target, authority ?? host, defaultPort);
  if (!canonical.ok) return refuse(400, canonical.reason);
  headers[1] = canonical.host;
  return {
    ok: true,
    // The same handshake over HTTP/1.1 is a GET, and so policies and records know it.
    method: protocol === undefined ? method : "GET",
    path: canonical.path,
    query: canonical.query,
    host: canonical.host,
    rawHeaders: headers,
    headerTraits: known,
    isWebSocket: protocol !== undefined,
    awaitsContinue,
  };
}

const HOST = headerTraits("host");
const COOKIE = headerTraits("cookie");

function refuse(status: RefusalStatus, reason: RequestRefusal): Http2HeadResult {
  return { ok: false, status, reason };
}
