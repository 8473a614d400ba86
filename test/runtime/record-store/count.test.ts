/** Rankings from rows of a database that is written by hand. */
import { expect, test } from "vitest";

import { CHECK_MESSAGE } from "../../../runtime/audit/log-line.ts";
import { rankRecords } from "../../../runtime/record-store/count.ts";
import { recordId } from "../../../runtime/record-store/record-id.ts";
import { nameNumber } from "../../../runtime/record-store/row.ts";
import type { SegmentReader } from "../../../runtime/record-store/segment-search.ts";

/** One record, which its number of the owner finds. */
function readerOf(route: string): SegmentReader {
  const id = recordId(500, "i", 1);
  const text = JSON.stringify({ message: CHECK_MESSAGE, route, "mcp-tool": "t", email: "alice@example.com" });
  return {
    prefix: "",
    segments: () => Promise.resolve([{ number: 1, firstId: 0n, records: 1, isIndexed: false }]),
    bytes: () => Promise.resolve(0),
    all: (sql) =>
      Promise.resolve(sql.includes("count(*)") ? [[0, nameNumber("t"), 1, id, id]] : [[id, null, text, null]]),
  };
}

test("a record of an owner whose name has the same number is not ranked", async () => {
  const query = { kind: "decision", by: "tool", most: 5, slots: 1, sinceMs: 0, untilMs: 1_000 } as const;
  const rank = (route: string) =>
    rankRecords(readerOf(route), { ...query, owners: ["team-a"] }, { maxAgeMs: 1_000, maxMs: 5_000 }, 1_000);
  expect((await rank("team-a/r")).rows).toMatchObject([{ count: 1, record: { email: "alice@example.com" } }]);
  expect((await rank("team-b/r")).rows).toEqual([]);
});
