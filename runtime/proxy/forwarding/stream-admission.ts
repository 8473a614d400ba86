/**
 * Shared by forward.ts and upgrade.ts: registers a response among the open streams, reports to trace, metrics and balancer,
 * and ends it exactly once.
 */
import type { Tracker } from "../../features/balancing/apply-balance.ts";
import { addressOf } from "../../features/balancing/apply-state.ts";
import type { Upstream } from "../../features/connection/compiled.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondError } from "../../http/respond.ts";
import type { Clock } from "../../shared/clock.ts";
import { guardEach, type Guarded } from "../../shared/faults/guard.ts";
import type { Log } from "../../shared/log.ts";
import type { Attempt } from "../../tracing/tracing.ts";
import { answerEnded, type StreamEnd } from "../answers/answer-ended.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { RequestContext } from "../request-context.ts";
import type { OpenStream, Streams } from "./streams.ts";

/** Counts responses of upstreams in flight. */
export class UnderWay {
  count = 0;
  #whenIdle: (() => void) | undefined;

  finished(): void {
    this.count -= 1;
    if (this.count === 0) this.#whenIdle?.();
  }

  idleWithin(timeoutMs: number): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export interface AdmissionDeps {
  readonly streams: Streams;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics?: ProxyMetrics;
  /** Counts each request from when it goes upstream until it is over. */
  readonly underWay: UnderWay;
}

type StreamOwner = Guarded & Pick<OpenStream, "isEndless" | "endsWithCredential" | "end">;
const endOwner = guardEach((owner: StreamOwner, why: StreamEnd) => owner.end(why));

export class StreamAdmission implements OpenStream {
  readonly #deps: AdmissionDeps;
  readonly #context: RequestContext;
  readonly #owner: StreamOwner;
  readonly #startedAtMs: number;
  /** The latest attempt in the trace. */
  #attempt: Attempt | undefined;
  /** Upstream of the latest attempt, until the route's balancer, if it tracks attempts, was notified of its end. */
  #tracked: Upstream | undefined;
  /** Index in the list of `Streams` for responses that have not begun. */
  listIndex = -1;
  #isRegistered = false;
  #isFinished = false;

  /** @param owner knows how long the response may last, and ends it towards both sides */
  constructor(deps: AdmissionDeps, context: RequestContext, owner: StreamOwner) {
    this.#deps = deps;
    this.#context = context;
    this.#owner = owner;
    this.#startedAtMs = deps.metrics === undefined ? 0 : deps.clock.now();
    deps.underWay.count += 1;
  }

  get routeKey(): string {
    return this.#context.prepared.route.key;
  }
  get snapshot(): OpenStream["snapshot"] {
    return this.#context.snapshot;
  }
  get principal(): OpenStream["principal"] {
    return this.#context.principal;
  }
  get facts(): OpenStream["facts"] {
    return this.#context.facts;
  }
  get approvers(): OpenStream["approvers"] {
    return this.#context.approval?.need.approvers;
  }
  get membership(): OpenStream["membership"] {
    const { federated, prepared } = this.#context;
    return federated && { federated: federated.route, member: prepared.route.key };
  }
  get isEndless(): boolean {
    return this.#owner.isEndless;
  }
  get endsWithCredential(): boolean {
    return this.#owner.endsWithCredential;
  }
  get isRegistered(): boolean {
    return this.#isRegistered;
  }
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Many streams may be ended in a loop: an error in ending one must not affect the next. */
  end(why: StreamEnd): void {
    endOwner(this.#owner, why);
  }

  /** Starts an attempt in the trace; call it before building the headers, which contain its ID. */
  attempt(upstream: Upstream): void {
    const { trace, exchange } = this.#context;
    this.#attempt = trace?.attempt(exchange.method, upstream);
  }

  endAttempt(outcome: number | UpstreamFailure): void {
    this.#attempt?.end(outcome);
  }

  /** Starts an attempt for the balancer. */
  track(upstream: Upstream): void {
    this.#untrack();
    this.#tracker?.begun(upstream);
    this.#tracked = upstream;
  }

  answered(status: number): void {
    const { outcome } = this.#context;
    if (outcome) {
      outcome.isUpstreams = true;
      // An earlier attempt may have failed.
      outcome.failure = undefined;
    }
    const upstream = this.#tracked;
    if (upstream && this.#tracker?.answered(upstream, status, this.#deps.clock.now())) this.#reportEjected(upstream);
  }

  failed(failure: UpstreamFailure): void {
    if (this.#context.outcome) this.#context.outcome.failure = failure;
    this.#attempt?.end(failure);
    const upstream = this.#tracked;
    this.#deps.metrics?.upstreamFailed(this.#context.prepared.route, failure, upstream && addressOf(upstream));
    if (upstream && this.#tracker?.failed(upstream, failure, this.#deps.clock.now())) this.#reportEjected(upstream);
  }

  /** Logs a failure that is not retried. */
  report(failure: UpstreamFailure, detail: string, { origin }: Upstream): void {
    const { exchange, prepared, trace } = this.#context;
    this.#deps.log.warn(
      { request: exchange.id, trace: trace?.traceId, route: prepared.route.key, upstream: origin, failure, detail },
      "upstream failed",
    );
  }

  /** True while the right to the response lasts. */
  get isGood(): boolean {
    return this.#deps.streams.isGood(this);
  }

  /** Call it before the request leaves. @returns false when the right to the response has ended */
  begin(): boolean {
    if (!this.isGood) return false;
    if (!this.#isRegistered) this.#deps.streams.sent(this);
    return (this.#isRegistered = true);
  }

  /** @returns false when the right to the response has ended */
  register(): boolean {
    return (this.#isRegistered = this.#deps.streams.add(this));
  }

  /** Registers before the response begins. @returns the status of the rejection if there is no room */
  admit(): number | undefined {
    const { streams } = this.#deps;
    // Register again: the kind of response, now known, decides how it counts.
    if (this.#isRegistered) streams.remove(this);
    this.#isRegistered = false;
    return streams.hasRoom(this) ? this.enter() : refuseStream(this.#context.exchange);
  }

  /** `admit()` without the check for room. */
  enter(): number | undefined {
    const { streams, metrics } = this.#deps;
    // It may have ended while the upstream was working.
    if (!this.register()) return answerEnded(this.#context, true);
    metrics?.openStreams(streams.size);
    return undefined;
  }

  /** @returns false when it was already finished */
  finish(status: number): boolean {
    if (this.#isFinished) return false;
    this.#isFinished = true;
    const { streams, metrics, clock } = this.#deps;
    this.#context.onEnd?.();
    this.#untrack();
    this.#attempt?.end(status);
    if (this.#isRegistered) {
      streams.remove(this);
      metrics?.openStreams(streams.size);
    }
    metrics?.answered(this.#context.prepared.route, status, clock.now() - this.#startedAtMs, this.#timedFromMs(status));
    this.#deps.underWay.finished();
    return true;
  }

  /** Excludes responses that were aborted, stay open or waited for an approval: other parties determine their duration. */
  #timedFromMs(status: number): number | undefined {
    const { approval, beganMs } = this.#context;
    return status === 0 || this.isEndless || approval !== undefined ? undefined : beganMs;
  }

  get #tracker(): Tracker | undefined {
    return this.#context.prepared.balancer.tracker;
  }

  #untrack(): void {
    if (this.#tracked) this.#tracker?.ended(this.#tracked);
    this.#tracked = undefined;
  }

  #reportEjected({ origin }: Upstream): void {
    const route = this.#context.prepared.route.key;
    this.#deps.log.warn({ route, upstream: origin }, "upstream ejected");
  }
}

/** Rejects a user who holds as many open streams as `max_streams_per_user` allows. @returns the status of the response */
export function refuseStream(exchange: Exchange): number {
  respondError(
    exchange,
    429,
    { code: "streams.too-many", message: "Too many event streams and WebSocket connections of this user are open" },
    ["retry-after", "10"],
  );
  return 429;
}
