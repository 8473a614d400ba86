/**
 * Refreshes of Internal Tokens: one per connection at a time, across all replicas.
 *
 * Promises: new tokens are stored before they are used. An unreachable server never invalidates a token. A rejection
 * ends the connection once. If the response of a rotating server was lost with its process, the old refresh token is
 * tried once more, and a rejection ends the connection.
 */
import { errorText, GatewayError } from "../../../shared/errors.ts";
import type { SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import type { Log } from "../../../shared/log.ts";
import { epochSeconds, type Clock, type TokenRefresh } from "../../../shared/clock.ts";
import { createCooldowns } from "../../../shared/backoff.ts";
import type { Store } from "../../../store/store.ts";
import type { ClientChooser } from "../connect/client-choice.ts";
import { upstreamTokenKey, type UpstreamTokenRecord } from "../connection-records.ts";
import type { UpstreamTarget } from "../target.ts";
import { exchangeRefreshToken, type EndpointContext, type TokenResult } from "../connect/token-endpoint.ts";
import { createLeasedRefreshes } from "../../../shared/leased-refresh.ts";
import { createFairLimiter, type FairLimiter } from "../../../shared/limiter.ts";
import {
  MISCONFIGURED,
  NONE,
  UNAVAILABLE,
  type Held,
  type SealedTokens,
  type StoredUpstreamTokens,
  type UpstreamTokenRecords,
} from "./token-records.ts";

export interface RefreshDeps {
  readonly store: Store;
  readonly records: UpstreamTokenRecords;
  readonly clients: ClientChooser;
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** Context of a request about this connection, with the current secret; undefined while the server is unknown. */
  readonly asking: (
    target: UpstreamTarget,
    record: UpstreamTokenRecord,
    tokens: SealedTokens,
  ) => Promise<EndpointContext | undefined>;
  /** Called after each request to a server. */
  readonly onRefresh?: ((refresh: TokenRefresh) => void) | undefined;
}

export interface Refresher {
  /** See `UpstreamTokenStore.replace`. */
  readonly replace: (userId: string, target: UpstreamTarget, accessToken: string, isRefused: boolean) => Promise<Held>;
  /** Call after a new flow stored tokens: clears the pause, so that the server is asked as soon as they expire. */
  reset(key: string): void;
  close(): Promise<void>;
}

const LEASE_POLL_MS = 50;
const MAX_POLL_MS = 500;
/** Concurrent refreshes of one route: a thousand connections that expire in one second must not time each other out. */
export const AT_ONCE = 32;
/** Maximum wait for another lease holder. */
export const WAIT_MS = 15_000;
/** Pause between attempts while the server is unavailable. */
export const RETRY_MS = 2_000;
const MAX_CONFLICTS = 5;

export function createRefresher(deps: RefreshDeps): Refresher {
  const { store, clock, log } = deps;
  const { read, seal, open, held, isExpired, end } = deps.records;
  const refreshes = createLeasedRefreshes<Held>();
  /** Connections whose unreachable server is not asked again yet. */
  const cooldowns = createCooldowns(clock);
  /** Those of them whose server rejects the gateway's client. */
  const misconfigured = createCooldowns(clock);
  const withoutToken = (key: string): Held => (misconfigured.has(key) ? MISCONFIGURED : UNAVAILABLE);
  /** New tokens that could not be stored: lost if the process ends, but not before. */
  const unsaved = new Map<string, { readonly stored: StoredUpstreamTokens; readonly next: UpstreamTokenRecord }>();
  const turns = createRefreshTurns();

  /** Requires the lease. */
  const askServer = async (
    key: string,
    target: UpstreamTarget,
    stored: StoredUpstreamTokens,
    tokens: SealedTokens,
  ): Promise<Held> => {
    const record = stored.value;
    const { result, server } = await ask(deps, target, record, tokens);
    if (result.ok) {
      const { accessToken, refreshToken, expiresAt, scopes } = result.tokens;
      // "The authorization server MAY issue a new refresh token": without one, the old one stays valid (RFC 6749 §6).
      const refresh = refreshToken ?? tokens.refresh;
      // Bound to the server of this request: records of earlier versions had no binding.
      const { expiresAt: _old, ...rest } = { ...record, server };
      const next: UpstreamTokenRecord = {
        ...rest,
        tokens: seal(key, { access: accessToken, ...(refresh === undefined ? {} : { refresh }) }, rest),
        canRefresh: refresh !== undefined,
        ...(expiresAt === undefined ? {} : { expiresAt }),
        scopes: scopes ?? record.scopes,
        obtainedAt: epochSeconds(clock),
      };
      // Before use: the old token may be invalid from now on. If the store is unavailable, this is retried.
      unsaved.set(key, { stored, next });
      const saved = await saveRefreshed(deps.records, key, stored, next);
      unsaved.delete(key);
      cooldowns.end(key);
      return saved;
    }
    const isOurs =
      result.failure === "answered-error" || (result.failure === "client-refused" && record.client.kind === "route");
    if (result.failure === "unavailable" || isOurs) {
      // The operator must correct a wrong secret. It must not end the users' connections.
      const fields = { route: record.routeKey, reason: result.detail };
      if (isOurs) log.error({ ...fields }, "cannot refresh upstream token, route settings rejected");
      else log.warn({ ...fields }, "cannot refresh upstream token, server unavailable");
      cooldowns.begin(key, RETRY_MS);
      if (isOurs) misconfigured.begin(key, RETRY_MS);
      else misconfigured.end(key);
      return isExpired(record) ? withoutToken(key) : held(key, record);
    }
    if (result.failure === "client-refused") await deps.clients.forget(record.client);
    log.info({ route: record.routeKey, user: record.userId, reason: result.detail }, "upstream account disconnected");
    await end(key, stored, "refused");
    return NONE;
  };

  const replaceShared = async (
    key: string,
    target: UpstreamTarget,
    accessToken: string,
    isRefused: boolean,
  ): Promise<Held> => {
    const settled = (stored: StoredUpstreamTokens | undefined): Held | undefined => {
      if (!stored || stored.value.ended !== undefined) return NONE;
      const tokens = open(key, stored.value);
      if (!tokens) return NONE;
      // Another replica was faster, and its result is as new as ours would be.
      return tokens.access !== accessToken && !isExpired(stored.value) ? held(key, stored.value) : undefined;
    };
    const work = async (): Promise<Held> => {
      const stored = await read(key);
      const done = settled(stored);
      if (done || !stored) return done ?? NONE;
      const waiting = unsaved.get(key);
      if (waiting && waiting.stored.value.tokens === stored.value.tokens) {
        const saved = await saveRefreshed(deps.records, key, stored, waiting.next);
        unsaved.delete(key);
        return saved;
      }
      unsaved.delete(key);
      const tokens = open(key, stored.value);
      if (tokens?.refresh === undefined) {
        if (!isRefused && !isExpired(stored.value)) return held(key, stored.value);
        await end(key, stored, isRefused ? "refused" : "expired");
        return NONE;
      }
      if (cooldowns.has(key)) return isExpired(stored.value) || isRefused ? withoutToken(key) : held(key, stored.value);
      return askServer(key, target, stored, tokens);
    };
    const result = await refreshes.underLease({
      lease: (ttlMs) => store.lease(`refresh-${key}`, ttlMs),
      waits: pollsUntil(performance.now() + WAIT_MS),
      look: async () => settled(await read(key)),
      work,
    });
    return result ?? UNAVAILABLE;
  };

  const replace: Refresher["replace"] = (userId, target, accessToken, isRefused) => {
    const key = upstreamTokenKey(userId, target);
    return refreshes.once(key, () =>
      turns
        .take(target, () => replaceShared(key, target, accessToken, isRefused))
        .catch((error: unknown): Held => {
          log.warn(
            { route: target.route.key, reason: errorText(error) },
            "cannot refresh upstream token, server unavailable",
          );
          return UNAVAILABLE;
        }),
    );
  };

  return { replace, reset: (key) => cooldowns.end(key), close: refreshes.close };
}

async function ask(
  deps: RefreshDeps,
  target: UpstreamTarget,
  record: UpstreamTokenRecord,
  tokens: SealedTokens,
): Promise<{ readonly result: TokenResult; readonly server: UpstreamTokenRecord["server"] }> {
  const startedMs = performance.now();
  const asks = await deps.asking(target, record, tokens);
  const result: TokenResult = asks
    ? await exchangeRefreshToken(deps, asks, tokens.refresh ?? "")
    : { ok: false, failure: "unavailable", detail: "its server cannot be found again" };
  deps.onRefresh?.({
    of: "upstream",
    route: record.routeKey,
    // A wrong secret of ours does not count as a rejection of the user's connection.
    result: result.ok ? "ok" : result.failure === "refused" ? "refused" : "unavailable",
    tookMs: performance.now() - startedMs,
  });
  return { result, server: asks?.server ?? record.server };
}

/** Keeps the tokens of a concurrent flow: they are newer. */
async function saveRefreshed(
  { read, put, held }: UpstreamTokenRecords,
  key: string,
  stored: StoredUpstreamTokens,
  next: UpstreamTokenRecord,
): Promise<Held> {
  let version = stored.version;
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    if ((await put(key, next, version)).ok) return held(key, next);
    const current = await read(key);
    // Disconnected meanwhile: discard the new tokens.
    if (!current) return NONE;
    if (current.value.tokens !== stored.value.tokens) return held(key, current.value);
    // Only the scope fields have changed.
    next = { ...next, wantedScopes: current.value.wantedScopes, stepUps: current.value.stepUps };
    version = current.version;
  }
  throw new GatewayError("vault.conflict", "Cannot store a refreshed upstream token: the record keeps changing");
}

/** A hanging server must not delay users of another route or of another owner. */
export function createRefreshTurns(): { take<T>(target: UpstreamTarget, work: () => Promise<T>): Promise<T> } {
  const owners = new Map<string, FairLimiter>();
  return {
    take({ route }, work) {
      let limiter = owners.get(route.owner);
      if (!limiter) owners.set(route.owner, (limiter = createFairLimiter(2 * AT_ONCE)));
      return limiter.take(route.key, work);
    },
  };
}

export function* pollsUntil(giveUpAtMs: number): Iterable<number> {
  for (let pollMs = LEASE_POLL_MS; performance.now() < giveUpAtMs; pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)) {
    yield pollMs;
  }
}
