/**
 * What a request costs where two workers share the port, beside one process that has it alone: interleaved in one run.
 *
 * Each worker gets as much as the one alone, so that all have compiled as much of their code and find as much work at a
 * time. Nobody is pinned: two workers on one core would only take the cache from each other.
 */
import { connect } from "node:net";
import { join } from "node:path";

import { runGateway, type RunningGateway } from "../../support/run-gateway.ts";
import { startChild } from "../common/child.ts";
import { cpuNanoseconds } from "../common/cpu.ts";
import { answerLength } from "../common/answers.ts";
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
  const [wanted, connections] = [options.requests * workers, options.connections * workers];
  const port = Number(new URL(gateway.origin).port);
  const end = what === "kept connections" ? "" : "Connection: close\r\n";
  const request = Buffer.from(`GET / HTTP/1.1\r\nHost: bench-0.example.com\r\n${end}\r\n`);
  const before = cpuNanoseconds(pid);
  const errors = await ask(port, request, wanted, connections);
  return { micros: (cpuNanoseconds(pid) - before) / 1000 / wanted, errors };
}

/** So many requests, so many at once; over connections that the gateway keeps or closes, as the request says. @returns errors */
async function ask(port: number, request: Buffer, requests: number, connections: number): Promise<number> {
  const count = { left: requests, errors: 0 };
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      let [pending, isAsking] = ["", false];
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      const next = (): void => {
        if (count.left <= 0) return void socket.end();
        count.left -= 1;
        isAsking = true;
        socket.write(request);
      };
      socket.on("connect", next);
      socket.on("data", (chunk) => {
        pending += chunk.toString("latin1");
        const length = answerLength(pending);
        if (length === undefined || pending.length < length) return;
        if (!pending.startsWith("HTTP/1.1 2")) count.errors += 1;
        const isLast = /^connection: close\r$/im.test(pending.slice(0, length));
        pending = pending.slice(length);
        isAsking = false;
        if (isLast) socket.end();
        else next();
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        if (isAsking) count.errors += 1;
        resolve();
      });
    });
  const loop = async (): Promise<void> => {
    while (count.left > 0) await one();
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return count.errors;
}
