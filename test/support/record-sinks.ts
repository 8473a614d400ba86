/** Sinks of records on spools of their own, with what they log. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import type { RecordConsumers, RecordCopy } from "../../runtime/audit/record-consumer.ts";
import { gather, queueLog } from "../../runtime/records/open-consumers.ts";
import type { SinkTarget, SinkTls } from "../../runtime/features/records/compiled.ts";
import { RecordQueue } from "../../runtime/record-queue/queue.ts";
import type { Receiver } from "../../runtime/record-queue/receiver.ts";
import { openRecordSink, type RecordSinkDeps, sinkReceiver } from "../../runtime/record-sinks/sink.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import type { Sender } from "../../runtime/record-sinks/sender.ts";
import type { RecordSinkOptions } from "../../runtime/record-sinks/options.ts";
import { alone, logTo, type TestConsumer, type TestLog } from "./record-consumers.ts";

export const NO_TLS: SinkTls = {
  caFile: undefined,
  certificateFile: undefined,
  keyFile: undefined,
  serverName: undefined,
};

export interface TestSinkOptions extends RecordSinkOptions {
  readonly spool: string;
}

export function sinkOptions(spool: string, target: SinkTarget, more: Partial<RecordSinkOptions> = {}): TestSinkOptions {
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

/** For tests: no unnecessary waiting. */
export const FAST = { lingerMs: 0, firstRetryMs: 1, longestRetryMs: 8, random: () => 1 };

type SinkLog = {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}[];

export interface TestSink {
  readonly sink: TestConsumer;
  readonly log: SinkLog;
}

interface TestSinkDeps extends Partial<Omit<RecordSinkDeps, "receiver" | "log">> {
  readonly log?: TestLog;
  /** Sender of each sink; absent: `sender`. */
  readonly senderOf?: (options: RecordSinkOptions) => Sender | undefined;
  readonly record?: (line: string) => void;
  readonly adoptEveryMs?: number;
}

export function openTestSink(options: TestSinkOptions, deps: TestSinkDeps = {}): TestSink {
  const { sinks, log } = openTestSinks([options], deps);
  return { sink: alone(sinks), log };
}

/** Opens sinks like the thread of the records, with short times. */
export function openTestSinks(
  all: readonly TestSinkOptions[],
  { record, adoptEveryMs, senderOf, ...deps }: TestSinkDeps = {},
): { readonly sinks: RecordConsumers; readonly log: SinkLog } {
  const told: SinkLog = [];
  const log = logTo(deps.log ?? ((level, fields, message) => void told.push({ level, message, fields })));
  const clock = deps.clock ?? systemClock;
  const queue = new RecordQueue({
    directory: all[0]?.spool,
    receivers: all.map((options) => sinkReceiver(options, options.spool, log)),
    clock,
    record,
    adoptEveryMs,
    retryMs: 1,
    ...queueLog(log),
  });
  const consumers = all.map((options, at) =>
    openRecordSink(options, {
      timing: FAST,
      closeWithinMs: 1_000,
      quietMs: 100,
      ...deps,
      sender: senderOf?.(options) ?? deps.sender,
      clock,
      log,
      receiver: queue.receivers[at] as Receiver,
    }),
  );
  const sinks = gather(queue, consumers);
  onTestFinished(() => sinks.close());
  return { sinks, log: told };
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
