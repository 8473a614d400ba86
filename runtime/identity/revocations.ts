/**
 * Revocation, as every process learns it: an append-only feed of keys in the store.
 *
 * "session:…", "grant:…" and "service-account:…" stay revoked until nothing made under them can still be valid; so does
 * "device:…", what was known of a device before its approval was withdrawn or it was removed. "user:…"
 * and "client:…" end everything that exists under them now: each session, grant and service account with that tag is
 * revoked by its own key, so that the same user may sign in again, and listeners hear the wider key too; so does "oid:…",
 * of who is known by their provider alone. Codes on their
 * way go with them, and a client's remembered approvals: a user's stay, because a provider that wants its user to sign in
 * again has said nothing about what that user approved.
 *
 * What is known of users may change without an end (`change`): such entries have tags instead of a key.
 *
 * Promise: `revoke` resolves when the store has it: the feed's entry, and the end of the record of that key. What the store
 * did not take holds in this process at once, and is owed to the store until it does; whoever asked is told that it failed.
 */
import { GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { ignore } from "../shared/ignore.ts";
import { followFeed } from "../store/follow-feed.ts";
import { createOwed } from "../store/owed.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { CHANGED, type Revocations } from "./interfaces.ts";

/** Nothing is remembered for so long without being read again (`HARD_MS`, `FRESH_MS`). */
const CHANGE_MS = 120_000;
/** Of one entry of the feed. */
const MAX_TAGS = 500;
export const REVOCATION_FEED = "revocations";
/** For processes that serve no configuration: longer than any token lives, whatever a published slice says of lifetimes. */
export const REMEMBERED_SECONDS = 30 * 24 * 3600;

export interface RevocationFeed extends Revocations {
  /** Reads what others appended; resolves when this process knows all that was in the feed. Throws when the store is down. */
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

export interface RevocationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Seconds for which a credential can live at most, and so for which a revoked key must be known. */
  readonly longestLifetime: () => number;
  /** The store has the end of a session or grant of this user; must not throw. */
  readonly onEnded?: (userId: string) => void;
}

export function createRevocations(deps: RevocationDeps): RevocationFeed {
  const { store, clock, log } = deps;
  /** Key → epoch seconds until which it is held. */
  const revoked = new Map<string, number>();
  /** Tag → when it changed. */
  const changes = new Map<string, { readonly epoch: number; readonly untilMs: number }>();
  const listeners = new Set<(key: string) => void>();

  const learn = (key: string): void => {
    if (!isWide(key)) {
      if (revoked.has(key)) return;
      revoked.set(key, epochSeconds(clock) + deps.longestLifetime());
    }
    revocations.epoch += 1;
    tell(listeners, key, log);
  };

  const learnChanges = (tags: readonly string[]): void => {
    revocations.epoch += 1;
    for (const tag of tags) changes.set(tag, { epoch: revocations.epoch, untilMs: clock.now() + CHANGE_MS });
    for (const tag of tags) tell(listeners, CHANGED + tag, log);
  };

  const forget = (): void => {
    const now = epochSeconds(clock);
    for (const [key, until] of revoked) if (until <= now) revoked.delete(key);
    for (const [tag, { untilMs }] of changes) if (untilMs <= clock.now()) changes.delete(tag);
  };

  const append = (key: string): Promise<number> =>
    store.append(REVOCATION_FEED, { key }, epochSeconds(clock) + deps.longestLifetime());

  const owed = createOwed({
    clock,
    log,
    what: "revocations",
    lifetime: deps.longestLifetime,
    async act(key) {
      // The feed first: should the second step fail, nothing made under the key works any more.
      await append(key);
      // A record that cannot be read ends all the same.
      const owned = deps.onEnded && OF_USER.test(key) ? await store.get<Owned>(key).catch(ignore) : undefined;
      const userId = owned?.value.userId;
      // The record too: the feed forgets after a while, a refresh token must not outlive that.
      if (HAS_RECORD.test(key)) await store.delete(key);
      if (userId !== undefined) deps.onEnded?.(userId);
    },
  });

  const revokeOne = async (key: string): Promise<void> => {
    // Here at once, so that this process refuses even when the store cannot take it.
    learn(key);
    await owed.settle(key);
  };

  const revokeAll = async (key: string): Promise<void> => {
    for (const record of await listAfterCodes(store, key, (session) => revokeOne(session))) {
      if (HAS_RECORD.test(record.key)) await revokeOne(record.key);
      else if (record.key.startsWith("consent:") && key.startsWith("client:")) await store.delete(record.key);
    }
    await append(key);
    await follower.catchUp();
  };

  const follower = followFeed({
    store,
    log,
    feed: REVOCATION_FEED,
    onEntry(entry) {
      const { key, changed } = (entry ?? {}) as { readonly key?: unknown; readonly changed?: unknown };
      if (typeof key === "string") learn(key);
      if (Array.isArray(changed)) learnChanges(changed.filter((tag) => typeof tag === "string"));
    },
    onRead() {
      forget();
      void owed.retry();
    },
  });

  const revocations: RevocationFeed & { epoch: number } = {
    isRevoked(keys) {
      if (revoked.size === 0) return false;
      for (const key of keys) if (revoked.has(key)) return true;
      return false;
    },
    epoch: 0,
    async change(tags) {
      for (let at = 0; at < tags.length; at += MAX_TAGS) {
        const changed = tags.slice(at, at + MAX_TAGS);
        learnChanges(changed);
        await store.append(REVOCATION_FEED, { changed }, epochSeconds(clock) + CHANGE_MS / 1000);
      }
    },
    hasChanged(keys, since) {
      if (changes.size === 0) return false;
      return keys.some((key) => (changes.get(key)?.epoch ?? -1) > since);
    },
    endHere: learn,
    isOwed: (key) => owed.has(key),
    async revoke(key) {
      if (!/^(session|grant|service-account|device|client|user|oid):./.test(key)) {
        throw new GatewayError(
          "revocation.key",
          `Cannot revoke ${JSON.stringify(key)}: must be a session, grant, service account, device, client, user or oid`,
        );
      }
      await (isWide(key) ? revokeAll(key) : revokeOne(key));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    catchUp: () => follower.catchUp(),
    async close() {
      await follower.close();
      await owed.close();
    },
  };
  return revocations;
}

function tell(listeners: Iterable<(key: string) => void>, key: string, log: Log): void {
  for (const listener of listeners) {
    try {
      listener(key);
    } catch (error) {
      log.error({ err: error }, "revocation listener failed");
    }
  }
}

/**
 * What there is under a tag, once its sessions and codes have ended: a session gives codes, and a code becomes a grant.
 * Whoever makes one of these stores it and then looks whether what it came from is still there, so that one of the two
 * sees the other.
 */
export async function listAfterCodes(
  store: Pick<Store, "list" | "delete">,
  tag: string,
  endSession?: (key: string) => Promise<void>,
): Promise<readonly StoredRecord<unknown>[]> {
  if (endSession) for (const { key } of await store.list(tag)) if (key.startsWith("session:")) await endSession(key);
  for (const { key } of await store.list(tag)) if (key.startsWith("code:")) await store.delete(key);
  return store.list(tag);
}

/** Keys of what has a record under the same key. */
const HAS_RECORD = /^(session|grant|service-account):/;

/** Those whose record names its user. */
const OF_USER = /^(session|grant):/;

interface Owned {
  readonly userId: string;
}

/** Keys that stand for many sessions and grants. */
function isWide(key: string): boolean {
  return /^(user|client|oid):/.test(key);
}
