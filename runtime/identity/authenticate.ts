/**
 * Credentials of a request → principal.
 *
 * Untrusted input: tokens and cookies. Promises: what is known is answered synchronously from a bounded cache; a
 * revocation is seen at the next request after this process learnt it; records are read again at least every
 * `HARD_MS`, so that changed claims and disabled users reach decisions within that; while the store is away, who was
 * verified goes on for `WITHOUT_STORE_MS`, and everybody else is `unavailable`. No failure ever yields a principal.
 */
import type { Snapshots } from "../config/snapshot.ts";
import { errorText } from "../shared/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Log } from "../shared/log.ts";
import { steadyClock, type Clock } from "../shared/clock.ts";
import { WITHOUT_STORE_MS } from "../store/watch/store-health.ts";
import type { Store } from "../store/store.ts";
import { applicationOpens } from "./application-reach.ts";
import { BoundedCache, type Visited } from "../shared/cache.ts";
import { createConfirmation, refusal, type Claimed, type Confirm } from "./confirm-credential.ts";
import { sessionCookieName, type Cookies } from "./cookie.ts";
import { isStillVouchedFor, needsVoucher } from "./users/asserted.ts";
import { isOutdated } from "./users/device-facts.ts";
import { audienceAllows, isApplicationAudience, type ExternalTokens, type TokenAudience } from "./external-token.ts";
import type { IdentityService } from "./identities.ts";
import type { AuthFailureReason, AuthResult, Principal } from "./principal.ts";
import type { SessionRecords } from "./identity-records.ts";
import type { Authenticator, ProviderTokens, Revocations } from "./interfaces.ts";
import { findSite } from "./sites.ts";

/** From here on a request starts a reading of the records in the background and is answered with what is known. */
const SOFT_MS = 10_000;
/** From here on a request waits for the reading. */
export const HARD_MS = 20_000;
const CACHE_ENTRIES = 50_000;

export interface AuthenticatorDeps {
  readonly store: Store;
  readonly records: SessionRecords;
  readonly snapshots: Snapshots;
  readonly identities: Pick<IdentityService, "load" | "providerTokens">;
  readonly externalTokens: ExternalTokens;
  readonly cookies: Cookies;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly log: Log;
}

type Accepted = Extract<AuthResult, { ok: true }>;

interface Entry extends Visited {
  result: Accepted;
  /** Of External Tokens. */
  readonly audience: string;
  /** When the records last confirmed it. */
  verifiedAtMs: number;
  /** When they were last asked, whatever came of it. */
  readAtMs: number;
  /** Revocation epoch at which it was last checked. */
  epoch: number;
}

/** Answers with what is known of a credential, and reads its records. */
class Readings {
  readonly #deps: AuthenticatorDeps;
  /** For ages; credentials end by the other one. */
  readonly #steady: Clock;
  readonly #confirm: Confirm;
  /** Those under way, by credential. */
  readonly pending = new Map<string, Promise<AuthResult>>();

  constructor(deps: AuthenticatorDeps, steady: Clock) {
    this.#deps = deps;
    this.#steady = steady;
    this.#confirm = createConfirmation(deps);
  }

  /** The warm path: an answer without a promise, or undefined when the records must be read. */
  fromCache(
    cache: BoundedCache<Entry>,
    key: string,
    entry: Entry,
    claimed: () => Claimed | undefined,
  ): AuthResult | undefined {
    const { clock, revocations } = this.#deps;
    const now = clock.now();
    const { principal } = entry.result;
    if (now >= principal.expiresAt * 1000) {
      cache.delete(key);
      return refusal("expired");
    }
    if (entry.epoch !== revocations.epoch) {
      if (revocations.isRevoked(principal.revocationKeys)) {
        cache.delete(key);
        return refusal("revoked");
      }
      // The session goes on, without what is known of its devices: read again, and waited for.
      if (isOutdated(principal.devices, revocations)) return undefined;
      // So do what the directory said of its user, and their groups.
      if (revocations.hasChanged(principal.revocationKeys, entry.epoch)) return undefined;
      entry.epoch = revocations.epoch;
    }
    if (!this.#isTrusted(principal)) {
      cache.delete(key);
      return refusal("revoked");
    }
    // Below zero where the clock was set back.
    const age = now - entry.readAtMs;
    if (age >= 0 && age < SOFT_MS) return entry.result;
    if (age < 0 || age >= HARD_MS) return undefined;
    if (!this.pending.has(key)) {
      const again = claimed();
      if (again) void this.read(cache, key, again, entry);
    }
    return entry.result;
  }

  /** Reads the records, one reading per credential at a time, and remembers the answer. */
  read(cache: BoundedCache<Entry>, key: string, claimed: Claimed, known: Entry | undefined): Promise<AuthResult> {
    const { clock, log, revocations } = this.#deps;
    const running = this.pending.get(key);
    if (running) return running;
    const { epoch } = revocations;
    // Cleared in both ways on: a `finally` would be two more promises for each token.
    const reading = this.#confirm(claimed, known?.result.principal).then(
      (result) => {
        this.pending.delete(key);
        if (!result.ok) cache.delete(key);
        else {
          const news = { result, verifiedAtMs: this.#steady.now(), readAtMs: clock.now(), epoch };
          if (known) Object.assign(known, news);
          else cache.set(key, { ...news, audience: claimed.audience, visited: false });
        }
        return result;
      },
      (error: unknown): AuthResult => {
        this.pending.delete(key);
        if (known) {
          // The next request does not wait for the store again; it asks in the background.
          known.readAtMs = clock.now() - SOFT_MS;
          if (this.#goesOn(known)) return known.result;
          cache.delete(key);
        }
        log.warn({ reason: errorText(error) }, "cannot verify credential");
        return refusal("unavailable");
      },
    );
    this.pending.set(key, reading);
    return reading;
  }

  /** Whether somebody verified earlier may go on though the records cannot be read. */
  #goesOn(entry: Entry): boolean {
    const { clock, revocations } = this.#deps;
    const { principal } = entry.result;
    const now = clock.now();
    return (
      this.#steady.now() - entry.verifiedAtMs < WITHOUT_STORE_MS &&
      now < principal.expiresAt * 1000 &&
      !revocations.isRevoked(principal.revocationKeys) &&
      this.#isTrusted(principal) &&
      !isOutdated(principal.devices, revocations) &&
      !revocations.hasChanged(principal.revocationKeys, entry.epoch)
    );
  }

  /** Asked of every request: the configuration may have changed since. */
  #isTrusted(principal: Principal): boolean {
    return !needsVoucher(principal) || isStillVouchedFor(this.#deps.snapshots.current().settings, principal);
  }
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const steady = steadyClock(deps.clock);
  const tokens = new BoundedCache<Entry>(CACHE_ENTRIES);
  const cookies = new BoundedCache<Entry>(CACHE_ENTRIES);
  const readings = new Readings(deps, steady);
  const providerTokens = new WeakMap<Principal, { readonly tokens: ProviderTokens; readonly readAtMs: number }>();

  // The feed does not hold wide keys; what they end is read again.
  deps.revocations.subscribe((key) => {
    if (!key.startsWith("user:") && !key.startsWith("client:")) return;
    const isMeant = (entry: Entry): boolean => entry.result.principal.revocationKeys.includes(key);
    tokens.deleteWhere(isMeant);
    cookies.deleteWhere(isMeant);
  });

  const isMeantFor = (audience: string, routeKey: string | undefined, presentedAt: TokenAudience): boolean =>
    audienceAllows(audience, presentedAt) &&
    (!isApplicationAudience(audience) || applicationOpens(deps.snapshots.current(), routeKey, presentedAt));

  const openToken = (token: string): Claimed | AuthFailureReason => {
    const opened = deps.externalTokens.open(token);
    return opened.ok ? opened.claims : opened.reason;
  };

  const openCookie = (
    exchange: Exchange,
  ): { readonly value: string; readonly claimed: () => Claimed | undefined } | undefined => {
    const snapshot = deps.snapshots.current();
    const { cookie } = snapshot.settings;
    const site = findSite(snapshot, exchange.host);
    const value = site && deps.cookies.readSession(exchange, site, cookie);
    if (site === undefined || value === undefined || value === "") return undefined;
    return {
      // Cookies are bound to their host and name: the same value elsewhere is another credential.
      value: `${sessionCookieName(site, cookie)} ${site.hostname} ${value}`,
      claimed: () => {
        const handle = deps.cookies.openSession(value, site, cookie);
        return handle && { kind: "session", ...handle, audience: "" };
      },
    };
  };

  return {
    bearer(token, audience, opened) {
      const entry = tokens.get(token);
      if (entry) {
        const { routeKey } = entry.result.principal;
        if (!isMeantFor(entry.audience, routeKey, audience)) return refusal("wrong-audience");
        const result = readings.fromCache(tokens, token, entry, () => {
          const claimed = openToken(token);
          return typeof claimed === "string" ? undefined : claimed;
        });
        if (result) return result;
      }
      const claimed = opened ?? openToken(token);
      if (typeof claimed === "string") return refusal(claimed);
      if (!isMeantFor(claimed.audience, claimed.routeKey, audience)) return refusal("wrong-audience");
      return readings.read(tokens, token, claimed, entry);
    },
    cookie(exchange) {
      const cookie = openCookie(exchange);
      if (!cookie) return refusal("missing");
      const entry = cookies.get(cookie.value);
      if (entry) {
        const result = readings.fromCache(cookies, cookie.value, entry, cookie.claimed);
        if (result) return result;
      }
      const claimed = cookie.claimed();
      return claimed ? readings.read(cookies, cookie.value, claimed, entry) : refusal("malformed");
    },
    async cookieAgain(exchange) {
      const cookie = openCookie(exchange);
      const claimed = cookie?.claimed();
      if (!cookie || !claimed) return refusal(cookie ? "malformed" : "missing");
      // One that began before may not have seen what changed.
      await readings.pending.get(cookie.value);
      return readings.read(cookies, cookie.value, claimed, cookies.get(cookie.value));
    },
    async providerTokens(principal) {
      const known = providerTokens.get(principal);
      const now = steady.now();
      if (known && now - known.readAtMs < SOFT_MS) return known.tokens;
      const read = await deps.identities.providerTokens(principal.user.id);
      providerTokens.set(principal, { tokens: read, readAtMs: now });
      return read;
    },
  };
}
