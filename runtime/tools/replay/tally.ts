/** Results of a replay, in bounded memory: sums, one line for each user, route and tool, and a few examples. */
import type { Outcome, RecordedCheck, RecordedRequest } from "../../audit/replay/read-record.ts";
import { MAX_REASONS } from "../../policy/packed-outcome.ts";
import type { Again, CandidateAgain, Change } from "./decide-again.ts";

/** Position of a record. */
export interface ReplayPlace {
  readonly file: string;
  readonly line: number;
}

export interface Example extends ReplayPlace {
  readonly time: string;
  readonly requestId: string;
  readonly host: string;
  readonly path: string;
  readonly was: ReplayVerdict;
  /** Absent: undecidable, for these reasons. */
  readonly would?: ReplayVerdict;
  readonly untold?: readonly string[];
}

export interface ReplayVerdict {
  readonly outcome: Outcome;
  readonly reasons: readonly string[];
}

export type ReportedChange = Extract<Change, "gains" | "loses" | "undecidable">;

export interface Group {
  /** Email address, else ID; "" for anonymous callers. */
  readonly user: string;
  /** Under the new configuration, if the request matches one there. */
  readonly route: string;
  /** Tool, else MCP method, else HTTP method. */
  readonly what: string;
  readonly counts: Record<ReportedChange, number>;
  /** The first of each. */
  readonly examples: Partial<Record<ReportedChange, Example>>;
}

export interface ReplayTally {
  readonly counts: Readonly<Record<Change, number>>;
  /** First and last time of a record; "" when there is none. */
  readonly since: string;
  readonly until: string;
  readonly groups: readonly Group[];
  /** Changes of users, routes and tools beyond the limit of separate lines. */
  readonly others: number;
  /** Why records are undecidable → number; each of several reasons counts. */
  readonly untold: ReadonlyMap<string, number>;
  /** "owner/name shadow_policy" → changes if it were enforced. */
  readonly candidates: ReadonlyMap<string, Readonly<Record<CandidateAgain["change"], number>>>;
}

const MAX_GROUPS = 10_000;
/** Longest stored text of a record. */
const MAX_TEXT = 200;

export interface Counting {
  add(check: RecordedCheck, again: Again, place: ReplayPlace): void;
  tally(): ReplayTally;
}

export function startTally(): Counting {
  const counts: Record<Change, number> = { same: 0, gains: 0, loses: 0, undecidable: 0, refused: 0 };
  const groups = new Map<string, Group>();
  const untold = new Map<string, number>();
  const candidates = new Map<string, Record<CandidateAgain["change"], number>>();
  let others = 0;
  let since = "";
  let until = "";

  return {
    add(check, again, place) {
      const { change } = again;
      counts[change] += 1;
      if (since === "" || check.time < since) since = check.time;
      if (check.time > until) until = check.time;
      for (const { name, change: flip } of again.candidates) {
        const key = `${again.route} ${name}`;
        let sums = candidates.get(key);
        if (!sums) candidates.set(key, (sums = { same: 0, gains: 0, loses: 0, undecidable: 0 }));
        sums[flip] += 1;
      }
      if (change === "same" || change === "refused") return;
      if (change === "undecidable")
        for (const reason of again.reasons) untold.set(reason, (untold.get(reason) ?? 0) + 1);
      const { request } = check;
      // Without facts, the user and the target are unknown.
      if (typeof request === "string") return;
      const user = shorten(request.who);
      const route = shorten(again.route === "" ? check.route : again.route);
      const what = shorten(request.mcp?.tool ?? request.mcp?.method ?? request.httpMethod);
      const key = JSON.stringify([user, route, what]);
      let group = groups.get(key);
      if (!group) {
        if (groups.size >= MAX_GROUPS) {
          others += 1;
          return;
        }
        groups.set(key, (group = { user, route, what, counts: { gains: 0, loses: 0, undecidable: 0 }, examples: {} }));
      }
      group.counts[change] += 1;
      group.examples[change] ??= exampleOf(check, request, again, place);
    },
    tally: () => ({
      counts,
      since,
      until,
      groups: [...groups.values()].toSorted(byNames),
      others,
      untold,
      candidates,
    }),
  };
}

function exampleOf(
  { time, requestId, outcome, reasons }: RecordedCheck,
  { host, path }: RecordedRequest,
  again: Again,
  place: ReplayPlace,
): Example {
  const was = { outcome, reasons: reasons.slice(0, MAX_REASONS).map(shorten) };
  const about = {
    ...place,
    time,
    requestId: shorten(requestId),
    host: shorten(host),
    path: shorten(path),
    was,
  };
  if (again.outcome === undefined) return { ...about, untold: again.reasons };
  return { ...about, would: { outcome: again.outcome, reasons: again.reasons } };
}

/** A copy: a slice would keep the whole text in memory. */
function shorten(text: string): string {
  return text.length <= MAX_TEXT ? text : `${Buffer.from(text.slice(0, MAX_TEXT)).toString()}…`;
}

function byNames(one: Group, other: Group): number {
  const [a, b] = [one, other].map(({ route, what, user }) => `${route}\0${what}\0${user}`);
  return (a ?? "") < (b ?? "") ? -1 : 1;
}
