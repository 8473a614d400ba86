/**
 * Which fault comes when: all that can happen here in an order of the seed, then all of them in another one, until time is over.
 *
 * The same seed gives the same order, targets and lengths, as far as the world is the same; what operations are under way when one
 * strikes differs from run to run.
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText } from "../../runtime/shared/errors.ts";
import { type Aimed, between, type Fault } from "./faults/fault.ts";
import { FAULTS } from "./faults/faults.ts";
import type { Recorder } from "./history/history.ts";
import type { Recovery } from "./recovery.ts";
import type { Random } from "../support/random.ts";
import type { SoakWorld } from "./world/world.ts";

/** Between the recovery from one fault and the next one. */
const QUIET_SECONDS: readonly [number, number] = [1, 3];
/** Generous: a machine that does much else at the same time takes its time to start a process. */
const RECOVER_WITHIN_MS = 240_000;
/** In the brief form, which must hold beside whatever else is tested: the test's own bound comes first. */
const BRIEFLY_RECOVER_WITHIN_MS = 1_200_000;

export function recoverWithinMs(brief: boolean): number {
  return brief ? BRIEFLY_RECOVER_WITHIN_MS : RECOVER_WITHIN_MS;
}
/** Kept free at the end, for the last recovery. */
const LAST_MS = 8_000;

export interface Chosen {
  readonly faults: readonly Fault[];
  /** Those that cannot happen here, and why. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** What became of a fault. Milliseconds of the soak's clock, and spans of them. */
export interface Struck {
  readonly name: string;
  readonly detail: string | undefined;
  readonly replicas: readonly string[];
  readonly beganMs: number;
  /** Until it was healed, what the operator does included: starting a process, promoting a standby. */
  readonly lastedMs: number;
  /** From then to the first success of all kinds of traffic, requests at each replica that was struck; undefined: none in time. */
  readonly recoveredMs: number | undefined;
}

export interface Happened {
  readonly struck: readonly Struck[];
  /** What went wrong that the history does not show. */
  readonly problems: readonly string[];
}

/** @param names absent: all. @throws Error when one is unknown */
export function chooseFaults(world: SoakWorld, names: readonly string[] | undefined, brief: boolean): Chosen {
  const wanted = namedFaults(names).filter(({ briefly }) => !brief || briefly !== undefined);
  const judged = wanted.map((fault) => ({ fault, reason: fault.missing(world) }));
  return {
    faults: judged.flatMap(({ fault, reason }) => (reason === undefined ? [fault] : [])),
    skipped: judged.flatMap(({ fault, reason }) => (reason === undefined ? [] : [{ name: fault.name, reason }])),
  };
}

/** @throws Error when one is unknown */
export function namedFaults(names: readonly string[] | undefined): readonly Fault[] {
  if (names === undefined) return FAULTS;
  return names.map((name) => {
    const fault = FAULTS.find((each) => each.name === name);
    if (fault) return fault;
    throw new Error(`Cannot find fault "${name}", must be one of: ${FAULTS.map((each) => each.name).join(", ")}`);
  });
}

export interface ScheduleDeps {
  readonly world: SoakWorld;
  readonly history: Recorder;
  readonly recovery: Recovery;
  /** Told what happens, for progress. */
  readonly say: (text: string) => void;
  readonly stop: AbortSignal;
}

/** Strikes one after the other. Resolves when time is over and everything is healed. */
export async function strikeAll(
  deps: ScheduleDeps,
  faults: readonly Fault[],
  options: { readonly untilMs: number; readonly brief: boolean },
): Promise<Happened> {
  const { world, stop } = deps;
  const random = world.random("schedule");
  const struck: Struck[] = [];
  const problems: string[] = [];
  let queue: Fault[] = [];
  while (faults.length > 0 && !stop.aborted) {
    if (queue.length === 0) queue = shuffled(faults, random);
    const left = options.untilMs - world.now() - LAST_MS;
    const at = queue.findIndex((fault) => longestMs(fault, options.brief) <= left);
    // In a brief form each comes once.
    if (at < 0 || (options.brief && struck.length === faults.length)) break;
    const [fault] = queue.splice(at, 1);
    if (!fault) break;
    const lastsMs = 1000 * (options.brief ? (fault.briefly ?? 0) : between(fault.lasts, random));
    const aimed = fault.aim(world, random);
    try {
      const result = await strikeOne(deps, fault, aimed, { lastsMs, withinMs: recoverWithinMs(options.brief) });
      struck.push(result);
      if (result.recoveredMs === undefined) break;
    } catch (error) {
      problems.push(`${fault.name} could not be struck or healed: ${errorText(error)}`);
      break;
    }
    problems.push(...(aimed.problems ?? []));
    await pause(options.brief ? 500 : 1000 * between(QUIET_SECONDS, random), stop);
  }
  return { struck, problems };
}

async function strikeOne(
  { world, history, recovery, say, stop }: ScheduleDeps,
  { name, disturbs }: Fault,
  aimed: Aimed,
  { lastsMs, withinMs }: { readonly lastsMs: number; readonly withinMs: number },
): Promise<Struck> {
  const replicas = aimed.replicas.map((replica) => replica.name);
  const { detail } = aimed;
  const span = history.fault({ family: name, disturbs, replicas, ...(detail !== undefined && { detail }) });
  const beganMs = world.now();
  say(`${name} ${replicas.join(" ")}${detail === undefined ? "" : ` (${detail})`}`);
  try {
    await aimed.strike();
    await pause(lastsMs, stop);
  } finally {
    await aimed.heal();
  }
  const healedMs = world.now();
  span.end();
  const recoveredAt = await recovery.since(healedMs, replicas, withinMs);
  if (recoveredAt !== undefined) span.recovered();
  const recoveredMs = recoveredAt === undefined ? undefined : recoveredAt - healedMs;
  const missing = recovery.missing().join(", ");
  say(`${name}: ${recoveredMs === undefined ? `no ${missing}` : `recovered in ${seconds(recoveredMs)}`}`);
  await aimed.after?.();
  return { name, detail, replicas, beganMs, lastedMs: healedMs - beganMs, recoveredMs };
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function longestMs({ lasts: [, most], briefly = 0 }: Fault, brief: boolean): number {
  return 1000 * (brief ? briefly : most);
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  return all
    .map((value) => ({ value, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
