/** Memory against idle connections and event streams; each proxy is a process of its own that has done nothing else. */
import { setTimeout as delay } from "node:timers/promises";

import { linePlot } from "../../support/plot/line-plot.ts";
import { COLLECT_ON_SIGNAL } from "../common/collect-on-signal.ts";
import { residentKibibytes } from "../common/cpu.ts";
import { hold } from "../common/held.ts";
import type { HeldTask } from "../common/held-child.ts";
import { load } from "../common/load.ts";
import { itemsRequest } from "../common/requests.ts";
import { slopeOf } from "../common/statistics.ts";
import { startTargets, type Target } from "../common/targets.ts";
import { COLOUR_OF, fixed, type ReportOptions, type Section } from "./sections.ts";

const PEERS = {
  connections: ["nginx", "haproxy-jwt", "fastify"],
  // @fastify/http-proxy keeps to the 128 connections that its configuration here gives it.
  streams: ["nginx", "haproxy-jwt"],
} as const;
/** Of Node's, which otherwise show what the collector has not come to. */
const COLLECTING = new Set(["gateway", "fastify"]);
const SETTLE_MS = 700;
/** All streams are Alice's, and of the connections nobody's share may run out: who has more than are free gets no other one. */
const SETTINGS = "max_streams_per_user: 100000\nmax_connections: 10000\n";

export interface MemoryFigure {
  readonly target: string;
  readonly what: "connections" | "streams";
  /** `open` when memory was read, of the `count` that there should have been. */
  readonly points: readonly { readonly count: number; readonly open: number; readonly mebibytes: number }[];
  /** What each one adds. */
  readonly kibibytes: number;
}

export async function measureMemory(options: ReportOptions): Promise<Section> {
  const { isQuick } = options;
  const counts = {
    connections: isQuick ? [0, 1000, 2000] : [0, 1000, 2000, 4000, 8000],
    streams: isQuick ? [0, 200, 400] : [0, 250, 500, 1000, 2000],
  } as const;
  const figures: MemoryFigure[] = [];
  for (const what of ["connections", "streams"] as const) {
    const before = process.env["NODE_OPTIONS"];
    process.env["NODE_OPTIONS"] = `${before ?? ""} --import=${COLLECT_ON_SIGNAL}`.trim();
    const bench = await startTargets({ peers: PEERS[what], settings: SETTINGS, say: () => {} });
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
    try {
      for (const target of bench.targets) figures.push(await measureTarget(target, what, counts[what], options));
    } finally {
      await bench.close();
    }
  }
  return sectionOf(figures);
}

async function measureTarget(
  target: Target,
  what: MemoryFigure["what"],
  counts: readonly number[],
  { progress, say, isQuick }: ReportOptions,
): Promise<MemoryFigure> {
  const { name, pid, port, credential, requests } = target;
  const get = requests["get"] ?? Buffer.alloc(0);
  progress(`memory: ${name}, ${what}`);
  // What is loaded, compiled and grown on the way is not the connections'.
  await load({ port, request: get, connections: 64, durationMs: isQuick ? 1000 : 3000 });
  const isStream = what === "streams";
  const request = isStream ? itemsRequest(port, credential, "/web/events") : get;
  const task: HeldTask = { port, request: request.toString("latin1"), isStream };
  const held = hold(task);
  try {
    const points = [];
    for (const count of counts) {
      await held.reach(count);
      await delay(SETTLE_MS);
      if (COLLECTING.has(name)) process.kill(pid, "SIGUSR2");
      await delay(SETTLE_MS);
      const mebibytes = residentKibibytes(pid) / 1024;
      points.push({ count, open: await held.tell(), mebibytes });
    }
    for (const line of lostLines(name, what, points)) {
      say(line);
      process.exitCode = 1;
    }
    const slope = slopeOf(points.map(({ open, mebibytes }) => ({ x: open, y: mebibytes * 1024 })));
    return { target: name, what, points, kibibytes: slope };
  } finally {
    await held.close();
  }
}

/** A line for each point at which fewer were open than there should have been. */
export function lostLines(
  target: string,
  what: MemoryFigure["what"],
  points: MemoryFigure["points"],
): readonly string[] {
  return points
    .filter(({ count, open }) => open !== count)
    .map(({ count, open }) => `"memory" is not to be believed: ${target} held ${open} of ${count} ${what}`);
}

function sectionOf(figures: readonly MemoryFigure[]): Section {
  const of = (what: MemoryFigure["what"]): readonly MemoryFigure[] => figures.filter((each) => each.what === what);
  const plotOf = (what: MemoryFigure["what"], title: string): string =>
    linePlot({
      title,
      xTitle: what === "streams" ? "open event streams" : "idle connections",
      yTitle: "resident MiB",
      xAxis: "linear",
      yAxis: "linear",
      lines: of(what).map(({ target, points }) => ({
        name: target,
        colour: COLOUR_OF[target] ?? 6,
        points: points.map(({ open, mebibytes }) => ({ x: open, y: mebibytes })),
      })),
    });
  const rows = figures.map(({ target, what, points, kibibytes }) => [
    target,
    what,
    fixed(kibibytes, 1),
    points.map(({ open, mebibytes }) => `${open.toLocaleString("en")}: ${fixed(mebibytes)}`).join(" · "),
    String(points.reduce((sum, { count, open }) => sum + count - open, 0)),
  ]);
  return {
    name: "memory",
    title: "Memory of what is held open",
    about: [
      "Resident memory of the process tree after a warm-up: idle connections that had one answer each, and event streams through to the upstream (a connection on either side, an event every 2 s), from many client addresses. The slope through the points, by least squares, is what one more takes. Node's programs are told to collect garbage before each reading; without that a reading shows what the collector has not come to yet.",
    ],
    tables: [{ header: ["", "what", "KiB each", "open: resident MiB", "lost"], rows }],
    plots: [plotOf("connections", "Idle client connections"), plotOf("streams", "Event streams, both sides")],
    figures,
  };
}
