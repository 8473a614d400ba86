/**
 * Resolves names for all connections to upstreams and to other addresses that owners or clients chose.
 *
 * Untrusted input: the names, and how slowly their servers respond. Promises: the names of one party leave look-ups for
 * those of others, and its slow names leave some for its other names.
 *
 * The system's resolver occupies a thread for each name while it waits, and libuv gives it at most half of its threads.
 * Names above a party's share wait here: in the queue of libuv they would delay all others.
 */
import { ADDRCONFIG, lookup, type LookupAddress } from "node:dns";
import { isMainThread } from "node:worker_threads";

/** @param addresses none with an error */
export type AddressesFound = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;
export type ResolveName = (name: string, found: AddressesFound) => void;

interface Waiting {
  readonly listeners: AddressesFound[];
  /** Arrival of the latest listener. */
  since: number;
}

interface Party {
  running: number;
  /** By name, oldest first. */
  readonly usual: Map<string, Waiting>;
  readonly slow: Map<string, Waiting>;
}

/** A lost packet costs the resolver five seconds. */
const SLOW_MS = 1_000;
/** Longest wait of a connection for a look-up. */
const MAX_WAIT_MS = 10_000;
/** Further names count as usual ones, within the share of their party. */
const MAX_SLOW_NAMES = 10_000;

export class NameLookups {
  readonly #atATime: number;
  readonly #resolve: ResolveName;
  readonly #now: () => number;
  readonly #running = new Map<string, AddressesFound[]>();
  /** Parties with look-ups. The first has its turn next. */
  readonly #parties = new Map<string, Party>();
  /** Names that were slow last time. */
  readonly #slowNames = new Set<string>();
  #slowRunning = 0;

  constructor(atATime: number, resolve: ResolveName = bySystem, now: () => number = () => performance.now()) {
    this.#atATime = atATime;
    this.#resolve = resolve;
    this.#now = now;
  }

  /** @param partyName the party that chose the name */
  find(partyName: string, name: string, found: AddressesFound): void {
    const running = this.#running.get(name);
    if (running) return void running.push(found);
    const party = this.#parties.get(partyName) ?? { running: 0, usual: new Map(), slow: new Map() };
    this.#parties.set(partyName, party);
    const queue = this.#slowNames.has(name) ? party.slow : party.usual;
    const waiting = queue.get(name) ?? { listeners: [], since: 0 };
    waiting.listeners.push(found);
    waiting.since = this.#now();
    queue.set(name, waiting);
    this.#startAll();
  }

  #startAll(): void {
    for (const [partyName, party] of this.#parties) {
      if (!this.#startNext(partyName, party, false) && !this.#startNext(partyName, party, true)) continue;
      // Added again after the others, so that this loop revisits it.
      this.#parties.delete(partyName);
      if (party.running + party.usual.size + party.slow.size > 0) this.#parties.set(partyName, party);
    }
  }

  /** @returns whether the first waiting look-up is done with waiting */
  #startNext(partyName: string, party: Party, isSlow: boolean): boolean {
    const queue = isSlow ? party.slow : party.usual;
    const [next] = queue;
    if (next === undefined) return false;
    const [name, { listeners, since }] = next;
    const running = this.#running.get(name);
    const isLate = this.#now() - since > MAX_WAIT_MS;
    if (!running && !isLate && !this.#hasShare(party, isSlow)) return false;
    queue.delete(name);
    if (running) running.push(...listeners);
    else if (isLate) callAll(listeners, timedOut(name), []);
    else this.#start(partyName, party, name, { listeners, isSlow });
    return true;
  }

  /**
   * A party can use as many look-ups as are free: half of all if it is the only one. Slow names get half as many, and
   * those of all parties half of all.
   */
  #hasShare({ running }: Party, isSlow: boolean): boolean {
    const free = this.#atATime - this.#running.size;
    return isSlow ? 2 * running < free && 2 * this.#slowRunning < this.#atATime : running < free;
  }

  #start(
    partyName: string,
    party: Party,
    name: string,
    { listeners, isSlow }: { readonly listeners: AddressesFound[]; readonly isSlow: boolean },
  ): void {
    const startedMs = this.#now();
    this.#running.set(name, listeners);
    party.running += 1;
    if (isSlow) this.#slowRunning += 1;
    this.#resolve(name, (error, addresses) => {
      this.#running.delete(name);
      party.running -= 1;
      if (isSlow) this.#slowRunning -= 1;
      if (party.running + party.usual.size + party.slow.size === 0) this.#parties.delete(partyName);
      this.#remember(name, this.#now() - startedMs >= SLOW_MS);
      callAll(listeners, error, addresses);
      this.#startAll();
    });
  }

  #remember(name: string, isSlow: boolean): void {
    this.#slowNames.delete(name);
    if (!isSlow) return;
    const [oldest] = this.#slowNames;
    if (oldest !== undefined && this.#slowNames.size >= MAX_SLOW_NAMES) this.#slowNames.delete(oldest);
    this.#slowNames.add(name);
  }
}

/** A listener that throws does not keep the others from their addresses. */
function callAll(
  listeners: readonly AddressesFound[],
  error: NodeJS.ErrnoException | null,
  addresses: readonly LookupAddress[],
): void {
  for (const listener of listeners) process.nextTick(listener, error, addresses);
}

function timedOut(name: string): Error {
  return Object.assign(new Error(`${name} was not looked up in time`), { code: "ETIMEDOUT" });
}

function bySystem(name: string, found: AddressesFound): void {
  // With the hint of node:net: no addresses of a family that this host has no network for.
  try {
    lookup(name, { all: true, hints: ADDRCONFIG }, (error, addresses) => found(error, error ? [] : addresses));
  } catch (error) {
    // Not a valid name.
    found(error as Error, []);
  }
}

/** Size of libuv's thread pool: as set by main.ts, or its default. */
const threads = Number(process.env["UV_THREADPOOL_SIZE"]) || 4;
/** Share of the half that libuv gives to look-ups: the rest is for the operator's providers, stores and tracing. */
const lookups = new NameLookups(Math.ceil(threads / (isMainThread ? 3 : 12)));

/** All addresses of a name. @param party the party that chose it */
export function lookUp(party: string, name: string, found: AddressesFound): void {
  lookups.find(party, name, found);
}
