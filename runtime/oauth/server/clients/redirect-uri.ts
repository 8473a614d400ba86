/**
 * Redirect URIs: rules for registration, and matching of requests with registered URIs.
 *
 * Untrusted input: every URI. Promise: an authorization response goes only to a URI that the client registered, byte
 * for byte, except for the port of a loopback address. Nothing is normalised, because browsers would do it differently.
 */

export type RedirectUriProblem = "malformed" | "fragment" | "credentials" | "scheme" | "not-https";

/** `http` on the three forms of loopback (RFC 8252 §7.3, and `localhost`, which real clients register). */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?((?:[/?].*)?)$/;
/** Printable ASCII without blanks, quotes, backslash and brackets: every URL parser reads it alike. */
const PLAIN_URI = /^[a-z][a-z0-9+.-]*:[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/i;
/** A browser would execute or open these instead of passing them to an application. */
const NEVER = new Set([
  "javascript",
  "data",
  "file",
  "vbscript",
  "blob",
  "about",
  "view-source",
  "filesystem",
  "ws",
  "wss",
  "ftp",
  "http",
  "https",
]);
const MAX_LENGTH = 2048;

/**
 * Returns the reason why a URI cannot be registered, or undefined.
 *
 * @param allowedPrivateUris exact URIs with private-use schemes that the operator allows
 * @see OAuth 2.1 §2.3, RFC 8252 §7, RFC 6749 §3.1.2
 */
export function redirectUriProblem(uri: string, allowedPrivateUris: readonly string[]): RedirectUriProblem | undefined {
  if (uri.length > MAX_LENGTH) return "malformed";
  // "The endpoint URI MUST NOT include a fragment component" (RFC 6749 §3.1.2).
  if (uri.includes("#")) return "fragment";
  if (!PLAIN_URI.test(uri) || !URL.canParse(uri)) return "malformed";
  const url = new URL(uri);
  if (url.username !== "" || url.password !== "") return "credentials";
  if (LOOPBACK.test(uri)) return undefined;
  if (url.protocol === "https:") {
    // Browsers repair "https:/host" and "https:host", but other parsers do not.
    return /^https:\/\/[^/?@]+/.test(uri) ? undefined : "malformed";
  }
  if (url.protocol === "http:") return "not-https";
  if (NEVER.has(url.protocol.slice(0, -1))) return "scheme";
  return allowedPrivateUris.includes(uri) ? undefined : "scheme";
}

/**
 * Returns true if a registered URI matches the requested one.
 *
 * "The authorization server MUST allow any port to be specified at the time of the request for loopback IP redirect
 * URIs" (RFC 8252 §7.3). Host, path and query must be equal, and `localhost` is not `127.0.0.1`.
 */
export function matchesRedirectUri(registered: readonly string[], requested: string): boolean {
  if (registered.includes(requested)) return true;
  const loopback = LOOPBACK.exec(requested);
  if (!loopback || requested.includes("#") || !PLAIN_URI.test(requested) || !isPort(loopback[2])) return false;
  return registered.some((uri) => {
    const known = LOOPBACK.exec(uri);
    return known !== null && known[1] === loopback[1] && known[3] === loopback[3];
  });
}

/** Returns true for addresses on the user's own computer, where any program may be listening. */
export function isLoopbackRedirectUri(uri: string): boolean {
  return LOOPBACK.test(uri);
}

/** Destination shown on the consent page: the host, or the scheme of an application. */
export function redirectTarget(uri: string): string {
  const url = new URL(uri);
  return url.host === "" || !/^https?:$/.test(url.protocol) ? url.protocol : url.host;
}

/** Source for `form-action` that lets a browser follow our form's redirect to this URI. */
export function redirectSource(uri: string): string {
  const url = new URL(uri);
  // Source expressions do not support IPv6 addresses, so the scheme must do.
  return /^https?:$/.test(url.protocol) && !url.host.startsWith("[") ? url.origin : url.protocol;
}

/** Adds response parameters to the URI's query, which stays otherwise unchanged (RFC 6749 §3.1.2). */
export function withAnswer(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.set(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${added.toString()}`;
}

function isPort(text: string | undefined): boolean {
  return text === undefined || (Number(text) >= 1 && Number(text) <= 65_535);
}
