/**
 * Secrets of a Vault or OpenBao server: read on first request, and again in the background.
 *
 * There is no timer here: the holder of a configuration requests all of its secrets every few seconds, and due ones are
 * then read. A value stays until another one was read; while it cannot be refreshed, it is marked as late. An outage of
 * the server is detected once, not by each secret. From then on all are late, and due reads fail alike until the next
 * attempt, at growing and spread intervals. Changes are reported together, when no read is running.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { VaultSettings } from "../features/process/vault.ts";
import { pauseAfter, type Pauses } from "../shared/backoff.ts";
import { sha256 } from "../shared/canonical-json.ts";
import { type Closable, type Clock, steadyClock, within } from "../shared/clock.ts";
import { ignore } from "../shared/ignore.ts";
import { createLimiter } from "../shared/limiter.ts";
import { parseVaultReference, type VaultReference } from "../settings/vault-reference.ts";
import { createVaultTokens, type VaultTokenDeps } from "./login.ts";
import {
  type EntryAnswer,
  type EntryDeps,
  type EntryPlace,
  type FieldValue,
  fieldOf,
  placeOf,
  readEntry,
} from "./read-entry.ts";
import { createVaultRequests, TIMEOUT_MS, type VaultRequests } from "./requests.ts";

export type VaultSecret =
  | {
      readonly value: string;
      /** Why this is an earlier value. */
      readonly late?: string;
    }
  | {
      readonly failure: string;
      /** There was a value, which must no longer be used. */
      readonly isOver?: true;
    };

export interface VaultStatus {
  /** Whether the server answered the last request; false with `problem`. */
  readonly reachable: boolean;
  readonly problem?: string;
  /** Number of entries in use: current, late (last known value), and never read. */
  readonly entries: { readonly current: number; readonly late: number; readonly unread: number };
}

/** Called once, when the caller must wait for the server. */
export type OnWait = (reason: string) => void;

export interface VaultDeps extends Pick<VaultTokenDeps, "secretId" | "clock"> {
  readonly clock: Clock;
  /** Per request. Default: 5 s. */
  readonly timeoutMs?: number;
  /** Time until a test request to the server, when an entry gets no response. Default: half of `timeoutMs`. */
  readonly slowMs?: number;
  /** Total wait of one `read`. Default: 10 s. */
  readonly readMs?: number;
  /** Pause between attempts of `readAtStart`, and before a failed read is tried `again`. Default: 1 s. */
  readonly againMs?: number;
  /** 0 … 1. */
  readonly random?: () => number;
}

const READ_MS = 10_000;
const START_MS = 30_000;
const AGAIN_MS = 1_000;
const PAUSES: Pauses = { firstMs: 1_000, mostMs: 60_000 };
const AT_ONCE = 8;
/** Entries without a request for this long are dropped. */
const FORGET_AFTER_MS = 15 * 60_000;
/** The same for entries that were never read, as in rejected slices. */
const FORGET_UNREAD_AFTER_MS = 60_000;

interface Entry {
  readonly place: EntryPlace;
  /** Requested fields; others are not stored. */
  readonly asked: Map<string, AskedField>;
  /** Their values at the last read. */
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
  /** State that was last reported. */
  reported: string | undefined;
  running: Promise<void> | undefined;
}

interface AskedField {
  atMs: number;
  /** When it was read with a value, if the value was ever handed out. */
  givenAtMs: number | undefined;
}

type Outage = { readonly failure: string; readonly atMs: number; readonly untilMs: number };

const UNREAD = "is not answered yet";

export class Vault implements Closable {
  readonly #settings: VaultSettings;
  readonly #clock: Clock;
  readonly #options: Required<Pick<VaultDeps, "readMs" | "againMs" | "random">>;
  readonly #reading: EntryDeps & { readonly requests: VaultRequests };
  readonly #limiter = createLimiter(AT_ONCE);
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  /** Failure of the server as a whole. */
  #outage: Outage | undefined;
  #outages = 0;
  #underWay = 0;
  readonly #closing = new AbortController();

  constructor(settings: VaultSettings, deps: VaultDeps) {
    const { secretId, timeoutMs = TIMEOUT_MS, slowMs = timeoutMs / 2 } = deps;
    this.#settings = settings;
    this.#clock = steadyClock(deps.clock);
    this.#options = { readMs: READ_MS, againMs: AGAIN_MS, random: Math.random, ...deps };
    const requests = createVaultRequests(settings, { timeoutMs });
    const tokens = createVaultTokens(settings.login, { requests, clock: this.#clock, secretId });
    this.#reading = { requests, tokens, slowMs };
  }

  /**
   * Known state of each reference; new ones are read within the time limit. Never rejects.
   *
   * @param again retries entries that were never read, whatever their pause: the caller waits for the result
   */
  async read(refs: readonly string[], again = false): Promise<ReadonlyMap<string, VaultSecret>> {
    const now = this.#clock.now();
    for (const [key, { askedAtMs, running, found }] of this.#entries)
      if (!running && now - askedAtMs > (found ? FORGET_AFTER_MS : FORGET_UNREAD_AFTER_MS)) this.#entries.delete(key);
    const asked = refs.map((ref) => ({ ref, reference: parseVaultReference(ref) }));
    const waited: Promise<void>[] = [];
    const known = asked.map(({ ref, reference }) => {
      const entry = reference && this.#entryAt(reference, now);
      if (entry && this.#isAwaited(entry, reference.field, again, now)) waited.push(this.#refresh(entry, again));
      else if (entry && now >= entry.dueAtMs) void this.#refresh(entry, false);
      return { ref, reference, entry };
    });
    if (waited.length > 0) await within(this.#options.readMs, Promise.all(waited), () => []);
    return new Map(
      known.map(({ ref, reference, entry }): [string, VaultSecret] => {
        if (!reference || !entry) return [ref, { failure: "it is not a reference to a Vault or OpenBao server" }];
        entry.reported = this.#markOf(entry);
        return [ref, this.#secretOf(entry, reference.field)];
      }),
    );
  }

  /** The same for a process that cannot start without them: retries until the server responds, for `START_MS`. */
  async readAtStart(refs: readonly string[], onWait?: OnWait): Promise<void> {
    const begunMs = performance.now();
    const mayRetry = (): boolean => this.#outage !== undefined && performance.now() - begunMs < START_MS;
    await this.read(refs);
    if (this.#outage) onWait?.(this.#outage.failure);
    while (mayRetry() && !this.#closing.signal.aborted) {
      await delay(this.#options.againMs, undefined, { signal: this.#closing.signal }).catch(ignore);
      await this.read(refs, true);
    }
  }

  /** Calls back when a reported state has changed. @returns unsubscribe */
  onChange(listener: () => void): () => void {
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  status(): VaultStatus {
    const count = { current: 0, late: 0, unread: 0 };
    for (const { found, failure } of this.#entries.values()) {
      if (!found) count.unread += 1;
      else count[(this.#outage?.failure ?? failure) === undefined ? "current" : "late"] += 1;
    }
    const server = this.#outage ? { reachable: false, problem: this.#outage.failure } : { reachable: true };
    return { ...server, entries: count };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#listeners.clear();
    await this.#reading.requests.close();
  }

  #entryAt(reference: VaultReference, now: number): Entry {
    const place = placeOf(reference, this.#settings);
    let entry = this.#entries.get(place.path);
    if (!entry) {
      const times = { askedAtMs: now, triedAtMs: 0, dueAtMs: 0, foundAtMs: 0, failures: 0 };
      const state = { asked: new Map(), found: undefined, foundMark: "", failure: undefined, failedOf: undefined };
      this.#entries.set(place.path, (entry = { place, ...times, ...state, reported: undefined, running: undefined }));
    }
    entry.askedAtMs = now;
    entry.asked.set(reference.field, { givenAtMs: entry.asked.get(reference.field)?.givenAtMs, atMs: now });
    return entry;
  }

  #refresh(entry: Entry, again: boolean): Promise<void> {
    if (entry.running) return entry.running;
    this.#underWay += 1;
    entry.running = this.#limiter
      .take(() => this.#attempt(entry, again))
      .finally(() => {
        entry.running = undefined;
        this.#underWay -= 1;
        if (this.#underWay === 0) this.#tellNews();
      });
    return entry.running;
  }

  /** One notification for all reads that ended together. Callers in between get the state known by then. */
  #tellNews(): void {
    const reported = [...this.#entries.values()].filter((entry) => entry.reported !== undefined);
    const others = reported.filter((entry) => entry.reported !== this.#markOf(entry));
    if (others.length === 0 || this.#closing.signal.aborted) return;
    for (const entry of others) entry.reported = this.#markOf(entry);
    for (const listener of this.#listeners) listener();
  }

  /** A mark that changes with the state. */
  #markOf({ foundMark, failure }: Entry): string {
    return JSON.stringify([foundMark, this.#outage?.failure ?? failure]);
  }

  async #attempt(entry: Entry, again: boolean): Promise<void> {
    if (this.#closing.signal.aborted) return;
    entry.triedAtMs = this.#clock.now();
    const met = this.#outage;
    const isShut = met !== undefined && this.#clock.now() < (again ? met.atMs + this.#options.againMs : met.untilMs);
    const answer: EntryAnswer = isShut
      ? { ok: false, of: "server", failure: met.failure }
      : await readEntry(this.#reading, entry.place);
    if (this.#closing.signal.aborted) return;
    const now = this.#clock.now();
    if (!isShut) this.#noteServer(answer, met, now);
    if (answer.ok) {
      for (const [field, { atMs }] of entry.asked) if (now - atMs > FORGET_AFTER_MS) entry.asked.delete(field);
      const { place, asked } = entry;
      const found = [...asked.keys()].map((field) => [field, fieldOf(answer.fields, field, place)] as const);
      entry.found = new Map(found);
      entry.foundMark = sha256(JSON.stringify(found));
      entry.foundAtMs = now;
      entry.failure = entry.failedOf = undefined;
      entry.failures = 0;
      const lifeMs = Math.min(this.#settings.refreshMs, answer.leaseMs > 0 ? (answer.leaseMs * 2) / 3 : Infinity);
      entry.dueAtMs = now + lifeMs * (0.9 + 0.2 * this.#options.random());
    } else {
      entry.failure = answer.failure;
      entry.failedOf = answer.of;
      entry.dueAtMs = Math.max(now + this.#pauseAfter(entry.failures), this.#outage?.untilMs ?? 0);
      entry.failures += 1;
    }
  }

  /** @param met the outage before this attempt: concurrent ones count as one */
  #noteServer(answer: EntryAnswer, met: Outage | undefined, now: number): void {
    if (answer.ok || answer.of === "entry") {
      this.#outage = undefined;
      this.#outages = 0;
      // Reads that failed with the server need not wait for their own next attempt.
      for (const each of this.#entries.values()) if (each.failedOf === "server") void this.#refresh(each, false);
    } else if (this.#outage === met) {
      this.#outage = { failure: answer.failure, atMs: now, untilMs: now + this.#pauseAfter(this.#outages) };
      this.#outages += 1;
    }
  }

  #pauseAfter(failures: number): number {
    return pauseAfter(failures, PAUSES, this.#options.random());
  }

  #secretOf({ asked, found, foundAtMs, failure }: Entry, field: string): VaultSecret {
    const late = this.#outage?.failure ?? failure;
    const wanted = found?.get(field);
    if (!wanted) return { failure: late ?? UNREAD };
    const isOver = (sinceMs: number): boolean => this.#clock.now() - sinceMs > this.#settings.keepMs;
    const over = (why: string) => ({ failure: `its last value is too old to be kept: ${why}`, isOver: true }) as const;
    if (late !== undefined && isOver(foundAtMs)) return over(late);
    const known = asked.get(field);
    // The entry exists without the field. A caller that got its value earlier may still use it.
    if (!wanted.ok) return isOver(known?.givenAtMs ?? Infinity) ? over(wanted.failure) : { failure: wanted.failure };
    if (known) known.givenAtMs = foundAtMs;
    return late === undefined ? { value: wanted.value } : { value: wanted.value, late };
  }

  #isAwaited({ found, failure, triedAtMs, running }: Entry, field: string, again: boolean, now: number): boolean {
    if (found?.has(field)) return false;
    // A read in progress since an earlier call is reported to the call after it.
    if (failure === undefined) return again || !running;
    return again && now - triedAtMs >= this.#options.againMs;
  }
}
