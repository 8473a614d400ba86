/**
 * The full pipeline beside nginx (where installed), `@fastify/http-proxy` and a bare node:http + undici proxy, interleaved in
 * one run; then publishing to busy workers; then what the authorization server and upstream OAuth cost (issuer.ts,
 * upstream-oauth.ts: programs of their own, whose bounds decide the exit code); then Terraform plans and applies.
 */
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";

import { residentMebibytes } from "../common/cpu.ts";
import { load } from "../common/load.ts";
import { benchPublishing } from "./publish.ts";
import { measureRounds } from "../common/rounds.ts";
import { formatTable, median } from "../common/table.ts";
import { startTargets, type Target, type Workload } from "../common/targets.ts";
import { benchTransports, type TransportFigures } from "./transports.ts";
import { benchTerraform, type TerraformFigure, terraformRows } from "./terraform.ts";

export interface AllOptions {
  readonly rounds: number;
  readonly durationMs: number;
  readonly connections: number;
  readonly peers: readonly string[];
  /** Parts that are left out. */
  readonly without: ReadonlySet<string>;
  readonly hasLargestTerraform: boolean;
  /** Where the figures go. */
  readonly json: string | undefined;
}

interface Figure {
  readonly target: string;
  readonly requestsPerSecond: number;
  readonly cpuMicros: number;
  readonly p50: number;
  readonly p99: number;
  readonly residentMebibytes: number;
  readonly errors: number;
}

export async function benchAll(options: AllOptions): Promise<void> {
  const { rounds, durationMs, connections, without } = options;
  const http = without.has("http") ? {} : await benchHttp(options);
  const transports = without.has("transports") ? undefined : await benchTransports(options);
  if (transports) describeTransports(transports);
  const publish = without.has("publish")
    ? []
    : await benchPublishing({ routes: [1000, 5000], workers: 2, rounds, connections: 16 });
  if (publish.length > 0) {
    const rows = publish.map((figure) => [
      `${figure.changed} of ${figure.routes} routes changed, ${figure.workers} workers`,
      `${figure.firstMs} ms`,
      `${figure.medianMs} ms`,
      `${figure.maxMs} ms`,
      String(figure.requests),
      String(figure.failed),
      `${figure.p99Micros} µs`,
    ]);
    const header = ["publish → live in all", "first", "median", "max", "requests meanwhile", "failed", "p99"];
    console.log(`\nPublishing under load\n${formatTable(header, rows)}`);
  }
  if (!without.has("issuer")) {
    for (const store of [[], ["--sqlite"]]) runProgram("issuer.ts", [`--seconds=${durationMs / 1000}`, ...store]);
  }
  if (!without.has("upstream-oauth")) {
    runProgram("upstream-oauth.ts", [`--rounds=${rounds}`, `--seconds=${durationMs / 1000}`]);
  }
  const sizes = options.hasLargestTerraform ? [200, 1000, 5000] : [200, 1000];
  const terraform: TerraformFigure[] = without.has("terraform") ? [] : await benchTerraform(sizes);
  if (terraform.length > 0) {
    const { header, rows } = terraformRows(terraform);
    console.log(`\nTerraform, with our provider and with one that does nothing\n${formatTable(header, rows)}`);
  }
  if (options.json)
    await writeFile(
      options.json,
      `${JSON.stringify({ rounds, durationMs, connections, http, transports, publish, terraform }, null, 2)}\n`,
    );
}

/** A measurement with a process of its own: what ran before would be in its heap. */
function runProgram(name: string, args: readonly string[]): void {
  console.log(`\n${name} ${args.join(" ")}`);
  const program = new URL(`../${name}`, import.meta.url).pathname;
  const { status } = spawnSync(process.execPath, [program, ...args], { stdio: "inherit" });
  if (status !== 0) {
    console.error(`${name} is above its bounds, or failed`);
    process.exitCode = 1;
  }
}

async function benchHttp({ rounds, durationMs, connections, peers }: AllOptions): Promise<Record<string, Figure[]>> {
  const bench = await startTargets({ peers: peers });
  try {
    const all: Record<string, Figure[]> = {};
    for (const workload of bench.workloads) {
      const figures = await measure(
        bench.targets.filter((target) => target.requests[workload.name]),
        workload,
        { rounds, durationMs, connections },
      );
      all[workload.name] = figures;
      console.log(`\n${workload.title}\n${describe(figures)}`);
    }
    return all;
  } finally {
    await bench.close();
  }
}

async function measure(
  targets: readonly Target[],
  workload: Workload,
  { rounds, durationMs, connections }: Pick<AllOptions, "rounds" | "durationMs" | "connections">,
): Promise<Figure[]> {
  const cases = targets.flatMap(({ name, pid, port, requests }) => {
    const request = requests[workload.name];
    if (!request) return [];
    return [{ name, pid, run: (ms: number) => load({ port, request, connections, durationMs: ms }) }];
  });
  const samples = await measureRounds(cases, { rounds, durationMs });
  return samples.map(({ name, requestsPerSecond, cpuMicros, p50, p99, errors }, index) => ({
    target: name,
    requestsPerSecond: Math.round(median(requestsPerSecond)),
    cpuMicros: Number(median(cpuMicros).toFixed(1)),
    p50: Math.round(median(p50)),
    p99: Math.round(median(p99)),
    residentMebibytes: residentMebibytes(cases[index]?.pid ?? 0),
    errors,
  }));
}

function describe(figures: readonly Figure[]): string {
  const of = (name: string) => figures.find((figure) => figure.target === name);
  const bare = of("bare")?.cpuMicros;
  const fastify = of("fastify")?.requestsPerSecond;
  const rows = figures.map((figure) => [
    figure.target,
    String(figure.requestsPerSecond),
    figure.cpuMicros.toFixed(1),
    bare === undefined ? "" : (figure.cpuMicros / bare).toFixed(2),
    fastify === undefined ? "" : (figure.requestsPerSecond / fastify).toFixed(2),
    String(figure.p50),
    String(figure.p99),
    String(figure.residentMebibytes),
    String(figure.errors),
  ]);
  const header = [
    "target",
    "req/s",
    "CPU µs/req",
    "CPU ÷ bare",
    "req/s ÷ fastify",
    "p50 µs",
    "p99 µs",
    "RSS MiB",
    "errors",
  ];
  return formatTable(header, rows);
}

function describeTransports({ protocols, latencies, reloads }: TransportFigures): void {
  const clear = protocols[0]?.cpuMicros ?? Number.NaN;
  const byProtocol = protocols.map(({ name, cpuMicros, requestsPerSecond }) => [
    name,
    String(requestsPerSecond),
    cpuMicros.toFixed(1),
    (cpuMicros / clear).toFixed(2),
  ]);
  console.log(`\nProtocols\n${formatTable(["", "req/s", "CPU µs/req", "÷ clear"], byProtocol)}`);
  const direct = latencies[0];
  const byLatency = latencies.map(({ name, p50, p99 }) => [
    name,
    String(p50),
    String(p99),
    String(p50 - (direct?.p50 ?? 0)),
    String(p99 - (direct?.p99 ?? 0)),
  ]);
  const header = ["one request at a time", "p50 µs", "p99 µs", "added p50", "added p99"];
  console.log(`\nLatency\n${formatTable(header, byLatency)}`);
  const { withoutMicros, withMicros, reloads: count } = reloads;
  console.log(
    `\nReloads of 1,000 routes every 5 s (${count} in all): p99 ${withMicros} µs, without ${withoutMicros} µs, ratio ${(withMicros / withoutMicros).toFixed(2)}`,
  );
}
