/** A gateway for each number of routes, asked in turn. */
import { mkdtemp, rm } from "node:fs/promises";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

import { linePlot } from "../../support/plot/line-plot.ts";
import { type Child, startChild } from "../common/child.ts";
import { residentMebibytes } from "../common/cpu.ts";
import { startGateway } from "../common/gateway.ts";
import { load } from "../common/load.ts";
import { webRequest } from "../common/requests.ts";
import { type Case, measureRounds } from "../common/rounds.ts";
import { pointsOf } from "./curves.ts";
import { COLOUR_OF, fixed, type ReportOptions, type Section } from "./sections.ts";

/** Beside the two that are asked. */
const COUNTS = [1, 10, 100, 1000, 10_000, 100_000];
const QUICK_COUNTS = [1, 1000, 10_000];
/** What 100,000 routes take at most while they are loaded, with room to spare. */
const LARGE_BYTES = 5 * 2 ** 30;

export async function measureRoutes(options: ReportOptions): Promise<Section> {
  const { isQuick, rounds, durationMs, connections, progress, say } = options;
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    closers.unshift(() => child.stop());
    return child;
  };
  try {
    const upstream = await start("rest", process.execPath, join(import.meta.dirname, "../common/upstream.ts"));
    const cases: (Case & { readonly count: number; readonly startSeconds: number })[] = [];
    for (const count of isQuick ? QUICK_COUNTS : COUNTS) {
      if (count >= 100_000 && freemem() < LARGE_BYTES) {
        say(`${count} routes are left out: less than ${LARGE_BYTES / 2 ** 30} GiB of memory are free`);
        continue;
      }
      progress(`routes: starting with ${count.toLocaleString("en")}`);
      const startedMs = performance.now();
      const gateway = await startGateway({
        directory,
        name: `routes-${count}`,
        upstream: `http://127.0.0.1:${upstream.port}`,
        start,
        logLevel: "error",
        otherRoutes: count,
      });
      const startSeconds = (performance.now() - startedMs) / 1000;
      closers.unshift(gateway.close);
      const { pid, port } = gateway.child;
      const request = webRequest(port, gateway.cookie);
      const run = (ms: number) => load({ port, request, connections, durationMs: ms });
      cases.push({ name: "gateway", pid, run, count, startSeconds });
    }
    progress("routes");
    const half = { rounds: Math.max(2, Math.ceil(rounds / 2)), durationMs: durationMs / 2, warmUpMs: durationMs };
    const samples = await measureRounds(cases, { ...half, isMirrored: true });
    const points = samples.flatMap((each, index) => pointsOf([each], cases[index]?.count ?? 0));
    const resident = cases.map(({ count, pid, startSeconds }) => ({
      count,
      startSeconds,
      mebibytes: residentMebibytes(pid),
    }));
    const plot = (
      title: string,
      yTitle: string,
      values: readonly { x: number; y: number; low?: number; high?: number }[],
    ) =>
      linePlot({
        title,
        xTitle: "routes",
        yTitle,
        xAxis: "factors",
        yAxis: "linear",
        lines: [{ name: "gateway", colour: COLOUR_OF["gateway"] ?? 1, points: values }],
      });
    return {
      name: "routes",
      title: "Number of routes",
      about: [
        "A gateway for each number of routes, each on a host of its own with a policy and header settings, and two more, one of which is asked (GET with a session). From one file, at the start; the time of the start includes two sign-ins.",
      ],
      tables: [
        {
          header: ["routes", "CPU µs a request", "half of the rounds", "resident MiB", "start, s"],
          rows: points.map(({ x, cpuMicros }, index) => [
            x.toLocaleString("en"),
            fixed(cpuMicros.median),
            `${fixed(cpuMicros.low)} – ${fixed(cpuMicros.high)}`,
            String(resident[index]?.mebibytes),
            fixed(resident[index]?.startSeconds ?? 0),
          ]),
        },
      ],
      plots: [
        plot(
          "Processor time against routes",
          "CPU µs a request",
          points.map(({ x, cpuMicros: { median: y, low, high } }) => ({ x, y, low, high })),
        ),
        plot(
          "Memory against routes",
          "resident MiB",
          resident.map(({ count, mebibytes }) => ({ x: count, y: mebibytes })),
        ),
      ],
      figures: { points, resident },
    };
  } finally {
    for (const close of closers) await close();
  }
}
