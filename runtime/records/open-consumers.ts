/** Opens the queue of the copies and its consumers, in the records thread. */
import type { ConsumerLog, RecordConsumer, RecordConsumers } from "../audit/record-consumer.ts";
import { type QueueOptions, RecordQueue } from "../record-queue/queue.ts";
import { openRecordSink, sinkReceiver } from "../record-sinks/sink.ts";
import { storeReceiver } from "../record-store/record-keeper.ts";
import { openRecordStore } from "../record-store/record-store.ts";
import { createDecisionTimes } from "../record-store/result.ts";
import type { Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { RecordThreadSettings } from "./records-protocol.ts";

export interface ConsumersDeps {
  readonly clock: Clock;
  readonly log: ConsumerLog;
  /** Writes a line of our own into the authorization log. */
  readonly record: (line: string) => void;
}

/** For queued records when the process ends. */
const FLUSH_MS = 2_000;

/** @returns undefined: no consumer of copies @throws GatewayError `record-sink.spool` */
export function openConsumers(
  { recordStore, sinks = [], spool }: Pick<RecordThreadSettings, "recordStore" | "sinks" | "spool">,
  { clock, log, record }: ConsumersDeps,
): RecordConsumers | undefined {
  const receivers = [
    ...(recordStore ? [storeReceiver(spool !== undefined, log)] : []),
    ...sinks.map((sink) => sinkReceiver(sink, spool ?? "", log)),
  ];
  if (receivers.length === 0) return undefined;
  const queue = new RecordQueue({
    directory: spool,
    receivers,
    clock,
    record,
    noteOf: recordStore && createDecisionTimes(),
    ...queueLog(log),
  });
  const consumers = queue.receivers.map((receiver, at): RecordConsumer => {
    const sink = sinks[recordStore ? at - 1 : at];
    if (sink) return openRecordSink(sink, { receiver, clock, log });
    return openRecordStore(recordStore as NonNullable<typeof recordStore>, { receiver, clock, log });
  });
  return gather(queue, consumers);
}

/** Log messages about the queue. */
export function queueLog(log: ConsumerLog): Pick<QueueOptions, "onCut" | "onFailing" | "onUnreadable" | "onUnwritten"> {
  return {
    onCut: () => log.info({}, "incomplete record removed from record spool"),
    onFailing(error) {
      if (error === undefined) log.info({}, "record spool recovered");
      else log.error({ reason: errorText(error) }, "cannot write record spool");
    },
    onUnreadable: (error) => log.warn({ reason: errorText(error) }, "cannot read record spools of ended processes"),
    onUnwritten: (lost) => log.error({ lost }, "record sink drops records"),
  };
}

/** Combines the queue and its readers. */
export function gather(queue: RecordQueue, consumers: readonly RecordConsumer[]): RecordConsumers {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await Promise.race([queue.flush(), new Promise((resolve) => setTimeout(resolve, FLUSH_MS).unref())]);
    await Promise.allSettled(consumers.map((consumer) => consumer.close()));
    await queue.close();
  };
  return {
    take: (copies) => queue.take(copies),
    async flush() {
      await Promise.all([queue.flush(), ...consumers.map((consumer) => consumer.flush?.())]);
    },
    get canKeep() {
      return consumers.every((consumer) => consumer.canKeep);
    },
    status: () => consumers.map((consumer) => consumer.status()),
    close: () => (closing ??= close()),
  };
}
