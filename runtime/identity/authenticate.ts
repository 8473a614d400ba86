/**
 * Credentials of a request → principal.
 *
 * Untrusted input: tokens and cookies. Promises:
 * - Known credentials are answered synchronously from a bounded cache.
 * - A revocation applies to the next request after this process learns of it.
 * - Records are read again at least every `HARD_MS`, so changed claims and disabled users affect decisions within that
 *   time.
 * - While the store is unavailable, verified credentials stay valid for `WITHOUT_STORE_MS`. All others are
 *   `unavailable`.
 * - No failure ever yields a principal.
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
import { isStillTrusted, needsTrustCheck } from "./users/asserted.ts";
import { isOutdated } from "./users/device-facts.ts";
import { audienceAllows, isApplicationAudience, type ExternalTokens, type TokenAudience } from "./external-token.ts";
import type { IdentityService } from "./identities.ts";
import type { AuthFailureReason, AuthResult, Principal } from "./principal.ts";
import type { SessionRecords } from "./identity-records.ts";
import type { Authenticator, ProviderTokens, Revocations } from "./interfaces.ts";
import { findSite } from "./sites.ts";
import type { CredentialUse } from "./users/credential-use.ts";

/** Older entries are answered from the cache and read again in the background. */
const SOFT_MS = 10_000;
/** Older entries are read again before the response. */
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
  readonly use?: CredentialUse;
  readonly clock: Clock;
  readonly log: Log;
}

type Accepted = Extract<AuthResult, { ok: true }>;

interface Entry extends Visited {
  result: Accepted;
  /** Audience of External Tokens. */
  readonly audience: string;
  /** Time of the last confirmation by the records. */
  verifiedAtMs: number;
  /** Time of the last reading, whether it succeeded or not. */
  readAtMs: number;
  /** Revocation epoch of the last check. */
  epoch: number;
}

/** Cached results per credential, and readings of their records. */
class Readings {
  readonly #deps: AuthenticatorDeps;
  /** For ages of entries. Credentials expire by the wall clock. */
  readonly #steady: Clock;
  readonly #confirm: Confirm;
  /** Readings in progress, by credential. */
  readonly pending = new Map<string, Promise<AuthResult>>();

  constructor(deps: AuthenticatorDeps, steady: Clock) {
    this.#deps = deps;
    this.#steady = steady;
    this.#confirm = createConfirmation(deps);
  }

  /** The warm path: a result without a promise, or undefined if the records must be read. */
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
      // The session stays valid, but its devices must be read again before the response.
      if (isOutdated(principal.devices, revocations)) return undefined;
      // Likewise after a change of the user in their directory, such as other groups.
      if (revocations.hasChanged(principal.revocationKeys, entry.epoch)) return undefined;
      entry.epoch = revocations.epoch;
    }
    if (!this.#isTrusted(principal)) {
      cache.delete(key);
      return refusal("revoked");
    }
    // Negative if the clock was set back.
    const age = now - entry.readAtMs;
    if (age >= 0 && age < SOFT_MS) return entry.result;
    if (age < 0 || age >= HARD_MS) return undefined;
    if (!this.pending.has(key)) {
      const again = claimed();
      if (again) void this.read(cache, key, again, entry);
    }
    return entry.result;
  }

  /** Reads the records, with at most one reading per credential at a time, and caches the result. */
  read(cache: BoundedCache<Entry>, key: string, claimed: Claimed, known: Entry | undefined): Promise<AuthResult> {
    const { clock, log, revocations } = this.#deps;
    const running = this.pending.get(key);
    if (running) return running;
    const { epoch } = revocations;
    // Deleted in both callbacks: a `finally` would create two more promises per token.
    const reading = this.#confirm(claimed, known?.result.principal).then(
      (result) => {
        this.pending.delete(key);
        if (!result.ok) cache.delete(key);
        else {
          const fresh = { result, verifiedAtMs: this.#steady.now(), readAtMs: clock.now(), epoch };
          if (known) Object.assign(known, fresh);
          else cache.set(key, { ...fresh, audience: claimed.audience, visited: false });
        }
        return result;
      },
      (error: unknown): AuthResult => {
        this.pending.delete(key);
        if (known) {
          // The next request does not wait for the store. It reads in the background.
          known.readAtMs = clock.now() - SOFT_MS;
          if (this.#staysValid(known)) return known.result;
          cache.delete(key);
        }
        log.warn({ reason: errorText(error) }, "cannot verify credential");
        return refusal("unavailable");
      },
    );
    this.pending.set(key, reading);
    return reading;
  }

  /** Returns true if an earlier result stays valid although the records cannot be read. */
  #staysValid(entry: Entry): boolean {
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

  /** Checked at every request, since the configuration may have changed. */
  #isTrusted(principal: Principal): boolean {
    return !needsTrustCheck(principal) || isStillTrusted(this.#deps.snapshots.current().settings, principal);
  }
}

/** A token that is bound to a key is valid only where the key's proof is checked. */
function lacksProof({ keyThumbprint }: Pick<Principal, "keyThumbprint">, { checksProof }: TokenAudience): boolean {
  return keyThumbprint !== undefined && checksProof !== true;
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const steady = steadyClock(deps.clock);
  const tokens = new BoundedCache<Entry>(CACHE_ENTRIES);
  const cookies = new BoundedCache<Entry>(CACHE_ENTRIES);
  const readings = new Readings(deps, steady);
  const providerTokens = new WeakMap<Principal, { readonly tokens: ProviderTokens; readonly readAtMs: number }>();

  // User and client keys are not remembered as revoked: drop their credentials from the caches, to be read again.
  deps.revocations.subscribe((key) => {
    if (!key.startsWith("user:") && !key.startsWith("client:")) return;
    const hasKey = (entry: Entry): boolean => entry.result.principal.revocationKeys.includes(key);
    tokens.deleteWhere(hasKey);
    cookies.deleteWhere(hasKey);
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
    // No credential counts on the plain listener.
    const site = exchange.routedHost === undefined ? findSite(snapshot, exchange.host) : undefined;
    const value = site && deps.cookies.readSession(exchange, site, cookie);
    if (site === undefined || value === undefined || value === "") return undefined;
    return {
      // Cookies are bound to host and name: elsewhere, the same value is another credential.
      value: `${sessionCookieName(site, cookie)} ${site.hostname} ${value}`,
      claimed: () => {
        const handle = deps.cookies.openSession(value, site, cookie);
        if (!handle) return undefined;
        const usedBy = { ip: exchange.remoteAddress, userAgent: exchange.header("user-agent") };
        return { kind: "session", ...handle, audience: "", usedBy };
      },
    };
  };

  return {
    bearer(token, audience, opened) {
      const entry = tokens.get(token);
      if (entry) {
        const { routeKey } = entry.result.principal;
        if (!isMeantFor(entry.audience, routeKey, audience)) return refusal("wrong-audience");
        if (lacksProof(entry.result.principal, audience)) return refusal("proof-missing");
        const result = readings.fromCache(tokens, token, entry, () => {
          const claimed = openToken(token);
          return typeof claimed === "string" ? undefined : claimed;
        });
        if (result) return result;
      }
      const claimed = opened ?? openToken(token);
      if (typeof claimed === "string") return refusal(claimed);
      if (!isMeantFor(claimed.audience, claimed.routeKey, audience)) return refusal("wrong-audience");
      if (lacksProof(claimed, audience)) return refusal("proof-missing");
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
      // A reading that started earlier may have missed the change.
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
