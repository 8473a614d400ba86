/**
 * What a request costs where two workers share the port, beside one process that has it alone: interleaved in one run.
 *
 * Each worker gets as much as the one alone, so that all have compiled as much of their code and find as much work at a
 * time. Nobody is pinned: two workers on one core would only take the cache from each other.
 */
import { join } from "node:path";

import { runGateway, type RunningGateway } from "../../support/run-gateway.ts";
import { startChild } from "../common/child.ts";
import { cpuNanoseconds } from "../common/cpu.ts";
import { askInTurn } from "../common/closed-loop.ts";
import { median } from "../common/table.ts";
import { manyRoutes } from "./routes.ts";

export interface WorkersFigure {
  readonly what: "kept connections" | "a connection each";
  /** Processor time of all processes for one request, microseconds; medians of the rounds. */
  readonly oneMicros: number;
  readonly twoMicros: number;
  /** Median of the rounds' ratios: both were measured right after each other. */
  readonly ratio: number;
  readonly errors: number;
}

export interface WorkersOptions {
  readonly rounds: number;
  /** For each worker in each round. */
  readonly requests: number;
  /** Of each worker. */
  readonly connections: number;
}

const ROUTES = 1_000;
/** Until a worker's code is compiled. */
const WARM_UP_REQUESTS = { "kept connections": 60_000, "a connection each": 6_000 } as const;

export async function benchWorkers(options: WorkersOptions): Promise<WorkersFigure[]> {
  const upstream = await startChild("any", process.execPath, [join(import.meta.dirname, "../common/upstream.ts")]);
  const gateways: RunningGateway[] = [];
  try {
    for (const workers of [1, 2]) {
      const gateway = await runGateway({ workers, boot: { log_level: "warn" } });
      gateways.push(gateway);
      const slice = manyRoutes("bench", "one", `http://127.0.0.1:${upstream.port}`, ROUTES);
      await gateway.admin.publish("bench", slice);
    }
    const figures: WorkersFigure[] = [];
    for (const what of ["kept connections", "a connection each"] as const) {
      const micros: number[][] = [[], []];
      let errors = 0;
      for (const [turn, gateway] of gateways.entries())
        await measure(gateway, what, turn + 1, { ...options, requests: WARM_UP_REQUESTS[what] });
      for (let round = 0; round < options.rounds; round += 1) {
        // Whoever comes first in one round comes last in the next.
        for (const turn of round % 2 === 0 ? [0, 1] : [1, 0]) {
          const gateway = gateways[turn];
          if (!gateway) continue;
          const seen = await measure(gateway, what, turn + 1, options);
          micros[turn]?.push(seen.micros);
          errors += seen.errors;
        }
      }
      const [one = [], two = []] = micros;
      const ratio = median(two.map((each, round) => each / (one[round] ?? Number.NaN)));
      figures.push({ what, oneMicros: median(one), twoMicros: median(two), ratio, errors });
    }
    return figures;
  } finally {
    for (const gateway of gateways) await gateway.close();
    await upstream.stop();
  }
}

async function measure(
  gateway: RunningGateway,
  what: WorkersFigure["what"],
  workers: number,
  options: WorkersOptions,
): Promise<{ readonly micros: number; readonly errors: number }> {
  const pid = gateway.process.pid ?? 0;
  const [requests, clients] = [options.requests * workers, options.connections * workers];
  const port = Number(new URL(gateway.origin).port);
  const end = what === "kept connections" ? "" : "Connection: close\r\n";
  const request = Buffer.from(`GET / HTTP/1.1\r\nHost: bench-0.example.com\r\n${end}\r\n`);
  const before = cpuNanoseconds(pid);
  let errors = 0;
  await askInTurn({ port, request, requests, clients }, (status) => void (status?.startsWith("2") || (errors += 1)));
  return { micros: (cpuNanoseconds(pid) - before) / 1000 / requests, errors };
}
