/**
 * A record sink: sends every record to one destination, at least once, from the queue.
 *
 * Trusted: the settings in the main configuration file. Untrusted input: the destination's responses; only the status,
 * a bounded `Retry-After` and OTLP's count of rejected records are used. Promises: nothing waits for it; losses are
 * counted and reported; no header, path or response is logged or shown.
 */
import { hostname } from "node:os";
import { join } from "node:path";

import type { ConsumerLog, RecordConsumer } from "../audit/record-consumer.ts";
import { isoTime } from "../audit/record.ts";
import type { Receiver, ReceiverOptions } from "../record-queue/receiver.ts";
import type { Clock } from "../shared/clock.ts";
import { Delivery, type DeliveryTiming } from "./delivery.ts";
import type { RecordSinkOptions } from "./options.ts";
import type { Sender } from "./sender.ts";
import { createHttpSender } from "./senders/http-sender.ts";
import { createSyslogSender } from "./senders/syslog-sender.ts";

export interface RecordSinkDeps {
  readonly receiver: Receiver;
  readonly clock: Clock;
  readonly log: ConsumerLog;
  readonly timing?: Partial<DeliveryTiming> | undefined;
  /** Time for pending records when the process ends. Default: 2,000. */
  readonly closeWithinMs?: number | undefined;
  /** For syslog, see there. */
  readonly quietMs?: number | undefined;
  /** Replaces the sender for the kind of target. */
  readonly sender?: Sender | undefined;
}

const TIMING: DeliveryTiming = { lingerMs: 1_000, firstRetryMs: 1_000, longestRetryMs: 60_000, random: Math.random };

/** A sink's options for the queue. @param spool `record_spool` */
export function sinkReceiver(
  { name, spoolMaxBytes }: RecordSinkOptions,
  spool: string,
  log: ConsumerLog,
): ReceiverOptions {
  return {
    name,
    fileName: `sink-${name}`,
    maxBytes: spoolMaxBytes,
    legacyDirectory: join(spool, name),
    onLosing: ({ reason, lost }) => log.error({ sink: name, reason, lost }, "record sink drops records"),
    onLost({ reason, lost, sinceMs, untilMs }) {
      log.error(
        { sink: name, reason, lost, since: isoTime(sinceMs), until: isoTime(untilMs) },
        "record sink lost records",
      );
    },
  };
}

export function openRecordSink(options: RecordSinkOptions, deps: RecordSinkDeps): RecordConsumer {
  const { name, target } = options;
  const { receiver, clock, log, closeWithinMs = 2_000 } = deps;
  let isUnavailable = false;
  let taken = 0;
  let lastError: string | undefined;
  let lastSuccessAt: number | undefined;
  const delivery = new Delivery({
    ...TIMING,
    ...deps.timing,
    receiver,
    sender: deps.sender ?? createSender(options, deps.quietMs),
    onTaken(count) {
      taken += count;
      lastSuccessAt = clock.now();
      if (isUnavailable) log.info({ sink: name, waiting: receiver.waiting }, "record sink recovered");
      isUnavailable = false;
    },
    onAway(reason) {
      lastError = reason;
      if (!isUnavailable) log.warn({ sink: name, reason }, "record sink unavailable, records queued");
      isUnavailable = true;
    },
  });
  return {
    get canKeep() {
      return receiver.canKeep;
    },
    status: () => ({
      name,
      kind: target.kind,
      isAway: isUnavailable,
      waiting: receiver.waiting,
      taken,
      lost: receiver.lost,
      ...(lastError !== undefined && { lastError }),
      ...(lastSuccessAt !== undefined && { lastSuccessAt }),
    }),
    close: () => delivery.close(closeWithinMs),
  };
}

/** The sender for a kind of target. */
function createSender(
  { target, tls, timeoutMs, serviceName, version }: RecordSinkOptions,
  quietMs: number | undefined,
): Sender {
  if (target.kind === "syslog") {
    const identity = { hostname: hostname(), appName: serviceName, pid: process.pid };
    return createSyslogSender({ target, tls, timeoutMs, identity, ...(quietMs !== undefined && { quietMs }) });
  }
  return createHttpSender({ target, tls, timeoutMs, serviceName, version });
}
