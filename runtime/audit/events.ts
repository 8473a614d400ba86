/**
 * Events that operators may subscribe to, all kinds in this one place.
 *
 * Their source calls `notify`, which neither waits nor throws, and does nothing without a subscriber. webhook/ stores,
 * signs and sends them.
 */

const HOUR = 3600;
const DAY = 24 * HOUR;

interface EventKind {
  /** Description for the reference. */
  readonly doc: string;
  /** Seconds during which the same event (type and subject) is sent once, whichever processes see it. */
  readonly onceIn: number;
}

export const EVENTS = {
  "approval.waiting": { doc: "a call is pending approval", onceIn: DAY },
  "run.waiting": { doc: "an agent run is pending approval", onceIn: DAY },
  "tools.drift": {
    doc: "tools, prompts, resource templates or instructions of an MCP server differ from the lock",
    onceIn: 7 * DAY,
  },
  "configuration.refused": { doc: "the current configuration was rejected, wholly or for some owners", onceIn: HOUR },
  "replica.behind": { doc: "a process has not activated the published configuration", onceIn: HOUR },
  "records.away": { doc: "a record sink has accepted no records for a minute", onceIn: HOUR },
  "records.lost": { doc: "records for a record sink were dropped", onceIn: HOUR },
  "certificate.failed": { doc: "a certificate could not be requested or renewed automatically", onceIn: DAY },
  "certificate.ending": { doc: "a listener certificate expires soon or has expired", onceIn: 30 * DAY },
} satisfies Readonly<Record<string, EventKind>>;

export type EventType = keyof typeof EVENTS;

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

export interface GatewayEvent {
  readonly type: EventType;
  /**
   * Identity of the event: the same text in every process that sees it, another one for the next occurrence. Only its
   * hash leaves the process: it becomes the event's ID.
   */
  readonly subject: string;
  /** Sent as JSON, at most 4 KiB of it; never a token or a secret. */
  readonly data: Readonly<Record<string, unknown>>;
}

export type Notify = (event: GatewayEvent) => void;
