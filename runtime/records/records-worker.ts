/** The records thread: see serve-records.ts. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";

import { systemClock } from "../shared/clock.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { send } from "../shared/thread.ts";
import { openConsumers } from "./open-consumers.ts";
import type { FromRecordThread, LogLevel, RecordThreadSettings } from "./records-protocol.ts";
import { serveRecords } from "./serve-records.ts";

if (parentPort) {
  try {
    serve(parentPort, workerData as RecordThreadSettings);
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : "record.thread";
    send<FromRecordThread>(parentPort, { type: "failed", code, message: errorText(error) });
  }
}

function serve(port: MessagePort, settings: RecordThreadSettings): void {
  const post = (message: FromRecordThread): void => send(port, message);
  const logAt =
    (level: LogLevel) =>
    (fields: object, message: string): void =>
      post({ type: "log", level, fields, message });
  const consumers = openConsumers(settings, {
    clock: systemClock,
    log: { info: logAt("info"), warn: logAt("warn"), error: logAt("error") },
    record: (line) => post({ type: "line", line }),
  });
  serveRecords(port, settings, { consumers, clock: systemClock });
}
