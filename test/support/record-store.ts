/** The record store with its queue, as in the thread of the records; also for processes without a test. */
import { randomUUID } from "node:crypto";

import type { RecordCopy } from "../../runtime/audit/record-consumer.ts";
import { gather, queueLog } from "../../runtime/records/open-consumers.ts";
import { RecordQueue } from "../../runtime/record-queue/queue.ts";
import type { Receiver } from "../../runtime/record-queue/receiver.ts";
import type { RecordBackEnd, RecordStoreOptions } from "../../runtime/record-store/back-end.ts";
import { type KeeperDeps, RecordKeeper, storeReceiver } from "../../runtime/record-store/record-keeper.ts";
import { openRecordStore } from "../../runtime/record-store/record-store.ts";
import { createDecisionTimes } from "../../runtime/record-store/result.ts";
import { alone, logTo, type TestConsumer, type TestLog } from "./record-consumers.ts";

interface TestStoreDeps extends Omit<KeeperDeps, "receiver" | "log"> {
  readonly log: TestLog;
  /** Absent: in memory. */
  readonly spool?: string;
  readonly maxBytes?: number;
  readonly record?: (line: string) => void;
}

/** Copies get their places in the log of one run; an outcome names its decision by the id of its request. */
export function openTestStore(
  store: RecordStoreOptions | RecordBackEnd,
  { spool, maxBytes, record, ...given }: TestStoreDeps,
): TestConsumer {
  const deps = { ...given, log: logTo(given.log) };
  const queue = new RecordQueue({
    directory: spool,
    receivers: [storeReceiver(spool !== undefined, deps.log, maxBytes)],
    noteOf: createDecisionTimes(),
    clock: deps.clock,
    record,
    retryMs: 1,
    adoptEveryMs: 5,
    ...queueLog(deps.log),
  });
  const all = { ...deps, receiver: queue.receivers[0] as Receiver };
  const keeper = "place" in store ? openRecordStore(store, all) : new RecordKeeper(store, all);
  const place = createPlaces();
  const consumer = alone(gather(queue, [keeper]));
  return {
    ...consumer,
    take: (copies) => consumer.take(copies.map(place)),
    get canKeep() {
      return consumer.canKeep;
    },
  };
}

function createPlaces(): (copy: RecordCopy) => RecordCopy {
  const instance = randomUUID();
  const places = new Map<unknown, number>();
  let next = 0;
  return ({ value }) => {
    const { "request-id": id, message } = value;
    const seq = next++;
    const of = message === "request outcome" ? places.get(id) : undefined;
    if (of === undefined) places.set(id, seq);
    return { value: { ...value, ...(of !== undefined && { of }), instance, seq } };
  };
}
