/** Checks one HTTP/1.1 request: framing, header counts, target. Requests that cannot be understood are answered here. */
import { METHODS } from "node:http";

import type { Log } from "../../shared/log.ts";
import type { Expectation } from "./connections-h1.ts";
import type { Exchange } from "../exchange.ts";
import type { StatusOf } from "../codes.ts";
import type { HeaderTraits } from "../../shared/http/header-traits.ts";
import type { RequestTarget } from "../received-request.ts";
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

/** Derived from the table of codes. */
export type RefusalStatus = StatusOf<`request.${RequestRefusal}`>;

export interface AcceptDeps {
  readonly log: Log;
  /** Called with the reason of every request that is rejected before it is an Exchange. */
  onRefused?(reason: RequestRefusal): void;
}

/** The methods that the HTTP/1.1 parser accepts; HTTP/2 accepts the same. TRACE and CONNECT are rejected separately. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);

export const MAX_HEADER_COUNT = 200;
export const MAX_TARGET_LENGTH = 8_192;

/** The head to check: as received, with the traits of each name. */
export interface ReceivedHead {
  readonly method: string;
  readonly target: string;
  readonly isHttp10: boolean;
  readonly rawHeaders: readonly string[];
  readonly traits: readonly HeaderTraits[];
}

export type CheckedHead =
  | { readonly ok: true; readonly target: RequestTarget; readonly hasBody: boolean }
  | { readonly ok: false; readonly status: RefusalStatus; readonly reason: RequestRefusal };

/** Runs all checks that need only the head. */
export function checkHead(head: ReceivedHead, secure: boolean, expectation: Expectation): CheckedHead {
  const { method, target, rawHeaders: raw, traits } = head;
  if (target.length > MAX_TARGET_LENGTH) return refusal(414, "target-too-long");
  if (raw.length > 2 * MAX_HEADER_COUNT) return refusal(431, "too-many-headers");
  if (method === "TRACE") return refusal(405, "method");
  // An expectation other than 100-continue cannot be met (RFC 9110 §10.1.1).
  if (expectation === "unmet") return refusal(417, "expectation");

  let seen = 0;
  let host: string | undefined;
  let hasBody = false;
  for (let index = 0; index < traits.length; index += 1) {
    const { singleBit, lower } = traits[index] as HeaderTraits;
    if (singleBit === 0) continue;
    if ((seen & singleBit) !== 0) return refusal(400, "duplicate-header");
    seen |= singleBit;
    const value = raw[2 * index + 1] as string;
    if (lower === "host") host = value;
    else if (lower === "content-length") hasBody ||= value !== "0";
    else if (lower === "transfer-encoding") {
      // The gateway cannot undo a coding other than chunked, and HTTP/1.0 has none (RFC 9112 §6.1).
      if (value.trim().toLowerCase() !== "chunked" || head.isHttp10) return refusal(400, "transfer-encoding");
      hasBody = true;
    }
  }
  const canonical = canonicalTarget(target, host, secure ? "443" : "80");
  return canonical.ok ? { ok: true, target: canonical, hasBody } : refusal(400, canonical.reason);
}

function refusal(status: RefusalStatus, reason: RequestRefusal): CheckedHead {
  return { ok: false, status, reason };
}

/** Responds to a request that cannot be understood. @param exchange closes its connection */
export function refuseRequest(
  deps: AcceptDeps,
  exchange: Exchange,
  status: RefusalStatus,
  reason: RequestRefusal,
): void {
  deps.onRefused?.(reason);
  deps.log.debug({ request: exchange.id, reason, peer: exchange.remoteAddress }, "request rejected");
  respondError(exchange, status, {
    code: `request.${reason}`,
    message: "The gateway cannot understand this request",
  });
}

/** Target of rejected requests. */
export const NO_TARGET: RequestTarget = { path: "/", query: "", host: "" };
