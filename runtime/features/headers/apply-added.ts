/**
 * Configured response headers on the gateway's own responses: sign-in redirects, denials, failures, pages.
 *
 * Promise: they never weaken or contradict a response's own headers. Some names are never added, some only if absent;
 * others replace the response's header.
 */

export interface AddedHeaders {
  /** Flat: name, value, … */
  readonly flat: readonly string[];
  /** Lower case. */
  readonly names: ReadonlySet<string>;
}

/**
 * Only the response itself decides these: its body, its credentials, its destination, and permission to read, cache or
 * report it.
 */
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
  // Browsers apply these to the whole host, or load what they name.
  "activate-storage-access",
  "clear-site-data",
  "link",
  "service-worker-allowed",
  "set-login",
  "speculation-rules",
  "supports-loading-mode",
  "use-as-dictionary",
  // Browsers send addresses of our pages, including codes and states, to these.
  "content-security-policy-report-only",
  "cross-origin-embedder-policy-report-only",
  "cross-origin-opener-policy-report-only",
  "document-policy-report-only",
  "nel",
  "permissions-policy-report-only",
  "report-to",
  "reporting-endpoints",
]);

/**
 * The same for families: CORS, protocols, and instructions to proxies and caches in front (`X-Accel-Redirect`,
 * `Surrogate-Control`).
 */
const NEVER_ADDED_PREFIXES = ["access-control-", "grpc-", "mcp-", "proxy-", "sec-", "surrogate-", "x-accel-"] as const;

/**
 * Specific caches obey these: `CDN-Cache-Control` (RFC 9213 §2) would cache what `Cache-Control: no-store` excludes.
 */
const TARGETED_CACHE_CONTROL = "-cache-control";

/** If a response has one of these, it is for its own safety. */
const NEVER_REPLACED: ReadonlySet<string> = new Set([
  "cache-control",
  "content-security-policy",
  "cross-origin-opener-policy",
  "referrer-policy",
  "vary",
  "x-content-type-options",
  "x-frame-options",
]);

/** Over http browsers ignore it, and a proxy could have planted it (RFC 6797 §7.2: MUST NOT be sent). */
export const HTTPS_ONLY_HEADER = "strict-transport-security";

/**
 * @param flat name, value, … of the settings
 * @returns undefined if none of them applies to own responses
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

/** @param own headers of the response, flat */
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
