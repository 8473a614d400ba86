/** Counts of one span of time, as stored and summed. Plain data. */
import { addDurations, type Durations } from "./histogram.ts";

/**
 * Names of the counts, in the order of a scope's numbers. Only append to it: older processes write the shorter list.
 */
export const COUNTED = [
  "allowed",
  "denied",
  "limited",
  "waiting",
  "cut",
  "1xx",
  "2xx",
  "3xx",
  "4xx",
  "5xx",
  "failed",
  "sign-in",
] as const;
export type RollupCounts = (typeof COUNTED)[number];

export interface ScopeCounts {
  /** By COUNTED; zeros at the end are omitted. */
  readonly counts: readonly number[];
  readonly durations: Durations;
}

export interface FailureCount {
  readonly route: string;
  /** Address as in `to`; "" where the upstream is unknown. */
  readonly upstream: string;
  readonly failure: string;
  readonly count: number;
}

export interface Rollup {
  /** Epoch seconds, a multiple of the span's length. */
  readonly start: number;
  /** Epoch seconds up to which it is counted; for a current span this is not its end. */
  readonly until: number;
  /** "all", "owner:<name>" of owners with viewers of their own, "route:<key>" of the busiest. */
  readonly scopes: Readonly<Record<string, ScopeCounts>>;
  readonly failures: readonly FailureCount[];
  /** 99th percentile of the event loop's delay, in the worst minute; by process. */
  readonly loopMs: Readonly<Record<string, number>>;
}

export const ALL = "all";
export const routeScope = (key: string): string => `route:${key}`;
export const ownerScope = (owner: string): string => `owner:${owner}`;

/** Most routes in a rollup, per process and minute. */
export const BUSIEST = 12;
/** Most routes in a sum of several. */
const MAX_ROUTES = 48;
const MAX_FAILURES = 32;
const MAX_PROCESSES = 64;

export function numberOf({ counts }: ScopeCounts, counted: RollupCounts): number {
  return counts[COUNTED.indexOf(counted)] ?? 0;
}

/** Number of requests in a scope. */
export function sumOf({ counts }: ScopeCounts): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** @param all of one start, or of spans within one; at least one */
export function addRollups(start: number, all: readonly Rollup[]): Rollup {
  return {
    start,
    until: Math.max(...all.map(({ until }) => until)),
    scopes: boundScopes(addScopes(all), MAX_ROUTES),
    failures: addFailures(all.flatMap(({ failures }) => failures)),
    loopMs: worstLoops(all),
  };
}

/** The busiest routes, and every scope that is not a route. */
export function boundScopes(scopes: Rollup["scopes"], maxRoutes: number): Rollup["scopes"] {
  const entries = Object.entries(scopes);
  const isRoute = ([scope]: readonly [string, ScopeCounts]): boolean => scope.startsWith("route:");
  const routes = entries.filter(isRoute);
  if (routes.length <= maxRoutes) return scopes;
  const busiest = routes.toSorted(([, a], [, b]) => sumOf(b) - sumOf(a)).slice(0, maxRoutes);
  return Object.fromEntries([...entries.filter((each) => !isRoute(each)), ...busiest]);
}

function addScopes(all: readonly Rollup[]): Rollup["scopes"] {
  const sums = new Map<string, ScopeCounts>();
  for (const { scopes } of all) {
    for (const [scope, counts] of Object.entries(scopes)) {
      const known = sums.get(scope);
      sums.set(scope, known ? addCounts(known, counts) : counts);
    }
  }
  return Object.fromEntries(sums);
}

export function addCounts(a: ScopeCounts, b: ScopeCounts): ScopeCounts {
  const [longer, shorter] = a.counts.length >= b.counts.length ? [a.counts, b.counts] : [b.counts, a.counts];
  return {
    counts: longer.map((count, index) => count + (shorter[index] ?? 0)),
    durations: addDurations(a.durations, b.durations),
  };
}

export function addFailures(all: readonly FailureCount[]): readonly FailureCount[] {
  const groups = Map.groupBy(all, ({ route, upstream, failure }) => JSON.stringify([route, upstream, failure]));
  return [...groups.values()]
    .map((each) => ({ ...(each[0] as FailureCount), count: each.reduce((sum, { count }) => sum + count, 0) }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, MAX_FAILURES);
}

function worstLoops(all: readonly Rollup[]): Rollup["loopMs"] {
  const worst = new Map<string, number>();
  for (const { loopMs } of all) {
    for (const [id, ms] of Object.entries(loopMs)) worst.set(id, Math.max(ms, worst.get(id) ?? 0));
  }
  return Object.fromEntries([...worst].toSorted(([, a], [, b]) => b - a).slice(0, MAX_PROCESSES));
}
