/**
 * What happens in a gateway that somebody should be told of, all kinds in this one place.
 *
 * Whoever sees something calls `notify`: it neither waits nor throws, and does nothing where nobody is to be told.
 * webhook/ keeps, signs and sends it.
 */

const HOUR = 3600;
const DAY = 24 * HOUR;

interface EventKind {
  /** What happened, for the reference. */
  readonly doc: string;
  /** For how many seconds the same event (type and subject) is told once, by whichever process sees it again. */
  readonly onceIn: number;
}

export const EVENTS = {
  "approval.waiting": { doc: "a call is pending approval", onceIn: DAY },
  "tools.drift": {
    doc: "tools, prompts, resource templates or instructions of an MCP server differ from the lock",
    onceIn: 7 * DAY,
  },
  "configuration.refused": { doc: "the current configuration was rejected, wholly or for some owners", onceIn: HOUR },
  "replica.behind": { doc: "a process has not activated the published configuration", onceIn: HOUR },
  "records.away": { doc: "a record sink has accepted no records for a minute", onceIn: HOUR },
  "records.lost": { doc: "records for a record sink were dropped", onceIn: HOUR },
  "certificate.ending": { doc: "a listener certificate expires soon or has expired", onceIn: 30 * DAY },
} satisfies Readonly<Record<string, EventKind>>;

export type EventType = keyof typeof EVENTS;

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

export interface GatewayEvent {
  readonly type: EventType;
  /**
   * What makes it this event and no other: the same text in every process that sees it, another one when it happens anew.
   * Only its hash leaves the process: it becomes the event's id.
   */
  readonly subject: string;
  /** Sent as JSON, at most 4 KiB of it; never a token or a secret. */
  readonly data: Readonly<Record<string, unknown>>;
}

export type Notify = (event: GatewayEvent) => void;
