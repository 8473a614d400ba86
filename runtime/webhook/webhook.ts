/**
 * The webhook: delivers events to the operator's receiver, signed, at least once, each with a fixed ID.
 *
 * Trusted: the address and the secrets, from the main configuration file. Untrusted input: the receiver's responses;
 * only the status and a bounded `Retry-After` are used. Promises: `notify` neither waits nor throws. Memory, store and
 * time are bounded; events over a bound are counted and logged. One process of several sends. Neither a secret nor the
 * path of the address is logged or shown.
 */
import type { WebhookSettings } from "../features/process/webhook.ts";
import type { SafeAnswer, SafeFetch } from "../http/fetch/safe-fetch.ts";
import { signedHeaders } from "../http/signed-message.ts";
import { type Closable, type Clock, epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { EVENTS, type EventType, type Notify } from "../audit/events.ts";
import { hashSecret } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import type { Store } from "../store/store.ts";
import {
  createEventRecords,
  delayAfter,
  type EventRecords,
  GIVE_UP_AFTER,
  type NewEvent,
  type WaitingEvent,
} from "./event-records.ts";
import { createTally, type WebhookCount, type WebhookStatus } from "./tally.ts";
import { task } from "../shared/faults/guard.ts";

export interface WebhookDeps {
  readonly store: Store;
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** Interval between checks for due events. */
  readonly everyMs?: number;
}

// Per type: an MCP server that changes its tools in every list leaves space for approvals.
/** In this process, not yet in the store. */
const MAX_FRESH = 200;
/** In the store; several processes may exceed it by a few. */
const MAX_WAITING = 1000;
const MAX_DATA_BYTES = 4096;
/** Events that this process remembers, so that repeated ones cause no store queries. */
const MAX_SEEN = 10_000;

const WORK_EVERY_MS = 5_000;
/** Events of other processes are checked only once in this number of rounds. */
const LOOK_EVERY = 6;
const TIMEOUT_MS = 10_000;
const LEASE_MS = 60_000;
const LONGEST_RETRY_AFTER = 3600;
const MAX_ANSWER_BYTES = 64 * 1024;

export class Webhook implements Closable {
  readonly #settings: WebhookSettings;
  readonly #deps: WebhookDeps;
  readonly #records: EventRecords;
  readonly #tally: ReturnType<typeof createTally>;
  readonly #fresh: NewEvent[] = [];
  /** Hash → epoch seconds until which an event is the same one. */
  readonly #seen = new Map<string, number>();
  /** In the store, as last seen by this process. */
  #waitingOf = new Map<EventType, number>();
  readonly #ending = new AbortController();
  #closed = false;
  #running: Promise<void> | undefined;
  #ticks = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(settings: WebhookSettings, deps: WebhookDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#records = createEventRecords(deps.store);
    this.#tally = createTally(new URL(settings.url).host, deps.log);
    const work = task("the delivery of events", () => this.work());
    this.#timer = setInterval(work, deps.everyMs ?? WORK_EVERY_MS).unref();
  }

  readonly notify: Notify = ({ type, subject, data }) => {
    if (this.#closed || !this.#settings.events.has(type)) return;
    const at = epochSeconds(this.#deps.clock);
    const hash = hashSecret(`${type}\n${subject}`);
    if ((this.#seen.get(hash) ?? 0) > at) return;
    if (this.#fresh.filter((event) => event.type === type).length >= MAX_FRESH) return this.#tally.dropped(type);
    this.#remember(hash, at + EVENTS[type].onceIn);
    this.#fresh.push({ hash, type, at, data: bounded(data) });
    void this.work();
  };

  status(): WebhookStatus {
    return this.#tally.status();
  }

  counts(): Iterable<WebhookCount> {
    return this.#tally.counts();
  }

  /** Stores new events and sends due ones; called automatically every few seconds, and after each event. */
  work(): Promise<void> {
    // One round at a time; the next round handles events that arrive during one.
    this.#running ??= this.#round().then(
      () => {
        this.#running = undefined;
        if (this.#fresh.length > 0 && !this.#closed) void this.work();
      },
      (error: unknown) => {
        this.#running = undefined;
        this.#tally.away(errorText(error));
      },
    );
    return this.#running;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closed = true;
    // A receiver that does not respond must not delay the end.
    this.#ending.abort();
    await this.#running;
    // Events since the last round; the next process sends them.
    await this.#keepFresh().catch(() => {});
    for (const { type } of this.#fresh) this.#tally.dropped(type);
  }

  async #round(): Promise<void> {
    await this.#keepFresh();
    const checksOthers = this.#ticks++ % LOOK_EVERY === 0;
    if (this.#closed || (!checksOthers && this.#tally.waiting() === 0)) return;
    const lease = await this.#deps.store.lease("webhook", LEASE_MS);
    // Another process is sending.
    if (!lease) return;
    try {
      const waiting = await this.#records.waiting();
      const now = epochSeconds(this.#deps.clock);
      this.#tally.found(waiting.length, waiting[0]?.value.at);
      this.#waitingOf = new Map();
      for (const { value } of waiting) this.#countWaiting(value.type, 1);
      for (const event of waiting) {
        const waits = event.value.nextAt - now;
        // A longer wait means that the clock was ahead when the event was written.
        if (waits > 0 && waits <= LONGEST_RETRY_AFTER) continue;
        if (!(await lease.renew(LEASE_MS)) || !(await this.#send(event))) break;
        // New events are stored first; the next round continues here.
        if (this.#closed || this.#fresh.length > 0) break;
      }
    } finally {
      await lease.release();
    }
  }

  async #keepFresh(): Promise<void> {
    for (let event = this.#fresh[0]; event !== undefined; event = this.#fresh[0]) {
      if ((this.#waitingOf.get(event.type) ?? 0) >= MAX_WAITING) {
        this.#tally.dropped(event.type);
        // If the event is seen again, there may be space.
        this.#seen.delete(event.hash);
      } else if (await this.#records.add(event)) {
        this.#tally.added(event.at);
        this.#countWaiting(event.type, 1);
      }
      this.#fresh.shift();
    }
  }

  /** @returns whether the receiver is healthy, so that the next event can follow immediately */
  async #send(event: WaitingEvent): Promise<boolean> {
    const { id, type, at, data } = event.value;
    const body = JSON.stringify({ type, timestamp: new Date(at * 1000).toISOString(), data });
    const timestamp = epochSeconds(this.#deps.clock);
    const { url, secrets } = this.#settings;
    const answer = await this.#deps.fetch({
      url,
      target: { kind: "configured" },
      method: "POST",
      headers: { "content-type": "application/json", ...signedHeaders(secrets, { id, timestamp, body }) },
      body,
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs: TIMEOUT_MS,
      signal: this.#ending.signal,
      // The status decides whether the event was accepted, whatever the rest of the response.
      statusOnly: true,
    });
    // Aborted by us, not a failure of the receiver: the next process sends it again.
    if (!answer.ok && this.#closed) return false;
    const now = epochSeconds(this.#deps.clock);
    if (answer.ok && answer.status >= 200 && answer.status < 300) {
      await this.#records.end(event, now);
      this.#countWaiting(type, -1);
      this.#tally.sent(type, now);
      return true;
    }
    const reason = answer.ok ? `it answered ${answer.status}` : answer.detail;
    if (now - at >= GIVE_UP_AFTER) {
      await this.#records.end(event, now);
      this.#countWaiting(type, -1);
      this.#tally.gaveUp(type, id, now, reason);
    } else {
      const delay = Math.max(delayAfter(event.value.attempts + 1), retryAfter(answer));
      await this.#records.defer(event, now, delay);
      this.#tally.failed(type, id, now, reason);
    }
    // A rejection of one event does not concern the others.
    return answer.ok && answer.status >= 400 && answer.status < 500 && answer.status !== 429;
  }

  #countWaiting(type: EventType, by: 1 | -1): void {
    this.#waitingOf.set(type, (this.#waitingOf.get(type) ?? 0) + by);
  }

  #remember(hash: string, until: number): void {
    const [oldest] = this.#seen.keys();
    if (this.#seen.size >= MAX_SEEN && oldest !== undefined) this.#seen.delete(oldest);
    this.#seen.delete(hash);
    this.#seen.set(hash, until);
  }
}

/** Seconds that the receiver requests. */
function retryAfter(answer: SafeAnswer): number {
  const text = answer.ok ? (answer.headers["retry-after"] ?? "") : "";
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), LONGEST_RETRY_AFTER) : 0;
}

function bounded(data: Readonly<Record<string, unknown>>): unknown {
  const text = JSON.stringify(data);
  return Buffer.byteLength(text) <= MAX_DATA_BYTES ? (JSON.parse(text) as unknown) : { left_out: "too long" };
}
