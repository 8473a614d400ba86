/** A process that hands records to a sink until it is killed, and says how many are surely in the spool. Arguments: options as JSON. */
import { openConsumers } from "../../runtime/records/open-consumers.ts";
import type { RecordSinkOptions } from "../../runtime/record-sinks/options.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { logTo } from "./record-consumers.ts";
import { isRecord } from "../../runtime/shared/is-record.ts";

const given: unknown = JSON.parse(process.argv[2] ?? "{}");
if (!isRecord(given)) throw new TypeError("Cannot begin: no options are given");
const { spool, first, ...options } = given as unknown as RecordSinkOptions & {
  readonly spool: string;
  readonly first: number;
};
// The receiver is unavailable.
const target = { ...options.target, headers: new Map<string, string>() } as RecordSinkOptions["target"];
const sink = openConsumers(
  { spool, sinks: [{ ...options, target }] },
  { clock: systemClock, log: logTo(() => {}), record: () => {} },
);
for (let n = first; ; n += 10) {
  const value = (index: number): { readonly value: object } => ({
    value: { message: "authorize check", n: n + index, text: "x".repeat(((n + index) * 37) % 900) },
  });
  sink?.take(Array.from({ length: 10 }, (_, index) => value(index) as { readonly value: Record<string, unknown> }));
  await sink?.flush();
  process.stdout.write(`${n + 10}\n`);
}
