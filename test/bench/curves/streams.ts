/** A gateway with so many open event streams, and a simulation of the list that it keeps of them. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { COLLECT_ON_SIGNAL } from "../common/collect-on-signal.ts";
import { hold } from "../common/held.ts";
import type { LoadResult } from "../common/load.ts";
import { webRequest } from "../common/requests.ts";
import type { Stage } from "../common/stage.ts";
import { asking, ofGateway, startOne, type Subject } from "./start.ts";

/** An upstream gets at most half of the connections that the gateway has left for all. */
const UPSTREAMS = 3;
/** Local ports that a process has for connections to one upstream, less some. */
const MOST_PORTS = 25_000;

export async function holdStreams(count: number, stage: Stage): Promise<Subject> {
  const real = count <= mostStreams() ? await realStreams(count, stage) : { processes: [] };
  return { processes: [...real.processes, ...(await simulateStreams(count, stage)).processes] };
}

/** The gateway leaves two fifths of its files to upstreams, and all streams may use three quarters of that. */
function mostStreams(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const files = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1024);
  return Math.min(MOST_PORTS * UPSTREAMS, files / 4);
}

async function realStreams(count: number, stage: Stage): Promise<Subject> {
  const origins: string[] = [];
  for (let each = 0; each < UPSTREAMS; each += 1) {
    const upstream = await stage.start("rest", process.execPath, join(import.meta.dirname, "../common/upstream.ts"));
    origins.push(`"http://127.0.0.1:${upstream.port}"`);
  }
  const { child, cookie } = await startOne(stage, `streams-${count}`, "common/upstream.ts", () => ({
    settings: "max_streams_per_user: 1000000\n",
    moreRoutes: (port) =>
      `  - { name: held, from: "http://localhost:${port}", to: [${origins.join(", ")}], prefix: /held, policy: [{ allow: { and: [{ domain: { is: example.com } }] } }] }\n`,
  }));
  const request = webRequest(child.port, cookie, "/held/silence").toString("latin1");
  const held = hold({ port: child.port, request, isStream: true });
  stage.atEnd(() => held.close());
  const open = await held.reach(count);
  if (open !== count) throw new Error(`Cannot hold ${count} streams: ${open} are open`);
  return ofGateway({ child }, { line: "GET", run: asking(child.port, webRequest(child.port, cookie)) });
}

async function simulateStreams(count: number, stage: Stage): Promise<Subject> {
  const child = fork(new URL("streams-child.ts", import.meta.url).pathname, [String(count)], {
    execArgv: [`--import=${COLLECT_ON_SIGNAL}`],
  });
  stage.atEnd(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  await once(child, "message");
  const run = async (durationMs: number): Promise<LoadResult> => {
    child.send(durationMs);
    const [result] = (await once(child, "message")) as [LoadResult];
    return result;
  };
  const cases = [{ line: "simulation: a stream added and removed", run }];
  return { processes: [{ pid: child.pid ?? 0, memory: "simulation: the list", cases }] };
}
