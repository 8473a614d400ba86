/**
 * Traces: which trace each request belongs to, and its steps, as spans.
 *
 * Promises: a span has only the attributes listed in this file and operation.ts, so it cannot contain a token, cookie,
 * path, query or tool argument; a request never waits for the receiver; without the `tracing` setting none of this is
 * loaded.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Upstream } from "../features/connection/compiled.ts";
import type { Exchange } from "../http/exchange.ts";
import { createRequestId } from "../shared/http/request-id.ts";
import type { Decision, McpFacts } from "../policy/facts.ts";
import type { Closable, TokenRefresh } from "../shared/clock.ts";
import { type TracedOperation, operationAttributes } from "./operation.ts";
import { type Span, type SpanCounts, type SpanSink, type TracingSettings, short } from "./span.ts";
import type { Log } from "../shared/log.ts";
import { formatTraceparent, parseTraceparent, parseTracestate } from "./trace-context.ts";

export type { SpanAttribute, Span, SpanCounts, SpanSink } from "./span.ts";

/** One attempt to send a request to an upstream. */
export interface Attempt {
  /** Only the first call counts. @param outcome status of the response, or why there is none */
  end(outcome: number | string): void;
}

/** Events of one request, reported by the code that handles it. */
export interface RequestTrace {
  readonly traceId: string;
  /** Value of `traceparent` for the next request to an upstream. */
  readonly traceparent: string;
  /** Value of `tracestate`; "" = none. */
  readonly tracestate: string;
  /**
   * Continues the trace that the message names, if the settings allow it and no header names one. Must come before all
   * other events.
   */
  adopt(read: () => { readonly traceparent: string; readonly tracestate: string } | undefined): void;
  routed(route: CompiledRoute): void;
  /** The policy was evaluated. @param startMs `performance.now()` before */
  decided(startMs: number, decision: Decision, mcp: McpFacts | undefined): void;
  /** An operation of an MCP client; read again at the end. */
  operates(operation: TracedOperation): void;
  /** Denied before the policy was evaluated. @param reason one of ours */
  refused(reason: string): void;
  /** A request goes upstream: from here on `traceparent` names this attempt. */
  attempt(method: string, upstream: Upstream): Attempt;
  /** Only the first call counts. @param status 0 when it was aborted */
  end(status: number): void;
}

/** Functions without `this`: they can be passed on separately. */
export interface Tracing extends Closable {
  readonly begin: (exchange: Exchange) => RequestTrace;
  /** Fresh tokens were requested; a separate trace, since many requests may wait for one response. */
  readonly refreshed: (refresh: TokenRefresh) => void;
  /** A new configuration was activated, or rejected. */
  readonly reloaded: (reload: { readonly ok: boolean; readonly tookMs: number }) => void;
  readonly counts: () => SpanCounts;
}

const NO_COUNTS: SpanCounts = { exported: 0, dropped: 0, failed: 0 };
/** Standard methods; any other is text from the client. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]);

/** @param sink absent: IDs are generated and passed on, spans are not recorded */
export function createTracing(
  { sampleOneIn, continueTraces }: Pick<TracingSettings, "sampleOneIn" | "continueTraces">,
  sink: SpanSink | undefined,
): Tracing {
  const isSampled = (traceId: string): boolean =>
    sampleOneIn === 1 || Number.parseInt(traceId.slice(-8), 16) * sampleOneIn < 2 ** 32;

  const addAlone = (
    name: string,
    kind: Span["kind"],
    tookMs: number,
    attributes: Span["attributes"],
    failed: boolean,
  ): void => {
    const traceId = createRequestId();
    // Reloads are few, and operators look for each of them.
    if (name !== "reload" && !isSampled(traceId)) return;
    const endMs = Date.now();
    const startMs = endMs - tookMs;
    sink?.add({
      name,
      kind,
      traceId,
      spanId: newSpanId(),
      parentSpanId: undefined,
      startMs,
      endMs,
      attributes,
      failed,
    });
  };

  return {
    begin(exchange) {
      const parent = continueTraces ? parseTraceparent(exchange.headerValues("traceparent")) : undefined;
      // The request's ID has the form of a trace ID, and one of the two is enough to search for.
      const traceId = parent?.traceId ?? exchange.id;
      const sampled = parent?.sampled ?? isSampled(traceId);
      const tracestate = parent ? parseTracestate(exchange.headerValues("tracestate")) : "";
      const mayAdopt = continueTraces && exchange.header("traceparent") === undefined;
      const trace = new Trace(exchange, { traceId, parentSpanId: parent?.spanId, sampled, tracestate }, sink, mayAdopt);
      exchange.onClose((complete) => trace.end(complete ? (exchange.meantStatus ?? exchange.status) : 0));
      return trace;
    },
    refreshed({ of, route, result, tookMs }) {
      const attributes = {
        "gateway.token": of,
        "gateway.result": result,
        ...(route !== undefined && { "gateway.route": route }),
      };
      addAlone("token refresh", "client", tookMs, attributes, result !== "ok");
    },
    reloaded({ ok, tookMs }) {
      addAlone("reload", "internal", tookMs, { "gateway.result": ok ? "ok" : "failed" }, !ok);
    },
    counts: () => sink?.counts() ?? NO_COUNTS,
    close: async () => sink?.close(),
  };
}

/** Loads the exporter if a receiver is configured. */
export async function openTracing(settings: TracingSettings, deps: { readonly log: Log }): Promise<Tracing> {
  const { endpoint } = settings;
  if (endpoint === undefined) return createTracing(settings, undefined);
  const { openOtlpSink } = await import("./otlp.ts");
  return createTracing(settings, openOtlpSink({ ...settings, endpoint }, deps));
}

/** The trace that a request belongs to. */
interface TraceOrigin {
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  readonly sampled: boolean;
  readonly tracestate: string;
}

class Trace implements RequestTrace {
  #origin: TraceOrigin;
  traceparent: string;
  readonly #exchange: Exchange;
  readonly #anySink: SpanSink | undefined;
  readonly #spanId = newSpanId();
  readonly #mayAdopt: boolean;
  readonly #startMs = performance.now();
  /** Offset from `performance.now()` to the epoch; per request, since the system's clock may change in between. */
  readonly #epochMs = Date.now() - this.#startMs;
  #attempts = 0;
  #route: CompiledRoute | undefined;
  #operation: TracedOperation | undefined;
  #refused: string | undefined;
  #ended = false;

  constructor(exchange: Exchange, origin: TraceOrigin, sink: SpanSink | undefined, mayAdopt: boolean) {
    this.#exchange = exchange;
    this.#origin = origin;
    this.#anySink = sink;
    this.#mayAdopt = mayAdopt;
    this.traceparent = this.#nameSpan(this.#spanId);
  }

  get traceId(): string {
    return this.#origin.traceId;
  }

  get tracestate(): string {
    return this.#origin.tracestate;
  }

  /** Undefined: this trace is not recorded. */
  get #sink(): SpanSink | undefined {
    return this.#origin.sampled ? this.#anySink : undefined;
  }

  #nameSpan(spanId: string): string {
    const { traceId, sampled } = this.#origin;
    return formatTraceparent({ traceId, spanId, sampled });
  }

  adopt(read: Parameters<RequestTrace["adopt"]>[0]): void {
    const named = this.#mayAdopt ? read() : undefined;
    const parent = named && parseTraceparent([named.traceparent]);
    if (!parent) return;
    const { traceId, spanId: parentSpanId, sampled } = parent;
    this.#origin = { traceId, parentSpanId, sampled, tracestate: parseTracestate([named.tracestate]) };
    this.traceparent = this.#nameSpan(this.#spanId);
  }

  routed(route: CompiledRoute): void {
    this.#route = route;
  }

  operates(operation: TracedOperation): void {
    this.#operation = operation;
  }

  refused(reason: string): void {
    this.#refused = reason;
  }

  decided(startMs: number, decision: Decision, mcp: McpFacts | undefined): void {
    if (this.#sink === undefined) return;
    const { allowed, denied, allowWhyTrue, allowWhyFalse, denyWhyTrue } = decision;
    this.#add("policy", "internal", newSpanId(), startMs, false, {
      "gateway.allow": allowed,
      "gateway.deny": denied,
      "gateway.reasons": allowed ? allowWhyTrue : denied ? denyWhyTrue : allowWhyFalse,
      ...(mcp?.method !== undefined && { "mcp.method.name": short(mcp.method) }),
      ...(mcp?.tool !== undefined && { "gen_ai.tool.name": short(mcp.tool) }),
    });
  }

  attempt(method: string, upstream: Upstream): Attempt {
    const spanId = newSpanId();
    const startMs = performance.now();
    const resends = this.#attempts++;
    this.traceparent = this.#nameSpan(spanId);
    let ended = false;
    return {
      end: (outcome) => {
        if (ended || this.#sink === undefined) return;
        ended = true;
        const failed = typeof outcome === "string" || outcome >= 400 || outcome === 0;
        this.#add("upstream", "client", spanId, startMs, failed, {
          "http.request.method": knownMethod(method),
          "gateway.upstream": upstream.origin,
          ...(resends > 0 && { "http.request.resend_count": resends }),
          ...answerOf(outcome, failed),
        });
      },
    };
  }

  end(status: number): void {
    if (this.#ended || this.#sink === undefined) return;
    this.#ended = true;
    const method = knownMethod(this.#exchange.method);
    const route = this.#route;
    const operation = this.#operation?.labels(status);
    const failed = status >= 500 || status === 0 || operation?.errorType !== undefined;
    this.#add(route === undefined ? method : `${method} ${route.key}`, "server", this.#spanId, this.#startMs, failed, {
      "http.request.method": method,
      "gateway.request_id": this.#exchange.id,
      ...(route !== undefined && { "gateway.route": route.key, "server.address": route.hostname }),
      ...(this.#refused !== undefined && { "gateway.refused": this.#refused }),
      ...answerOf(status, failed),
      ...(operation && operationAttributes(operation)),
    });
  }

  #add(
    name: string,
    kind: Span["kind"],
    spanId: string,
    startMs: number,
    failed: boolean,
    attributes: Span["attributes"],
  ): void {
    const { traceId } = this;
    const parentSpanId = kind === "server" ? this.#origin.parentSpanId : this.#spanId;
    const times = { startMs: this.#epochMs + startMs, endMs: this.#epochMs + performance.now() };
    this.#sink?.add({ name, kind, traceId, spanId, parentSpanId, ...times, attributes, failed });
  }
}

/** @param outcome status, 0 when the response was aborted, or why there was none */
function answerOf(outcome: number | string, failed: boolean): Span["attributes"] {
  const status = typeof outcome === "number" && outcome !== 0 ? { "http.response.status_code": outcome } : {};
  if (!failed) return status;
  return { ...status, "error.type": outcome === 0 ? "cut" : String(outcome) };
}

function knownMethod(method: string): string {
  return METHODS.has(method) ? method : "_OTHER";
}

function newSpanId(): string {
  return createRequestId().slice(16);
}
