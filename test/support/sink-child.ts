/** A process that hands records to a sink until it is killed, and says how many are surely in the spool. Arguments: options as JSON. */
import { openRecordSink } from "../../runtime/record-sinks/sink.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { isRecord } from "../../runtime/shared/is-record.ts";
import type { RecordSinkOptions } from "../../runtime/record-sinks/options.ts";

const given: unknown = JSON.parse(process.argv[2] ?? "{}");
if (!isRecord(given)) throw new TypeError("Cannot begin: no options are given");
const options = given as unknown as RecordSinkOptions & { readonly first: number };
const target = { ...options.target, headers: new Map<string, string>() } as RecordSinkOptions["target"];
const sink = openRecordSink(
  { ...options, target },
  {
    clock: systemClock,
    log: () => {},
    // The receiver is away.
    timing: { lingerMs: 0, firstRetryMs: 10, longestRetryMs: 10, random: () => 1 },
  },
);
for (let n = options.first; ; n += 10) {
  const value = (index: number): { readonly value: object } => ({
    value: { message: "authorize check", n: n + index, text: "x".repeat(((n + index) * 37) % 900) },
  });
  sink.take(Array.from({ length: 10 }, (_, index) => value(index) as { readonly value: Record<string, unknown> }));
  await sink.flush();
  process.stdout.write(`${n + 10}\n`);
}
