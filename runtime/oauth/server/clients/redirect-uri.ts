/**
 * Redirect URIs: which may be registered, and which registered one a request means.
 *
 * Untrusted input: every URI. Promise: an authorization answer goes only to an address that the client registered, byte
 * for byte, the port of a loopback address excepted. Nothing is normalised, because the browser would do it differently.
 */

export type RedirectUriProblem = "malformed" | "fragment" | "credentials" | "scheme" | "not-https";

/** `http` on these three spellings of loopback (RFC 8252 §7.3, and `localhost`, which real clients register). */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?((?:[/?].*)?)$/;
/** Printable ASCII without blanks, quotes, backslash and brackets: what every URL parser reads alike. */
const PLAIN_URI = /^[a-z][a-z0-9+.-]*:[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/i;
/** A browser would run or read these instead of handing them to an application. */
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
 * Why a URI cannot be registered; undefined when it can.
 *
 * @param allowedPrivateUris exact URIs with private-use schemes that the operator permits
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
    // "https:/host" and "https:host" are repaired by browsers but are not the same bytes to everybody.
    return /^https:\/\/[^/?@]+/.test(uri) ? undefined : "malformed";
  }
  if (url.protocol === "http:") return "not-https";
  if (NEVER.has(url.protocol.slice(0, -1))) return "scheme";
  return allowedPrivateUris.includes(uri) ? undefined : "scheme";
}

/**
 * True when a registered URI covers the requested one.
 *
 * "The authorization server MUST allow any port to be specified at the time of the request for loopback IP redirect
 * URIs" (RFC 8252 §7.3); host, path and query must be equal, and `localhost` is not `127.0.0.1`.
 */
export function matchesRedirectUri(registered: readonly string[], requested: string): boolean {
  if (registered.includes(requested)) return true;
  const wanted = LOOPBACK.exec(requested);
  if (!wanted || requested.includes("#") || !PLAIN_URI.test(requested) || !isPort(wanted[2])) return false;
  return registered.some((uri) => {
    const known = LOOPBACK.exec(uri);
    return known !== null && known[1] === wanted[1] && known[3] === wanted[3];
  });
}

/** True for addresses on the user's own machine, where any program may be listening. */
export function isLoopbackRedirectUri(uri: string): boolean {
  return LOOPBACK.test(uri);
}

/** What the consent page shows as the place the answer goes to: the host, or the scheme of an application. */
export function redirectTarget(uri: string): string {
  const url = new URL(uri);
  return url.host === "" || !/^https?:$/.test(url.protocol) ? url.protocol : url.host;
}

/** What `form-action` must name so that a browser follows our form's redirect there. */
export function redirectSource(uri: string): string {
  const url = new URL(uri);
  // An IPv6 address cannot stand in a source expression, so its scheme must do.
  return /^https?:$/.test(url.protocol) && !url.host.startsWith("[") ? url.origin : url.protocol;
}

/** The URI with answer parameters added to its query; what it had before stays (RFC 6749 §3.1.2). */
export function withAnswer(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.set(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${added.toString()}`;
}

function isPort(text: string | undefined): boolean {
  return text === undefined || (Number(text) >= 1 && Number(text) <= 65_535);
}
