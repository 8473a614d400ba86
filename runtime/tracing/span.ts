/** A span, and its destination. */
import type { Closable } from "../shared/clock.ts";
import type { BootSettings } from "../config/compiled.ts";

export type SpanAttribute = string | number | boolean | readonly string[];

/** A finished span. */
export interface Span {
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for the first span of a trace. */
  readonly parentSpanId: string | undefined;
  /** Epoch milliseconds, fractions included. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanAttribute>>;
  readonly failed: boolean;
}

/** Where spans go. */
export interface SpanSink extends Closable {
  /** Queues it, or drops it when the queue is full. Never throws, never waits. */
  add(span: Span): void;
  counts(): SpanCounts;
}

export interface SpanCounts {
  readonly exported: number;
  /** The queue was full. */
  readonly dropped: number;
  /** The receiver did not accept them. */
  readonly failed: number;
}

/** Longest text in an attribute, in UTF-16 units. */
const MAX_TEXT = 128;

/** Text from a client, truncated if long. */
export function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

export type TracingSettings = NonNullable<BootSettings["tracing"]>;
