/**
 * Response headers of the settings on the gateway's own answers: sign-in redirects, refusals, failures, pages.
 *
 * Promise: they never weaken or contradict what an answer says of itself. Some names are never added, some only where the
 * answer has none; others replace what is there.
 */

export interface AddedHeaders {
  /** Flat: name, value, … */
  readonly flat: readonly string[];
  /** Lower case. */
  readonly names: ReadonlySet<string>;
}

/** What only the answer itself can say: its body, its credentials, where to go next, and who may read, keep or report it. */
const NEVER_ADDED: ReadonlySet<string> = new Set([
  "accept-ranges",
  "age",
  "allow",
  "alt-svc",
  "authentication-info",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "digest",
  "dpop-nonce",
  "etag",
  "expires",
  "last-modified",
  "location",
  "no-vary-search",
  "pragma",
  "refresh",
  "repr-digest",
  "retry-after",
  "set-cookie",
  "sourcemap",
  "www-authenticate",
  "x-request-id",
  "x-sendfile",
  // Browsers act on them for the whole host, or load what they name.
  "activate-storage-access",
  "clear-site-data",
  "link",
  "service-worker-allowed",
  "set-login",
  "speculation-rules",
  "supports-loading-mode",
  "use-as-dictionary",
  // Addresses of our pages, with the codes and states in them, are sent there.
  "content-security-policy-report-only",
  "cross-origin-embedder-policy-report-only",
  "cross-origin-opener-policy-report-only",
  "document-policy-report-only",
  "nel",
  "permissions-policy-report-only",
  "report-to",
  "reporting-endpoints",
]);

/** The same, for families: CORS, protocols, and what proxies and caches in front obey (`X-Accel-Redirect`, `Surrogate-Control`). */
const NEVER_ADDED_PREFIXES = ["access-control-", "grpc-", "mcp-", "proxy-", "sec-", "surrogate-", "x-accel-"] as const;

/** Caches of their own kind: `CDN-Cache-Control` (RFC 9213 §2) would keep what `Cache-Control: no-store` keeps nowhere. */
const TARGETED_CACHE_CONTROL = "-cache-control";

/** An answer that has one of these has it for its own safety. */
const NEVER_REPLACED: ReadonlySet<string> = new Set([
  "cache-control",
  "content-security-policy",
  "cross-origin-opener-policy",
  "referrer-policy",
  "vary",
  "x-content-type-options",
  "x-frame-options",
]);

/** Browsers ignore it there, and a proxy on the way could have planted it (RFC 6797 §7.2: MUST NOT be sent). */
export const HTTPS_ONLY_HEADER = "strict-transport-security";

/**
 * @param flat name, value, … as the settings have them
 * @returns undefined when none of them is for own answers
 */
export function addedHeaders(flat: readonly string[], scheme: "http" | "https"): AddedHeaders | undefined {
  const kept: string[] = [];
  const names = new Set<string>();
  for (let index = 0; index < flat.length; index += 2) {
    const [name = "", value = ""] = [flat[index], flat[index + 1]];
    const lower = name.toLowerCase();
    if (isNeverAdded(lower)) continue;
    if (scheme === "http" && lower === HTTPS_ONLY_HEADER) continue;
    kept.push(name, value);
    names.add(lower);
  }
  return kept.length === 0 ? undefined : { flat: kept, names };
}

function isNeverAdded(lower: string): boolean {
  return (
    NEVER_ADDED.has(lower) ||
    lower.endsWith(TARGETED_CACHE_CONTROL) ||
    NEVER_ADDED_PREFIXES.some((prefix) => lower.startsWith(prefix))
  );
}

/** @param own headers of the answer, flat */
export function withAddedHeaders(own: readonly string[], added: AddedHeaders): string[] {
  const headers: string[] = [];
  const stays = new Set<string>();
  for (let index = 0; index < own.length; index += 2) {
    const [name = "", value = ""] = [own[index], own[index + 1]];
    const lower = name.toLowerCase();
    const isAdded = added.names.has(lower);
    if (isAdded && !NEVER_REPLACED.has(lower)) continue;
    if (isAdded) stays.add(lower);
    headers.push(name, value);
  }
  for (let index = 0; index < added.flat.length; index += 2) {
    const [name = "", value = ""] = [added.flat[index], added.flat[index + 1]];
    if (!stays.has(name.toLowerCase())) headers.push(name, value);
  }
  return headers;
}
