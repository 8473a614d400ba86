/**
 * W3C Trace Context: the trace of a request, in the two headers that carry it.
 *
 * Untrusted input: both headers. Promises: a value that is not exactly of the form counts as absent; only the IDs, the
 * sampled flag and well-formed members of `tracestate` are ever passed on.
 *
 * @see W3C Trace Context Level 1 §3.2, §3.3
 */
import { trimBlanks } from "../shared/http/header-traits.ts";

export interface TraceParent {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** ID of the calling span; 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string;
  /** Whether the caller may have recorded it. */
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;
/** Longer ones are rejected before any pattern runs on them; version 00 has 55 characters. */
const MAX_TRACEPARENT = 256;

/** @param values of all `traceparent` headers of a request. @returns undefined when they name no trace */
export function parseTraceparent(values: readonly string[]): TraceParent | undefined {
  const [text] = values;
  // Two headers are ambiguous (W3C Trace Context §3.2: exactly one).
  if (text === undefined || values.length !== 1 || text.length > MAX_TRACEPARENT) return undefined;
  const match = TRACEPARENT.exec(text);
  if (!match) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = match;
  // Version ff is invalid; 00 has exactly four parts, later ones may have more (W3C Trace Context §3.2.2.1, §3.2.4).
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** In version 00, whatever version was received: unknown flags MUST be zero (W3C Trace Context §3.2.2.5). */
export function formatTraceparent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** "name" or "tenant@system" (W3C Trace Context §3.3.1.3.1). */
const MEMBER_KEY = /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;
/** Printable ASCII without comma and equals sign, not ending in a space (W3C Trace Context §3.3.1.3.2). */
const MEMBER_VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_MEMBERS = 32;
/** Limit for the part to pass on; vendors SHOULD propagate at least this much (W3C Trace Context §3.3.1.5). */
const MAX_LENGTH = 512;
/** Read at all. */
const MAX_READ = 8192;

/** @param values of all `tracestate` headers @returns the list to pass on; "" when it is invalid */
export function parseTracestate(values: readonly string[]): string {
  const text = values.join(",");
  if (text === "" || text.length > MAX_READ) return "";
  const keys = new Set<string>();
  const kept: string[] = [];
  let length = 0;
  for (const part of text.split(",")) {
    const member = trimBlanks(part);
    // Empty members are allowed (W3C Trace Context §3.3.1.2).
    if (member === "") continue;
    const at = member.indexOf("=");
    const key = member.slice(0, Math.max(at, 0));
    if (!MEMBER_KEY.test(key) || !MEMBER_VALUE.test(member.slice(at + 1)) || keys.has(key)) return "";
    keys.add(key);
    if (keys.size > MAX_MEMBERS) return "";
    length += member.length + 1;
    // Later members are older: the latest vendor comes first.
    if (length - 1 <= MAX_LENGTH) kept.push(member);
  }
  return kept.join(",");
}
