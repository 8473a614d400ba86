/** Checks one request of HTTP/1.1: framing, header counts, target. What cannot be understood is answered here. */
import { METHODS, type IncomingMessage, type ServerResponse } from "node:http";

import type { Log } from "../../shared/log.ts";
import type { Expectation } from "./connections-h1.ts";
import { Http1Exchange, type ExchangeOwner } from "../exchange-h1.ts";
import type { StatusOf } from "../codes.ts";
import { headerTraits, type HeaderTraits } from "../../shared/http/header-traits.ts";
import { respondError } from "../respond.ts";
import { canonicalTarget, type TargetRefusal } from "../../shared/http/target.ts";

export type RequestRefusal =
  | TargetRefusal
  | "target-too-long"
  | "too-many-headers"
  | "duplicate-header"
  | "transfer-encoding"
  | "method"
  | "expectation"
  // HTTP/2 only.
  | "scheme"
  | "authority-mismatch"
  | "protocol"
  | "websocket-version";

/** Told by the table of codes. */
export type RefusalStatus = StatusOf<`request.${RequestRefusal}`>;

export interface AcceptDeps {
  readonly log: Log;
  /** Called with the reason of every request that is refused before it is an Exchange. */
  onRefused?(reason: RequestRefusal): void;
}

/** What the parser of HTTP/1.1 knows; HTTP/2 takes no others. TRACE and CONNECT are refused apart. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);

export const MAX_HEADER_COUNT = 200;
export const MAX_TARGET_LENGTH = 8_192;

/** @returns undefined when the request was answered here */
export function acceptRequest(
  deps: AcceptDeps,
  request: IncomingMessage,
  response: ServerResponse,
  owner: ExchangeOwner,
  expectation: Expectation,
): Http1Exchange | undefined {
  const raw = request.rawHeaders;
  const target = request.url ?? "";
  if (target.length > MAX_TARGET_LENGTH) return refuse(414, "target-too-long");
  if (raw.length > 2 * MAX_HEADER_COUNT) return refuse(431, "too-many-headers");
  if (request.method === "TRACE") return refuse(405, "method");
  // Something else than 100-continue cannot be met (RFC 9110 §10.1.1).
  if (expectation === "unmet") return refuse(417, "expectation");

  const known: HeaderTraits[] = [];
  let seen = 0;
  let host: string | undefined;
  let hasBody = false;
  for (let index = 0; index < raw.length; index += 2) {
    const traits = headerTraits(raw[index] as string);
    known.push(traits);
    if (traits.singleBit === 0) continue;
    if ((seen & traits.singleBit) !== 0) return refuse(400, "duplicate-header");
    seen |= traits.singleBit;
    const value = raw[index + 1] as string;
    if (traits.lower === "host") host = value;
    else if (traits.lower === "content-length") hasBody ||= value !== "0";
    else if (traits.lower === "transfer-encoding") {
      // Another coding than chunked cannot be undone here, and HTTP/1.0 has none (RFC 9112 §6.1).
      if (value.trim().toLowerCase() !== "chunked" || request.httpVersionMinor === 0)
        return refuse(400, "transfer-encoding");
      hasBody = true;
    }
  }
  const canonical = canonicalTarget(target, host, owner.secure ? "443" : "80");
  if (!canonical.ok) return refuse(400, canonical.reason);
  return new Http1Exchange(request, response, owner, canonical, known, hasBody, expectation === "continue");

  function refuse(status: RefusalStatus, reason: RequestRefusal): undefined {
    deps.onRefused?.(reason);
    const exchange = new Http1Exchange(request, response, owner, NO_TARGET, [], true, false);
    exchange.closesConnection = true;
    deps.log.debug({ request: exchange.id, reason, peer: exchange.remoteAddress }, "request refused");
    respondError(exchange, status, {
      code: `request.${reason}`,
      message: "The gateway cannot understand this request",
    });
    return undefined;
  }
}

const NO_TARGET = { path: "/", query: "", host: "" };
