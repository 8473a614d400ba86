/**
 * Who may ask the admin listener. It is meant for operators and their machines, not for browsers.
 *
 * Untrusted input: Host and Authorization. Promises: a web page whose name was pointed at us (DNS rebinding) gets
 * nothing, since its Host is a name we do not have; the token is compared in constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";

export type TokenRefusal = "no-token-set" | "missing" | "wrong";

/** @param configured host of `admin_address`; "" when it listens everywhere */
export function hostAllowed(header: string | undefined, configured: string): boolean {
  const match = /^(\[[^\]]+\]|[^:[\]]+)(:[0-9]{1,5})?$/.exec(header ?? "");
  const host = match?.[1]?.toLowerCase().replace(/^\[|\]$/g, "");
  if (host === undefined) return false;
  // An address cannot be rebound; probes and scrapers use the pod's.
  return host === "localhost" || isIP(host) !== 0 || (configured !== "" && host === configured);
}

/** @returns undefined when the request carries the token */
export function refuseToken(header: string | undefined, token: string | undefined): TokenRefusal | undefined {
  if (token === undefined) return "no-token-set";
  const given = /^Bearer +([^\s]+)$/i.exec(header ?? "")?.[1];
  if (given === undefined) return "missing";
  // Hashes have one length, so the time tells nothing about the token's.
  return timingSafeEqual(digest(given), digest(token)) ? undefined : "wrong";
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
