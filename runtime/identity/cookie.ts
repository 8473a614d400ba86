/**
 * The gateway's cookies: the sealed session handle, and proofs that a browser started the sign-ins that it finishes.
 * Never a token.
 *
 * Promises: host-only and HttpOnly. On https hosts Secure with the `__Host-` prefix, so that a neighbour host cannot
 * set one; without prefix only on plain-http loopback. A cookie opens only on its host, under its name and for its
 * purpose.
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
  /** The record must name the same user, so that write access to the store does not allow impersonation. */
  readonly userId: string;
  readonly expiresAt: number;
}

export interface Cookies {
  /** The raw value of this host's session cookie, unopened. */
  readSession(exchange: Exchange, site: Site, settings: CookieSettings): string | undefined;
  /** @returns undefined if the value is not ours, belongs to another host or cookie name, or has expired */
  openSession(value: string, site: Site, settings: CookieSettings): SessionHandle | undefined;
  /** Set-Cookie for a session. */
  setSession(handle: SessionHandle, site: Site, settings: CookieSettings): string;
  clearSession(site: Site, settings: CookieSettings): string;
  /** Returns true if this browser started this step of a sign-in. */
  isBegun(exchange: Exchange, site: Site, settings: CookieSettings, step: SignInStep, id: string): boolean;
  /**
   * Set-Cookie that proves a step of a sign-in. Each sign-in has its own cookie, since a browser that restores its tabs
   * starts many at once. It is short: the state of a step is sealed in URLs (`sign-in/ticket.ts`).
   */
  setBegun(site: Site, settings: CookieSettings, step: SignInStep, id: string): string;
  clearBegun(site: Site, settings: CookieSettings, step: SignInStep, id: string): string;
  /** Name of the provider of this browser's last sign-in. Unverified, only a convenience. */
  readProvider(exchange: Exchange, site: Site, settings: CookieSettings): string | undefined;
  /** Set-Cookie that remembers a provider's name; undefined deletes it. */
  setProvider(name: string | undefined, site: Site, settings: CookieSettings): string;
  /** Set-Cookie headers that delete the oldest unfinished sign-ins beyond the size that requests should carry. */
  trimPile(exchange: Exchange, site: Site, settings: CookieSettings): readonly string[];
}

/** `sign_in`: on the host of a route. `provider`: on the host of sign-in pages, while the user is at the provider. */
export type SignInStep = "sign_in" | "provider";

/** Lifetime of the remembered provider after the last sign-in. */
const PROVIDER_SECONDS = 90 * 24 * 3600;

/** Maximum duration of a sign-in. */
export const SIGN_IN_SECONDS = 600;
/**
 * Servers, including ours, accept about 16 KiB of headers. This leaves room for the application's cookies, and allows
 * some 40 tabs.
 */
const MAX_PILE_CHARACTERS = 6000;
const PROOF_BYTES = 16;

export function createCookies(deps: { readonly keys: Keys; readonly clock: Clock }): Cookies {
  const { clock } = deps;
  const sessionSealer = deps.keys.sealer("session-cookie");
  const proofKeys = deps.keys.derive("sign-in-nonce");

  const attributes = (site: Site, settings: CookieSettings, maxAgeSeconds: number) => ({
    maxAgeSeconds,
    secure: site.secure,
    // Browsers reject SameSite=None without Secure.
    sameSite: settings.sameSite === "none" && !site.secure ? ("lax" as const) : settings.sameSite,
  });

  /** Same prefix as seals, so that they are recognized under any name (`cookieSealBeginnings`). */
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
      // Lax regardless of the setting: the return from the provider is a cross-site navigation.
      sameSite: "lax",
    });

  return {
    readSession: (exchange, site, settings) => readCookie(exchange, sessionCookieName(site, settings)),
    openSession(value, site, settings) {
      const text = sessionSealer.open(value, sessionContext(site, settings))?.toString();
      // A user id may contain spaces. Cookies of earlier versions name no user, so they require a new sign-in.
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
      // Browsers send the oldest first (RFC 6265 §5.4). In other browsers, another sign-in is lost and starts again.
      for (const [name, value] of pile) {
        if (size <= MAX_PILE_CHARACTERS) break;
        size -= name.length + value.length;
        headers.push("set-cookie", signInCookie(name, site, "", 0));
      }
      return headers;
    },
  };
}

/** Seal contexts. No part contains a space, so the parts are unambiguous. */
function sessionContext(site: Site, settings: CookieSettings): string {
  return `session ${sessionCookieName(site, settings)} ${site.hostname}`;
}

function stepContext(site: Site, settings: CookieSettings, step: SignInStep, id: string): string {
  return `${step} ${sessionCookieName(site, settings)} ${site.hostname} ${id}`;
}

/** Prefixes of our cookies' values under any name, for the current and the previous secrets. */
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

/** Returns true for every name of our cookies. They are never accepted from an upstream or forwarded to one. */
export function isOwnCookieName(name: string, settings: CookieSettings): boolean {
  const bare = name.startsWith("__Host-") ? name.slice("__Host-".length) : name;
  return bare === settings.name || bare === settings.name + PROVIDER_ENDING || isStepName(bare, settings.name);
}

/** Returns true if an upstream's Set-Cookie value uses one of our names. */
export function setsOwnCookie(setCookie: string, settings: CookieSettings): boolean {
  return isOwnCookieName(cookieName(setCookie), settings);
}

/** The name under which a browser sends the cookie back: `=a=b` has no name and comes back as `a=b`. */
function cookieName(setCookie: string): string {
  return (/^[\s=]*([^=;]*)/.exec(setCookie)?.[1] ?? "").trim();
}

function isStepName(name: string, sessionName: string): boolean {
  return name.startsWith(`${sessionName}_sign_in_`) || name.startsWith(`${sessionName}_provider_`);
}
