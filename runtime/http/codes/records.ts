/** Codes of requests that cannot be recorded. */
import type { CodeEntry } from "./entry.ts";

export const RECORD_CODES = {
  "records.unavailable": {
    status: 503,
    cause: "`audit_required` is set, and the log, a record sink or the record store cannot store records",
    fix: "Find the part in `/status`, and fix the disk or destination: [Record sinks](../operations/record-sinks.md). Requests resume automatically",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
