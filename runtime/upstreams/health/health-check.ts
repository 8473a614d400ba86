/**
 * One health check of one upstream, repeated until it is stopped.
 *
 * Promise: a check never lasts longer than its timeout, leaves no connection behind when it is canceled, and at most one is
 * in progress.
 */
import type { GrpcProbe, HealthCheckSettings } from "../../features/balancing/compiled.ts";
import type { Upstream } from "../../features/connection/compiled.ts";
import type { Transport } from "../transport-types.ts";
import type { CheckResult } from "../../features/balancing/apply-state.ts";
import { type Pace, USUAL_PACE, type CheckDone } from "./check-budget.ts";
import { errorText } from "../../shared/errors.ts";
import { checkHttp } from "./health-check-http.ts";
import { checkTcp } from "./health-check-tcp.ts";
import { task } from "../../shared/faults/guard.ts";

/** Calls back after a time. @returns cancels it */
export type Schedule = (action: () => void, afterMs: number) => () => void;

export interface HealthCheckDeps {
  readonly transport: Transport;
  readonly schedule: Schedule;
  /** From 0 to 1, 1 excluded: spreads the checks of many upstreams over time. */
  readonly random: () => number;
  /** Takes a slot for one check; undefined when too many are in progress. @returns gives it back */
  takeSlot(): (() => void) | undefined;
  /** Called when the health changes. */
  onChange(check: HealthCheck): void;
}

/** The first check of an upstream comes soon, but not of all upstreams at the same time. */
const FIRST_WITHIN_MS = 1_000;
/** Random variation of the interval, as a fraction. */
const JITTER = 0.1;
/** Fraction of the interval after which a check that got no slot tries again. */
const RETRY = 0.1;

export class HealthCheck implements CheckResult {
  readonly upstream: Upstream;
  readonly kind: CheckResult["kind"];
  healthy = true;
  lastError = "";
  readonly #deps: HealthCheckDeps;
  readonly #settings: HealthCheckSettings;
  /** Consecutive results that contradict the current health. */
  #against = 0;
  #isFirst = true;
  #stopped = false;
  /** Shared with its owner's other checks; changes. */
  readonly #pace: Pace;
  /** Set while it waits for the next check. */
  #cancelTimer: (() => void) | undefined;
  #cancelCheck: (() => void) | undefined;

  /** @param upstream with separate connections, so that a check does not wait behind requests */
  constructor(deps: HealthCheckDeps, upstream: Upstream, settings: HealthCheckSettings, pace: Pace = USUAL_PACE) {
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

  /** Called when intervals became shorter: restarts a wait that is now too long. */
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
    // The result was known, but the response may have continued.
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
      // Before code that can fail: the next check comes in any case.
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

  /** @returns cancels the check */
  #begin(over: CheckDone): () => void {
    const { probe, timeoutMs } = this.#settings;
    switch (probe.kind) {
      case "http":
        return checkHttp({ transport: this.#deps.transport, timeoutMs }, this.upstream, probe, over);
      case "tcp":
        return checkTcp(this.upstream, probe, over);
      case "grpc":
        return checkGrpcLater(this.upstream, probe, over);
      default:
        throw new TypeError(`Cannot check an upstream by ${String(probe satisfies never)}`);
    }
  }
}

/** Loaded with the first such check. @returns cancels the check */
function checkGrpcLater(upstream: Upstream, probe: GrpcProbe, over: CheckDone): () => void {
  let cancel: (() => void) | undefined;
  let isCancelled = false;
  import("./health-check-grpc.ts")
    .then(({ checkGrpc }) => {
      if (!isCancelled) cancel = checkGrpc(upstream, probe, over);
    })
    .catch((error: unknown) => isCancelled || over(errorText(error)));
  return () => {
    isCancelled = true;
    cancel?.();
  };
}
