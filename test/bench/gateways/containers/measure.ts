/** Gateways with a part of a core and little memory, one after the other: how many requests they serve, and how the others end. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import { type ControlGroup, emptyAndRemove, makeControlGroup } from "../../../support/control-group.ts";
import { runOpenLoop } from "../../common/run-open-loop.ts";
import { CLIENT_ADDRESSES, OPEN_FILES, runBurst } from "../../common/run-burst.ts";
import { percentileOf } from "../../common/statistics.ts";
import type { Contender } from "../contender.ts";
import { type Contain, type Started, startStage, type World } from "../stage.ts";
import { bytesOf, questionOf, WORKS } from "../works.ts";
import { openProgramDisk, type ProgramDisk } from "./disk.ts";
import type { ContainerRow, Containers, ContainerSize, ContainerStep } from "./figures.ts";

/** Rows that are measured. */
export const CONTAINED = ["gateform", "envoy-jwt-cached", "oauth2-proxy"];
const SIZES: readonly ContainerSize[] = [
  { cpus: 0.5, mebibytes: 256 },
  { cpus: 0.2, mebibytes: 128 },
];
/** Each with a thousand requests, so that there is a p99. */
const RATES = [
  { ratePerSecond: 50, seconds: 20 },
  { ratePerSecond: 200, seconds: 5 },
  { ratePerSecond: 1000, seconds: 5 },
];
const BURST = 2000;
const TIMEOUT_MS = 10_000;
/** Connections that clients have at most. */
const MOST_CONNECTIONS = 2000;
const LOOK_EVERY_MS = 50;
const GO_SHARE = 0.9;
/** A gateway that serves so many requests a second, each within this time, has nothing else to do. */
const SETTLED = { ratePerSecond: 10, seconds: 1, withinMs: 500 };
const SETTLE_WITHIN_MS = 30_000;

interface Container {
  readonly group: ControlGroup;
  readonly contain: Contain;
  readonly startMs: () => number;
}

export async function measureContainers(
  world: World,
  contenders: readonly Contender[],
  isQuick: boolean,
): Promise<Omit<Containers, "run">> {
  const disk = openProgramDisk(world.directory);
  const groups: ControlGroup[] = [];
  // Neither a group nor a mount ends with this process.
  const stop = (): void =>
    void Promise.all(groups.map((group) => emptyAndRemove(group, 0))).finally(() => {
      disk.close();
      process.exit(130);
    });
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const { readAheadKibibytes } = disk;
    return {
      timeoutSeconds: TIMEOUT_MS / 1000,
      ...(readAheadKibibytes !== undefined && { readAheadKibibytes }),
      ...(await measureRows(world, contenders, isQuick, disk, groups)),
    };
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    disk.close();
  }
}

async function measureRows(
  world: World,
  contenders: readonly Contender[],
  isQuick: boolean,
  disk: ProgramDisk,
  groups: ControlGroup[],
): Promise<Pick<Containers, "missing" | "rows">> {
  const rows: ContainerRow[] = [];
  for (const size of SIZES)
    for (const contender of contenders) {
      world.show(`container of ${size.cpus} cores and ${size.mebibytes} MiB: ${contender.title}`);
      const directory = join(world.directory, `container-${size.mebibytes}`);
      mkdirSync(directory, { recursive: true });
      let container: Container;
      try {
        container = makeContainer(`${contender.name}-${size.mebibytes}`, size, disk);
      } catch (error) {
        return { missing: error instanceof Error ? error.message : String(error), rows: [] };
      }
      const { group } = container;
      groups.splice(0, 1, group);
      try {
        rows.push(await measureOne({ ...world, directory }, contender, size, container, isQuick));
      } finally {
        await emptyAndRemove(group, 3000);
      }
    }
  return { rows };
}

function makeContainer(name: string, { cpus, mebibytes }: ContainerSize, disk: ProgramDisk): Container {
  const memoryBytes = mebibytes * 2 ** 20;
  const group = makeControlGroup(`gateform-bench-${name}-${process.pid}`, { cpus, memoryBytes });
  const enter = `ulimit -n ${OPEN_FILES}; ${group.enter} && exec "$@"`;
  let startMs = 0;
  return {
    group,
    startMs: () => startMs,
    contain: {
      memoryBytes,
      start:
        (start) =>
        async ([program = "", ...args], options) => {
          const own = disk.copyOf(program);
          const from = performance.now();
          // What the guide to Go's collector recommends for containers.
          const env = { GOMEMLIMIT: String(Math.floor(memoryBytes * GO_SHARE)), ...options?.env };
          await start(["/bin/sh", "-c", enter, "sh", own, ...args], { patienceMs: 30_000, ...options, env });
          startMs = performance.now() - from;
        },
    },
  };
}

async function measureOne(
  world: World,
  contender: Contender,
  size: ContainerSize,
  { group, contain, startMs }: Container,
  isQuick: boolean,
): Promise<ContainerRow> {
  const row = { name: contender.name, title: contender.title, size };
  const works = WORKS.filter(({ name }) => name === "mcp");
  const stage = await startStage(world, "plain", [contender], works, contain);
  try {
    const [subject] = stage.started;
    const missing =
      stage.missing.get(contender.name) ?? stage.missingWorks.get(contender.name)?.get("mcp") ?? "it did not start";
    if (subject === undefined || !subject.does.has("mcp"))
      return { ...row, missing, kills: group.memoryKills(), steps: [] };
    const steps: ContainerStep[] = [];
    for (const { ratePerSecond, seconds } of RATES) {
      world.show(`${contender.title} with ${size.mebibytes} MiB: ${ratePerSecond} a second`);
      await settle(subject);
      const send = (): Promise<Sent> => sendAtRate(subject, ratePerSecond, isQuick ? seconds / 4 : seconds);
      steps.push({ ratePerSecond, ...(await watched(group, subject, send)) });
      if (steps.at(-1)?.isKilled === true) break;
    }
    if (steps.at(-1)?.isKilled !== true) {
      world.show(`${contender.title} with ${size.mebibytes} MiB: ${BURST} at once`);
      await settle(subject);
      steps.push({ count: BURST, ...(await watched(group, subject, () => sendAtOnce(subject))) });
    }
    return { ...row, startSeconds: startMs() / 1000, kills: group.memoryKills(), steps };
  } finally {
    await stage.stop();
  }
}

/** Requests that clients gave up in the step before can still be work, which is not the next step's. */
async function settle(subject: Started): Promise<void> {
  const until = performance.now() + SETTLE_WITHIN_MS;
  while (performance.now() < until) {
    const { served, failures } = await sendAtRate(subject, SETTLED.ratePerSecond, SETTLED.seconds);
    if (Object.keys(failures).length === 0 && Math.max(...served) <= SETTLED.withinMs) return;
  }
}

interface Sent {
  readonly served: readonly number[];
  readonly failures: Readonly<Record<string, number>>;
}

async function sendAtRate(subject: Started, ratePerSecond: number, seconds: number): Promise<Sent> {
  const { latencyMillis, failures } = await runOpenLoop({
    port: subject.port,
    request: requestOf(subject),
    ratePerSecond,
    connections: 0,
    durationMs: seconds * 1000,
    warmUpMs: 0,
    clients: { most: MOST_CONNECTIONS, timeoutMs: TIMEOUT_MS, addresses: CLIENT_ADDRESSES },
  });
  return { served: [...latencyMillis], failures };
}

async function sendAtOnce(subject: Started): Promise<Sent> {
  const { outcomes, served } = await runBurst(
    {
      kind: "http",
      secure: false,
      isConnected: false,
      port: subject.port,
      request: requestOf(subject),
      count: BURST,
      addresses: CLIENT_ADDRESSES,
      timeoutMs: TIMEOUT_MS,
    },
    true,
  );
  const { 200: _served, unanswered = 0, ...failures } = outcomes;
  return { served, failures: { ...failures, ...(unanswered > 0 && { timeout: unanswered }) } };
}

const requestOf = ({ port, running, credentials }: Started): string => {
  const [work] = WORKS.filter(({ name }) => name === "mcp");
  if (work === undefined) throw new Error("There is no MCP call among the works");
  return bytesOf(port, questionOf(work, running, credentials)).toString("latin1");
};

async function watched(
  group: ControlGroup,
  { pids }: Started,
  send: () => Promise<Sent>,
): Promise<Omit<ContainerStep, "ratePerSecond" | "count">> {
  let peak = 0;
  const look = (): void => void (peak = Math.max(peak, group.workingSetBytes() ?? 0));
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  const killsBefore = group.memoryKills();
  try {
    const { served, failures } = await send();
    const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
    const [p50, p99] = [0.5, 0.99].map((share) => percentileOf(served, share));
    return {
      requests: served.length + failed,
      served: served.length,
      failures,
      ...(p50 !== undefined && { p50: tenths(p50) }),
      ...(p99 !== undefined && { p99: tenths(p99) }),
      peakMebibytes: Math.round(peak / 2 ** 20),
      isKilled: group.memoryKills() > killsBefore || pids.some((pid) => !existsSync(`/proc/${pid}`)),
    };
  } finally {
    clearInterval(timer);
  }
}

const tenths = (value: number): number => Math.round(value * 10) / 10;
