/** Processor time, latency and memory of all gateways of a stage, who take turns in each round. */
import { setTimeout as delay } from "node:timers/promises";

import { cpuNanoseconds, residentKibibytes } from "../common/cpu.ts";
import { load, type LoadResult } from "../common/load.ts";
import { loadHttp2 } from "../common/load-http2.ts";
import { spreadOf } from "../common/statistics.ts";
import { median } from "../common/table.ts";
import type { Contender } from "./contender.ts";
import type { Cell } from "./figures.ts";
import type { Started } from "./stage.ts";
import { ask, headersOf, upstreamConnections } from "./verify.ts";
import { bytesOf, questionOf, type Work } from "./works.ts";

export interface MeasureOptions {
  readonly rounds: number;
  readonly durationMs: number;
  readonly isQuick: boolean;
  /** Nothing was asked of these processes before. */
  readonly isFirst: boolean;
  readonly upstream: number;
  readonly show: (what: string) => void;
}

interface Samples {
  readonly cpuMicros: number[];
  readonly requestsPerSecond: number[];
  readonly p50: number[];
  readonly p99: number[];
  readonly resident: number[];
  requests: number;
  errors: number;
  upstreamConnections: number;
}

const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0);
const residentOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + residentKibibytes(pid), 0) / 1024;

/** @returns for each gateway that does the work its figures, or what went wrong */
export async function measureWork(
  work: Work,
  connections: number,
  stage: readonly Started[],
  options: MeasureOptions,
): Promise<ReadonlyMap<string, Cell | string>> {
  const { rounds, durationMs, upstream, show } = options;
  const subjects = stage.filter(({ does }) => does.has(work.name));
  const turns = await Promise.all(
    subjects.map(async (each) => ({
      each,
      run: await loadOf(work, connections, each),
      samples: emptySamples(),
    })),
  );
  const title = `${work.title}, ${connections} ${connections === 1 ? "connection" : "connections"}`;
  show(`${title}: warm-up`);
  for (const { each, run } of turns) await warmUp(each, run, warmUpOf(each.contender, connections, options));
  for (let round = 1; round <= rounds; round += 1) {
    show(`${title}: round ${round} of ${rounds}`);
    for (const { each, run, samples } of round % 2 === 1 ? turns : turns.toReversed()) {
      const connectionsBefore = await upstreamConnections(upstream);
      const before = cpuOf(each.pids);
      let resident = 0;
      const look = setTimeout(() => (resident = residentOf(each.pids)), durationMs * 0.8);
      const result = await run(durationMs);
      clearTimeout(look);
      samples.cpuMicros.push((cpuOf(each.pids) - before) / 1000 / Math.max(1, result.requests));
      samples.requestsPerSecond.push(result.requests / result.seconds);
      samples.p50.push(result.p50);
      samples.p99.push(result.p99);
      samples.resident.push(resident);
      samples.requests += result.requests;
      samples.errors += result.errors;
      // One of them asked for the number itself.
      samples.upstreamConnections += Math.max(0, (await upstreamConnections(upstream)) - connectionsBefore - 1);
    }
  }
  return new Map(turns.map(({ each, samples }) => [each.contender.name, cellOf(samples)]));
}

type Run = (ms: number) => Promise<LoadResult>;

/** Milliseconds of processor time. */
export function warmUpOf(
  contender: Contender,
  connections: number,
  { isFirst, isQuick }: Pick<MeasureOptions, "isFirst" | "isQuick">,
): number {
  const late = isFirst ? 8_000 : 3_000;
  return (contender.isCompiledLate && connections > 1 ? late : 600) / (isQuick ? 4 : 1);
}

/** Until it has used so much processor time; on a quiet machine that is hardly longer than so much time. */
export async function warmUp({ pids }: Started, run: Run, cpuMs: number): Promise<void> {
  const until = performance.now() + cpuMs * 2;
  const before = cpuOf(pids);
  while (performance.now() < until && (cpuOf(pids) - before) / 1e6 < cpuMs) await run(Math.min(cpuMs, 500));
}

export async function loadOf(work: Work, connections: number, subject: Started): Promise<Run> {
  const { port, running, credentials } = subject;
  const question = questionOf(work, running, credentials);
  if (work.name === "http2") {
    const headers = headersOf(question);
    return (durationMs) => loadHttp2({ port, path: question.path, headers, requests: connections, durationMs });
  }
  const request = bytesOf(port, question);
  // As long as the one that was verified; events come in parts.
  const length = work.name === "sse" ? undefined : Buffer.byteLength((await ask(port, question)).text);
  const bodyBytes = length === undefined ? {} : { bodyBytes: length };
  return (durationMs) => load({ port, request, connections, durationMs, ...bodyBytes });
}

function emptySamples(): Samples {
  return {
    cpuMicros: [],
    requestsPerSecond: [],
    p50: [],
    p99: [],
    resident: [],
    requests: 0,
    errors: 0,
    upstreamConnections: 0,
  };
}

function cellOf(samples: Samples): Cell | string {
  const { requests, errors } = samples;
  if (errors > 0) return `${errors} of ${requests + errors} answers under load were wrong`;
  const { median: middle, low, high } = spreadOf(samples.cpuMicros);
  return {
    cpuMicros: { median: tenths(middle), low: tenths(low), high: tenths(high) },
    requestsPerSecond: Math.round(median(samples.requestsPerSecond)),
    p50: Math.round(median(samples.p50)),
    p99: Math.round(median(samples.p99)),
    residentMebibytes: Math.round(median(samples.resident)),
    requests,
    upstreamConnections: samples.upstreamConnections,
  };
}

const tenths = (value: number): number => Math.round(value * 10) / 10;

const SETTLE_MS = 4_000;

/** All at the same time, while nothing is asked of them. @returns milliseconds of processor time a second */
export async function measureIdle(stage: readonly Started[], ms: number): Promise<ReadonlyMap<string, number>> {
  await delay(SETTLE_MS);
  const before = stage.map(({ pids }) => cpuOf(pids));
  await delay(ms);
  return new Map(
    stage.map(({ contender, pids }, index) => [
      contender.name,
      tenths((cpuOf(pids) - (before[index] ?? 0)) / 1e6 / (ms / 1000)),
    ]),
  );
}
