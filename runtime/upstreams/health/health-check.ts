/**
 * One health check of one upstream, made again and again until it is stopped.
 *
 * Promise: a check never lasts longer than its timeout, leaves no connection behind when it is given up, and at most one is
 * under way.
 */
import type { HealthCheck as CheckSettings } from "../../features/balancing/compiled.ts";
import type { Upstream } from "../../features/connection/compiled.ts";
import type { Transport } from "../transport-types.ts";
import type { CheckResult } from "../../features/balancing/apply-state.ts";
import { type Pace, USUAL_PACE, type CheckDone } from "./check-budget.ts";
import { errorText } from "../../shared/errors.ts";
import { checkGrpc } from "./health-check-grpc.ts";
import { checkHttp } from "./health-check-http.ts";
import { checkTcp } from "./health-check-tcp.ts";
import { task } from "../../shared/faults/guard.ts";

/** Calls back after a while. @returns takes it back */
export type Schedule = (action: () => void, afterMs: number) => () => void;

export interface HealthCheckDeps {
  readonly transport: Transport;
  readonly schedule: Schedule;
  /** From 0 to 1, 1 excluded: spreads the checks of many upstreams over time. */
  readonly random: () => number;
  /** A slot for one check; undefined when too many are under way. @returns gives it back */
  takeSlot(): (() => void) | undefined;
  /** When the verdict changes. */
  onChange(check: HealthCheck): void;
}

/** The first check of an upstream comes soon, but not those of all upstreams at once. */
const FIRST_WITHIN_MS = 1_000;
/** Share of the interval by which each one differs. */
const JITTER = 0.1;
/** Share of the interval after which a check that found no slot tries again. */
const RETRY = 0.1;

export class HealthCheck implements CheckResult {
  readonly upstream: Upstream;
  readonly kind: CheckResult["kind"];
  healthy = true;
  lastError = "";
  readonly #deps: HealthCheckDeps;
  readonly #settings: CheckSettings;
  /** Results in a row that speak against the verdict. */
  #against = 0;
  #isFirst = true;
  #stopped = false;
  /** Of its owner, who may change it. */
  readonly #pace: Pace;
  /** While it waits for its turn. */
  #cancelTimer: (() => void) | undefined;
  #cancelCheck: (() => void) | undefined;

  /** @param upstream with connections of its own, so that a check does not wait behind requests */
  constructor(deps: HealthCheckDeps, upstream: Upstream, settings: CheckSettings, pace: Pace = USUAL_PACE) {
    this.#deps = deps;
    this.#pace = pace;
    this.upstream = upstream;
    this.kind = settings.probe.kind;
    this.#settings = settings;
  }

  begin(): void {
    const { firstRoundMs } = this.#pace;
    this.#next(this.#deps.random() * Math.min(this.#intervalMs, Math.max(FIRST_WITHIN_MS, firstRoundMs)));
  }

  /** Its intervals became shorter: a wait that was longer is not waited out. */
  hurry(): void {
    if (!this.#cancelTimer) return;
    this.#cancelTimer();
    this.#next(this.#deps.random() * this.#intervalMs);
  }

  get #intervalMs(): number {
    return this.#settings.intervalMs * this.#pace.stretch;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#cancelCheck?.();
  }

  #next(afterMs: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#deps.schedule(() => this.#check(), afterMs);
  }

  #check(): void {
    this.#cancelTimer = undefined;
    // Its verdict was there, but its answer may go on without end.
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    const giveBack = this.#deps.takeSlot();
    if (!giveBack) return this.#next(this.#intervalMs * RETRY * (0.5 + this.#deps.random()));
    let isOver = false;
    const over: CheckDone = (error) => {
      if (isOver || this.#stopped) return;
      isOver = true;
      cancelTimeout();
      giveBack();
      // Before what may fail: it goes on whatever becomes of this one.
      this.#next(this.#intervalMs * (1 - JITTER + 2 * JITTER * this.#deps.random()));
      this.#countCheck(error);
    };
    let cancel = (): void => {};
    try {
      cancel = this.#begin(over);
    } catch (error) {
      queueMicrotask(task("a health check", () => over(errorText(error))));
    }
    const cancelTimeout = this.#deps.schedule(() => {
      cancel();
      over("no answer in time");
    }, this.#settings.timeoutMs);
    this.#cancelCheck = () => {
      giveBack();
      cancelTimeout();
      cancel();
    };
  }

  #countCheck(error: string): void {
    const isGood = error === "";
    this.lastError = error;
    this.#against = isGood === this.healthy ? 0 : this.#against + 1;
    const threshold = isGood ? this.#settings.healthyThreshold : this.#settings.unhealthyThreshold;
    const changes = this.#against > 0 && (this.#isFirst || this.#against >= threshold);
    this.#isFirst = false;
    if (!changes) return;
    this.#against = 0;
    this.healthy = isGood;
    this.#deps.onChange(this);
  }

  /** @returns gives the check up */
  #begin(over: CheckDone): () => void {
    const { probe, timeoutMs } = this.#settings;
    switch (probe.kind) {
      case "http":
        return checkHttp({ transport: this.#deps.transport, timeoutMs }, this.upstream, probe, over);
      case "tcp":
        return checkTcp(this.upstream, probe, over);
      case "grpc":
        return checkGrpc(this.upstream, probe, over);
      default:
        throw new TypeError(`Cannot check an upstream by ${String(probe satisfies never)}`);
    }
  }
}
