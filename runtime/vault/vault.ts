/**
 * Secrets of a Vault or OpenBao server: read when they are first asked for, and again in the background.
 *
 * Nothing here waits for itself: whoever holds a configuration asks for all of its secrets every few seconds, and what is due
 * is then read. A value stays until another one was read; while it cannot be refreshed that is said with it. An outage of the
 * server is met once and not by each secret: all are late from then on, and what is due fails alike until the next try, whose
 * pauses grow and are spread. What changes together is told together, when nothing is being read.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { VaultSettings } from "../features/process/vault.ts";
import { sha256 } from "../shared/canonical-json.ts";
import { type Closable, type Clock, steadyClock, within } from "../shared/clock.ts";
import { ignore } from "../shared/ignore.ts";
import { createLimiter } from "../shared/limiter.ts";
import { parseVaultReference, type VaultReference } from "../settings/vault-reference.ts";
import { createVaultTokens, type TokenDeps } from "./login.ts";
import { type EntryAnswer, type EntryPlace, type FieldValue, fieldOf, placeOf, readEntry } from "./read-entry.ts";
import { createVaultRequests, TIMEOUT_MS } from "./requests.ts";

export type VaultSecret =
  | {
      readonly value: string;
      /** Why this is the value of before. */
      readonly late?: string;
    }
  | {
      readonly failure: string;
      /** There was a value, which must not be used any more. */
      readonly isOver?: true;
    };

export interface VaultStatus {
  /** What the server was asked last it answered; false with `problem`. */
  readonly reachable: boolean;
  readonly problem?: string;
  /** Entries in use by how they stand: as they are at the server, as they were last, never read. */
  readonly entries: { readonly current: number; readonly late: number; readonly unread: number };
}

/** Told once, when somebody has to wait for the server. */
export type OnWait = (reason: string) => void;

export interface Vault extends Closable {
  /**
   * What is known of each reference; of new ones, what is found out within the bound of a read. Never rejects.
   *
   * @param again what never could be read is tried now, whatever its pause: somebody waits for the answer
   */
  read(refs: readonly string[], again?: boolean): Promise<ReadonlyMap<string, VaultSecret>>;
  /** The same for a process that cannot start without them: tried until the server answers, or `START_MS` are over. */
  readAtStart(refs: readonly string[], onWait?: OnWait): Promise<void>;
  /** Calls back when what was told of a reference is not so any more. @returns unsubscribe */
  onChange(listener: () => void): () => void;
  status(): VaultStatus;
}

export interface VaultDeps extends Pick<TokenDeps, "secretId" | "clock"> {
  readonly clock: Clock;
  /** For one request. Default 5 s. */
  readonly timeoutMs?: number;
  /** Before the server is asked whether it is there, when an entry is not answered. Default: half of that. */
  readonly slowMs?: number;
  /** For all that one `read` waits for. Default 10 s. */
  readonly readMs?: number;
  /** Pause between tries of `readAtStart`, and before what failed is tried `again`. Default 1 s. */
  readonly againMs?: number;
  /** 0 … 1. */
  readonly random?: () => number;
}

const READ_MS = 10_000;
const START_MS = 30_000;
const AGAIN_MS = 1_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const AT_ONCE = 8;
/** What nobody asked for so long is forgotten. */
const FORGET_AFTER_MS = 15 * 60_000;
/** The same of what was never read, as in slices that were refused. */
const FORGET_UNREAD_AFTER_MS = 60_000;

interface Entry {
  readonly place: EntryPlace;
  /** Its fields that somebody asks for; others are not held. */
  readonly asked: Map<string, AskedField>;
  /** Those, as they were read last. */
  found: ReadonlyMap<string, FieldValue> | undefined;
  /** Equal for equal fields; not reversible. */
  foundMark: string;
  foundAtMs: number;
  failure: string | undefined;
  failedOf: "server" | "entry" | undefined;
  failures: number;
  askedAtMs: number;
  triedAtMs: number;
  dueAtMs: number;
  /** What was told last. */
  told: string | undefined;
  running: Promise<void> | undefined;
}

interface AskedField {
  atMs: number;
  /** When it was read with a value, as far as one was given. */
  givenAtMs: number | undefined;
}

const UNREAD = "is not answered yet";

export function openVault(settings: VaultSettings, deps: VaultDeps): Vault {
  const { secretId, readMs = READ_MS, againMs = AGAIN_MS, random = Math.random, ...times } = deps;
  const clock = steadyClock(deps.clock);
  const { timeoutMs = TIMEOUT_MS, slowMs = timeoutMs / 2 } = times;
  const requests = createVaultRequests(settings, { timeoutMs });
  const tokens = createVaultTokens(settings.login, { requests, clock, secretId });
  const limiter = createLimiter(AT_ONCE);
  const entries = new Map<string, Entry>();
  const listeners = new Set<() => void>();
  /** What the server as a whole failed with. */
  let outage: { readonly failure: string; readonly atMs: number; readonly untilMs: number } | undefined;
  let outages = 0;
  let underWay = 0;
  const closing = new AbortController();

  return {
    read,
    async readAtStart(refs, onWait) {
      const begunMs = performance.now();
      const isAwaited = (): boolean => outage !== undefined && performance.now() - begunMs < START_MS;
      await read(refs);
      if (outage) onWait?.(outage.failure);
      while (isAwaited() && !closing.signal.aborted) {
        await delay(againMs, undefined, { signal: closing.signal }).catch(ignore);
        await read(refs, true);
      }
    },
    onChange(listener) {
      const entry = (): void => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    status() {
      const count = { current: 0, late: 0, unread: 0 };
      for (const { found, failure } of entries.values()) {
        if (!found) count.unread += 1;
        else count[(outage?.failure ?? failure) === undefined ? "current" : "late"] += 1;
      }
      const server = outage ? { reachable: false, problem: outage.failure } : { reachable: true };
      return { ...server, entries: count };
    },
    async close() {
      closing.abort();
      listeners.clear();
      await requests.close();
    },
  };

  async function read(refs: readonly string[], again = false): Promise<ReadonlyMap<string, VaultSecret>> {
    const now = clock.now();
    for (const [key, { askedAtMs, running, found }] of entries)
      if (!running && now - askedAtMs > (found ? FORGET_AFTER_MS : FORGET_UNREAD_AFTER_MS)) entries.delete(key);
    const asked = refs.map((ref) => ({ ref, reference: parseVaultReference(ref) }));
    const waited: Promise<void>[] = [];
    const known = asked.map(({ ref, reference }) => {
      const entry = reference && entryAt(reference, now);
      if (entry && isAwaited(entry, reference, again, now)) waited.push(refresh(entry, again));
      else if (entry && now >= entry.dueAtMs) void refresh(entry, false);
      return { ref, reference, entry };
    });
    if (waited.length > 0) await within(readMs, Promise.all(waited), () => []);
    return new Map(
      known.map(({ ref, reference, entry }): [string, VaultSecret] => {
        if (!reference || !entry) return [ref, { failure: "it is no reference to such a server" }];
        entry.told = markOf(entry);
        return [ref, secretOf(entry, reference.field)];
      }),
    );
  }

  function isAwaited(
    { found, failure, triedAtMs, running }: Entry,
    { field }: VaultReference,
    again: boolean,
    now: number,
  ): boolean {
    if (found?.has(field)) return false;
    // What is under way since a look before is told to the one after it.
    if (failure === undefined) return again || !running;
    return again && now - triedAtMs >= againMs;
  }

  function entryAt(reference: VaultReference, now: number): Entry {
    const place = placeOf(reference, settings);
    let entry = entries.get(place.path);
    if (!entry) {
      const times = { askedAtMs: now, triedAtMs: 0, dueAtMs: 0, foundAtMs: 0, failures: 0 };
      const state = { asked: new Map(), found: undefined, foundMark: "", failure: undefined, failedOf: undefined };
      entries.set(place.path, (entry = { place, ...times, ...state, told: undefined, running: undefined }));
    }
    entry.askedAtMs = now;
    entry.asked.set(reference.field, { givenAtMs: entry.asked.get(reference.field)?.givenAtMs, atMs: now });
    return entry;
  }

  function refresh(entry: Entry, again: boolean): Promise<void> {
    if (entry.running) return entry.running;
    underWay += 1;
    entry.running = limiter
      .take(() => attempt(entry, again))
      .finally(() => {
        entry.running = undefined;
        underWay -= 1;
        if (underWay === 0) tellNews();
      });
    return entry.running;
  }

  /** One piece of news for all that were read together. Who asks meanwhile hears what is known by then. */
  function tellNews(): void {
    const others = [...entries.values()].filter((entry) => entry.told !== undefined && entry.told !== markOf(entry));
    if (others.length === 0 || closing.signal.aborted) return;
    for (const entry of others) entry.told = markOf(entry);
    for (const listener of listeners) listener();
  }

  /** Another state, another mark. */
  function markOf({ foundMark, failure }: Entry): string {
    return JSON.stringify([foundMark, outage?.failure ?? failure]);
  }

  async function attempt(entry: Entry, again: boolean): Promise<void> {
    if (closing.signal.aborted) return;
    entry.triedAtMs = clock.now();
    const met = outage;
    const isShut = met !== undefined && clock.now() < (again ? met.atMs + againMs : met.untilMs);
    const answer: EntryAnswer = isShut
      ? { ok: false, of: "server", failure: met.failure }
      : await readEntry({ requests, tokens, slowMs }, entry.place);
    if (closing.signal.aborted) return;
    const now = clock.now();
    if (!isShut) noteServer(answer, met, now);
    if (answer.ok) {
      for (const [field, { atMs }] of entry.asked) if (now - atMs > FORGET_AFTER_MS) entry.asked.delete(field);
      const found = [...entry.asked.keys()].map(
        (field) => [field, fieldOf(answer.fields, field, entry.place)] as const,
      );
      entry.found = new Map(found);
      entry.foundMark = sha256(JSON.stringify(found));
      entry.foundAtMs = now;
      entry.failure = undefined;
      entry.failedOf = undefined;
      entry.failures = 0;
      const lifeMs = answer.leaseMs > 0 ? Math.min(settings.refreshMs, (answer.leaseMs * 2) / 3) : settings.refreshMs;
      entry.dueAtMs = now + lifeMs * (0.9 + 0.2 * random());
    } else {
      entry.failure = answer.failure;
      entry.failedOf = answer.of;
      entry.dueAtMs = Math.max(now + pauseAfter(entry.failures), outage?.untilMs ?? 0);
      entry.failures += 1;
    }
  }

  /** @param met the outage as it was before this try: many at once are one try */
  function noteServer(answer: EntryAnswer, met: typeof outage, now: number): void {
    if (answer.ok || answer.of === "entry") {
      outage = undefined;
      outages = 0;
      // What failed with it need not wait for its own next try.
      for (const each of entries.values()) if (each.failedOf === "server") void refresh(each, false);
    } else if (outage === met) {
      outage = { failure: answer.failure, atMs: now, untilMs: now + pauseAfter(outages) };
      outages += 1;
    }
  }

  function pauseAfter(failures: number): number {
    const full = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 30));
    return full / 2 + (full / 2) * random();
  }

  function secretOf({ asked, found, foundAtMs, failure }: Entry, field: string): VaultSecret {
    const late = outage?.failure ?? failure;
    const read = found?.get(field);
    if (!read) return { failure: late ?? UNREAD };
    const isOver = (sinceMs: number): boolean => clock.now() - sinceMs > settings.keepMs;
    const over = (why: string) => ({ failure: `its last value is too old to be kept: ${why}`, isOver: true }) as const;
    if (late !== undefined && isOver(foundAtMs)) return over(late);
    const known = asked.get(field);
    // The entry is there without it. Whoever was given it before may still have it.
    if (!read.ok) return isOver(known?.givenAtMs ?? Infinity) ? over(read.failure) : { failure: read.failure };
    if (known) known.givenAtMs = foundAtMs;
    return late === undefined ? { value: read.value } : { value: read.value, late };
  }
}
