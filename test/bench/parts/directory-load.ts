/** The initial load of directory.ts: in windows between which it pauses, each with the proxy's figures of its own. */
import { setTimeout as delay } from "node:timers/promises";

import { oktaUser } from "../../support/scim-client.ts";
import type { DirectoryClients } from "./directory-clients.ts";
import type { SteadyLoad } from "../common/steady-load.ts";
import { median } from "../common/table.ts";

const GROUP_SIZE = 20;
/** After the load has begun or ended, until what was under way is over. */
const SETTLE_MS = 250;
/** Fewer samples have no p99. */
const MIN_SAMPLES = 100;

interface Window {
  readonly isLoaded: boolean;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface LoadSize {
  readonly userCount: number;
  readonly groupCount: number;
  readonly membersAtOnce: number;
  readonly windowMs: number;
}

/** @returns figures of the proxy are medians over the windows, microseconds */
export async function measureLoad(
  clients: DirectoryClients,
  steady: SteadyLoad,
  { userCount, groupCount, membersAtOnce, windowMs }: LoadSize,
) {
  const windows: Window[] = [];
  const phases: (readonly [name: string, ms: number])[] = [];
  const stopwatch = createStopwatch();
  let toldMs = 0;
  const tell = (name: string): void => {
    const ms = stopwatch.ms();
    phases.push([name, ms - toldMs]);
    toldMs = ms;
    console.error(`${name}: ${clients.count()} requests, ${(ms / 1000).toFixed(0)} s of load`);
  };
  let large = "";
  const filling = (async () => {
    const ids = await clients.addUsers(people(userCount));
    const members = ids.slice(0, -1);
    tell("users");
    const groups = Array.from({ length: groupCount }, (_, group) => ({
      name: `Group ${group}`,
      // Neither neighbours nor always the same.
      members: Array.from(
        { length: GROUP_SIZE },
        (_each, at) => members[(group * 7 + at * 2503) % members.length] ?? "",
      ),
    }));
    await clients.addGroups(groups, membersAtOnce);
    tell(`groups of ${GROUP_SIZE}`);
    [large = ""] = await clients.addGroups([{ name: "Everybody", members }], membersAtOnce);
    tell(`one group of ${members.length}, ${membersAtOnce} members at a time`);
  })();
  // Thrown below, when the window is over.
  filling.catch(() => {});

  for (let isOver = false; !isOver;) {
    stopwatch.start();
    const began = Date.now();
    isOver = await Promise.race([delay(windowMs, false), filling.then(() => true)]);
    const asked = Date.now();
    await clients.pause();
    stopwatch.stop();
    windows.push({ isLoaded: true, fromMs: began + SETTLE_MS, untilMs: asked });
    const paused = Date.now();
    await delay(windowMs / 2 + SETTLE_MS);
    windows.push({ isLoaded: false, fromMs: paused + SETTLE_MS, untilMs: Date.now() });
    const [during, between] = windows.slice(-2).map((window) => figuresOf([window], steady));
    console.error(
      `${clients.count()} requests, ${(stopwatch.ms() / 1000).toFixed(0)} s of load, p99 of the proxy ${during?.p99.toFixed(0)} µs ` +
        `(at most ${during?.max.toFixed(0)}), in the pause ${between?.p99.toFixed(0)} µs`,
    );
    clients.resume();
  }
  await filling;
  return {
    ms: stopwatch.ms(),
    phases,
    requests: clients.count(),
    large,
    during: figuresOf(
      windows.filter(({ isLoaded }) => isLoaded),
      steady,
    ),
    between: figuresOf(
      windows.filter(({ isLoaded }) => !isLoaded),
      steady,
    ),
  };
}

function createStopwatch(): { start(): void; stop(): void; ms(): number } {
  let before = 0;
  let startedMs: number | undefined;
  const ms = (): number => before + (startedMs === undefined ? 0 : performance.now() - startedMs);
  return {
    start: () => void (startedMs = performance.now()),
    stop() {
      before = ms();
      startedMs = undefined;
    },
    ms,
  };
}

/** Medians of the windows' own figures, microseconds; `max` is of all. */
function figuresOf(windows: readonly Window[], steady: SteadyLoad) {
  const samples = windows
    .map(({ fromMs, untilMs }) => steady.between(fromMs, untilMs))
    .filter(({ length }) => length >= MIN_SAMPLES);
  const of = (share: number): number => median(samples.map((micros) => micros[Math.floor(micros.length * share)] ?? 0));
  return {
    windows: samples.length,
    p50: of(0.5),
    p99: of(0.99),
    max: Math.max(...samples.map((each) => each.at(-1) ?? 0)),
  };
}

/** Everybody but Dora, who is in no group. */
function people(userCount: number): readonly object[] {
  return Array.from({ length: userCount + 1 }, (_, index) => {
    const name = index === 0 ? "alice" : index === userCount ? "dora" : `person-${index}`;
    return oktaUser(`${name}@example.com`, name);
  });
}
