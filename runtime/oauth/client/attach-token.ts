/**
 * Attaches the Internal Token to a request: synchronous and without the store while a valid token is cached (D24).
 *
 * Promises: cached tokens are dropped when their user connects or disconnects, on any replica. They are read again in
 * the background every `SOFT_MS`, and before the request after `HARD_MS`. Tokens are renewed in the background before
 * they expire. While the store is unavailable, cached tokens are used until they expire.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshots } from "../../config/snapshot.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { steadyClock, type Clock } from "../../shared/clock.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { WITHOUT_STORE_MS } from "../../store/watch/store-health.ts";
import type { ConnectionChanges } from "./changes.ts";
import { canConnect, findTarget, type UpstreamTarget } from "./target.ts";
import type { Held, Refused } from "./tokens/token-records.ts";
import type { UpstreamTokenStore } from "./tokens/token-store.ts";

/** Result for a request to an MCP server route. */
export type Attachment =
  /** No token is sent to the upstream. */
  | { readonly kind: "nothing" }
  | { readonly kind: "token"; readonly accessToken: string; readonly authorization: string }
  /** The user must connect first, and the request must not be sent. */
  | { readonly kind: "connect" }
  /** The token has expired and cannot be renewed now. */
  | { readonly kind: "unavailable" }
  /** There is no token, and connecting would not help: see `Refused`. */
  | { readonly kind: Refused };

export interface TokenAttacher {
  attach(userId: string, route: CompiledRoute): Attachment | Promise<Attachment>;
  /** Drops the cached result after a change of this user's connection. */
  forget(userId: string, target: UpstreamTarget): void;
}

/** Source of tokens, with or without user connection. */
export type TokenSource = Pick<UpstreamTokenStore, "hold" | "replace">;

export interface AttachDeps {
  readonly tokenStore: TokenSource;
  readonly snapshots: Snapshots;
  readonly changes: Pick<ConnectionChanges, "subscribe" | "epoch">;
  readonly clock: Clock;
  readonly log: Log;
}

const SOFT_MS = 10_000;
const HARD_MS = 20_000;
/** Minimum interval between look-ups for a user without a token, whose connection may have changed on another replica. */
const CONNECT_MS = 1_000;
/** Tokens are renewed this long before they expire, or after half of their lifetime if that is later. */
const RENEW_AHEAD_MS = 60_000;
const CACHE_ENTRIES = 20_000;

interface Entry extends Visited {
  attachment: Attachment;
  verifiedAtMs: number;
  readAtMs: number;
  /** Epoch milliseconds. */
  endsAtMs: number;
  renewAtMs: number;
}

const NOTHING: Attachment = { kind: "nothing" };
const CONNECT: Attachment = { kind: "connect" };
const UNAVAILABLE: Attachment = { kind: "unavailable" };
const NONE: Held = { kind: "none" };

export function createTokenAttacher(deps: AttachDeps): TokenAttacher {
  const { changes, clock, log } = deps;
  const steady = steadyClock(clock);
  /** By route and user, so that no key is built per request. A new configuration has new routes and starts empty. */
  const caches = new WeakMap<CompiledRoute, BoundedCache<Entry>>();
  const pending = new WeakMap<Entry, Promise<Attachment>>();
  const firsts = new WeakMap<CompiledRoute, Map<string, Promise<Attachment>>>();

  const cacheOf = (route: CompiledRoute): BoundedCache<Entry> => {
    let cache = caches.get(route);
    if (!cache) caches.set(route, (cache = new BoundedCache(CACHE_ENTRIES)));
    return cache;
  };

  const remember = (target: UpstreamTarget, userId: string, known: Entry | undefined, loaded: Loaded): void => {
    const cache = cacheOf(target.route);
    // A connection changed during the reading: use the result for this request only.
    if (loaded.attachment.kind === "unavailable" || loaded.epoch !== changes.epoch) {
      cache.delete(userId);
      return;
    }
    const now = clock.now();
    const isAsked = loaded.attachment.kind === "connect" || loaded.held.kind === "refused";
    const endsAtMs = isAsked ? now + CONNECT_MS : endOf(loaded.held);
    const update = {
      attachment: loaded.attachment,
      verifiedAtMs: steady.now(),
      readAtMs: now,
      endsAtMs,
      renewAtMs: renewalOf(loaded.held),
    };
    if (known) Object.assign(known, update);
    cache.set(userId, known ?? { ...update, visited: false });
  };

  /** In the background: no request waits for it, and a failure keeps the cached result. */
  const readAgain = (
    target: UpstreamTarget,
    userId: string,
    entry: Entry,
    renew: string | undefined,
  ): Promise<Attachment> => {
    const running = pending.get(entry);
    if (running) return running;
    const reading = load(deps, userId, target, renew)
      .then(
        (loaded) => {
          // An early renewal failed, but the cached token is still valid.
          if (loaded.attachment.kind === "unavailable" && clock.now() < entry.endsAtMs) {
            entry.readAtMs = clock.now() - SOFT_MS / 2;
            return entry.attachment;
          }
          remember(target, userId, entry, loaded);
          return loaded.attachment;
        },
        (error: unknown): Attachment => {
          entry.readAtMs = clock.now() - SOFT_MS;
          log.warn({ route: target.route.key, reason: errorText(error) }, "cannot read upstream account");
          const isUsable = clock.now() < entry.endsAtMs && steady.now() - entry.verifiedAtMs < WITHOUT_STORE_MS;
          return isUsable ? entry.attachment : UNAVAILABLE;
        },
      )
      .finally(() => pending.delete(entry));
    pending.set(entry, reading);
    return reading;
  };

  const readFirst = (target: UpstreamTarget, userId: string): Promise<Attachment> => {
    let running = firsts.get(target.route);
    if (!running) firsts.set(target.route, (running = new Map()));
    const known = running.get(userId);
    if (known) return known;
    const reading = load(deps, userId, target, undefined)
      .then(
        (loaded) => {
          remember(target, userId, undefined, loaded);
          return loaded.attachment;
        },
        (error: unknown): Attachment => {
          log.warn({ route: target.route.key, reason: errorText(error) }, "cannot read upstream account");
          // A token may not be necessary: the upstream responds accordingly.
          return target.mode === "discovery" ? NOTHING : UNAVAILABLE;
        },
      )
      .finally(() => running.delete(userId));
    running.set(userId, reading);
    return reading;
  };

  changes.subscribe(({ userId, routeKey }) => {
    const route = findRoute(deps.snapshots.current(), routeKey);
    if (route) caches.get(route)?.delete(userId);
  });

  return {
    attach(userId, route) {
      const entry = caches.get(route)?.get(userId);
      const now = clock.now();
      if (entry && now < entry.endsAtMs) {
        const age = now - entry.readAtMs;
        // Negative if the clock was set back.
        if (age >= 0 && age < SOFT_MS && now < entry.renewAtMs) return entry.attachment;
        const target = findTarget(route);
        if (!target) return NOTHING;
        // Wait only for the store: a slow server must not delay a request with a valid token.
        if (age < 0 || age >= HARD_MS) return readAgain(target, userId, entry, undefined);
        const { attachment } = entry;
        const renew = now >= entry.renewAtMs && attachment.kind === "token" ? attachment.accessToken : undefined;
        void readAgain(target, userId, entry, renew);
        return attachment;
      }
      const target = findTarget(route);
      if (!target) return NOTHING;
      return readFirst(target, userId);
    },
    forget(userId, target) {
      caches.get(target.route)?.delete(userId);
    },
  };
}

/** @param renew access token to replace */
async function load(
  { changes, snapshots, tokenStore }: AttachDeps,
  userId: string,
  target: UpstreamTarget,
  renew: string | undefined,
): Promise<Loaded> {
  const { epoch } = changes;
  if (!target.direct && !canConnect(target, snapshots.current().settings))
    return { attachment: withoutToken(target), held: NONE, epoch };
  const held =
    renew === undefined
      ? await tokenStore.hold(userId, target)
      : await tokenStore.replace(userId, target, renew, false);
  if (held.kind === "unavailable") return { attachment: UNAVAILABLE, held, epoch };
  if (held.kind === "refused") return { attachment: { kind: held.why }, held, epoch };
  if (held.kind === "none") return { attachment: withoutToken(target), held, epoch };
  const { accessToken } = held;
  return { attachment: { kind: "token", accessToken, authorization: `Bearer ${accessToken}` }, held, epoch };
}

/** Static clients need a token. Other requests are sent without: metadata may require a token for a part of the server only. */
function withoutToken(target: UpstreamTarget): Attachment {
  return target.mode === "discovery" ? NOTHING : CONNECT;
}

/** Epoch milliseconds; infinite without an expiry. */
function endOf(held: Held): number {
  return held.kind === "token" && held.expiresAt !== undefined ? held.expiresAt * 1000 : Number.POSITIVE_INFINITY;
}

/** Time of renewal in epoch milliseconds. */
function renewalOf(held: Held): number {
  if (held.kind !== "token" || !held.canRefresh || held.expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const lifeMs = Math.max(0, held.expiresAt - held.obtainedAt) * 1000;
  return held.expiresAt * 1000 - Math.min(RENEW_AHEAD_MS, lifeMs / 2);
}

interface Loaded {
  readonly attachment: Attachment;
  readonly held: Held;
  /** Epoch of the connection changes at the start of reading. */
  readonly epoch: number;
}
