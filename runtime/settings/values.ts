/**
 * Readers of single values: durations, URLs, origins, paths, listener addresses. Each returns a problem on rejection.
 */
import { canonicalHost } from "./domains.ts";
import { trimSlash } from "../shared/http/trim-slash.ts";

/** A parsed value, or the text that completes `"<setting>" …`. Never quotes credentials. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

const read = <T>(value: T): Reading<T> => ({ ok: true, value });
const refuse = (problem: string): { readonly ok: false; readonly problem: string } => ({ ok: false, problem });

/** Reads a value that the loader already accepted. @throws TypeError on rejection, which is a bug */
export function accepted<T>(reading: Reading<T>): T {
  if (!reading.ok) throw new TypeError(`Cannot use a setting that was accepted: it ${reading.problem}`);
  return reading.value;
}

/** Like `accepted`, for a reader without problem texts. */
export function acceptedText(text: string | undefined): string {
  return accepted(text === undefined ? refuse("cannot be read") : read(text));
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
// setTimeout overflows past 2^31-1 ms (24.8 days). Lifetimes may be longer, so the limit here is ten years.
const MAX_DURATION_MS = 3650 * 86_400_000;

/** "500ms", "30s", "1h30m", "90d", "0s" → milliseconds. */
export function parseDuration(text: string): Reading<number> {
  const problem = 'must be a duration such as "30s", "5m", "1h30m" or "90d"';
  if (!/^([0-9]+(ms|s|m|h|d))+$/.test(text)) return refuse(problem);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  }
  return total <= MAX_DURATION_MS ? read(total) : refuse("is too long, must be at most 3650d");
}

export const DEFAULT_TOKEN_LIFETIME = "10m";

const LONGEST_TOKEN_LIFETIME_MS = 3_600_000;

/** Lifetime of a short-lived publish token → whole seconds. The gateway and its Terraform provider accept the same. */
export function parseTokenLifetime(text: string): Reading<number> {
  const lifetime = parseDuration(text);
  if (!lifetime.ok) return lifetime;
  const isInRange = lifetime.value >= 1000 && lifetime.value <= LONGEST_TOKEN_LIFETIME_MS;
  return isInRange ? read(Math.floor(lifetime.value / 1000)) : refuse('must be a duration from "1s" to "1h"');
}

/** An absolute http(s) URL without credentials or fragment. */
export function parseHttpUrl(text: string): Reading<URL> {
  const problem = 'must be an absolute URL such as "https://app.example.com"';
  if (!/^https?:\/\/[^/\\]/i.test(text) || hasUnsafeCharacter(text)) return refuse(problem);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return refuse(problem);
  }
  if (url.username !== "" || url.password !== "") return refuse("has credentials, must be a URL without them");
  if (text.includes("#")) return refuse("has a fragment, must be a URL without one");
  if (canonicalHost(url.hostname) === undefined) return refuse(problem);
  return read(url);
}

/** An origin: scheme, host and optional port only. */
export function parseOrigin(text: string): Reading<URL> {
  const url = parseHttpUrl(text);
  if (!url.ok) return text.includes("*") ? refuse("has a wildcard host, must name one host") : url;
  if (url.value.pathname !== "/" || url.value.search !== "" || text.endsWith("?")) {
    return refuse(`has a path or query, must be an origin such as "${url.value.origin}"`);
  }
  return url;
}

export interface WeightedUrl {
  readonly url: URL;
  readonly weight: number;
}

/** "http://upstream:8080/base" or "http://upstream:8080,3" with a weight. */
export function parseUpstream(text: string): Reading<WeightedUrl> {
  const comma = text.lastIndexOf(",");
  const weighted = comma !== -1 && /^[0-9]+$/.test(text.slice(comma + 1));
  const weight = weighted ? Number(text.slice(comma + 1)) : 1;
  if (weight < 1 || weight > 1_000_000) return refuse("has a weight outside 1…1000000");
  const url = parseHttpUrl(weighted ? text.slice(0, comma) : text);
  if (!url.ok) return url;
  if (url.value.search !== "" || text.includes("?")) return refuse("has a query, must be a URL without one");
  return read({ url: url.value, weight });
}

/** Destination of requests: origin and base path, normalized. */
export function upstreamAddress({ origin, pathname }: URL): string {
  return origin + trimSlash(pathname);
}

/** A path in the listener's canonical form, with which requests are compared. */
export function parseRoutePath(text: string): Reading<string> {
  if (!text.startsWith("/")) return refuse('must start with "/"');
  if (hasUnsafeCharacter(text) || /[?#]/.test(text))
    return refuse("must be a path without query, spaces or backslashes");
  if (text.includes("//")) return refuse('must not contain "//": requests never do');
  if (text.split("/").some((segment) => segment === "." || segment === ".."))
    return refuse("must not contain dot segments");
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return refuse('has a "%" that is not an escape, must be written "%25"');
  if (/%(?![0-9A-F]{2})/.test(text))
    return refuse("has a lower-case escape, requests are compared with upper-case ones");
  // Requests are compared after RFC 3986 §6.2.2.2 normalization: an escaped letter would never match.
  if (/%(2D|2E|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/.test(text)) {
    return refuse("has an escape of a plain character, must be written as that character");
  }
  if (/[^!-~]/.test(text)) return refuse("has a character outside ASCII, must be percent-encoded");
  return read(text);
}

/** "host:port" or ":port" of a listener; the host "" means every interface. */
export function parseListener(text: string): Reading<{ readonly host: string; readonly port: number }> {
  const problem = 'must be "host:port" or ":port"';
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*):([0-9]{1,5})$/.exec(text);
  if (!match) return refuse(problem);
  const [, host = "", digits] = match;
  const port = Number(digits);
  if (port > 65_535) return refuse("has a port above 65535");
  if (host === "") return read({ host, port });
  const canonical = canonicalHost(host);
  return canonical === undefined ? refuse(problem) : read({ host: canonical, port });
}

/** Whether the name never leaves the host. @param host an IPv6 address with or without its brackets */
export function isLoopbackHost(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "::1" ||
    host === "[::1]" ||
    /^127(\.[0-9]{1,3}){3}$/.test(host)
  );
}

/** Requires TLS or loopback, so that the network can neither read nor change the traffic. */
export function overTlsOrLoopback(address: Reading<URL>): Reading<URL> {
  return !address.ok || isTlsOrLoopback(address.value) ? address : refuse("must start with https://");
}

/** Whole seconds of a validated duration. */
export function durationSeconds(text: string): number {
  return Math.floor(accepted(parseDuration(text)) / 1000);
}

export function isTlsOrLoopback({ protocol, hostname }: Pick<URL, "protocol" | "hostname">): boolean {
  return protocol === "https:" || isLoopbackHost(hostname);
}

/** Bytes of base64 or base64url text; undefined if it is neither. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$|^[A-Za-z0-9_-]+={0,2}$/.test(text)) return undefined;
  const unpadded = text.replace(/=+$/, "");
  if (unpadded.length % 4 === 1) return undefined;
  return Buffer.from(unpadded, /[-_]/.test(unpadded) ? "base64url" : "base64");
}

/** Control characters, spaces and backslashes: URL parsers drop or convert them, so two readers would disagree. */
export function hasUnsafeCharacter(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u0020\u007f\\]/.test(text);
}

/** A value for the Host header: "host" or "host:port", canonical. undefined if invalid. */
export function parseHostHeader(text: string): string | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::([0-9]{1,5}))?$/.exec(text);
  const host = match?.[1] === undefined ? undefined : canonicalHost(match[1]);
  if (host === undefined || Number(match?.[2] ?? 0) > 65_535) return undefined;
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return match?.[2] === undefined ? bracketed : `${bracketed}:${Number(match[2])}`;
}

/** Maximum of timers; longer settings are effectively unlimited. */
const MAX_TIMER_MS = 2_147_483_647;

/** Milliseconds for a timer. @param text a duration that was accepted */
export function timerMs(text: string): number {
  return Math.min(accepted(parseDuration(text)), MAX_TIMER_MS);
}
