/**
 * Our cookies: the session handle and the nonce of a sign-in under way. Both hold seals only, never a token.
 *
 * Promises: host-only, HttpOnly, `__Host-` and Secure wherever the host is https (so no neighbour host can plant one);
 * without prefix only on plain-http loopback; a cookie made for one host name opens on no other.
 */
import type { CookieSettings } from "../config/compiled.ts";
import { readCookie, serializeCookie } from "../http/cookies.ts";
import type { Exchange } from "../http/exchange.ts";
import { hashSecret, randomSecret, type Keys } from "../keys.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { Site } from "./sites.ts";

export interface SessionHandle {
  readonly sessionId: string;
  readonly expiresAt: number;
}

export interface Cookies {
  /** The raw value of the session cookie of this host, unopened. */
  readSession(exchange: Exchange, site: Site, settings: CookieSettings): string | undefined;
  /** @returns undefined when the value is not ours, was made for another host, or is past its end */
  openSession(value: string, site: Site): SessionHandle | undefined;
  /** Set-Cookie for a session. */
  setSession(handle: SessionHandle, site: Site, settings: CookieSettings): string;
  clearSession(site: Site, settings: CookieSettings): string;
  /** Hash of the nonce that this browser holds for a sign-in; undefined when it has none that is good. */
  readNonce(exchange: Exchange, site: Site, settings: CookieSettings, signInId: string): string | undefined;
  /**
   * Nonce that ties a sign-in to this browser: the one it holds already for this sign-in, or a new one. Each sign-in
   * has its own cookie, since a browser that restores its tabs begins several at once.
   */
  nonce(
    exchange: Exchange,
    site: Site,
    settings: CookieSettings,
    signInId: string,
  ): { readonly hash: string; readonly setCookie: string };
  clearNonce(site: Site, settings: CookieSettings, signInId: string): string;
}

/** A sign-in must be finished within this. */
export const SIGN_IN_SECONDS = 600;

export function createCookies(deps: { readonly keys: Keys; readonly clock: Clock }): Cookies {
  const { clock } = deps;
  const sessionSealer = deps.keys.sealer("session-cookie");
  const nonceSealer = deps.keys.sealer("sign-in-nonce");

  const attributes = (site: Site, settings: CookieSettings, maxAgeSeconds: number) => ({
    maxAgeSeconds,
    secure: site.secure,
    // Browsers refuse SameSite=None without Secure.
    sameSite: settings.sameSite === "none" && !site.secure ? ("lax" as const) : settings.sameSite,
  });

  const openNonce = (
    exchange: Exchange,
    site: Site,
    settings: CookieSettings,
    signInId: string,
  ): string | undefined => {
    const value = readCookie(exchange, nonceCookieName(site, settings, signInId));
    return value === undefined ? undefined : nonceSealer.open(value, `${site.hostname} ${signInId}`)?.toString();
  };
  const nonceCookie = (
    site: Site,
    settings: CookieSettings,
    signInId: string,
    value: string,
    maxAgeSeconds: number,
  ): string =>
    serializeCookie(nonceCookieName(site, settings, signInId), value, {
      maxAgeSeconds,
      secure: site.secure,
      // Lax whatever the setting: the way back from the provider is a navigation from a foreign site.
      sameSite: "lax",
    });

  return {
    readSession: (exchange, site, settings) => readCookie(exchange, sessionCookieName(site, settings)),
    openSession(value, site) {
      const text = sessionSealer.open(value, site.hostname)?.toString();
      const parts = text?.split(" ");
      const sessionId = parts?.[0];
      const expiresAt = Number(parts?.[1]);
      if (sessionId === undefined || !(expiresAt > epochSeconds(clock))) return undefined;
      return { sessionId, expiresAt };
    },
    setSession(handle, site, settings) {
      const value = sessionSealer.seal(`${handle.sessionId} ${handle.expiresAt}`, site.hostname);
      const maxAge = handle.expiresAt - epochSeconds(clock);
      return serializeCookie(sessionCookieName(site, settings), value, attributes(site, settings, maxAge));
    },
    clearSession: (site, settings) =>
      serializeCookie(sessionCookieName(site, settings), "", attributes(site, settings, 0)),
    readNonce(exchange, site, settings, signInId) {
      const nonce = openNonce(exchange, site, settings, signInId);
      return nonce === undefined ? undefined : hashSecret(nonce);
    },
    nonce(exchange, site, settings, signInId) {
      const nonce = openNonce(exchange, site, settings, signInId) ?? randomSecret();
      const value = nonceSealer.seal(nonce, `${site.hostname} ${signInId}`);
      return { hash: hashSecret(nonce), setCookie: nonceCookie(site, settings, signInId, value, SIGN_IN_SECONDS) };
    },
    clearNonce: (site, settings, signInId) => nonceCookie(site, settings, signInId, "", 0),
  };
}

/** Name of the session cookie on this host. */
export function sessionCookieName(site: Site, settings: CookieSettings): string {
  return site.secure ? `__Host-${settings.name}` : settings.name;
}

/** Name of the cookie that ties a sign-in to the browser that began it. */
export function nonceCookieName(site: Site, settings: CookieSettings, signInId: string): string {
  return `${sessionCookieName(site, settings)}_sign_in_${signInId.slice(0, 8)}`;
}

/** True for every name under which we set cookies: never taken from an upstream, never forwarded to one. */
export function isOwnCookieName(name: string, settings: CookieSettings): boolean {
  const bare = name.startsWith("__Host-") ? name.slice("__Host-".length) : name;
  return bare === settings.name || bare.startsWith(`${settings.name}_sign_in_`);
}
