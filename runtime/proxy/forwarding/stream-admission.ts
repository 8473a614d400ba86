/**
 * What forward.ts and upgrade.ts have in common: the place of an answer among the open streams, what trace, metrics and
 * balancer hear of it, and its one end.
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

/** Counts answers of upstreams. */
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
  /** Each request, from when it begins its way upstream until nothing more will come of it. */
  readonly underWay: UnderWay;
}

type StreamOwner = Guarded & Pick<OpenStream, "isEndless" | "endsWithCredential" | "end">;
const endOwner = guardEach((owner: StreamOwner, why: StreamEnd) => owner.end(why));

export class StreamAdmission implements OpenStream {
  readonly #deps: AdmissionDeps;
  readonly #context: RequestContext;
  readonly #owner: StreamOwner;
  readonly #startedAtMs: number;
  /** The latest sending in the trace. */
  #attempt: Attempt | undefined;
  /** Where the latest sending went, until the route's balancer, if it wants to know, heard of its end. */
  #tracked: Upstream | undefined;
  /** Of `Streams`, among those whose answers have not begun. */
  place = -1;
  #isRegistered = false;
  #isFinished = false;

  /** @param owner knows how long the answer may last, and ends it towards both sides */
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

  /** Many may be ended one after the other: a mistake in ending one is no concern of the next. */
  end(why: StreamEnd): void {
    endOwner(this.#owner, why);
  }

  /** One more sending, for the trace: before its headers, which name it. */
  attempt(upstream: Upstream): void {
    const { trace, exchange } = this.#context;
    this.#attempt = trace?.attempt(exchange.method, upstream);
  }

  endAttempt(outcome: number | UpstreamFailure): void {
    this.#attempt?.end(outcome);
  }

  /** One more sending, for the balancer. */
  track(upstream: Upstream): void {
    this.#untrack();
    this.#tracker?.begun(upstream);
    this.#tracked = upstream;
  }

  answered(status: number): void {
    const { outcome } = this.#context;
    if (outcome) {
      outcome.isUpstreams = true;
      // An attempt before this one may have failed.
      outcome.failure = undefined;
    }
    const upstream = this.#tracked;
    if (upstream && this.#tracker?.answered(upstream, status, this.#deps.clock.now())) this.#reportLeftOut(upstream);
  }

  failed(failure: UpstreamFailure): void {
    if (this.#context.outcome) this.#context.outcome.failure = failure;
    this.#attempt?.end(failure);
    const upstream = this.#tracked;
    this.#deps.metrics?.upstreamFailed(this.#context.prepared.route, failure, upstream && addressOf(upstream));
    if (upstream && this.#tracker?.failed(upstream, failure, this.#deps.clock.now())) this.#reportLeftOut(upstream);
  }

  /** To the log, when nobody tries again. */
  report(failure: UpstreamFailure, detail: string, { origin }: Upstream): void {
    const { exchange, prepared, trace } = this.#context;
    this.#deps.log.warn(
      { request: exchange.id, trace: trace?.traceId, route: prepared.route.key, upstream: origin, failure, detail },
      "upstream failed",
    );
  }

  /** Whether the right to the answer goes on. */
  get isGood(): boolean {
    return this.#deps.streams.isGood(this);
  }

  /** Before its request leaves. @returns false when the right to the answer has ended */
  begin(): boolean {
    if (!this.isGood) return false;
    if (!this.#isRegistered) this.#deps.streams.sent(this);
    return (this.#isRegistered = true);
  }

  /** @returns false when the right to the answer has ended */
  register(): boolean {
    return (this.#isRegistered = this.#deps.streams.add(this));
  }

  /** Takes its place before the answer begins. @returns the status that was answered when there is none for it */
  admit(): number | undefined {
    const { streams } = this.#deps;
    // What kind of answer it is decides how it counts.
    if (this.#isRegistered) streams.remove(this);
    this.#isRegistered = false;
    return streams.hasRoom(this) ? this.enter() : refuseStream(this.#context.exchange);
  }

  /** The same where nobody asks for room. */
  enter(): number | undefined {
    const { streams, metrics } = this.#deps;
    // It may have ended while the upstream was thinking.
    if (!this.register()) return answerEnded(this.#context, true);
    metrics?.openStreams(streams.size);
    return undefined;
  }

  /** @returns false when it was over already */
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

  /** What was cut off, stays open or waited for a person took as long as others wanted. */
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

  #reportLeftOut({ origin }: Upstream): void {
    const route = this.#context.prepared.route.key;
    this.#deps.log.warn({ route, upstream: origin }, "upstream ejected");
  }
}

/** For a user who holds as many open streams as `max_streams_per_user` allows. @returns the status that was answered */
export function refuseStream(exchange: Exchange): number {
  respondError(
    exchange,
    429,
    { code: "streams.too-many", message: "Too many event streams and WebSocket connections of this user are open" },
    ["retry-after", "10"],
  );
  return 429;
}
