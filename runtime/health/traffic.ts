/**
 * Counts the results of requests, minute by minute, in one table of numbers: no allocation on the path of a request.
 *
 * Bounds: one row for the total, one for each of the first owners with viewers of their own, and one for each of the
 * first routes seen in a minute. Busy routes are among these; the rows of the busiest are carried over to the next
 * minute.
 */
import { BUCKETS, bucketOf } from "./histogram.ts";
import {
  ALL,
  BUSIEST,
  boundScopes,
  COUNTED,
  type RollupCounts,
  type FailureCount,
  ownerScope,
  type Rollup,
  routeScope,
  type ScopeCounts,
} from "./rollup.ts";

interface CountedRoute {
  readonly key: string;
  readonly owner: string;
}

export interface Traffic {
  count(route: CountedRoute, what: RollupCounts): void;
  /** A response. @param status 0: aborted. @param tookMs absent: not a measure of the response time */
  answered(route: CountedRoute, status: number, tookMs: number | undefined): void;
  failed(route: CountedRoute, failure: string, upstream: string): void;
  /** Counts since the last call. */
  take(): Pick<Rollup, "scopes" | "failures">;
}

const ROW = 64;
const FIRST_BUCKET = ROW - BUCKETS;
const OWNER_ROWS = 64;
const ROUTE_ROWS = 256;
const MAX_FAILURES = 64;

const COLUMNS = Object.fromEntries(COUNTED.map((name, index) => [name, index])) as Readonly<
  Record<RollupCounts, number>
>;
/** By the first digit of a status. */
const CLASSES = [COLUMNS.cut, COLUMNS["1xx"], COLUMNS["2xx"], COLUMNS["3xx"], COLUMNS["4xx"], COLUMNS["5xx"]] as const;

/** @param isApart whether a user may view the sums of this owner only; default: no owner */
export function createTraffic(isApart?: (owner: string) => boolean): Traffic {
  const firstOwner = ROW;
  const firstRoute = firstOwner + OWNER_ROWS * ROW;
  /** After the routes: collects those without a row; never read. */
  const spill = firstRoute + ROUTE_ROWS * ROW;
  const table = new Uint32Array(spill + ROW);
  let ownerRows = new Map<string, number>();
  let owners = 0;
  let routeRows = new Map<string, number>();
  let failures = new Map<string, { -readonly [Name in keyof FailureCount]: FailureCount[Name] }>();

  return {
    count: (route, what) => add(route, COLUMNS[what], undefined),
    answered(route, status, tookMs) {
      const bucket = tookMs === undefined ? undefined : FIRST_BUCKET + bucketOf(tookMs);
      add(route, CLASSES[(status / 100) | 0] ?? COLUMNS.cut, bucket);
    },
    failed(route, failure, upstream) {
      add(route, COLUMNS.failed, undefined);
      const key = `${route.key}\0${upstream}\0${failure}`;
      const known = failures.get(key);
      if (known) known.count++;
      else if (failures.size < MAX_FAILURES) failures.set(key, { route: route.key, upstream, failure, count: 1 });
    },
    take() {
      const routes = [...routeRows].map(([key, row]): [string, ScopeCounts] => [routeScope(key), readRow(row)]);
      const named = [...ownerRows]
        .filter(([, row]) => row !== spill)
        .map(([owner, row]): [string, ScopeCounts] => [ownerScope(owner), readRow(row)]);
      const used = routes.filter(([, { counts }]) => counts.length > 0);
      const scopes = boundScopes(Object.fromEntries([[ALL, readRow(0)], ...named, ...used]), BUSIEST);
      const taken = { scopes, failures: [...failures.values()].map((each) => ({ ...each })) };
      const busiest = [...routeRows.keys()].filter((key) => Object.hasOwn(scopes, routeScope(key)));
      routeRows = new Map(busiest.map((key, index) => [key, firstRoute + index * ROW]));
      failures = new Map();
      ownerRows = new Map();
      owners = 0;
      table.fill(0);
      return taken;
    },
  };

  function add({ key, owner }: CountedRoute, column: number, bucket: number | undefined): void {
    bump(0, column, bucket);
    bump(routeRows.get(key) ?? newRow(key), column, bucket);
    if (isApart) bump(ownerRows.get(owner) ?? newOwner(owner), column, bucket);
  }

  function newOwner(owner: string): number {
    const hasRow = owners < OWNER_ROWS && isApart?.(owner) === true;
    const row = hasRow ? firstOwner + owners++ * ROW : spill;
    ownerRows.set(owner, row);
    return row;
  }

  function bump(row: number, column: number, bucket: number | undefined): void {
    table[row + column] = (table[row + column] as number) + 1;
    if (bucket !== undefined) table[row + bucket] = (table[row + bucket] as number) + 1;
  }

  function newRow(key: string): number {
    if (routeRows.size === ROUTE_ROWS) return spill;
    const row = firstRoute + routeRows.size * ROW;
    routeRows.set(key, row);
    return row;
  }

  function readRow(row: number): ScopeCounts {
    const counts = [...table.subarray(row, row + COUNTED.length)];
    while (counts.at(-1) === 0) counts.pop();
    const durations: number[] = [];
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const count = table[row + FIRST_BUCKET + bucket] as number;
      if (count > 0) durations.push(bucket, count);
    }
    return { counts, durations };
  }
}
