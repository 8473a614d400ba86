/**
 * Spans to an OTLP receiver over HTTP. The only file that uses OpenTelemetry's library; loaded when an endpoint is set.
 *
 * Promises: the queue is bounded; when it is full, spans are dropped and counted. An unavailable receiver does not slow
 * requests down. Its responses are not logged, because they may repeat what was sent.
 */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";

import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace";

import type { Log } from "../shared/log.ts";
import { task } from "../shared/faults/guard.ts";
import { within } from "../shared/clock.ts";
import type { Span, SpanSink } from "./span.ts";
import type { TracingSettings } from "./span.ts";

type ExportResult = Parameters<Parameters<OTLPTraceExporter["export"]>[1]>[0];

export interface OtlpOptions extends Pick<TracingSettings, "headers" | "serviceName"> {
  /** URL of the traces receiver, "https://otlp.example.com/v1/traces". */
  readonly endpoint: string;
  /** Most queued spans. Default: 8,192. */
  readonly maxQueued?: number;
  /** Longest wait of a single span. Default: 2,000. */
  readonly batchMs?: number;
  /** Time for the receiver to answer a batch, and for closing. Default: 5,000. */
  readonly timeoutMs?: number;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
const EXPORT_OK = 0;
const EXPORT_FAILED = 1;
const KEEP_ALIVE = { keepAlive: true };
const MAX_BATCH = 512;
const SCOPE = { name: "gateform" };

export function openOtlpSink(options: OtlpOptions, { log }: { readonly log: Log }): SpanSink {
  const { endpoint, headers, serviceName, maxQueued = 8192, batchMs = 2000, timeoutMs = 5000 } = options;
  const resource = resourceFromAttributes({ "service.name": serviceName });
  let current = openExporter();
  let queued = 0;
  let exported = 0;
  let dropped = 0;
  let failed = 0;
  let isFailing = false;

  const processor = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        queued -= spans.length;
        const used = current;
        let isOver = false;
        const finish = (result: ExportResult): void => {
          if (isOver) return;
          isOver = true;
          clearTimeout(deadline);
          const code: number = result.code;
          const fails = code !== EXPORT_OK;
          if (fails) failed += spans.length;
          else exported += spans.length;
          // Only the first failure in a row; the count has the others.
          if (fails && !isFailing) log.warn({ reason: result.error?.name }, "cannot export traces");
          if (!fails && isFailing) log.info("trace export recovered");
          isFailing = fails;
          done(result);
        };
        // The library's own timeout restarts with each byte, and never fires after a response of 101. Closing its
        // connections ends its wait; the next batch gets a new one.
        const deadline = setTimeout(
          task("the deadline of a batch of spans", () => {
            if (current === used) current = openExporter();
            used.abort();
            finish({ code: EXPORT_FAILED, error: new Error("no answer in time") });
          }),
          timeoutMs + 500,
        );
        used.exporter.export(spans, finish);
      },
      shutdown: () => current.exporter.shutdown(),
    },
    maxQueueSize: maxQueued,
    maxExportBatchSize: Math.min(MAX_BATCH, maxQueued),
    scheduledDelayMillis: batchMs,
    // The exporter's own limit fires first, so that its result is counted.
    exportTimeoutMillis: timeoutMs + 1000,
  });

  return {
    add(span) {
      // Counted here, because the library does not report how many it drops.
      if (queued >= maxQueued) {
        dropped++;
        return;
      }
      queued++;
      processor.onEnd(readable(span, resource));
    },
    counts: () => ({ exported, dropped, failed }),
    async close() {
      // An unavailable receiver must not keep the process running.
      await within(
        timeoutMs,
        processor.shutdown().catch(() => {}),
        () => {},
      );
      current.abort();
    },
  };

  function openExporter(): { readonly exporter: OTLPTraceExporter; readonly abort: () => void } {
    const agent = endpoint.startsWith("https:") ? new HttpsAgent(KEEP_ALIVE) : new HttpAgent(KEEP_ALIVE);
    const exporter = new OTLPTraceExporter({
      url: endpoint,
      headers: Object.fromEntries(headers),
      timeoutMillis: timeoutMs,
      concurrencyLimit: 2,
      httpAgentOptions: () => agent,
    });
    return { exporter, abort: () => agent.destroy() };
  }
}

function readable(span: Span, resource: ReadableSpan["resource"]): ReadableSpan {
  const contextOf = (spanId: string): SpanContext => ({
    traceId: span.traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
  });
  const own = contextOf(span.spanId);
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => own,
    ...(span.parentSpanId !== undefined && { parentSpanContext: contextOf(span.parentSpanId) }),
    startTime: hrTime(span.startMs),
    endTime: hrTime(span.endMs),
    duration: hrTime(Math.max(span.endMs - span.startMs, 0)),
    status: { code: span.failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: span.attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}
