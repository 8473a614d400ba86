/** What goes over to the thread of the records comes out there as it went in. */
import { expect, test } from "vitest";

import { outcomeBytes, putCheckpoint, putOutcome, takeEntries } from "../../../runtime/audit/entries.ts";
import type { OutcomeInput } from "../../../runtime/audit/outcome-record.ts";

const plain: OutcomeInput = {
  timeMs: 1_795_000_000_123,
  of: 2 ** 40 + 1,
  requestId: "33b650891a4666f2a1e1d67b00000001",
  status: 200,
  failedBy: undefined,
  failure: undefined,
  durationMs: 12.345,
  lists: undefined,
};
const outcomes: readonly OutcomeInput[] = [
  plain,
  { ...plain, status: 0, failedBy: "client", lists: { hidden: 2 ** 33, shown: 0 } },
  { ...plain, status: 502, failedBy: "upstream", failure: "unreachable", hasSucceeded: false },
  { ...plain, hasSucceeded: true, lists: { hidden: 0, shown: 1 } },
  { ...plain, status: 503, failedBy: "gateway", failure: "overloaded", lists: { hidden: 1, shown: 2 } },
];

test("entries come out as they went in, and in order, whatever bytes numbers have", () => {
  const bytes = Buffer.alloc(4_096);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let end = 0;
  const line = (text: string): void => void (end += bytes.write(text, end));
  line('{"a":"é\\n"}\n');
  for (const outcome of outcomes) {
    const before = end;
    end = putOutcome(bytes, view, end, outcome);
    expect(end - before).toBeLessThanOrEqual(outcomeBytes(outcome));
    end = putCheckpoint(bytes, end);
    line('{"b":1}\n,"c":"é"\n');
  }
  line("{}\n");
  const taken: unknown[] = [];
  takeEntries(bytes.subarray(0, end), {
    line: (each, extra) => taken.push([each.toString(), extra?.toString()]),
    outcome: (outcome) => taken.push(outcome),
    checkpoint: () => taken.push("checkpoint"),
  });
  expect(taken).toEqual([
    ['{"a":"é\\n"}\n', undefined],
    ...outcomes.flatMap((outcome) => [outcome, "checkpoint", ['{"b":1}\n', ',"c":"é"\n']]),
    ["{}\n", undefined],
  ]);
});
