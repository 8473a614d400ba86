/** Queries for stored records: a record's shape, and the search. */
import type { Closable } from "../shared/clock.ts";

export interface KeptRecord {
  /** For shared links: unique over all processes, the same after restarts. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  /** decision: an authorization check; action: an administrator's; other: tool drift and further kinds. */
  readonly kind: "decision" | "action" | "other";
  /**
   * error: allowed, but the gateway or the upstream failed (status 500 or above); sign-in: not allowed, because the caller
   * sent no credentials, and was asked to sign in.
   */
  readonly outcome: "allowed" | "denied" | "limited" | "waiting" | "error" | "sign-in";
  readonly userId?: string;
  readonly email?: string;
  /** Key, "owner/name". */
  readonly route?: string;
  readonly tool?: string;
  readonly clientId?: string;
  /** All fields of the copy. Untrusted text: escape it, and show it as visible text. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Content of its `request outcome` line, once the request is over. */
  readonly result?: {
    /** 0: no response was started. */
    readonly status: number;
    readonly durationMs: number;
    readonly failedBy?: string;
    readonly failure?: string;
    /** See `OutcomeInput.hasSucceeded`. */
    readonly succeeded?: boolean;
    /** Verdict of the route's guardrail about the result: `verdict`, `reason`, `shadow`. */
    readonly guardrail?: Readonly<Record<string, unknown>>;
    readonly listHidden?: number;
    readonly listShown?: number;
  };
}

export interface RecordQuery {
  readonly kind?: KeptRecord["kind"];
  /** From this time on, inclusive … */
  readonly sinceMs?: number;
  /** … and before this time. */
  readonly untilMs?: number;
  /** Id or email. */
  readonly user?: string;
  readonly route?: string;
  readonly tool?: string;
  readonly client?: string;
  /** Request ID. */
  readonly request?: string;
  readonly outcomes?: readonly KeptRecord["outcome"][];
  /** Only records of routes of these owners (route keys are "owner/name"); absent: all. */
  readonly owners?: readonly string[];
  readonly order: "newest" | "oldest";
  /** 1 to 200. */
  readonly limit: number;
  /** `next` of an earlier page of the same query. */
  readonly cursor?: string;
}

export interface RecordPage {
  readonly records: readonly KeptRecord[];
  /** Cursor of the next page; absent at the end. */
  readonly next?: string;
  /** The work limit was reached before `limit` records were found: continue with `next`. */
  readonly isPartial: boolean;
}

/** A question about numbers of records over time. */
export interface CountQuery extends Omit<RecordQuery, "order" | "limit" | "cursor"> {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Equal parts of that time, 1 to 200. */
  readonly slots: number;
}

export interface RecordCounts {
  /** Oldest first. */
  readonly slots: readonly Readonly<Partial<Record<KeptRecord["outcome"], number>>>[];
  /** Bounded work was done: earlier records are not counted, or not all of them. */
  readonly countedSinceMs?: number;
}

/** Query for the most frequent users, tools or routes of a time range. */
export interface RankQuery extends CountQuery {
  readonly by: "user" | "tool" | "route";
  /** Number of rows, at most 20. */
  readonly most: number;
}

export interface Ranking {
  /** The most frequent first, each with its newest record. Anonymous users are one row. */
  readonly rows: readonly { readonly record: KeptRecord; readonly count: number }[];
  /** Number of distinct values, in total and per slot. */
  readonly distinct: number;
  readonly slots: readonly number[];
  /** As in `RecordCounts`. */
  readonly countedSinceMs?: number;
}

export interface RecordReader extends Closable {
  /** @throws GatewayError `records.unavailable` */
  rank(query: RankQuery): Promise<Ranking>;
  /** @throws GatewayError `records.unavailable` */
  count(query: CountQuery): Promise<RecordCounts>;
  /** @throws GatewayError `records.cursor` (a foreign one), `records.unavailable` */
  find(query: RecordQuery): Promise<RecordPage>;
  /** @throws GatewayError `records.unavailable` */
  get(id: string): Promise<KeptRecord | undefined>;
  /** Totals of all stored records. @throws GatewayError `records.unavailable` */
  stats(): Promise<{ readonly count: number; readonly oldestMs?: number; readonly bytes: number }>;
}
