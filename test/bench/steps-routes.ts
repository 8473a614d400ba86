/**
 * What finding a route costs, with 1 to 100,000 routes of each sort, and what it takes to build the table. CPU time, best and
 * median of several rounds; every look-up has a host and a path of its own. `node --expose-gc test/bench/steps-routes.ts`
 */
import { compileMatch } from "../../runtime/features/routing/compile.ts";
import type { CompiledRoute, LiveSettings } from "../../runtime/config/compiled.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { buildRouteTable, type RouteTable } from "../../runtime/proxy/route-table.ts";
import { snapshotFrom } from "../support/config.ts";

const ROUNDS = 9;
const ROUND_MS = 60;
const SIZES = [1, 1_000, 100_000];
const LOOKUPS = 4096;

interface Sort {
  readonly name: string;
  readonly sizes: readonly number[];
  /** Host, `match` and what else tells the route apart. */
  readonly route: (index: number) => Partial<CompiledRoute>;
  /** Host and path of a request that leads to it. */
  readonly request: (index: number, turn: number) => readonly [host: string, path: string];
}

const model = snapshotFrom(`
  routes:
    - { from: "https://app.example.com", to: "http://127.0.0.1:1", policy: [{ allow: { and: [{ accept: true }] } }] }
`);
const PATTERN_ROUTE = { from: "https://app.example.com", to: "http://127.0.0.1:1" };
const template = model.routes[0] as CompiledRoute;

const pattern = (regex: string): CompiledRoute["match"] => compileMatch({ ...PATTERN_ROUTE, regex });

const sorts: readonly Sort[] = [
  {
    name: "named hosts",
    sizes: SIZES,
    route: (index) => ({ host: `h${index}.example.com` }),
    request: (index, turn) => [`h${index}.example.com`, `/items/${turn}`],
  },
  {
    name: "prefixes of one host",
    sizes: SIZES,
    route: (index) => ({ match: { kind: "prefix", prefix: `/team-${index}/app` }, base: `/team-${index}/app` }),
    request: (index, turn) => ["app.example.com", `/team-${index}/app/${turn}`],
  },
  {
    name: "exact paths of one host",
    sizes: SIZES,
    route: (index) => ({ match: { kind: "exact", path: `/team-${index}/app` }, base: `/team-${index}/app` }),
    request: (index) => ["app.example.com", `/team-${index}/app`],
  },
  {
    name: "wildcard hosts",
    sizes: SIZES,
    route: (index) => ({ host: `*.t${index}.example.com`, isWildcard: true }),
    request: (index, turn) => [`u${turn}.t${index}.example.com`, `/items/${turn}`],
  },
  {
    name: "patterns below prefixes",
    sizes: SIZES,
    route: (index) => ({ match: pattern(`/team-${index}/v[0-9]+/.*`) }),
    request: (index, turn) => ["app.example.com", `/team-${index}/v7/${turn}`],
  },
  {
    name: "patterns in one segment",
    sizes: SIZES,
    route: (index) => ({ match: pattern(`/team-${index}-[a-z]+/.*`) }),
    request: (index, turn) => ["app.example.com", `/team-${index}-blue/${turn}`],
  },
  {
    name: "patterns all different",
    sizes: SIZES,
    route: (index) => ({ match: pattern(`/team-${index}/v[0-9]+/${index}/.*`) }),
    request: (index, turn) => ["app.example.com", `/team-${index}/v7/${index}/${turn}`],
  },
  {
    name: "a pattern on each host",
    sizes: SIZES,
    route: (index) => ({ host: `h${index}.example.com`, match: pattern("/v[0-9]+/.*") }),
    request: (index, turn) => [`h${index}.example.com`, `/v7/${turn}`],
  },
  {
    name: "one on each wildcard host",
    sizes: SIZES,
    route: (index) => ({ host: `*.t${index}.example.com`, isWildcard: true, match: pattern("/v[0-9]+/.*") }),
    request: (index, turn) => [`u${turn}.t${index}.example.com`, `/v7/${turn}`],
  },
];

console.log(`${"".padEnd(26)} routes   build ms   layout ms   MB   best ns   median ns   unknown host ns`);
for (const sort of sorts) for (const size of sort.sizes) measure(sort, size);

function measure({ name, route, request }: Sort, size: number): void {
  const routes = Array.from({ length: size }, (_, index) => ({ ...template, key: `r${index}`, ...route(index) }));
  // Plans are kept by settings, so these are not of the run before.
  const settings: LiveSettings = { ...model.settings };
  const snapshot: Snapshot = { ...model, settings, routes };
  const before = heapBytes();
  const [table, buildMs] = timed(() => buildRouteTable(snapshot));
  const requests = Array.from({ length: LOOKUPS }, (_, turn) => request((turn * 7919) % size, turn));
  // The first request for a host lays out what it serves; where all routes are of one host, all of them.
  const [, layoutMs] = timed(() => requests.forEach(([host, path]) => find(table, host, path)));
  const bytes = heapBytes() - before;
  const known = rounds(() => requests.forEach(([host, path]) => find(table, host, path)));
  const unknown = rounds(() => {
    for (let turn = 0; turn < LOOKUPS; turn += 1) if (table.findHost(`x${turn}.other.test`)) throw new Error("found");
  });
  console.log(
    [
      name.padEnd(26),
      String(size).padStart(7),
      buildMs.toFixed(1).padStart(10),
      layoutMs.toFixed(1).padStart(11),
      (bytes / 1e6).toFixed(1).padStart(5),
      known.best.toFixed(0).padStart(9),
      known.median.toFixed(0).padStart(11),
      unknown.median.toFixed(0).padStart(17),
    ].join(" "),
  );
}

function find(table: RouteTable, host: string, path: string): void {
  if (table.findHost(host)?.findRoute(path).ok !== true) throw new Error(`Cannot find a route for ${host}${path}`);
}

function timed<T>(work: () => T): readonly [T, number] {
  const start = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(start);
  return [result, (user + system) / 1000];
}

/** CPU nanoseconds of one look-up of `LOOKUPS`. */
function rounds(work: () => void): { readonly best: number; readonly median: number } {
  let count = 1;
  while (timed(() => repeat(work, count))[1] < ROUND_MS) count *= 2;
  const times = Array.from({ length: ROUNDS }, () => (timed(() => repeat(work, count))[1] * 1e6) / (count * LOOKUPS));
  times.sort((a, b) => a - b);
  return { best: times[0] ?? 0, median: times[ROUNDS >> 1] ?? 0 };
}

function repeat(work: () => void, count: number): void {
  for (let turn = 0; turn < count; turn += 1) work();
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
