/** Results of webhook deliveries, for `/status`, metrics and the log: plain numbers of this process. */
import { EVENT_TYPES, type EventType } from "../audit/events.ts";
import type { Log } from "../shared/log.ts";

/** Status of the webhook in `/status`. Times are epoch seconds. */
export interface WebhookStatus {
  /** Host of the address; its path may be a secret. */
  readonly host: string;
  /** In the store, as last seen by this process. */
  readonly waiting: number;
  readonly oldest_at: number | null;
  readonly last_sent_at: number | null;
  readonly last_failure: { readonly at: number; readonly reason: string } | null;
  readonly sent: number;
  /** Not accepted within a day. */
  readonly given_up: number;
  /** Over a bound, or not stored before the process stopped. */
  readonly dropped: number;
}

const RESULTS = ["sent", "failed", "given-up", "dropped"] as const;
type Result = (typeof RESULTS)[number];

export interface WebhookCount {
  readonly event: EventType;
  readonly result: Result;
  readonly value: number;
}

export function createTally(host: string, log: Log) {
  const counts = new Map<string, number>();
  let waiting = 0;
  let oldestAt: number | null = null;
  let lastSentAt: number | null = null;
  let lastFailure: WebhookStatus["last_failure"] = null;
  /** One line when failures start, one when they end. */
  let isFailing = false;
  let isFull = false;
  let isUnavailable = false;

  const count = (event: EventType, result: Result): void => {
    const key = `${event} ${result}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  const total = (result: Result): number =>
    EVENT_TYPES.reduce((sum, event) => sum + (counts.get(`${event} ${result}`) ?? 0), 0);
  const failed = (event: EventType, id: string, at: number, reason: string): void => {
    count(event, "failed");
    lastFailure = { at, reason };
    if (!isFailing) log.warn({ event, id, reason }, "webhook delivery failed, retrying");
    isFailing = true;
  };

  return {
    waiting: () => waiting,
    found(number: number, oldest: number | undefined): void {
      waiting = number;
      oldestAt = oldest ?? null;
      if (isUnavailable) log.info("webhook event storage recovered");
      isUnavailable = false;
    },
    added(at: number): void {
      waiting++;
      oldestAt ??= at;
      isFull = false;
    },
    sent(event: EventType, at: number): void {
      count(event, "sent");
      waiting = Math.max(0, waiting - 1);
      if (waiting === 0) oldestAt = null;
      lastSentAt = at;
      if (isFailing) log.info("webhook recovered");
      isFailing = false;
    },
    failed,
    gaveUp(event: EventType, id: string, at: number, reason: string): void {
      failed(event, id, at, reason);
      count(event, "given-up");
      waiting = Math.max(0, waiting - 1);
      log.error({ event, id, reason }, "webhook event dropped after 24 hours");
    },
    dropped(event: EventType): void {
      count(event, "dropped");
      if (!isFull) log.error({ event, waiting }, "webhook queue full, events dropped");
      isFull = true;
    },
    away(reason: string): void {
      if (!isUnavailable) log.warn({ reason }, "cannot store webhook events");
      isUnavailable = true;
    },
    status: (): WebhookStatus => ({
      host,
      waiting,
      oldest_at: oldestAt,
      last_sent_at: lastSentAt,
      last_failure: lastFailure,
      sent: total("sent"),
      given_up: total("given-up"),
      dropped: total("dropped"),
    }),
    *counts(): Iterable<WebhookCount> {
      for (const event of EVENT_TYPES) {
        for (const result of RESULTS) {
          const value = counts.get(`${event} ${result}`);
          if (value !== undefined) yield { event, result, value };
        }
      }
    },
  };
}

/** Several workers as one: pending events are shared, all other numbers are added up. */
export function mergeStatus(each: readonly WebhookStatus[]): WebhookStatus | undefined {
  const [first] = each;
  if (!first) return undefined;
  const latest = (times: readonly (number | null)[]): number | null =>
    times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
  const sum = (of: "sent" | "given_up" | "dropped"): number =>
    each.reduce((total, { [of]: value }) => total + value, 0);
  const failures = each.flatMap(({ last_failure: failure }) => failure ?? []);
  return {
    host: first.host,
    waiting: Math.max(...each.map(({ waiting }) => waiting)),
    oldest_at: each.find(({ waiting }) => waiting > 0)?.oldest_at ?? null,
    last_sent_at: latest(each.map(({ last_sent_at: at }) => at)),
    last_failure: failures.reduce<WebhookStatus["last_failure"]>((a, b) => (a === null || b.at > a.at ? b : a), null),
    sent: sum("sent"),
    given_up: sum("given_up"),
    dropped: sum("dropped"),
  };
}
