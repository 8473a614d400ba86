/**
 * Whether this process can use the store, and since when not: known from the results of all operations, and from a
 * query of its own after a failure or when a caller needs to know.
 */
import { epochSeconds, steadyClock, within, type Clock } from "../../shared/clock.ts";
import type { Store } from "../store.ts";
import { task } from "../../shared/faults/guard.ts";

/**
 * How long verified state stays valid without the store: principals, Internal Tokens, and the readiness of a process
 * that serves them.
 */
export const WITHOUT_STORE_MS = 5 * 60_000;

/** "read-only": it responds but accepts no writes, as with a full disk. */
export type StoreState = "ok" | "down" | "read-only";

export interface StoreFacts {
  readonly store: StoreState;
  /** How long it has not been "ok"; absent while it is, and if this process never could use it. */
  readonly failingMs?: number;
  /** Whether something that was verified with it is still valid. */
  readonly serves: boolean;
}

export interface StoreHealth {
  /**
   * Queries the store, at most once a second however often it is called. Resolves within 50 ms, with the state known by
   * then: probes wait a second for us, and a store that hangs must not eject every replica. Never rejects.
   */
  look(): Promise<StoreFacts>;
  /** Last known state, without a query. */
  known(): StoreFacts;
}

/** Receives the results of operations. */
export interface HealthSigns {
  /** @param wrote something was changed: an operation without changes also succeeds on a full disk */
  answered(wrote: boolean): void;
  failed(isWrite: boolean): void;
  close(): void;
}

/** Read and written as a test; not a user's record, see SCHEMA.md. */
const KEY = "status:health";
const RECORD_ENDS_AFTER_SECONDS = 60;
const ASK_AGAIN_AFTER_MS = 1_000;
/** A slower store counts as down. */
const ANSWER_WITHIN_MS = 2_000;
/** Longest wait of callers. */
const LOOK_WITHIN_MS = 50;
const LOOK_EVERY_MS = 2_000;

export function createStoreHealth(
  store: Pick<Store, "get" | "put">,
  { clock }: { readonly clock: Clock },
): StoreHealth & HealthSigns {
  const steady = steadyClock(clock);
  let state: StoreState = "down";
  /** Last time it was "ok". */
  let goodAtMs: number | undefined;
  /** A write failed, and none has succeeded since. */
  let suspectsWrites = false;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  return {
    async look() {
      await within(LOOK_WITHIN_MS, ask(), () => {});
      return known();
    },
    known,
    answered(wrote) {
      if (wrote) suspectsWrites = false;
      if (!suspectsWrites) become("ok");
      else if (state === "ok") goodAtMs = steady.now();
      else if (state === "down") void ask();
    },
    failed(isWrite) {
      suspectsWrites ||= isWrite;
      // The failed store may itself be at fault, so a healthy one is queried.
      if (state === "ok") void ask();
      lookLater();
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };

  function known(): StoreFacts {
    if (state === "ok") return { store: state, serves: true };
    if (goodAtMs === undefined) return { store: state, serves: false };
    const failingMs = steady.now() - goodAtMs;
    return { store: state, failingMs, serves: failingMs < WITHOUT_STORE_MS };
  }

  function ask(): Promise<void> {
    if (!closed && performance.now() - askedAtMs >= ASK_AGAIN_AFTER_MS) {
      askedAtMs = performance.now();
      asking = probe();
    }
    return asking;
  }

  async function probe(): Promise<void> {
    const writes = suspectsWrites;
    const [reads, wrote] = await Promise.all([isDone(store.get(KEY)), writes && isDone(write())]);
    if (wrote) suspectsWrites = false;
    if (!reads && !wrote) become("down");
    else if (writes && !wrote && suspectsWrites) become("read-only");
    else if (!suspectsWrites) become("ok");
  }

  function write(): Promise<unknown> {
    return store.put(KEY, null, { expiresAt: epochSeconds(clock) + RECORD_ENDS_AFTER_SECONDS });
  }

  function become(next: StoreState): void {
    state = next;
    if (next === "ok") goodAtMs = steady.now();
    lookLater();
  }

  /** Checks again later: no other caller may query while there is a problem. */
  function lookLater(): void {
    if (closed || timer || (state === "ok" && !suspectsWrites)) return;
    timer = setTimeout(
      task("check of the store", () => {
        timer = undefined;
        void ask().then(lookLater);
      }),
      LOOK_EVERY_MS,
    );
    timer.unref();
  }
}

function isDone(asked: Promise<unknown>): Promise<boolean> {
  const answered = asked.then(
    () => true,
    () => false,
  );
  return within(ANSWER_WITHIN_MS, answered, () => false);
}
