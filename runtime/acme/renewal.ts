/** When a certificate is renewed: as the authority suggests (ARI, RFC 9773), otherwise at two thirds of its lifetime. Pure. */
import type { X509Certificate } from "node:crypto";

import { isRecord } from "../shared/is-record.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const RENEW_AFTER = 2 / 3;
/** This part of the lifetime earlier, so that certificates of one day are not all renewed in one minute. */
const SPREAD = 1 / 30;
/** RFC 9773 §4.3: bounds that clients should set. */
const SOONEST_CHECK_MS = MINUTE_MS;
const LATEST_CHECK_MS = 24 * HOUR_MS;
const CHECK_AGAIN_MS = 6 * HOUR_MS;

/** Epoch milliseconds. @param random 0 … 1 */
export function renewalTime(leaf: X509Certificate, random: number): number {
  const [from, to] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  return Math.floor(from + (to - from) * (RENEW_AFTER - SPREAD * random));
}

/** A time in the suggested window; undefined if there is no valid one. @see RFC 9773 §4.2 @param random 0 … 1 */
export function suggestedTime(content: unknown, random: number): number | undefined {
  const window = isRecord(content) ? content["suggestedWindow"] : undefined;
  if (!isRecord(window) || typeof window["start"] !== "string" || typeof window["end"] !== "string") return undefined;
  const [start, end] = [Date.parse(window["start"]), Date.parse(window["end"])];
  return Number.isFinite(start) && Number.isFinite(end) && end > start
    ? Math.floor(start + (end - start) * random)
    : undefined;
}

/** When the suggestion is read again. */
export function nextCheck(nowMs: number, retryAfterMs: number | undefined): number {
  return nowMs + Math.min(LATEST_CHECK_MS, Math.max(SOONEST_CHECK_MS, retryAfterMs ?? CHECK_AGAIN_MS));
}

/** OID 2.5.29.35 (authority key identifier), as in the certificate. */
const AUTHORITY_KEY = Buffer.from("0603551d23", "hex");

/** Name of a certificate for its authority; undefined if it does not name its authority's key. @see RFC 9773 §4.1 */
export function certificateId({
  raw,
  serialNumber,
}: Pick<X509Certificate, "raw" | "serialNumber">): string | undefined {
  const key = authorityKey(raw);
  const digits = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`;
  const serial = Buffer.from(digits, "hex");
  if (key === undefined || serial.length === 0) return undefined;
  // The DER of a positive number whose first bit is set begins with a zero.
  const der = (serial[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), serial]) : serial;
  return `${key.toString("base64url")}.${der.toString("base64url")}`;
}

/** OCTET STRING of a SEQUENCE that starts with the key identifier, tag [0]; all shorter than 128 bytes. */
function authorityKey(raw: Buffer): Buffer | undefined {
  const at = raw.indexOf(AUTHORITY_KEY) + AUTHORITY_KEY.length;
  if (at < AUTHORITY_KEY.length) return undefined;
  const [octets, , sequence, , tag, length = 0] = raw.subarray(at, at + 6);
  if (octets !== 0x04 || sequence !== 0x30 || tag !== 0x80 || length === 0 || length > 64) return undefined;
  return raw.subarray(at + 6, at + 6 + length);
}
