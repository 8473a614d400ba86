/** Codes of requests that cannot be recorded. */
import type { CodeEntry } from "./entry.ts";

export const RECORD_CODES = {
  "records.unavailable": {
    status: 503,
    means: "With `audit_required`: the log cannot be written, or a sink or the record store cannot keep what comes",
    remedy:
      "`/status` says which; mend the disk or the receiver, see [Record sinks](../operations/record-sinks.md). It goes on by itself",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
