/**
 * Streams of new decisions (Server-Sent Events) to pages that are open.
 *
 * Promises: bounded in number, of all and of one person; a stream ends with the session and with its rights, and says so,
 * and with the process; a reader who is slow gets less, and nothing waits for them.
 */
import type { Exchange } from "../../http/exchange.ts";
import { respondError } from "../../http/respond.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { Revocations } from "../../identity/interfaces.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { decisionRow } from "../../pages/console/decisions.ts";
import type { KeptRecord, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import type { Clock, Closable } from "../../shared/clock.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { ConsoleRights, ConsoleRequest } from "../screen.ts";
import { createPoll, findNewest, MAX_SEARCHES, type LiveUpdates, type Poll, type PollDeps } from "./poll.ts";
import type { DecisionFilters } from "./filters.ts";
import type { KnownPolicies } from "./policies.ts";
import { rowOf, type RowOptions } from "./show-record.ts";
import { guard } from "../../shared/faults/guard.ts";

type TailQuery = Omit<RecordQuery, "limit" | "order">;

export interface TailDeps {
  readonly reader: RecordReader;
  /** Undefined: no longer permitted. */
  readonly again: (visit: ConsoleRequest) => Promise<ConsoleRights | undefined>;
  readonly revocations: Pick<Revocations, "subscribe">;
  readonly blocks: Pick<Blocks, "subscribe">;
  readonly snapshots: Pick<Snapshots, "subscribe">;
  readonly clock: Clock;
  readonly every?: PollDeps["every"];
  readonly policies: Pick<KnownPolicies, "find">;
  readonly log: Log;
}

/** A list that a window shows. */
export interface TailWindow {
  readonly query: TailQuery;
  readonly filters: DecisionFilters;
  /** ID of the newest record that the window has. */
  readonly after: string | undefined;
}

export interface Tails extends Closable {
  /** Responds with one stream for the windows of a browser. */
  open(visit: ConsoleRequest, windows: readonly TailWindow[]): Promise<void>;
  readonly size: number;
}

const MAX_STREAMS = 32;
/** Streams of one user in all browsers: the newest. The windows of one browser share a stream. */
const MAX_OF_ONE = 6;
const COMMENT_MS = 15_000;
const CHECK_MS = 60_000;

interface Tail {
  readonly userId: string;
  readonly revocationKeys: readonly string[];
  /** Ends unless its reader still has the right to it. */
  check(): void;
  /** @param last event */
  end(last?: string): void;
}

const HEADERS = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-store",
  "x-content-type-options",
  "nosniff",
  "x-accel-buffering",
  "no",
];

/** Both stop the browser from connecting again. The first would end another stream, the second cannot get one. */
const REPLACED = "event: replaced\ndata: {}\n\n";
const ENDED = "event: ended\ndata: {}\n\n";
const SAMPLED = "High volume: allowed decisions are sampled.";

export function createTails(deps: TailDeps): Tails {
  const { reader, again, revocations, blocks, snapshots, policies, clock, every, log } = deps;
  const tails = new Set<Tail>();
  /** By question, so that pages with the same filters share one. */
  const polls = new Map<string, Poll>();
  let isClosed = false;

  const checkAll = (): void => {
    for (const tail of tails) tail.check();
  };
  const leaves = [
    revocations.subscribe((key) => {
      for (const tail of tails) if (tail.revocationKeys.includes(key)) tail.end(ENDED);
    }),
    blocks.subscribe(checkAll),
    // Owners come and go with routes.
    snapshots.subscribe(checkAll),
  ];

  const follow = (query: TailQuery, listener: (news: LiveUpdates) => void): (() => void) => {
    const key = JSON.stringify(query);
    const poll = polls.get(key) ?? createPoll({ reader, clock, onError, ...(every && { every }) }, query);
    polls.set(key, poll);
    const leave = poll.follow(listener);
    return () => {
      leave();
      if (poll.followers === 0) polls.delete(key);
    };
  };

  const onError = (error: unknown): void => {
    log.warn({ reason: errorText(error) }, "cannot show new records in console");
  };

  return {
    get size() {
      return tails.size;
    },

    async open(visit, windows) {
      const { exchange, principal, rights } = visit;
      const [oldest, ...newer] = [...tails].filter(({ userId }) => userId === principal.user.id);
      if (newer.length + 1 >= MAX_OF_ONE) oldest?.end(REPLACED);
      if (isClosed || tails.size >= MAX_STREAMS) return refuse(exchange);
      let isSlow = false;
      let missed = 0;

      const send = (text: string): void => {
        isSlow = !exchange.write(text);
        // Called once each time.
        if (isSlow) exchange.onDrain(() => (isSlow = false));
      };
      const take = (of: number, filters: DecisionFilters, { records, isSample }: LiveUpdates): void => {
        if (isSlow) {
          missed += records.length;
          return;
        }
        const rows = records.map((record) => eventOf(record, of, { filters, policies })).join("");
        const note = missed > 0 ? `${missed} not shown. Reload to see all.` : isSample ? SAMPLED : undefined;
        missed = 0;
        send(rows + (note === undefined ? "" : `event: note\ndata: ${JSON.stringify({ of, text: note })}\n\n`));
      };

      exchange.start(200, HEADERS);
      const leaves = windows.map(({ query, filters }, of) => follow(query, (news) => take(of, filters, news)));
      const comments = setInterval(
        guard(exchange, () => void (!isSlow && send(":\n\n"))),
        COMMENT_MS,
      ).unref();
      const checks = setInterval(
        guard(exchange, () => tail.check()),
        CHECK_MS,
      ).unref();
      const forget = (): void => {
        tails.delete(tail);
        for (const leave of leaves) leave();
        clearInterval(comments);
        clearInterval(checks);
      };
      const tail: Tail = {
        userId: principal.user.id,
        revocationKeys: principal.revocationKeys,
        check() {
          again(visit)
            // The browser connects again for other owners, and where the check failed.
            .then((now) => (now && sameOwners(now, rights) ? undefined : tail.end(now ? undefined : ENDED)))
            .catch(() => tail.end())
            .catch(onError);
        },
        end(last) {
          if (!tails.has(tail)) return;
          forget();
          if (last !== undefined) exchange.write(last);
          exchange.end();
        },
      };
      tails.add(tail);
      exchange.onClose(forget);
      // Tells the browser that the stream is open.
      send("retry: 2000\n\n");
      const isOver = (): boolean => !tails.has(tail);
      const maxSearches = Math.max(1, Math.floor(MAX_SEARCHES / windows.length));
      for (const [at, { query, filters, after }] of windows.entries()) {
        if (after === undefined) continue;
        const earlier = await catchUp(reader, { query, after, maxSearches, isOver }).catch(onError);
        if (isOver()) return;
        if (earlier) take(at, filters, earlier);
      }
    },

    close() {
      isClosed = true;
      for (const leave of leaves) leave();
      for (const tail of tails) tail.end();
      return Promise.resolve();
    },
  };
}

interface CatchUp {
  readonly query: TailQuery;
  readonly after: string;
  readonly maxSearches: number;
  readonly isOver: () => boolean;
}

/** Records since the page was made, or since the connection was lost. */
async function catchUp(reader: RecordReader, { query, after, ...options }: CatchUp): Promise<LiveUpdates | undefined> {
  const last = await reader.get(after);
  if (!last) return { records: [], isSample: true };
  const { records, isFull } = await findNewest(reader, { ...query, sinceMs: last.timeMs }, options);
  return { records: records.filter(({ id }) => id !== after).toReversed(), isSample: isFull };
}

function eventOf(record: KeptRecord, of: number, options: RowOptions): string {
  const row = rowOf(record, options);
  const group = !options.filters.isDeniedFirst ? "all" : record.outcome === "allowed" ? "allowed" : "denied";
  const data = { of, id: record.id, group, html: decisionRow(row).toString() };
  return `id: ${record.id}\nevent: row\ndata: ${JSON.stringify(data)}\n\n`;
}

function sameOwners(left: ConsoleRights, right: ConsoleRights): boolean {
  return JSON.stringify(left.owners) === JSON.stringify(right.owners);
}

function refuse(exchange: Exchange): void {
  respondError(exchange, 503, {
    code: "console.streams",
    message: "Too many live views. This page does not update.",
  });
}
