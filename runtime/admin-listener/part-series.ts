/** Series of parts with their own counts: approvals, limits, tracing, the webhook, upstreams. */
import type { Series } from "./series.ts";
import type { Webhook } from "../webhook/webhook.ts";
import type { UpstreamStatus } from "../features/balancing/apply-state.ts";

/** @param counts of events in this process */
export function approvalSeries(counts: ReadonlyMap<string, number>): Series {
  return {
    name: "gateway_approvals_total",
    help: "Approvals of tool calls: requested, approved, refused, used by a call.",
    type: "counter",
    read: () => [...counts].map(([event, value]) => ({ value, labels: { event } })),
  };
}

interface LimitCounts {
  readonly route: string;
  readonly limit: string;
  readonly limited: number;
  readonly unavailable: number;
  readonly alone: number;
}

/** Results of requests under `rate_limits`. @param counts of this process */
export function limitSeries(counts: () => Iterable<LimitCounts>): Series {
  return {
    name: "gateway_rate_limited_total",
    help: "Requests subject to rate limits, by route, limit and result: limited (429), unavailable (503: no store), alone (passed by this process's own count while the store is unavailable).",
    type: "counter",
    *read() {
      for (const { route, limit, limited, unavailable, alone } of counts()) {
        yield { value: limited, labels: { route, limit, result: "limited" } };
        yield { value: unavailable, labels: { route, limit, result: "unavailable" } };
        yield { value: alone, labels: { route, limit, result: "alone" } };
      }
    },
  };
}

/** Results of span exports. @param counts of this process */
export function traceSeries(
  counts: () => { readonly exported: number; readonly dropped: number; readonly failed: number },
): Series {
  return {
    name: "gateway_trace_spans_total",
    help: "Spans by result: exported, dropped (queue full), failed (not accepted by the destination).",
    type: "counter",
    read: () => Object.entries(counts()).map(([result, value]) => ({ value, labels: { result } })),
  };
}

/** Metrics of the webhook, from its counts. */
export function webhookSeries(webhook: Pick<Webhook, "counts" | "status">): readonly Series[] {
  return [
    {
      name: "gateway_webhook_events_total",
      help: "Webhook events by result: sent (accepted), failed (attempt not accepted), given-up (not accepted within 24 hours), dropped (queue full).",
      type: "counter",
      *read() {
        for (const { event, result, value } of webhook.counts()) yield { value, labels: { event, result } };
      },
    },
    {
      name: "gateway_webhook_waiting",
      help: "Webhook events waiting to be sent, as last seen by this process.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: webhook.status().waiting }],
    },
  ];
}

/** Automatic certificates. @param acme of this process */
export function acmeSeries(acme: {
  readonly counts: () => Iterable<readonly [string, number]>;
  readonly status: () => { readonly failing: readonly object[]; readonly missing: number };
}): readonly Series[] {
  return [
    {
      name: "gateway_acme_orders_total",
      help: "Orders of automatic certificates by result: ok, failed.",
      type: "counter",
      read: () => [...acme.counts()].map(([result, value]) => ({ value, labels: { result } })),
    },
    {
      name: "gateway_acme_hosts",
      help: "Hosts with a problem of their automatic certificate, by state: missing (no certificate in use), failing (the last order failed).",
      type: "gauge",
      merge: "max",
      read() {
        const { failing, missing } = acme.status();
        return [
          { value: missing, labels: { state: "missing" } },
          { value: failing.length, labels: { state: "failing" } },
        ];
      },
    },
  ];
}

/**
 * Upstreams with a known state: those in a group, with checks or with ejection. @param upstreams of this process, now
 */
export function upstreamSeries(upstreams: () => readonly UpstreamStatus[]): readonly Series[] {
  return [
    {
      name: "gateway_upstream_healthy",
      help: "1 if an upstream of a route accepts requests, 0 if it fails health checks, is ejected or is unreachable.",
      type: "gauge",
      merge: "min",
      *read() {
        for (const { route, upstream, healthy } of upstreams())
          yield { value: healthy ? 1 : 0, labels: { route, upstream } };
      },
    },
    {
      name: "gateway_upstream_ejections_total",
      help: "Ejections of an upstream because of its responses.",
      type: "counter",
      *read() {
        for (const { route, upstream, ejections } of upstreams())
          if (ejections > 0) yield { value: ejections, labels: { route, upstream } };
      },
    },
  ];
}
