/** The gateway's metrics. Calls on the hot path add to plain numbers; names and labels appear only at a scrape. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Decision } from "../policy/facts.ts";
import type { ShadowResult } from "../policy/shadow.ts";
import type { SignOutResult, TokenRefresh } from "../shared/clock.ts";
import { type CountedOperation, createMcpOperations } from "./mcp-series.ts";
import { loopSeries } from "./loop-series.ts";
import { DurationCounts } from "../shared/timing/duration-counts.ts";
import { createCounter, createSeriesRegistry, histogram, type MetricValues, type Series } from "./series.ts";

/** Functions without `this`: they can be passed on separately. */
export interface Metrics {
  /** A response from an upstream is complete. @param status 0 when it was aborted */
  readonly answered: (route: CompiledRoute, status: number, durationMs: number) => void;
  /** An upstream sent no response, or part of one. @param failure one of few, ours */
  readonly upstreamFailed: (route: CompiledRoute, failure: string) => void;
  /** Responses currently held open. */
  readonly openStreams: (count: number) => void;
  /** A policy was evaluated. */
  readonly decided: (decision: Decision) => void;
  /** Shadow policies were evaluated. */
  readonly shadowDecided: (decisions: readonly ShadowResult[]) => void;
  /** A list showed tools that differ from the lock of its route. @param drifts with fixed kinds */
  readonly toolsDrifted: (route: CompiledRoute, drifts: readonly { readonly kind: string }[]) => void;
  /** A member of a federated route has no part in a response. @param route the member's @param reason one of few, ours */
  readonly memberFailed: (route: CompiledRoute, reason: string) => void;
  /** A request or notification of an MCP client got its response. */
  readonly operated: (route: CompiledRoute, operation: CountedOperation, durationMs: number) => void;
  /** A request was rejected before it had a route. @param reason one of few, ours */
  readonly refused: (reason: string) => void;
  /** Connections were closed before any part of a response was sent. @param by the side that closed */
  readonly unanswered: (by: "client" | "gateway", requests: number) => void;
  /** A user was signed out, or should have been. */
  readonly signedOut: (signOut: SignOutResult) => void;
  /** A signed identity header omitted the groups. */
  readonly groupsOmitted: (why: "too-many" | "unknown") => void;
  /** Fresh tokens were requested from a token endpoint. */
  readonly refreshed: (refresh: TokenRefresh) => void;
  /** Adds numbers that a part counts itself (cache sizes, hits); read at each scrape. */
  readonly register: (series: Series) => void;
  /** Deletes removed routes, so that their series end. */
  readonly keepRoutes: (routes: readonly CompiledRoute[]) => void;
  readonly totals: () => Totals;
  readonly contentType: string;
  /** Prometheus text format. */
  readonly text: () => Promise<string>;
  /** Values as plain data, for merging with those of other processes. */
  readonly values: () => Promise<MetricValues>;
}

export interface Totals {
  readonly requests: number;
  readonly allowed: number;
  readonly denied: number;
  readonly refused: number;
  readonly openStreams: number;
}

/** Index = first digit of the status. */
const CLASSES = ["cut", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;
/** Also for durations of checks by guardrails. */
export const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

interface RouteCounts {
  /** Requests by status class. */
  readonly requests: number[];
  readonly failures: Map<string, number>;
  /** Drifts by kind. */
  readonly drifts: Map<string, number>;
  readonly memberFailures: Map<string, number>;
}

interface Counted {
  readonly routes: Map<string, RouteCounts>;
  readonly durations: Map<(typeof KINDS)[number], DurationCounts>;
  readonly allowReasons: Map<string, number>;
  readonly denyReasons: Map<string, number>;
  readonly refusals: Map<string, number>;
  requests: number;
  allowed: number;
  denied: number;
  openStreams: number;
}

const KINDS = ["web", "mcp-server", "mcp-client"] as const;

export function createMetrics(): Metrics {
  const counted: Counted = {
    routes: new Map(),
    durations: new Map(KINDS.map((kind) => [kind, new DurationCounts(BUCKETS_MS)])),
    allowReasons: new Map(),
    denyReasons: new Map(),
    refusals: new Map(),
    requests: 0,
    allowed: 0,
    denied: 0,
    openStreams: 0,
  };
  const { routes, durations, allowReasons, denyReasons, refusals } = counted;
  // Not by name: a position in one route's policy means nothing for another route.
  const shadows = createCounter<"candidate" | "outcome" | "flip">({
    name: "gateway_shadow_decisions_total",
    help: "Decisions of shadow policies, by kind, outcome, and the change that enforcing them would cause.",
  });
  const unanswered = createCounter<"by">({
    name: "gateway_requests_unanswered_total",
    help: "Requests whose connection closed before the response started, by who closed it: client, gateway.",
  });
  const signOuts = createCounter<"kind" | "result">({
    name: "gateway_sign_outs_total",
    help: "Sign-outs by kind (page: by the user; back-channel, global-revocation: by an issuer) and result: ok, refused, unavailable (nothing ended, must be repeated), local (ended here; the provider's session could not be ended).",
  });
  const groupsOmitted = createCounter<"why">({
    name: "gateway_assertion_groups_omitted_total",
    help: "Signed identity headers without the user's groups (`groups_omitted`), by reason: too-many (more than 8 KiB), unknown (omitted by the identity provider).",
  });
  for (const why of ["too-many", "unknown"] as const) groupsOmitted.add({ why }, 0);
  const refreshes = createCounter<"token" | "result">({
    name: "gateway_token_refreshes_total",
    help: "Token refreshes by kind (identity: identity provider; upstream: upstream OAuth) and result (unconfirmed: the user's access ended after `unconfirmed_user_limit`; outage: many users rejected, no access ended).",
  });
  const operations = createMcpOperations();

  const registry = createSeriesRegistry();
  for (const series of loopSeries()) registry.register(series);
  const labelled = [unanswered, signOuts, groupsOmitted, refreshes, operations].map(({ series }) => series);
  for (const series of ownSeries(counted, shadows.series, labelled)) registry.register(series);

  return {
    answered(route, status, durationMs) {
      counted.requests++;
      bump(countsOf(route).requests, status >= 100 && status < 600 ? (status / 100) | 0 : 0);
      const kind = route.mcp === undefined ? "web" : route.mcp.kind === "server" ? "mcp-server" : "mcp-client";
      durations.get(kind)?.add(durationMs);
    },
    upstreamFailed: (route, failure) => increment(countsOf(route).failures, failure),
    openStreams: (count) => void (counted.openStreams = count),
    decided(decision) {
      if (decision.allowed) {
        counted.allowed++;
        for (const reason of decision.allowWhyTrue) increment(allowReasons, reason);
      } else {
        counted.denied++;
        const reasons = decision.denied ? decision.denyWhyTrue : decision.allowWhyFalse;
        for (const reason of reasons) increment(denyReasons, reason);
      }
    },
    shadowDecided(decisions) {
      for (const { candidate, outcome, flip } of decisions) shadows.add({ candidate: candidate.kind, outcome, flip });
    },
    toolsDrifted(route, drifts) {
      const counts = countsOf(route);
      for (const { kind } of drifts) increment(counts.drifts, kind);
    },
    memberFailed: (route, reason) => increment(countsOf(route).memberFailures, reason),
    operated: ({ key }, operation, durationMs) => operations.add(key, operation, durationMs),
    refused: (reason) => increment(refusals, reason),
    unanswered: (by, requests) => unanswered.add({ by }, requests),
    signedOut: (signOut) => signOuts.add(signOut),
    groupsOmitted: (why) => groupsOmitted.add({ why }),
    refreshed: ({ of, result }) => refreshes.add({ token: of, result }),
    register: (series) => registry.register(series),
    keepRoutes(kept) {
      const keys = new Set(kept.map((route) => route.key));
      for (const key of routes.keys()) if (!keys.has(key)) routes.delete(key);
      operations.keepRoutes(keys);
    },
    totals() {
      const { requests, allowed, denied, openStreams } = counted;
      return { requests, allowed, denied, refused: sum(refusals.values()), openStreams };
    },
    contentType: registry.contentType,
    text: () => registry.text(),
    values: () => registry.values(),
  };

  function countsOf({ key }: CompiledRoute): RouteCounts {
    let counts = routes.get(key);
    if (!counts) routes.set(key, (counts = noCounts()));
    return counts;
  }
}

function noCounts(): RouteCounts {
  return { requests: CLASSES.map(() => 0), failures: new Map(), drifts: new Map(), memberFailures: new Map() };
}

function* byRoute(
  routes: Counted["routes"],
  label: string,
  of: "drifts" | "memberFailures",
): Iterable<{ readonly value: number; readonly labels: Readonly<Record<string, string>> }> {
  for (const [route, counts] of routes)
    for (const [key, value] of counts[of]) yield { value, labels: { route, [label]: key } };
}

function* ownSeries(counted: Counted, shadows: Series, others: readonly Series[]): Iterable<Series> {
  const { routes, durations, allowReasons, denyReasons, refusals } = counted;
  yield {
    name: "gateway_requests_total",
    help: "Requests with an upstream response, by route and status class; cut: the response was incomplete.",
    type: "counter",
    *read() {
      for (const [route, counts] of routes) {
        for (const [index, value] of counts.requests.entries()) {
          if (value > 0) yield { value, labels: { route, status: CLASSES[index] ?? "cut" } };
        }
      }
    },
  };
  yield {
    name: "gateway_upstream_duration_seconds",
    help: "Time from sending a request to an upstream until its response is complete, by kind of route.",
    type: "histogram",
    *read() {
      for (const [kind, timed] of durations) yield* histogram({ kind }, timed);
    },
  };
  yield {
    name: "gateway_upstream_failures_total",
    help: "Requests to an upstream without a complete response, by route and reason; each retry counts.",
    type: "counter",
    *read() {
      for (const [route, { failures }] of routes) {
        for (const [reason, value] of failures) yield { value, labels: { route, reason } };
      }
    },
  };
  yield {
    name: "gateway_decisions_total",
    help: "Policy decisions.",
    type: "counter",
    read: () => [
      { value: counted.allowed, labels: { allow: "true" } },
      { value: counted.denied, labels: { allow: "false" } },
    ],
  };
  yield {
    name: "gateway_decision_reasons_total",
    help: "Reasons of policy decisions, allowed or denied. A decision can have several.",
    type: "counter",
    *read() {
      for (const [reason, value] of allowReasons) yield { value, labels: { allow: "true", reason } };
      for (const [reason, value] of denyReasons) yield { value, labels: { allow: "false", reason } };
    },
  };
  yield shadows;
  yield {
    name: "gateway_tool_drifts_total",
    help: "Tools and other locked items in responses that differ from the lock of their route, by route and drift (changed, unlocked); counted in every response that shows them.",
    type: "counter",
    read: () => byRoute(routes, "drift", "drifts"),
  };
  yield {
    name: "gateway_mcp_member_failures_total",
    help: "Responses of federated routes without a part of this member, and notifications about resources of others (foreign), by the member's route and reason (unavailable, invalid, too-long, foreign).",
    type: "counter",
    read: () => byRoute(routes, "reason", "memberFailures"),
  };
  yield {
    name: "gateway_requests_refused_total",
    help: "Requests rejected before route matching, by reason.",
    type: "counter",
    *read() {
      for (const [reason, value] of refusals) yield { value, labels: { reason } };
    },
  };
  yield* others;
  yield {
    name: "gateway_open_streams",
    help: "Open responses: event streams and bodies of unknown length.",
    type: "gauge",
    read: () => [{ value: counted.openStreams }],
  };
}

function bump(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
