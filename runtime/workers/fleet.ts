/**
 * N workers: forks them, restarts those that ended, and exchanges messages with them.
 *
 * A worker that keeps failing is restarted at growing intervals, so that a bad configuration does not exhaust the host;
 * the others keep serving.
 */
import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";

import { pauseAfter, type Pauses } from "../shared/backoff.ts";
import { GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { forwardLines } from "./forward-lines.ts";
import { createHandover } from "./handover.ts";
import { within } from "../shared/clock.ts";
import type { WorkerAnswers, FromWorker, ToWorker, WorkerReport } from "./protocol.ts";
import { task } from "../shared/faults/guard.ts";
import { programUrl } from "../shared/thread.ts";

export interface FleetDeps {
  /** Path of the configuration. */
  readonly config: string;
  /** Name of each worker, unique among all that share the store. */
  readonly names: readonly string[];
  /** A worker ended, expected or not. */
  readonly onGone: (name: string) => void;
  readonly log: Log;
}

export interface MemberStatus {
  readonly name: string;
  /** Absent while it is restarting. */
  readonly pid?: number;
  readonly serving: boolean;
  readonly restarts: number;
}

const ANSWER_WITHIN_MS = 2_000;
/** Probes wait a second for us, and a worker may be busy for some hundred milliseconds. */
const PROBE_WITHIN_MS = 50;
/** A worker whose last response is older counts as not serving. */
const REPORT_COUNTS_MS = 10_000;
const PAUSES: Pauses = { firstMs: 100, mostMs: 30_000 };
/** A worker that ran this long did not fail at its start. */
const STEADY_AFTER_MS = 30_000;

interface Member {
  readonly name: string;
  worker: Worker | undefined;
  serving: boolean;
  restarts: number;
  /** Number of failures in a row. */
  failures: number;
  /** Absent before its first response, and after its end. */
  last?: { readonly report: WorkerReport; readonly atMs: number } | undefined;
}

const EXEC = fileURLToPath(programUrl(import.meta.url, "worker"));

/** Resolves when all workers serve. @throws GatewayError `workers.start` when one cannot; none is left running then */
export async function startFleet(deps: FleetDeps): Promise<Fleet> {
  const fleet = new Fleet(deps);
  try {
    await fleet.start();
  } catch (error) {
    await fleet.stop(0);
    throw error;
  }
  return fleet;
}

export class Fleet {
  readonly #deps: FleetDeps;
  readonly #members: readonly Member[];
  readonly #waiting = new Map<number, (value: WorkerAnswers[keyof WorkerAnswers] | undefined) => void>();
  readonly #cooldowns = new Set<NodeJS.Timeout>();
  readonly #forwarded = new Set<Promise<void>>();
  readonly #watchHandover = createHandover();
  #questions = 0;
  #origin = "";
  #started = false;
  #stopping = false;

  constructor(deps: FleetDeps) {
    this.#deps = deps;
    this.#members = deps.names.map((name) => ({ name, worker: undefined, serving: false, restarts: 0, failures: 0 }));
  }

  async start(): Promise<void> {
    await Promise.all(this.#members.map((member) => this.#launch(member)));
    this.#started = true;
  }

  /** Origin of the shared public listener. */
  get origin(): string {
    return this.#origin;
  }

  members(): readonly MemberStatus[] {
    return this.#members.map(({ name, worker, serving, restarts }) => {
      const pid = worker?.process.pid;
      return { name, serving, restarts, ...(pid !== undefined && { pid }) };
    });
  }

  /** Responses of all serving workers that respond in time, by name. */
  async ask<What extends keyof WorkerAnswers>(what: What): Promise<ReadonlyMap<string, WorkerAnswers[What]>> {
    const answers = new Map<string, WorkerAnswers[What]>();
    await Promise.all(
      this.#members.map(async ({ name, worker, serving }) => {
        const value = worker?.isConnected() && serving ? await this.#askOne(worker, what) : undefined;
        if (value !== undefined) answers.set(name, value as WorkerAnswers[What]);
      }),
    );
    return answers;
  }

  /**
   * Reports of all serving workers: within 50 ms new ones, for busy workers their last one while it is recent. For
   * probes.
   */
  async recentReports(): Promise<readonly WorkerReport[]> {
    const reports = await Promise.all(this.#members.map((member) => this.#recentReport(member)));
    return reports.filter((report) => report !== undefined);
  }

  tell(message: ToWorker): void {
    for (const { worker } of this.#members) if (worker?.isConnected()) worker.send(message);
  }

  /** Lets every worker drain, and kills those that take longer than `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    for (const pause of this.#cooldowns) clearTimeout(pause);
    await Promise.all(
      this.#members.map(async ({ worker }) => {
        if (!worker || worker.isDead()) return;
        const exited = new Promise((resolve) => worker.once("exit", resolve));
        const timer = setTimeout(() => worker.process.kill("SIGKILL"), timeoutMs);
        if (worker.isConnected()) worker.send({ type: "stop" });
        await exited;
        clearTimeout(timer);
      }),
    );
    await Promise.all(this.#forwarded);
  }

  #launch(member: Member): Promise<void> {
    cluster.setupPrimary({
      exec: EXEC,
      args: [this.#deps.config, member.name],
      serialization: "advanced",
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const worker = cluster.fork();
    this.#watchHandover(worker);
    const { stdout } = worker.process;
    const isForwarded = stdout ? forwardLines(stdout, process.stdout) : Promise.resolve();
    this.#forwarded.add(isForwarded);
    void isForwarded.then(() => this.#forwarded.delete(isForwarded));
    const startedMs = performance.now();
    let failure: string | undefined;
    member.worker = worker;
    return new Promise((resolve, reject) => {
      worker.on(
        "message",
        task("a message of a worker", (message: FromWorker) => {
          switch (message.type) {
            case "ready":
              member.serving = true;
              this.#origin = message.origin;
              this.#deps.log.info({ worker: member.name, pid: worker.process.pid }, "worker started");
              resolve();
              break;
            case "failed":
              failure = message.message;
              break;
            case "answer":
              this.#waiting.get(message.id)?.(message.value);
              break;
            default:
              message satisfies never;
          }
        }),
      );
      worker.once(
        "exit",
        task("the end of a worker", (code, signal) => {
          const was = member.serving;
          member.worker = undefined;
          member.serving = false;
          member.last = undefined;
          this.#deps.onGone(member.name);
          reject(
            new GatewayError("workers.start", failure ?? `Cannot start a worker: it ended with ${signal ?? code}`),
          );
          if (this.#stopping || !this.#started) return;
          if (was && performance.now() - startedMs >= STEADY_AFTER_MS) member.failures = 0;
          this.#restartLater(member, { exitCode: code, signal, reason: failure });
        }),
      );
      // Errors of a message to a worker that is just ending.
      worker.on("error", (error) =>
        this.#deps.log.debug({ worker: member.name, reason: error.message }, "cannot reach worker"),
      );
    });
  }

  #restartLater(member: Member, why: object): void {
    const pauseMs = pauseAfter(member.failures, PAUSES);
    member.failures++;
    this.#deps.log.error({ worker: member.name, ...why, restartInMs: pauseMs }, "worker exited");
    const pause = setTimeout(
      task("the start of a worker", () => {
        this.#cooldowns.delete(pause);
        member.restarts++;
        // Its end is reported by the exit handler.
        this.#launch(member).catch(() => {});
      }),
      pauseMs,
    );
    this.#cooldowns.add(pause);
  }

  async #recentReport(member: Member): Promise<WorkerReport | undefined> {
    const { worker, serving } = member;
    if (!worker?.isConnected() || !serving) return undefined;
    const asked = this.#askOne(worker, "report").then((value) => {
      const report = value as WorkerReport | undefined;
      if (report && member.worker === worker) member.last = { report, atMs: performance.now() };
      return report;
    });
    const { last } = member;
    if (!last) return asked;
    const isRecent = performance.now() - last.atMs < REPORT_COUNTS_MS;
    return within(PROBE_WITHIN_MS, asked, () => (isRecent ? last.report : undefined));
  }

  /** @returns undefined when the worker does not respond in time */
  #askOne(worker: Worker, what: keyof WorkerAnswers): Promise<WorkerAnswers[keyof WorkerAnswers] | undefined> {
    const id = ++this.#questions;
    return new Promise((resolve) => {
      const finish = (value: WorkerAnswers[keyof WorkerAnswers] | undefined): void => {
        clearTimeout(timer);
        worker.off("exit", onExit);
        this.#waiting.delete(id);
        resolve(value);
      };
      const onExit = (): void => finish(undefined);
      const timer = setTimeout(onExit, ANSWER_WITHIN_MS);
      worker.once("exit", onExit);
      this.#waiting.set(id, finish);
      worker.send({ type: "ask", id, what });
    });
  }
}
