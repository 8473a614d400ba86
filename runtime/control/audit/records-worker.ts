/** The thread of the records: see serve-records.ts. */
import { parentPort, workerData } from "node:worker_threads";

import { systemClock } from "../../shared/clock.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { FromRecordThread, RecordThreadSettings } from "./records-protocol.ts";
import { serveRecords } from "./serve-records.ts";

if (parentPort) {
  try {
    serveRecords(parentPort, workerData as RecordThreadSettings, { consumers: [], clock: systemClock });
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : "record.thread";
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort.postMessage({ type: "failed", code, message: errorText(error) } satisfies FromRecordThread);
  }
}
