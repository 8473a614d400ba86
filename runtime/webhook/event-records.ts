/**
 * Events in the store: those to send, and those sent recently.
 *
 * One record for each event (type and subject), written only if there is none. So of several processes that see the
 * same event one sends it, and its ID is the same at every attempt, by any process.
 */
import { randomSecret } from "../shared/keys.ts";
import { type EventType, EVENTS } from "../audit/events.ts";
import { firstFormats } from "../store/formats.ts";
import type { Store, StoredRecord } from "../store/store.ts";

export const WEBHOOK_FORMATS = firstFormats(["webhook-event"]);

export interface NewEvent {
  /** Hash of type and subject. */
  readonly hash: string;
  readonly type: EventType;
  /** Epoch seconds. */
  readonly at: number;
  readonly data: unknown;
}

interface WaitingRow {
  /** For the receiver, which drops events that it already has. */
  readonly id: string;
  readonly type: EventType;
  readonly at: number;
  readonly data: unknown;
  readonly attempts: number;
  /** Epoch seconds before which it is not sent again. */
  readonly nextAt: number;
}

export type WaitingEvent = StoredRecord<WaitingRow>;

const WAITING = "webhook";
/** Seconds for which an event is sent again. */
export const GIVE_UP_AFTER = 24 * 3600;
/** A process must still be able to report that the event was dropped. */
const GRACE = 3600;
/** Seconds before attempt 2, 3, …; the last one for all further ones. */
const DELAYS = [5, 30, 120, 600, 1800, 3600] as const;

export const delayAfter = (attempts: number): number => DELAYS[Math.min(attempts, DELAYS.length) - 1] ?? 0;

/** All methods: @throws GatewayError `store.unavailable` */
export interface EventRecords {
  /** @returns false: already known */
  add(event: NewEvent): Promise<boolean>;
  /** The oldest first. */
  waiting(): Promise<readonly WaitingEvent[]>;
  /** The event is not sent again. */
  end(event: WaitingEvent, nowSeconds: number): Promise<void>;
  /** The event is sent again after this number of seconds. */
  defer(event: WaitingEvent, nowSeconds: number, delay: number): Promise<void>;
}

export function createEventRecords(store: Store): EventRecords {
  return {
    async add({ hash, type, at, data }) {
      const row: WaitingRow = { id: `evt_${randomSecret(16)}`, type, at, data, attempts: 0, nextAt: at };
      const options = { ifVersion: 0, tags: [WAITING], expiresAt: waitsUntil(row) };
      return (await store.put(`webhook-event:${hash}`, row, options)).ok;
    },
    async waiting() {
      const found = await store.list<WaitingRow>(WAITING);
      // Unknown kinds come from a later version: one of its processes sends them.
      const known = found.filter(({ value }) => Object.hasOwn(EVENTS, value.type));
      return known.sort((a, b) => a.value.at - b.value.at);
    },
    async end({ key, version, value: { id, type, at } }, nowSeconds) {
      // The content is no longer needed.
      const expiresAt = Math.max(at + EVENTS[type].onceIn, nowSeconds + 60);
      await store.put(key, { id, type, at }, { ifVersion: version, expiresAt });
    },
    async defer({ key, version, value }, nowSeconds, delay) {
      const row: WaitingRow = { ...value, attempts: value.attempts + 1, nextAt: nowSeconds + delay };
      await store.put(key, row, { ifVersion: version, tags: [WAITING], expiresAt: waitsUntil(row) });
    },
  };
}

function waitsUntil({ type, at }: WaitingRow): number {
  return at + Math.max(GIVE_UP_AFTER + GRACE, EVENTS[type].onceIn);
}
