/** How long a publish takes until it is live in every worker, while the workers are busy, and what it costs requests. */
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

import { openSlice, startUpstream, visit } from "../support/marked-upstream.ts";
import { runGateway } from "../support/run-gateway.ts";
import { median, percentiles } from "./table.ts";

export interface PublishFigure {
  readonly routes: number;
  readonly workers: number;
  /** From sending the slice until the answer that says that every worker serves it. */
  readonly medianMs: number;
  readonly maxMs: number;
  /** Requests that were answered while slices were published. */
  readonly requests: number;
  /** Of those: failed, or not answered by 200. */
  readonly failed: number;
  readonly p99Micros: number;
}

export interface PublishOptions {
  readonly routes: readonly number[];
  readonly workers: number;
  readonly rounds: number;
  /** Connections that ask all the time. */
  readonly connections: number;
}

export async function benchPublishing(options: PublishOptions): Promise<PublishFigure[]> {
  const upstream = await startUpstream();
  const gateway = await runGateway({ workers: options.workers, boot: { log_level: "warn" } });
  try {
    const figures: PublishFigure[] = [];
    for (const routes of options.routes) {
      const slice = (mark: string): string => openSlice("bench", mark, upstream.origin, routes);
      const first = await gateway.admin.publish("bench", slice("first"), figures.length > 0 ? "*" : undefined);
      if (first.status !== 200) throw new Error(`Cannot publish: ${first.text}`);
      const tookMs: number[] = [];
      const traffic = startTraffic(gateway.origin, options.connections);
      for (let round = 0; round < options.rounds; round += 1) {
        const startedMs = performance.now();
        const answer = await gateway.admin.publish("bench", slice(`round ${round}`), "*");
        tookMs.push(performance.now() - startedMs);
        if (answer.body["live"] !== true) throw new Error(`Not live: ${answer.text}`);
      }
      const seen = await traffic.stop();
      figures.push({
        routes,
        workers: options.workers,
        medianMs: Math.round(median(tookMs)),
        maxMs: Math.round(Math.max(...tookMs)),
        ...seen,
      });
    }
    return figures;
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

interface Traffic {
  stop(): Promise<Pick<PublishFigure, "requests" | "failed" | "p99Micros">>;
}

/** Connections that ask at a steady pace, below what the gateway could do: users, not a siege. */
function startTraffic(origin: string, connections: number): Traffic {
  const ended = new AbortController();
  const micros: number[] = [];
  let failed = 0;
  const loops = Array.from({ length: connections }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!ended.signal.aborted) {
      const startedMs = performance.now();
      const { status } = await visit(origin, "bench-0.example.com", agent).catch(() => ({ status: 0 }));
      micros.push((performance.now() - startedMs) * 1_000);
      if (status !== 200) failed += 1;
      await delay(PAUSE_MS);
    }
    agent.destroy();
  });
  return {
    async stop() {
      ended.abort();
      await Promise.all(loops);
      return { requests: micros.length, failed, p99Micros: percentiles(micros).p99 };
    },
  };
}

const PAUSE_MS = 20;
