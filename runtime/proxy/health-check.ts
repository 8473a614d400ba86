/**
 * One health check of one upstream, made again and again until it is stopped.
 *
 * Untrusted input: the upstream's answer, of which only the status is looked at. Promise: a check never lasts longer than
 * its timeout, and at most one is under way.
 */
import { connect, type Socket } from "node:net";

import type { HealthCheck as CheckSettings, Upstream } from "../config/compiled.ts";
import type { Transport, UpstreamCall } from "./forward-transport.ts";
import type { CheckResult } from "./upstream-state.ts";

/** Calls back after a while. @returns takes it back */
export type Schedule = (action: () => void, afterMs: number) => () => void;

export interface HealthCheckDeps {
  readonly transport: Transport;
  readonly schedule: Schedule;
  /** From 0 to 1, 1 excluded: spreads the checks of many upstreams over time. */
  readonly random: () => number;
  /** When the verdict changes. */
  onChange(check: HealthCheck): void;
}

type Verdict = (error: string) => void;

/** Answers are not read further than that. */
const MAX_BODY_BYTES = 65_536;
/** The first check of an upstream comes soon, but not those of all upstreams at once. */
const FIRST_WITHIN_MS = 1_000;
/** Share of the interval by which each one differs. */
const JITTER = 0.1;

export class HealthCheck implements CheckResult {
  readonly upstream: Upstream;
  readonly kind: "http" | "tcp";
  healthy = true;
  lastError = "";
  readonly #deps: HealthCheckDeps;
  readonly #settings: CheckSettings;
  /** Results in a row that speak against the verdict. */
  #against = 0;
  #isFirst = true;
  #stopped = false;
  #cancelTimer: (() => void) | undefined;
  #cancelCheck: (() => void) | undefined;

  /** @param upstream with connections of its own, so that a check does not wait behind requests */
  constructor(deps: HealthCheckDeps, upstream: Upstream, settings: CheckSettings) {
    this.#deps = deps;
    this.upstream = upstream;
    this.kind = settings.http ? "http" : "tcp";
    this.#settings = settings;
    this.#next(deps.random() * Math.min(settings.intervalMs, FIRST_WITHIN_MS));
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelCheck?.();
  }

  #next(afterMs: number): void {
    this.#cancelTimer = this.#deps.schedule(() => this.#check(), afterMs);
  }

  #check(): void {
    let isOver = false;
    const over: Verdict = (error) => {
      if (isOver || this.#stopped) return;
      isOver = true;
      cancelTimeout();
      this.#judge(error);
      const { intervalMs } = this.#settings;
      this.#next(intervalMs * (1 - JITTER + 2 * JITTER * this.#deps.random()));
    };
    const cancel = this.#settings.http ? this.#ask(over) : this.#connect(over);
    const cancelTimeout = this.#deps.schedule(() => {
      cancel();
      over("no answer in time");
    }, this.#settings.timeoutMs);
    this.#cancelCheck = () => {
      cancelTimeout();
      cancel();
    };
  }

  #judge(error: string): void {
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
  #ask(over: Verdict): () => void {
    const { path, host, statuses } = this.#settings.http as NonNullable<CheckSettings["http"]>;
    let bytes = 0;
    const call: UpstreamCall = this.#deps.transport.send(
      {
        upstream: this.upstream,
        method: "GET",
        path,
        headers: ["host", host ?? this.upstream.host, "user-agent", "gateway-health-check", "accept", "*/*"],
        body: undefined,
        headTimeoutMs: this.#settings.timeoutMs,
        idleTimeoutMs: this.#settings.timeoutMs,
        longLived: false,
      },
      {
        onHead: (status) =>
          over(
            statuses.some(({ start, end }) => status >= start && status < end) ? "" : `the answer has status ${status}`,
          ),
        onData: (chunk) => {
          bytes += chunk.length;
          if (bytes > MAX_BODY_BYTES) call.abort();
        },
        onEnd: () => {},
        onFailure: (failure, detail) => over(`${failure}: ${detail}`),
      },
    );
    return () => call.abort();
  }

  #connect(over: Verdict): () => void {
    const { hostname, port, protocol } = new URL(this.upstream.origin);
    const socket: Socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port || (protocol === "https:" ? 443 : 80)),
    });
    socket.once("connect", () => {
      over("");
      socket.destroy();
    });
    socket.on("error", (error) => over(error.message));
    return () => socket.destroy();
  }
}
