/** The thread of the records: see serve-records.ts. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";

import type { RecordConsumer } from "../audit/record-consumer.ts";
import { openRecordStore } from "../record-store/record-store.ts";
import { openRecordSink } from "../record-sinks/sink.ts";
import { systemClock } from "../shared/clock.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { send } from "../shared/thread.ts";
import type { FromRecordThread, LogLevel, RecordThreadSettings } from "./records-protocol.ts";
import { serveRecords } from "./serve-records.ts";

if (parentPort) {
  try {
    const settings = workerData as RecordThreadSettings;
    serveRecords(parentPort, settings, { consumers: openConsumers(settings, parentPort), clock: systemClock });
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : "record.thread";
    send<FromRecordThread>(parentPort, { type: "failed", code, message: errorText(error) });
  }
}

function openConsumers(
  { recordStore, sinks = [] }: RecordThreadSettings,
  port: MessagePort,
): readonly RecordConsumer[] {
  const tell = (message: FromRecordThread): void => send(port, message);
  const deps = {
    clock: systemClock,
    log: (level: LogLevel, fields: object, message: string) => tell({ type: "log", level, fields, message }),
  };
  const record = (line: string): void => tell({ type: "line", line });
  return [
    ...(recordStore ? [openRecordStore(recordStore, deps)] : []),
    ...sinks.map((sink) => openRecordSink(sink, { ...deps, record })),
  ];
}
