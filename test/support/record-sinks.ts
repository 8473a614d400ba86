/** Sinks of records on spools of their own, with what they log. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import type { RecordConsumer, RecordCopy } from "../../runtime/audit/record-consumer.ts";
import type { SinkTarget, SinkTls } from "../../runtime/features/records/compiled.ts";
import { openRecordSink, type RecordSinkDeps } from "../../runtime/record-sinks/sink.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import type { RecordSinkOptions } from "../../runtime/record-sinks/options.ts";

export const NO_TLS: SinkTls = {
  caFile: undefined,
  certificateFile: undefined,
  keyFile: undefined,
  serverName: undefined,
};

export function sinkOptions(
  spool: string,
  target: SinkTarget,
  more: Partial<RecordSinkOptions> = {},
): RecordSinkOptions {
  return {
    name: "siem",
    target,
    tls: NO_TLS,
    timeoutMs: 5_000,
    spoolMaxBytes: 1 << 20,
    spool,
    serviceName: "gateway",
    version: "1.2.3",
    ...more,
  };
}

/** Of tests: nothing waits longer than it must. */
export const FAST = { lingerMs: 0, firstRetryMs: 1, longestRetryMs: 8, random: () => 1 };

export interface TestSink {
  readonly sink: RecordConsumer;
  readonly log: {
    readonly level: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[];
}

export function openTestSink(options: RecordSinkOptions, deps: Partial<RecordSinkDeps> = {}): TestSink {
  const log: TestSink["log"] = [];
  const sink = openRecordSink(options, {
    clock: systemClock,
    log: (level, fields, message) => void log.push({ level, message, fields }),
    timing: FAST,
    closeWithinMs: 1_000,
    retryMs: 1,
    quietMs: 100,
    ...deps,
  });
  onTestFinished(() => sink.close());
  return { sink, log };
}

/** A directory for one test. */
export function makeSpool(): string {
  const path = mkdtempSync(join(tmpdir(), "gateway-spool-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Records of checks, numbered. */
export function copies(from: number, to: number, size = 0): RecordCopy[] {
  return Array.from({ length: to - from }, (_, index) => ({
    value: {
      level: "info",
      time: "2026-11-23T10:00:00.000Z",
      service: "authorize",
      message: "authorize check",
      allow: true,
      deny: false,
      "allow-why-true": ["user-ok"],
      n: from + index,
      ...(size > 0 && { text: "x".repeat(size) }),
    },
  }));
}
