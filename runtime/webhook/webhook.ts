/**
 * The webhook: events on their way to the operator's receiver, signed, at least once, each with an id that stays.
 *
 * Trusted: the address and the secrets, of the boot file. Untrusted: the receiver's answers, of which the status counts and a
 * bounded `Retry-After`. Promises: `notify` neither waits nor throws; memory, store and time are bounded, and what is over a
 * bound is counted and logged; one process of several sends; no secret, nor the path of the address, is logged or shown.
 */
import { createHmac } from "node:crypto";
import type { WebhookSettings } from "../features/process/webhook.ts";
import type { SafeAnswer, SafeFetch } from "../http/fetch/safe-fetch.ts";
import { type Closable, type Clock, epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { EVENTS, type EventType, type Notify } from "../audit/events.ts";
import { hashSecret } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import type { Store } from "../store/store.ts";
import { createEventRecords, delayAfter, GIVE_UP_AFTER, type NewEvent, type WaitingEvent } from "./event-records.ts";
import { createTally, type WebhookCount, type WebhookStatus } from "./tally.ts";
import { task } from "../shared/faults/guard.ts";

export interface Webhook extends Closable {
  readonly notify: Notify;
  status(): WebhookStatus;
  counts(): Iterable<WebhookCount>;
  /** Stores what is new and sends what is due; by itself every few seconds, and after each event. */
  work(): Promise<void>;
}

export interface WebhookDeps {
  readonly store: Store;
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** Between two looks for what is due. */
  readonly everyMs?: number;
}

// Of each kind: an MCP server that lists other tools each time leaves room for approvals.
/** In this process, not yet in the store. */
const MAX_FRESH = 200;
/** In the store; with several processes it may be exceeded by a few. */
const MAX_WAITING = 1000;
const MAX_DATA_BYTES = 4096;
/** Events this process remembers, so that the store is not asked about what happens again and again. */
const MAX_SEEN = 10_000;

const WORK_EVERY_MS = 5_000;
/** What others have left behind is looked for less often: each so many times. */
const LOOK_EVERY = 6;
const TIMEOUT_MS = 10_000;
const LEASE_MS = 60_000;
const LONGEST_RETRY_AFTER = 3600;
const MAX_ANSWER_BYTES = 64 * 1024;

export function createWebhook(settings: WebhookSettings, deps: WebhookDeps): Webhook {
  const { store, fetch, clock, log, everyMs = WORK_EVERY_MS } = deps;
  const records = createEventRecords(store);
  const tally = createTally(new URL(settings.url).host, log);
  const fresh: NewEvent[] = [];
  /** Hash → epoch seconds until which it is the same event. */
  const seen = new Map<string, number>();
  /** In the store, as this process saw it last. */
  let waitingOf = new Map<EventType, number>();
  const ending = new AbortController();
  let closed = false;
  let running: Promise<void> | undefined;
  let ticks = 0;
  const timer = setInterval(task("the delivery of events", work), everyMs);
  timer.unref();

  return {
    notify({ type, subject, data }) {
      if (closed || !settings.events.has(type)) return;
      const at = epochSeconds(clock);
      const hash = hashSecret(`${type}\n${subject}`);
      if ((seen.get(hash) ?? 0) > at) return;
      if (fresh.filter((event) => event.type === type).length >= MAX_FRESH) return tally.dropped(type);
      remember(hash, at + EVENTS[type].onceIn);
      fresh.push({ hash, type, at, data: bounded(data) });
      void work();
    },
    status: () => tally.status(),
    counts: () => tally.counts(),
    work,
    async close() {
      clearInterval(timer);
      closed = true;
      // A receiver that does not answer holds nobody up.
      ending.abort();
      await running;
      // What was seen while the last round ended; sent by whoever runs next.
      await keepFresh().catch(() => {});
      for (const { type } of fresh) tally.dropped(type);
    },
  };

  function work(): Promise<void> {
    // One round at a time; an event during a round is in the one that follows.
    running ??= round().then(
      () => {
        running = undefined;
        if (fresh.length > 0 && !closed) void work();
      },
      (error: unknown) => {
        running = undefined;
        tally.away(errorText(error));
      },
    );
    return running;
  }

  async function round(): Promise<void> {
    await keepFresh();
    const looks = ticks++ % LOOK_EVERY === 0;
    if (closed || (!looks && tally.waiting() === 0)) return;
    const lease = await store.lease("webhook", LEASE_MS);
    // Another process is at it.
    if (!lease) return;
    try {
      const waiting = await records.waiting();
      const now = epochSeconds(clock);
      tally.found(waiting.length, waiting[0]?.value.at);
      waitingOf = new Map();
      for (const { value } of waiting) countWaiting(value.type, 1);
      for (const event of waiting) {
        const waits = event.value.nextAt - now;
        // Nothing waits longer: the clock was ahead when it was written.
        if (waits > 0 && waits <= LONGEST_RETRY_AFTER) continue;
        if (!(await lease.renew(LEASE_MS)) || !(await send(event))) break;
        // What is new is stored first; the next round goes on here.
        if (closed || fresh.length > 0) break;
      }
    } finally {
      await lease.release();
    }
  }

  async function keepFresh(): Promise<void> {
    for (let event = fresh[0]; event !== undefined; event = fresh[0]) {
      if ((waitingOf.get(event.type) ?? 0) >= MAX_WAITING) {
        tally.dropped(event.type);
        // When it is seen again there may be room.
        seen.delete(event.hash);
      } else if (await records.add(event)) {
        tally.added(event.at);
        countWaiting(event.type, 1);
      }
      fresh.shift();
    }
  }

  /** @returns whether the receiver is well, so that the next one may follow at once */
  async function send(event: WaitingEvent): Promise<boolean> {
    const { id, type, at, data } = event.value;
    const body = JSON.stringify({ type, timestamp: new Date(at * 1000).toISOString(), data });
    const timestamp = epochSeconds(clock);
    const answer = await fetch({
      url: settings.url,
      target: { kind: "configured" },
      method: "POST",
      headers: { "content-type": "application/json", ...signedHeaders(settings.secrets, { id, timestamp, body }) },
      body,
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs: TIMEOUT_MS,
      signal: ending.signal,
      // Its status says whether it took the event, whatever it says besides.
      statusOnly: true,
    });
    // Cut off by us, and no failure of the receiver's: whoever runs next sends it again.
    if (!answer.ok && closed) return false;
    const now = epochSeconds(clock);
    if (answer.ok && answer.status >= 200 && answer.status < 300) {
      await records.end(event, now);
      countWaiting(type, -1);
      tally.sent(type, now);
      return true;
    }
    const reason = answer.ok ? `it answered ${answer.status}` : answer.detail;
    if (now - at >= GIVE_UP_AFTER) {
      await records.end(event, now);
      countWaiting(type, -1);
      tally.gaveUp(type, id, now, reason);
    } else {
      const delay = Math.max(delayAfter(event.value.attempts + 1), retryAfter(answer));
      await records.defer(event, now, delay);
      tally.failed(type, id, now, reason);
    }
    // What it says of one event alone concerns no other.
    return answer.ok && answer.status >= 400 && answer.status < 500 && answer.status !== 429;
  }

  function countWaiting(type: EventType, by: 1 | -1): void {
    waitingOf.set(type, (waitingOf.get(type) ?? 0) + by);
  }

  function remember(hash: string, until: number): void {
    const [oldest] = seen.keys();
    if (seen.size >= MAX_SEEN && oldest !== undefined) seen.delete(oldest);
    seen.delete(hash);
    seen.set(hash, until);
  }
}

/** Seconds that the receiver asks for. */
function retryAfter(answer: SafeAnswer): number {
  const text = answer.ok ? (answer.headers["retry-after"] ?? "") : "";
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), LONGEST_RETRY_AFTER) : 0;
}

function bounded(data: Readonly<Record<string, unknown>>): unknown {
  const text = JSON.stringify(data);
  return Buffer.byteLength(text) <= MAX_DATA_BYTES ? (JSON.parse(text) as unknown) : { left_out: "too long" };
}

/** @param key from a secret. @returns one entry of `webhook-signature` @see Standard Webhooks, "Signature scheme" */
function signature(key: Buffer, signed: string): string {
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

export interface SignedMessage {
  readonly id: string;
  /** Epoch seconds of this attempt: receivers refuse old ones, so that nobody sends a recorded one again. */
  readonly timestamp: number;
  readonly body: string;
}

/** The three header fields; one signature for each key, of which the receiver needs to know one. */
export function signedHeaders(keys: readonly Buffer[], { id, timestamp, body }: SignedMessage): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": keys.map((key) => signature(key, `${id}.${timestamp}.${body}`)).join(" "),
  };
}
