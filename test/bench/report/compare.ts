/** The same requests to all, one core each, in turn: processor time a request, and one request at a time. */
import { load } from "../common/load.ts";
import { measureRounds, type Samples } from "../common/rounds.ts";
import { pairedRatios, type Spread, spreadOf } from "../common/statistics.ts";
import { median } from "../common/table.ts";
import { type Bench, DOWNLOAD } from "../common/targets.ts";
import { barPlot } from "../../support/plot/bar-plot.ts";
import { COLOUR_OF, fixed, type ReportOptions, type Section, type Table } from "./sections.ts";

/** By workload, the gateway first. */
export type Compared = Readonly<Record<string, readonly Samples[]>>;

const DOWNLOAD_CONNECTIONS = 32;
/** Who has one request at a time: a closed loop is right for that, nothing waits behind a slow answer. */
const ONE_AT_A_TIME = ["gateway", "nginx", "haproxy-jwt", "apache-oidc"];

export async function compareTargets(bench: Bench, options: ReportOptions): Promise<Compared> {
  const { rounds, durationMs, connections, isQuick, progress } = options;
  const workloads = [...bench.workloads, { name: DOWNLOAD, title: "download of 1 MiB" }];
  const found: Record<string, readonly Samples[]> = {};
  const warmUpMs = isQuick ? 500 : 1500;
  for (const { name, title } of workloads) {
    progress(title);
    const cases = bench.targets.map(({ name: target, pid, port, requests }) => {
      const request = requests[name] ?? Buffer.alloc(0);
      const many = name === DOWNLOAD ? Math.min(connections, DOWNLOAD_CONNECTIONS) : connections;
      return { name: target, pid, run: (ms: number) => load({ port, request, connections: many, durationMs: ms }) };
    });
    found[name] = await measureRounds(cases, { rounds, durationMs, warmUpMs, isMirrored: true });
  }
  return found;
}

/** Microseconds of latency by target. */
export async function compareOneAtATime(bench: Bench, options: ReportOptions): Promise<readonly Samples[]> {
  options.progress("one request at a time");
  const cases = bench.targets
    .filter(({ name }) => ONE_AT_A_TIME.includes(name))
    .map(({ name, pid, port, requests: { get = Buffer.alloc(0) } }) => ({
      name,
      pid,
      run: (ms: number) => load({ port, request: get, connections: 1, durationMs: ms }),
    }));
  return measureRounds(cases, { ...options, warmUpMs: options.isQuick ? 300 : 1000, isMirrored: true });
}

/** Their processor time over ours, round by round: above 1 they take more. */
export function cpuRatio(samples: readonly Samples[] | undefined, peer: string): Spread | undefined {
  const ours = samples?.find(({ name }) => name === "gateway");
  const theirs = samples?.find(({ name }) => name === peer);
  if (ours === undefined || theirs === undefined) return undefined;
  return spreadOf(pairedRatios(theirs.cpuMicros, ours.cpuMicros));
}

export function compareSection(compared: Compared, oneAtATime: readonly Samples[], options: ReportOptions): Section {
  const titles: Readonly<Record<string, string>> = {
    get: "GET, session cookie, small JSON",
    "mcp-get": "GET on an MCP route, External Token",
    "mcp-post": "POST tools/call of 4 KiB, External Token",
    [DOWNLOAD]: "GET of 1 MiB, session cookie",
  };
  const parts = Object.entries(compared).map(([name, samples]) => {
    const title = titles[name] ?? name;
    const bars = samples.map(({ name: target, cpuMicros }) => {
      const { median: value, low, high } = spreadOf(cpuMicros);
      return { name: target, colour: COLOUR_OF[target] ?? 6, value, low, high };
    });
    const rows = samples.map((each) => {
      const cpu = spreadOf(each.cpuMicros);
      const ratio = cpuRatio(samples, each.name);
      return [
        each.name,
        fixed(cpu.median),
        `${fixed(cpu.low)} – ${fixed(cpu.high)}`,
        each.name === "gateway" || !ratio ? "" : fixed(ratio.median, 2),
        each.name === "gateway" || !ratio ? "" : `${fixed(ratio.low, 2)} – ${fixed(ratio.high, 2)}`,
        Math.round(median(each.requestsPerSecond)).toLocaleString("en"),
        String(each.errors),
      ];
    });
    const header = [
      "",
      "CPU µs a request",
      "half of the rounds",
      "÷ gateway",
      "half of the rounds",
      "requests/s",
      "errors",
    ];
    return {
      plot: barPlot({ title, xTitle: "CPU µs a request, less is better", groups: [{ name: "", bars }] }),
      table: { caption: title, header, rows },
    };
  });
  return {
    name: "compare",
    title: "One core each, the same requests",
    about: [
      `${options.connections} connections with one request in flight each (${DOWNLOAD_CONNECTIONS} for downloads), ${options.rounds} rounds of ${options.durationMs / 1000} s that go over all proxies in turn, there and back. Only the gateway finds a route among 1,000, checks a session or token of its own, decides a policy, changes headers, signs an assertion and writes a record; haproxy-jwt and apache-oidc verify a HS256 token, change headers and write a line; the others pass on what they get.`,
      "CPU is that of the process and all its children, in user and kernel. Requests a second say little: where a proxy needs less than the client and the upstream, which share the other core, they are what is measured.",
    ],
    tables: [...parts.map(({ table }) => table), oneAtATimeTable(oneAtATime)],
    plots: parts.map(({ plot }) => plot),
    figures: { ...compared, oneAtATime },
  };
}

function oneAtATimeTable(samples: readonly Samples[]): Table {
  const nginx = samples.find(({ name }) => name === "nginx");
  const over = (ours: readonly number[], theirs: readonly number[] | undefined): string =>
    theirs ? fixed(spreadOf(pairedRatios(ours, theirs)).median, 2) : "";
  return {
    caption: "One request at a time: GET, session cookie, small JSON",
    header: ["", "p50 µs", "÷ nginx", "p99 µs", "÷ nginx"],
    rows: samples.map(({ name, p50, p99 }) => [
      name,
      fixed(median(p50), 0),
      over(p50, nginx?.p50),
      fixed(median(p99), 0),
      over(p99, nginx?.p99),
    ]),
  };
}
