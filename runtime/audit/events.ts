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
  "approval.waiting": { doc: "a call waits for somebody's approval", onceIn: DAY },
  "tools.drift": {
    doc: "an MCP server shows tools, prompts, resource templates or instructions that are not as they were locked",
    onceIn: 7 * DAY,
  },
  "configuration.refused": { doc: "what is written now is not in force, wholly or for some owners", onceIn: HOUR },
  "replica.behind": { doc: "a process has not taken up what was published", onceIn: HOUR },
  "records.away": { doc: "a record sink has taken no records for a minute", onceIn: HOUR },
  "records.lost": { doc: "records are lost to a record sink", onceIn: HOUR },
  "certificate.ending": { doc: "a certificate of a listener ends soon, or has ended", onceIn: 30 * DAY },
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
