/**
 * `npm run bench`: the full pipeline beside nginx (where installed), `@fastify/http-proxy` and a bare node:http + undici
 * proxy, interleaved in one run; then publishing to busy workers; then what the authorization server and upstream OAuth cost
 * (issuer.ts, upstream-oauth.ts: programs of their own, whose bounds decide the exit code); then Terraform plans and applies.
 *
 *   --rounds N (7)  --seconds S (2)  --connections C (64)  --json FILE
 *   --no-terraform  --no-http  --no-transports  --no-publish  --no-issuer  --no-upstream-oauth
 *   --terraform-5000
 *
 * Read the ratios, not the rates: CPU per request of the process tree is the steady figure on a shared machine.
 */
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { cpuNanoseconds, residentMebibytes } from "./cpu.ts";
import { load } from "./load.ts";
import { benchPublishing } from "./publish.ts";
import { formatTable, median } from "./table.ts";
import { startTargets, type Target, type Workload } from "./targets.ts";
import { benchTransports, type TransportFigures } from "./transports.ts";
import { benchTerraform, type TerraformFigure, terraformRows } from "./terraform.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "64" },
    json: { type: "string" },
    "no-terraform": { type: "boolean", default: false },
    "no-http": { type: "boolean", default: false },
    "no-transports": { type: "boolean", default: false },
    "no-publish": { type: "boolean", default: false },
    "no-issuer": { type: "boolean", default: false },
    "no-upstream-oauth": { type: "boolean", default: false },
    "terraform-5000": { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
const connections = Number(values.connections);

interface Figure {
  readonly target: string;
  readonly requestsPerSecond: number;
  readonly cpuMicros: number;
  readonly p50: number;
  readonly p99: number;
  readonly residentMebibytes: number;
  readonly errors: number;
}

const http = values["no-http"] ? {} : await benchHttp();
const transports = values["no-transports"] ? undefined : await benchTransports({ rounds, durationMs, connections });
if (transports) describeTransports(transports);
const publish = values["no-publish"]
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
if (!values["no-issuer"]) {
  for (const store of [[], ["--sqlite"]]) runProgram("issuer.ts", [`--seconds=${values.seconds}`, ...store]);
}
if (!values["no-upstream-oauth"]) {
  runProgram("upstream-oauth.ts", [`--rounds=${values.rounds}`, `--seconds=${values.seconds}`]);
}
const sizes = values["terraform-5000"] ? [200, 1000, 5000] : [200, 1000];
const terraform: TerraformFigure[] = values["no-terraform"] ? [] : await benchTerraform(sizes);
if (terraform.length > 0) {
  const { header, rows } = terraformRows(terraform);
  console.log(`\nTerraform, with our provider and with one that does nothing\n${formatTable(header, rows)}`);
}
if (values.json)
  await writeFile(
    values.json,
    `${JSON.stringify({ rounds, durationMs, connections, http, transports, publish, terraform }, null, 2)}\n`,
  );

/** A measurement with a process of its own: what ran before would be in its heap. */
function runProgram(name: string, args: readonly string[]): void {
  console.log(`\n${name} ${args.join(" ")}`);
  const program = new URL(name, import.meta.url).pathname;
  const { status } = spawnSync(process.execPath, [program, ...args], { stdio: "inherit" });
  if (status !== 0) {
    console.error(`${name} is above its bounds, or failed`);
    process.exitCode = 1;
  }
}

async function benchHttp(): Promise<Record<string, Figure[]>> {
  const bench = await startTargets();
  try {
    const all: Record<string, Figure[]> = {};
    for (const workload of bench.workloads) {
      const figures = await measure(
        bench.targets.filter((target) => target.requests[workload.name]),
        workload,
      );
      all[workload.name] = figures;
      console.log(`\n${workload.title}\n${describe(figures)}`);
    }
    return all;
  } finally {
    await bench.close();
  }
}

/** Rounds go over all targets in turn, so that a slow minute of the machine hits all alike. */
async function measure(targets: readonly Target[], workload: Workload): Promise<Figure[]> {
  const rows = new Map<string, { rps: number[]; cpu: number[]; p50: number[]; p99: number[]; errors: number }>();
  for (let round = -1; round < rounds; round += 1) {
    for (const target of targets) {
      const request = target.requests[workload.name];
      if (!request) continue;
      const before = cpuNanoseconds(target.pid);
      const result = await load({ port: target.port, request, connections, durationMs: round < 0 ? 1000 : durationMs });
      const cpu = cpuNanoseconds(target.pid) - before;
      if (round < 0) continue; // warm-up
      const row = rows.get(target.name) ?? { rps: [], cpu: [], p50: [], p99: [], errors: 0 };
      rows.set(target.name, row);
      row.rps.push(result.requests / result.seconds);
      row.cpu.push(cpu / 1000 / Math.max(1, result.requests));
      row.p50.push(result.p50);
      row.p99.push(result.p99);
      row.errors += result.errors;
    }
  }
  return targets.map((target) => {
    const row = rows.get(target.name);
    return {
      target: target.name,
      requestsPerSecond: Math.round(median(row?.rps ?? [])),
      cpuMicros: Number(median(row?.cpu ?? []).toFixed(1)),
      p50: Math.round(median(row?.p50 ?? [])),
      p99: Math.round(median(row?.p99 ?? [])),
      residentMebibytes: residentMebibytes(target.pid),
      errors: row?.errors ?? 0,
    };
  });
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
