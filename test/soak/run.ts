/** One soak: a world for each store, traffic, faults, and what the checks find in the history afterwards. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { builtProgram } from "../support/built-program.ts";
import { CHECKS } from "./checks/checks.ts";
import { collectEvidence } from "./collect.ts";
import { createRecorder, type Operation, type Recorder } from "./history/history.ts";
import { createRecovery } from "./recovery.ts";
import { type Found, reportOf, type SoakReport, type StoreReport } from "./report.ts";
import { chooseFaults, namedFaults, recoverWithinMs, strikeAll } from "./schedule.ts";
import { type SoakTraffic, startTraffic } from "./traffic/traffic.ts";
import { findFaketime } from "./world/gateways.ts";
import type { SoakOptions, StoreKind } from "./world/types.ts";
import { openWorld } from "./world/world.ts";

export interface Progress {
  readonly store: StoreKind;
  readonly elapsedMs: number;
  readonly totalMs: number;
  readonly operations: number;
  readonly unanswered: number;
  /** What happens now. */
  readonly text: string;
}

export interface RunDeps {
  readonly tell?: (progress: Progress) => void;
  /** Ends it early; everything is closed first. */
  readonly stop?: AbortSignal;
}

/** Of bounds in the brief form, which must hold on a machine that does much else. */
const SLACK_MS = 60_000;

/** @throws Error when the world cannot be made; whatever it is, no process is left behind */
export async function runSoak(options: SoakOptions, deps: RunDeps = {}): Promise<SoakReport> {
  const stores: StoreReport[] = [];
  for (const store of options.stores) {
    if (deps.stop?.aborted === true) break;
    stores.push(await soakStore(options, store, (options.minutes * 60_000) / options.stores.length, deps));
  }
  return { seed: options.seed, minutes: options.minutes, passed: stores.every((each) => each.passed), stores };
}

async function soakStore(
  { seed, replicas, workers, faults, ease = 1, brief = false, keep }: SoakOptions,
  store: StoreKind,
  totalMs: number,
  { tell, stop = new AbortController().signal }: RunDeps,
): Promise<StoreReport> {
  const wanted = namedFaults(faults).map(({ name }) => name);
  const folder = keep === undefined ? undefined : join(keep, store);
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const world = await openWorld({
    store,
    replicas,
    workers,
    seed,
    program: await builtProgram(),
    wantsStandby: !brief && wanted.some((name) => ["database-failover", "database-demoted"].includes(name)),
    faketime: !brief && wanted.includes("clock-stepped") ? findFaketime() : undefined,
    keep: folder,
  });
  let history: Recorder | undefined;
  try {
    const beganMs = world.now();
    let text = "begins";
    let unanswered = 0;
    let traffic: SoakTraffic | undefined;
    const recovery = createRecovery(() => traffic?.kinds ?? [], stop);
    const onEnd = (operation: Operation): void => {
      if (operation.outcome === "unknown") unanswered += 1;
      recovery.see(operation);
    };
    const recorder = createRecorder({
      now: () => world.now(),
      ...(folder !== undefined && { file: join(folder, "history.jsonl") }),
      onEnd,
    });
    history = recorder;
    const say = (said: string): void => {
      text = said;
      const elapsedMs = world.now() - beganMs;
      tell?.({ store, elapsedMs, totalMs, operations: recorder.operations.length, unanswered, text });
    };
    const ticks = setInterval(() => say(text), 1_000);
    try {
      traffic = startTraffic(world, recorder, { ease });
      const names = world.replicas.map(({ name }) => name);
      say("waits until all kinds of traffic work");
      const began = await recovery.since(world.now(), names, recoverWithinMs(brief));
      const chosen = chooseFaults(world, faults, brief);
      const problems = began === undefined ? [`traffic did not begin: no ${recovery.missing().join(", ")}`] : [];
      const happened =
        began === undefined
          ? { struck: [], problems: [] }
          : await strikeAll({ world, history: recorder, recovery, say, stop }, chosen.faults, {
              untilMs: beganMs + totalMs,
              brief,
            });
      // Traffic for the rest of the time; in the brief form the faults alone count.
      const restMs = brief || problems.length > 0 ? 0 : beganMs + totalMs - world.now();
      await delay(Math.max(0, restMs), undefined, { signal: stop }).catch(() => {});
      say("ends traffic");
      world.end();
      await traffic.stop();
      const endedMs = world.now();
      say("looks at what is left");
      if (!stop.aborted) await traffic.look();
      await Promise.all(world.replicas.map((replica) => replica.stop()));
      say("checks the history");
      const evidence = collectEvidence(world, recorder, brief ? SLACK_MS : 0);
      const found: readonly Found[] = CHECKS.map((check) => ({ check, violations: check.find(evidence) }));
      return reportOf({
        world,
        history: recorder,
        beganMs,
        endedMs,
        found,
        happened: { ...happened, problems: [...problems, ...happened.problems] },
        skipped: chosen.skipped,
        records: evidence.records.length,
        isCutShort: stop.aborted,
        workers,
      });
    } finally {
      clearInterval(ticks);
      world.end();
    }
  } finally {
    history?.close();
    await world.close();
  }
}
