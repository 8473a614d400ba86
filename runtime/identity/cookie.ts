/**
 * Our cookies: the session handle, and what a browser carries of a sign-in under way. All hold seals only, never a token.
 *
 * Promises: host-only, HttpOnly, `__Host-` and Secure wherever the host is https (so no neighbour host can plant one);
 * without prefix only on plain-http loopback; a cookie opens only on the host name, under the name and for the purpose that it
 * was made for.
 */
import type { CookieSettings } from "../features/sign-in/compiled.ts";
import { parseCookies, readCookie, serializeCookie } from "../http/cookies.ts";
import type { Exchange } from "../http/exchange.ts";
import { sealBeginning, type Keys } from "../shared/keys.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Site } from "./sites.ts";

export interface SessionHandle {
  readonly sessionId: string;
  readonly expiresAt: number;
}

export interface Cookies {
  /** The raw value of the session cookie of this host, unopened. */
  readSession(exchange: Exchange, site: Site, settings: CookieSettings): string | undefined;
  /** @returns undefined when the value is not ours, was made for another host or cookie name, or is past its end */
  openSession(value: string, site: Site, settings: CookieSettings): SessionHandle | undefined;
  /** Set-Cookie for a session. */
  setSession(handle: SessionHandle, site: Site, settings: CookieSettings): string;
  clearSession(site: Site, settings: CookieSettings): string;
  /** @returns undefined when this browser carries none of this id, or it is past its end */
  readCarried<K extends CarriedKind>(
    exchange: Exchange,
    site: Site,
    settings: CookieSettings,
    kind: K,
    id: string,
  ): Carried[K] | undefined;
  /**
   * Set-Cookie for a step of a sign-in. Each has its own cookie, since a browser that restores its tabs begins several
   * at once.
   */
  setCarried<K extends CarriedKind>(
    site: Site,
    settings: CookieSettings,
    kind: K,
    id: string,
    value: Carried[K],
  ): string;
  clearCarried(site: Site, settings: CookieSettings, kind: CarriedKind, id: string): string;
  /** The name of the provider that this browser signed in at last, as it says: a convenience, worth nothing else. */
  readProvider(exchange: Exchange, site: Site, settings: CookieSettings): string | undefined;
  /** Set-Cookie that remembers a provider's name; undefined forgets it. */
  setProvider(name: string | undefined, site: Site, settings: CookieSettings): string;
  /** Set-Cookie headers that drop what piled up of sign-ins never finished, once it is more than requests should carry. */
  clearPile(exchange: Exchange, site: Site, settings: CookieSettings): readonly string[];
}

/** What a browser carries while it signs in, by the step. */
export interface Carried {
  /** On the host of a route. */
  readonly sign_in: {
    readonly host: string;
    /** Path and query on that host; absent while they wait in the store. */
    readonly returnTo?: string;
  };
  /** On the host of sign-in pages, while the person is at the provider. */
  readonly provider: {
    readonly signInId: string;
    /** The host of sign-in pages that it left from. */
    readonly from: string;
    /** The host that it goes back to in the end. */
    readonly host: string;
    readonly nonce: string;
    readonly codeVerifier: string;
    /** The only one to which a code may go. `name` is absent for the first one; all in what an older program began there. */
    readonly provider?: { readonly name?: string; readonly url: string };
    /** Present: the person shows anew who they are, and this session goes on if it is theirs. */
    readonly fresh?: { readonly sessionId?: string };
  };
}

/** So long a browser that does not come back keeps its choice. */
const PROVIDER_SECONDS = 90 * 24 * 3600;

export type CarriedKind = keyof Carried;

/** A sign-in must be finished within this. */
export const SIGN_IN_SECONDS = 600;
/** Servers, ours among them, take some 16 KiB of headers; this leaves the application's own cookies their place. */
const MAX_PILE_CHARACTERS = 6000;

export function createCookies(deps: { readonly keys: Keys; readonly clock: Clock }): Cookies {
  const { clock } = deps;
  const sessionSealer = deps.keys.sealer("session-cookie");
  const carriedSealer = deps.keys.sealer("sign-in-nonce");

  const attributes = (site: Site, settings: CookieSettings, maxAgeSeconds: number) => ({
    maxAgeSeconds,
    secure: site.secure,
    // Browsers refuse SameSite=None without Secure.
    sameSite: settings.sameSite === "none" && !site.secure ? ("lax" as const) : settings.sameSite,
  });

  const carriedCookie = (name: string, site: Site, value: string, maxAgeSeconds: number): string =>
    serializeCookie(name, value, {
      maxAgeSeconds,
      secure: site.secure,
      // Lax whatever the setting: the way back from the provider is a navigation from a foreign site.
      sameSite: "lax",
    });

  return {
    readSession: (exchange, site, settings) => readCookie(exchange, sessionCookieName(site, settings)),
    openSession(value, site, settings) {
      const text = sessionSealer.open(value, sessionContext(site, settings))?.toString();
      const parts = text?.split(" ");
      const sessionId = parts?.[0];
      const expiresAt = Number(parts?.[1]);
      if (sessionId === undefined || !(expiresAt > epochSeconds(clock))) return undefined;
      return { sessionId, expiresAt };
    },
    setSession(handle, site, settings) {
      const value = sessionSealer.seal(`${handle.sessionId} ${handle.expiresAt}`, sessionContext(site, settings));
      const maxAge = handle.expiresAt - epochSeconds(clock);
      return serializeCookie(sessionCookieName(site, settings), value, attributes(site, settings, maxAge));
    },
    clearSession: (site, settings) =>
      serializeCookie(sessionCookieName(site, settings), "", attributes(site, settings, 0)),
    readCarried<K extends CarriedKind>(exchange: Exchange, site: Site, settings: CookieSettings, kind: K, id: string) {
      const text = readCookie(exchange, carriedCookieName(site, settings, kind, id));
      const bytes = text === undefined ? undefined : carriedSealer.open(text, carriedContext(site, settings, kind, id));
      if (!bytes) return undefined;
      const [expiresAt, value] = JSON.parse(bytes.toString()) as [number, Carried[K]];
      return expiresAt > epochSeconds(clock) ? value : undefined;
    },
    setCarried(site, settings, kind, id, value) {
      const text = JSON.stringify([epochSeconds(clock) + SIGN_IN_SECONDS, value]);
      const sealed = carriedSealer.seal(text, carriedContext(site, settings, kind, id));
      return carriedCookie(carriedCookieName(site, settings, kind, id), site, sealed, SIGN_IN_SECONDS);
    },
    clearCarried: (site, settings, kind, id) => carriedCookie(carriedCookieName(site, settings, kind, id), site, "", 0),
    readProvider: (exchange, site, settings) => readCookie(exchange, providerCookieName(site, settings)),
    setProvider: (name, site, settings) =>
      carriedCookie(providerCookieName(site, settings), site, name ?? "", name === undefined ? 0 : PROVIDER_SECONDS),
    clearPile(exchange, site, settings) {
      const pile = [...parseCookies(exchange)].filter(([name]) =>
        isCarriedName(name, sessionCookieName(site, settings)),
      );
      const size = pile.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
      if (size <= MAX_PILE_CHARACTERS) return [];
      return pile.flatMap(([name]) => ["set-cookie", carriedCookie(name, site, "", 0)]);
    },
  };
}

/** What each is sealed for. No part has a space, so none is read as two. */
function sessionContext(site: Site, settings: CookieSettings): string {
  return `session ${sessionCookieName(site, settings)} ${site.hostname}`;
}

function carriedContext(site: Site, settings: CookieSettings, kind: CarriedKind, id: string): string {
  return `${kind} ${sessionCookieName(site, settings)} ${site.hostname} ${id}`;
}

/** How values of our cookies begin, whatever their names: with the current secret and with those before. */
export function cookieSealBeginnings(keys: Keys): readonly string[] {
  return (["session-cookie", "sign-in-nonce"] as const).flatMap((purpose) => keys.derive(purpose).map(sealBeginning));
}

const PROVIDER_ENDING = "_idp";

/** Name of the session cookie on this host. */
export function sessionCookieName(site: Site, settings: CookieSettings): string {
  return site.secure ? `__Host-${settings.name}` : settings.name;
}

/** Name of the cookie in which a browser carries a step of a sign-in. */
export function carriedCookieName(site: Site, settings: CookieSettings, kind: CarriedKind, id: string): string {
  return `${sessionCookieName(site, settings)}_${kind}_${id.slice(0, 8)}`;
}

function providerCookieName(site: Site, settings: CookieSettings): string {
  return sessionCookieName(site, settings) + PROVIDER_ENDING;
}

/** True for every name under which we set cookies: never taken from an upstream, never forwarded to one. */
export function isOwnCookieName(name: string, settings: CookieSettings): boolean {
  const bare = name.startsWith("__Host-") ? name.slice("__Host-".length) : name;
  return bare === settings.name || bare === settings.name + PROVIDER_ENDING || isCarriedName(bare, settings.name);
}

/** Whether a Set-Cookie value of somebody else's sets a cookie under one of our names. */
export function setsOwnCookie(setCookie: string, settings: CookieSettings): boolean {
  return isOwnCookieName(cookieName(setCookie), settings);
}

/** The name under which a browser will send it back: `=a=b` has no name, and comes back as `a=b`. */
function cookieName(setCookie: string): string {
  return (/^[\s=]*([^=;]*)/.exec(setCookie)?.[1] ?? "").trim();
}

function isCarriedName(name: string, sessionName: string): boolean {
  return name.startsWith(`${sessionName}_sign_in_`) || name.startsWith(`${sessionName}_provider_`);
}
