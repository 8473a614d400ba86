/** Many routes are published to a gateway that serves: how long until they are in force, and what requests notice of it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

import { startUpstream } from "../../support/marked-upstream.ts";
import { threadTimes } from "../common/threads.ts";
import type { ProbeResult } from "./probe.ts";
import { manyRoutes } from "./routes.ts";
import { forgetPeak, memoryOf, startWatched, type Watched } from "./watched.ts";

export interface LoadingFigure {
  readonly what: string;
  /** From sending the slice until the answer that says that it is in force. */
  readonly tookMs: number;
  /** Of the event loop, see loop-watch.ts. */
  readonly stallMs: number;
  readonly busyMs: number;
  readonly collectionMs: number;
  /** Processor time of all threads of the process, and of the one that serves; what the probe's requests cost is in both. */
  readonly cpuMs: number;
  readonly servingCpuMs: number;
  /** Slowest answer to a client that asks all the time. */
  readonly slowestMs: number;
  /** Resident memory at most meanwhile, above what was there before; MiB. */
  readonly grewMebibytes: number;
  /** Resident afterwards. */
  readonly residentMebibytes: number;
}

export interface LoadingOptions {
  readonly routes: number;
  readonly rounds: number;
}

/** What loads are compared with: as many requests, and no load. */
export const QUIET = "nothing";
const QUIET_MS = 2_000;

export async function benchLoading({ routes, rounds }: LoadingOptions): Promise<LoadingFigure[]> {
  const upstream = await startUpstream();
  const watched = await startWatched({ boot: { log_level: "warn" } });
  const { gateway } = watched;
  try {
    const slice = (mark: string): string => manyRoutes("bench", mark, upstream.origin, routes);
    // Something is served before, as in life.
    await publish(watched, "probe", manyRoutes("probe", "probe", upstream.origin, 1));
    const figures: LoadingFigure[] = [];
    const measure = async (what: string, work: () => Promise<void>): Promise<void> => {
      const [pid = 0] = watched.pids;
      const probe = fork(new URL("./probe.ts", import.meta.url).pathname, [gateway.origin, "probe-0.example.com"]);
      await once(probe, "message");
      await watched.window();
      forgetPeak(pid);
      const before = memoryOf(pid).resident;
      const [startedMs, cpuBefore] = [performance.now(), threadTimes(pid)];
      await work();
      const tookMs = performance.now() - startedMs;
      // What is done after the answer counts, too.
      await delay(500);
      const cpu = threadTimes(pid);
      const seen = await watched.window();
      probe.send("end");
      const [{ slowestMs }] = (await once(probe, "message")) as [ProbeResult];
      const { resident, peak } = memoryOf(pid);
      const spentMs = (cpu.first + cpu.others - cpuBefore.first - cpuBefore.others) / 1e6;
      figures.push({
        what,
        tookMs,
        ...seen,
        cpuMs: spentMs,
        servingCpuMs: (cpu.first - cpuBefore.first) / 1e6,
        slowestMs,
        grewMebibytes: peak - before,
        residentMebibytes: resident,
      });
    };
    await measure(QUIET, () => delay(QUIET_MS));
    await measure("first", () => publish(watched, "bench", slice("first")));
    for (let round = 0; round < rounds; round += 1) {
      const mark = `round ${round}`;
      await measure("all changed", () => publish(watched, "bench", slice(mark), "*"));
      const one = slice(mark).replace(`"X-Mark":"${mark}"`, '"X-Mark":"one"');
      await measure("one changed", () => publish(watched, "bench", one, "*"));
    }
    await measure("removed", async () => void (await gateway.admin.remove("bench")));
    return figures;
  } finally {
    await watched.close();
    await upstream.close();
  }
}

async function publish({ gateway }: Watched, owner: string, text: string, expected?: string): Promise<void> {
  const answer = await gateway.admin.publish(owner, text, expected);
  if (answer.body["live"] !== true) throw new Error(`Not live: ${answer.text.slice(0, 1_000)}`);
}
