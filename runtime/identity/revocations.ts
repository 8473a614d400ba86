/**
 * Revocations, known to every process through an append-only feed of keys in the store.
 *
 * "session:…", "grant:…", "run:…" and "service-account:…" stay revoked until every credential issued under them has expired.
 * "device:…" revokes facts about a device from before a removal or a withdrawn approval. "user:…" and "client:…" revoke
 * everything that exists under them at that time, each session, grant and service account by its own key. So the same
 * user may sign in again. Listeners also get the wider key. "oid:…" does the same for users known only to their
 * provider.
 *
 * Codes in transit are revoked as well, and a client's remembered consents. A user's consents stay: a provider that
 * requires a new sign-in says nothing about what the user approved.
 *
 * Facts about users may change without a revocation (`change`). Such entries have tags instead of a key.
 *
 * Promise: `revoke` resolves once the store has the feed's entry and the record of the key is deleted. If the store
 * fails, the revocation is effective in this process immediately, is retried until stored, and the caller gets an
 * error.
 */
import { GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { ignore } from "../shared/ignore.ts";
import { followFeed } from "../store/follow-feed.ts";
import { createRetriedWrites } from "../store/retried-writes.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { CHANGED, type Revocations } from "./interfaces.ts";

/** All caches are refreshed within this time (`HARD_MS`, `FRESH_MS`). */
const CHANGE_MS = 120_000;
/** Within the promised 2 s, whatever happens to a hint. */
const ALWAYS = (): boolean => true;
/** Per entry of the feed. */
const MAX_TAGS = 500;
export const REVOCATION_FEED = "revocations";
/** For processes without a configuration: longer than any token lives, whatever lifetimes a published slice sets. */
export const REMEMBERED_SECONDS = 30 * 24 * 3600;

export interface RevocationFeed extends Revocations {
  /** Reads entries of other processes. Resolves once this process knows the whole feed. @throws if the store is unavailable */
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

export interface RevocationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Maximum lifetime of a credential in seconds: revoked keys are remembered this long. */
  readonly longestLifetime: () => number;
  /** Called once a session or grant of this user is deleted from the store; must not throw. */
  readonly onEnded?: (userId: string) => void;
}

interface FeedEntry {
  readonly key?: unknown;
  readonly changed?: unknown;
}

export function createRevocations(deps: RevocationDeps): RevocationFeed {
  const { store, clock, log } = deps;
  /** Key → epoch seconds until which it is remembered. */
  const revoked = new Map<string, number>();
  /** Tag → its last change. */
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

  const writes = createRetriedWrites({
    clock,
    log,
    what: "revocations",
    lifetime: deps.longestLifetime,
    async act(key) {
      // The feed first: if the deletion fails, nothing issued under the key works any longer.
      await append(key);
      // If the record cannot be read, it is revoked anyway.
      const owned = deps.onEnded && OF_USER.test(key) ? await store.get<Owned>(key).catch(ignore) : undefined;
      const userId = owned?.value.userId;
      // Delete the record as well: feed entries expire, and a refresh token must not outlive them.
      if (HAS_RECORD.test(key)) await store.delete(key);
      if (userId !== undefined) deps.onEnded?.(userId);
    },
  });
  // Effective here immediately, even if the store fails.
  const revokeOne = async (key: string): Promise<void> => {
    learn(key);
    await writes.settle(key);
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
      const { key, changed } = (entry ?? {}) as FeedEntry;
      if (typeof key === "string") learn(key);
      if (Array.isArray(changed)) learnChanges(changed.filter((tag) => typeof tag === "string"));
    },
    onRead() {
      forget();
      void writes.retry();
    },
    wantsRead: ALWAYS,
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
    isPending: (key) => writes.has(key),
    async revoke(key) {
      if (!/^(session|grant|run|service-account|device|client|user|oid):./.test(key)) {
        throw new GatewayError(
          "revocation.key",
          `Cannot revoke ${JSON.stringify(key)}: must be a session, grant, run, service account, device, client, user or oid`,
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
      await writes.close();
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
 * Lists a tag's records after its sessions and codes are deleted: a session creates codes, and a code becomes a grant.
 * Each step stores its result and then checks that its origin still exists, so one of two concurrent requests sees the
 * other.
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

/** Keys with a record of the same name. */
const HAS_RECORD = /^(session|grant|run|service-account):/;

/** Keys whose record names its user. */
const OF_USER = /^(session|grant|run):/;

interface Owned {
  /** Absent: a run that is not approved. */
  readonly userId?: string;
}

/** Keys that cover many sessions and grants. */
function isWide(key: string): boolean {
  return /^(user|client|oid):/.test(key);
}
