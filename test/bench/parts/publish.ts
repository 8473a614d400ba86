/** How long a publish takes until it is live in every worker, while the workers are busy, and what it costs requests. */
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

import { type MarkedUpstream, openSlice, startUpstream, visit } from "../../support/marked-upstream.ts";
import { runGateway, type RunningGateway } from "../../support/run-gateway.ts";
import { median, percentiles } from "../common/table.ts";

export interface PublishFigure {
  readonly routes: number;
  readonly workers: number;
  /** The very first publish, which is one of its own: nothing is warm. */
  readonly firstMs: number;
  /** How many of the routes each later publish changes. */
  readonly changed: "all" | "one";
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
  try {
    const figures: PublishFigure[] = [];
    for (const routes of options.routes) {
      // A gateway of its own: the first publish is the slowest.
      const gateway = await runGateway({ workers: options.workers, boot: { log_level: "warn" } });
      try {
        figures.push(...(await benchOne(gateway, upstream, routes, options)));
      } finally {
        await gateway.close();
      }
    }
    return figures;
  } finally {
    await upstream.close();
  }
}

async function benchOne(
  gateway: RunningGateway,
  upstream: MarkedUpstream,
  routes: number,
  { workers, rounds, connections }: PublishOptions,
): Promise<PublishFigure[]> {
  const slice = (mark: string): string => openSlice("bench", mark, upstream.origin, routes);
  const publish = async (text: string, expected?: string): Promise<number> => {
    const startedMs = performance.now();
    const answer = await gateway.admin.publish("bench", text, expected);
    if (answer.body["live"] !== true) throw new Error(`Not live: ${answer.text}`);
    return performance.now() - startedMs;
  };
  const firstMs = Math.round(await publish(slice("all")));
  const figures: PublishFigure[] = [];
  for (const changed of ["all", "one"] as const) {
    const tookMs: number[] = [];
    const traffic = startTraffic(gateway.origin, connections);
    for (let round = 0; round < rounds; round += 1) {
      const mark = `round ${round}`;
      const text = changed === "all" ? slice(mark) : slice("all").replace('"X-Mark":"all"', `"X-Mark":"${mark}"`);
      tookMs.push(await publish(text, "*"));
    }
    const seen = await traffic.stop();
    const [medianMs, maxMs] = [Math.round(median(tookMs)), Math.round(Math.max(...tookMs))];
    figures.push({ routes, workers, firstMs, changed, medianMs, maxMs, ...seen });
    // What the rounds that change one route are compared with.
    if (changed === "all") await publish(slice("all"), "*");
  }
  return figures;
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
