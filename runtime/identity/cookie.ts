/**
 * Our cookies: the session handle, sealed, and the proofs that a browser began the sign-ins that it finishes. Never a token.
 *
 * Promises: host-only, HttpOnly, `__Host-` and Secure wherever the host is https (so no neighbour host can plant one);
 * without prefix only on plain-http loopback; a cookie opens only on the host name, under the name and for the purpose that it
 * was made for.
 */
import { createHmac } from "node:crypto";

import type { CookieSettings } from "../features/sign-in/compiled.ts";
import { parseCookies, readCookie, serializeCookie } from "../http/cookies.ts";
import type { Exchange } from "../http/exchange.ts";
import { type Keys, sameSecret, sealBeginning } from "../shared/keys.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Site } from "./sites.ts";

export interface SessionHandle {
  readonly sessionId: string;
  /** The record must say the same: whoever writes the store must not become another user. */
  readonly userId: string;
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
  /** Whether this browser began this step of a sign-in. */
  isBegun(exchange: Exchange, site: Site, settings: CookieSettings, step: SignInStep, id: string): boolean;
  /**
   * Set-Cookie that proves a step of a sign-in. Each has its own cookie, since a browser that restores its tabs begins
   * many at the same time. It is short: what a step needs to know is sealed in addresses (`sign-in/ticket.ts`).
   */
  setBegun(site: Site, settings: CookieSettings, step: SignInStep, id: string): string;
  clearBegun(site: Site, settings: CookieSettings, step: SignInStep, id: string): string;
  /** The name of the provider that this browser signed in at last, as it says: a convenience, worth nothing else. */
  readProvider(exchange: Exchange, site: Site, settings: CookieSettings): string | undefined;
  /** Set-Cookie that remembers a provider's name; undefined forgets it. */
  setProvider(name: string | undefined, site: Site, settings: CookieSettings): string;
  /** Set-Cookie headers that drop the oldest of the sign-ins never finished, as far as they are more than requests should carry. */
  trimPile(exchange: Exchange, site: Site, settings: CookieSettings): readonly string[];
}

/** `sign_in`: on the host of a route. `provider`: on the host of sign-in pages, while the user is at the provider. */
export type SignInStep = "sign_in" | "provider";

/** So long a browser that does not come back keeps its choice. */
const PROVIDER_SECONDS = 90 * 24 * 3600;

/** A sign-in must be finished within this. */
export const SIGN_IN_SECONDS = 600;
/** Servers, ours among them, take some 16 KiB of headers; this leaves the application's own cookies their place. Some 40 tabs. */
const MAX_PILE_CHARACTERS = 6000;
const PROOF_BYTES = 16;

export function createCookies(deps: { readonly keys: Keys; readonly clock: Clock }): Cookies {
  const { clock } = deps;
  const sessionSealer = deps.keys.sealer("session-cookie");
  const proofKeys = deps.keys.derive("sign-in-nonce");

  const attributes = (site: Site, settings: CookieSettings, maxAgeSeconds: number) => ({
    maxAgeSeconds,
    secure: site.secure,
    // Browsers refuse SameSite=None without Secure.
    sameSite: settings.sameSite === "none" && !site.secure ? ("lax" as const) : settings.sameSite,
  });

  /** They start as seals do, so that they are recognized under any name (`cookieSealBeginnings`). */
  const proofs = (site: Site, settings: CookieSettings, step: SignInStep, id: string): readonly Buffer[] =>
    proofKeys.map((key) => {
      const mac = createHmac("sha256", key)
        .update(stepContext(site, settings, step, id))
        .digest();
      return Buffer.from(sealBeginning(key) + mac.toString("base64url", 0, PROOF_BYTES));
    });

  const signInCookie = (name: string, site: Site, value: string, maxAgeSeconds: number): string =>
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
      // A user's id may have spaces. Cookies of earlier versions name no user: they sign in again.
      const [, sessionId, end, userId] = /^(\S+) (\d+) ([^]+)$/.exec(text ?? "") ?? [];
      const expiresAt = Number(end);
      if (sessionId === undefined || userId === undefined || !(expiresAt > epochSeconds(clock))) return undefined;
      return { sessionId, userId, expiresAt };
    },
    setSession(handle, site, settings) {
      const value = sessionSealer.seal(
        `${handle.sessionId} ${handle.expiresAt} ${handle.userId}`,
        sessionContext(site, settings),
      );
      const maxAge = handle.expiresAt - epochSeconds(clock);
      return serializeCookie(sessionCookieName(site, settings), value, attributes(site, settings, maxAge));
    },
    clearSession: (site, settings) =>
      serializeCookie(sessionCookieName(site, settings), "", attributes(site, settings, 0)),
    isBegun(exchange, site, settings, step, id) {
      const shown = readCookie(exchange, stepCookieName(site, settings, step, id)) ?? "";
      return proofs(site, settings, step, id).some((proof) => sameSecret(shown, proof));
    },
    setBegun(site, settings, step, id) {
      const proof = proofs(site, settings, step, id)[0]?.toString() ?? "";
      return signInCookie(stepCookieName(site, settings, step, id), site, proof, SIGN_IN_SECONDS);
    },
    clearBegun: (site, settings, step, id) => signInCookie(stepCookieName(site, settings, step, id), site, "", 0),
    readProvider: (exchange, site, settings) => readCookie(exchange, providerCookieName(site, settings)),
    setProvider: (name, site, settings) =>
      signInCookie(providerCookieName(site, settings), site, name ?? "", name === undefined ? 0 : PROVIDER_SECONDS),
    trimPile(exchange, site, settings) {
      const pile = [...parseCookies(exchange)].filter(([name]) => isStepName(name, sessionCookieName(site, settings)));
      let size = pile.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
      const headers: string[] = [];
      // Browsers send the oldest first (RFC 6265 §5.4); one that does not loses others, which begin again.
      for (const [name, value] of pile) {
        if (size <= MAX_PILE_CHARACTERS) break;
        size -= name.length + value.length;
        headers.push("set-cookie", signInCookie(name, site, "", 0));
      }
      return headers;
    },
  };
}

/** What each is made for. No part has a space, so none is read as two. */
function sessionContext(site: Site, settings: CookieSettings): string {
  return `session ${sessionCookieName(site, settings)} ${site.hostname}`;
}

function stepContext(site: Site, settings: CookieSettings, step: SignInStep, id: string): string {
  return `${step} ${sessionCookieName(site, settings)} ${site.hostname} ${id}`;
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

/** Name of the cookie that proves a step of a sign-in. */
export function stepCookieName(site: Site, settings: CookieSettings, step: SignInStep, id: string): string {
  return `${sessionCookieName(site, settings)}_${step}_${id.slice(0, 8)}`;
}

function providerCookieName(site: Site, settings: CookieSettings): string {
  return sessionCookieName(site, settings) + PROVIDER_ENDING;
}

/** True for every name under which we set cookies: never taken from an upstream, never forwarded to one. */
export function isOwnCookieName(name: string, settings: CookieSettings): boolean {
  const bare = name.startsWith("__Host-") ? name.slice("__Host-".length) : name;
  return bare === settings.name || bare === settings.name + PROVIDER_ENDING || isStepName(bare, settings.name);
}

/** Whether a Set-Cookie value of somebody else's sets a cookie under one of our names. */
export function setsOwnCookie(setCookie: string, settings: CookieSettings): boolean {
  return isOwnCookieName(cookieName(setCookie), settings);
}

/** The name under which a browser will send it back: `=a=b` has no name, and comes back as `a=b`. */
function cookieName(setCookie: string): string {
  return (/^[\s=]*([^=;]*)/.exec(setCookie)?.[1] ?? "").trim();
}

function isStepName(name: string, sessionName: string): boolean {
  return name.startsWith(`${sessionName}_sign_in_`) || name.startsWith(`${sessionName}_provider_`);
}
