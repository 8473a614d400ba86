/**
 * A record sink: every record on its way to one receiver, at least once, by a spool on the disk.
 *
 * Trusted: the settings, of the boot file. Untrusted: the receiver's answers, of which nothing but the status, a bounded
 * `Retry-After` and OTLP's count of rejected records counts. Promises: `take` neither waits nor throws; memory and disk are
 * bounded; what is lost is counted and told; no header, path or answer is logged or shown.
 */
import { hostname } from "node:os";
import { join } from "node:path";

import type { RecordConsumer, RecordCopy, ConsumerStatus } from "../audit/record-consumer.ts";
import type { Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { type DeliveryTiming, startDelivery } from "./delivery.ts";
import { createLosses, GAP_MESSAGE } from "./losses.ts";
import { type LogTo, sinkLog } from "./sink-log.ts";
import type { Sender } from "./sender.ts";
import { openSpool, MAX_LINE_BYTES } from "./spool/spool.ts";
import { task } from "../shared/faults/guard.ts";
import type { RecordSinkOptions } from "./options.ts";
import { createHttpSender } from "./senders/http-sender.ts";
import { createSyslogSender } from "./senders/syslog-sender.ts";

export interface RecordSinkDeps {
  readonly clock: Clock;
  readonly log: LogTo;
  /** Writes a line of this sink's own into the authorization log. */
  readonly record?: (line: string) => void;
  readonly timing?: Partial<DeliveryTiming>;
  /** Between two looks for what dead processes left. Default 30,000. */
  readonly adoptEveryMs?: number;
  /** For what waits when the process ends. Default 2,000. */
  readonly closeWithinMs?: number;
  /** Between two attempts at a disk that takes nothing. Default 1,000. */
  readonly retryMs?: number;
  /** Of syslog, see there. */
  readonly quietMs?: number;
  /** Instead of the one for the kind of target. */
  readonly sender?: Sender;
}

const TIMING: DeliveryTiming = { lingerMs: 1_000, firstRetryMs: 1_000, longestRetryMs: 60_000, random: Math.random };

/** @throws GatewayError `record-sink.spool` */
export function openRecordSink(options: RecordSinkOptions, deps: RecordSinkDeps): RecordConsumer {
  const { name, target } = options;
  const { clock, record, adoptEveryMs = 30_000, closeWithinMs = 2_000, retryMs } = deps;
  const log = sinkLog(deps.log);
  let isAway = false;
  let taken = 0;
  let lastError: string | undefined;
  let lastSuccessAt: number | undefined;
  let closing: Promise<void> | undefined;

  const spool = openSpool({
    directory: join(options.spool, name),
    maxBytes: options.spoolMaxBytes,
    ...(retryMs !== undefined && { retryMs }),
    onWritten: () => delivery.wake(),
    onFailing(error) {
      if (error === undefined) {
        log.info({ sink: name }, "the spool of a record sink is written again");
        losses.settle();
      } else log.error({ sink: name, reason: errorText(error) }, "the spool of a record sink cannot be written");
    },
  });
  const losses = createLosses({ name, spool, clock, log, record });
  const delivery = startDelivery({
    ...TIMING,
    ...deps.timing,
    spool,
    sender: deps.sender ?? createSender(options, deps.quietMs),
    onTaken(count) {
      taken += count;
      lastSuccessAt = clock.now();
      if (isAway) log.info({ sink: name, waiting: spool.waiting }, "a record sink takes records again");
      isAway = false;
      losses.settle();
    },
    onAway(reason) {
      lastError = reason;
      if (!isAway) log.warn({ sink: name, reason }, "a record sink takes no records");
      isAway = true;
    },
    lose: (reason, count) => losses.add(reason, count),
  });
  const { wasCut } = spool.own;
  if (wasCut) log.info({ sink: name }, "the spool of a record sink ended in half a record, which is cut off");
  const note = spool.own.readNote();
  if (note !== undefined) losses.restore(note);
  const adopt = (): void => {
    try {
      spool.adopt((found) => losses.restore(found));
      losses.settle();
      delivery.wake();
    } catch (error) {
      log.warn({ sink: name, reason: errorText(error) }, "what other processes left for a record sink cannot be read");
    }
  };
  adopt();
  const timer = setInterval(task("the adoption of spools", adopt), adoptEveryMs);
  timer.unref();

  return {
    take(copies: readonly RecordCopy[]) {
      losses.settle();
      let lost = 0;
      let tooLong = 0;
      for (const { value } of copies) {
        // It stands in the spool already.
        if (value["message"] === GAP_MESSAGE && value["sink"] === name) continue;
        const line = `${JSON.stringify(value)}\n`;
        if (Buffer.byteLength(line) > MAX_LINE_BYTES) tooLong += 1;
        // While something is missing nothing is put behind it: the gap is told first, at its place.
        else if (lost > 0 || losses.isOpen || !spool.put(line)) lost += 1;
      }
      if (lost > 0) losses.add("spool-full", lost);
      if (tooLong > 0) losses.add("too-long", tooLong);
      losses.settle();
    },
    flush: () => spool.flush(),
    get canKeep() {
      return !spool.isFailing && !losses.isOpen && spool.hasRoom;
    },
    status: (): ConsumerStatus => ({
      name,
      kind: target.kind,
      isAway,
      waiting: spool.waiting,
      taken,
      lost: losses.total,
      ...(lastError !== undefined && { lastError }),
      ...(lastSuccessAt !== undefined && { lastSuccessAt }),
    }),
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    clearInterval(timer);
    await Promise.race([spool.flush(), new Promise((resolve) => setTimeout(resolve, closeWithinMs).unref())]);
    await delivery.close(closeWithinMs);
    losses.keep();
    const unwritten = await spool.close();
    if (unwritten > 0) log.error({ sink: name, lost: unwritten }, "a record sink loses records");
  }
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
