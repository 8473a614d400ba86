/**
 * Checks the head of one HTTP/2 request (RFC 9113 §8) and converts it to the form of HTTP/1.1 requests.
 *
 * nghttp2 has already rejected broken framing: upper-case names, connection headers, unknown, repeated or late
 * pseudo-headers, a body of another length than declared. Checked here: a method that HTTP/1.1 has, one authority, one
 * scheme, a target that is a path, and headers that are allowed once.
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
  /** In the form of an HTTP/1.1 request: Host instead of pseudo-headers, one Cookie. */
  readonly rawHeaders: readonly string[];
  readonly headerTraits: readonly HeaderTraits[];
  readonly isWebSocket: boolean;
  /** The client may wait for "100 Continue" before it sends the body. */
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
        // Split for compression; joined before it is forwarded (RFC 9113 §8.2.3).
        cookie = cookie === undefined ? value : `${cookie}; ${value}`;
        continue;
      case "sec-websocket-version":
        version = value;
        break;
      case "expect":
        // An expectation other than 100-continue cannot be met (RFC 9110 §10.1.1).
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
    // Plain CONNECT opens a tunnel to any host. The extended form names its protocol (RFC 8441 §4).
    if (protocol === undefined) return refuse(405, "method");
    if (protocol.toLowerCase() !== "websocket") return refuse(501, "protocol");
    if (version !== WEBSOCKET_VERSION) return refuse(400, "websocket-version");
  } else if (protocol !== undefined) return refuse(400, "protocol");
  // Some upstreams fold "get", or read the rest of an invalid method as a target.
  if (!KNOWN_METHODS.has(method)) return refuse(501, "method");
  // An upstream that believed "http" here would send TLS traffic in plain text, or see another origin. Without TLS both
  // values are valid: the proxy that terminated TLS may pass on the client's scheme.
  if (scheme !== "https" && (secure || scheme !== "http")) return refuse(400, "scheme");
  const defaultPort = scheme === "https" ? "443" : "80";
  if (target === undefined || target.charCodeAt(0) !== 47) return refuse(400, "target-form");
  if (target.length > MAX_TARGET_LENGTH) return refuse(414, "target-too-long");
  // Without :authority, Host is used. If both are present, they must match (RFC 9113 §8.3.1).
  if (authority !== undefined && host !== undefined && host !== authority) {
    if (canonicalAuthority(host, defaultPort) !== canonicalAuthority(authority, defaultPort))
      return refuse(400, "authority-mismatch");
  }
  const canonical = canonicalTarget(target, authority ?? host, defaultPort);
  if (!canonical.ok) return refuse(400, canonical.reason);
  headers[1] = canonical.host;
  return {
    ok: true,
    // Over HTTP/1.1 the same handshake is a GET, so policies and records see GET.
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
