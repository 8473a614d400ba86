/** What becomes of records behind the log, as `/status` and `/readyz` tell it. */
import { expect, test } from "vitest";

import type { ConsumerStatus } from "../../../runtime/audit/record-consumer.ts";
import { canPass, mergeSinks, sinkStatus } from "../../../runtime/admin-listener/records/recording.ts";

const status: ConsumerStatus = {
  name: "siem",
  kind: "http",
  isAway: true,
  waiting: 2,
  taken: 3,
  lost: 1,
  lastError: "it answered 500",
  lastSuccessAt: 5_400,
};
const shown = {
  name: "siem",
  kind: "http",
  away: true,
  waiting: 2,
  taken: 3,
  lost: 1,
  last_error: "it answered 500",
  last_success_at: 5,
} as const;
const thread = (canKeep: boolean, ...statuses: readonly ConsumerStatus[]) => ({ canKeep, status: () => statuses });

test("sinkStatus() shows sinks, and not the record store", () => {
  const store: ConsumerStatus = { ...status, name: "records", kind: "record_store" };
  expect(sinkStatus({ required: false, thread: thread(true, status, store) })).toEqual({ record_sinks: [shown] });
  expect(sinkStatus({ required: false, thread: thread(true, store) })).toEqual({});
  expect(sinkStatus({ required: false, thread: undefined })).toEqual({});
});

test("mergeSinks() adds up what workers have in spools of their own", () => {
  const well = { ...shown, away: false, last_error: null, last_success_at: 9 };
  const other = { ...well, name: "logs" };
  expect(mergeSinks([[well, other], [shown], []])).toEqual([
    { ...shown, waiting: 4, taken: 6, lost: 2, last_success_at: 9 },
    other,
  ]);
});

test.each([
  [true, false, false],
  [true, true, true],
  [false, false, true],
])("canPass() with required %s, canKeep %s is %s", (required, canKeep, passes) => {
  expect(canPass({ required, thread: thread(canKeep) })).toBe(passes);
});
