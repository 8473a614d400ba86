/** What one user can make the console do. */
import { expect, test } from "vitest";

import { givenLine } from "../../../runtime/console/approvals/why-approval.ts";
import { readFilters } from "../../../runtime/console/decisions/filters.ts";
import { histogram } from "../../../runtime/console/decisions/histogram.ts";
import { createTails } from "../../../runtime/console/decisions/tails.ts";
import type { ConsoleRequest } from "../../../runtime/console/screen.ts";
import type { CountQuery } from "../../../runtime/record-store/record-reader.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { createFakeExchange } from "../../support/fake-exchange.ts";
import { createMemoryReader, keptDecision } from "../../support/record-reader.ts";

/** Searches of a stream of eight windows whose records are never found within the limit of one search. */
async function searchesOf(isGone: boolean): Promise<number> {
  const clock = createTestClock();
  const memory = createMemoryReader([keptDecision({ timeMs: clock.now() })]);
  let searches = 0;
  let leave = (): void => {};
  const reader = {
    ...memory,
    find: () => {
      searches += 1;
      if (isGone) leave();
      return Promise.resolve({ records: [], isPartial: true, next: "n1.1" });
    },
  };
  const never = { subscribe: () => () => {} };
  const policies = { find: () => undefined };
  const again = () => Promise.resolve(undefined);
  const every = () => () => {};
  const log = silentLog();
  const tails = createTails({
    reader,
    clock,
    log,
    revocations: never,
    blocks: never,
    snapshots: never,
    policies,
    again,
    every,
  });
  const exchange = {
    ...createFakeExchange(),
    start: () => {},
    write: () => true,
    onDrain: () => {},
    onClose: (listener: () => void) => void (leave = listener),
    end: () => {},
  };
  const rights = { roles: new Set(), byOwner: new Map(), owners: undefined, may: () => true };
  const principal = { user: { id: "alice" }, revocationKeys: [] };
  const after = memory.records[0]?.id;
  const window = { query: {}, filters: readFilters(new Map()), after };
  const visit = { exchange, rights, principal, query: new Map() } as unknown as ConsoleRequest;
  await tails.open(
    visit,
    Array.from({ length: 8 }, () => window),
  );
  await tails.close();
  return searches;
}

test("the windows of one stream share the searches for what they missed, which end with the stream", async () => {
  expect(await searchesOf(false)).toBeLessThanOrEqual(10);
  expect(await searchesOf(true)).toBe(1);
});

test.each([
  [{ since: "0001-01-01" }, "weeks"],
  [{ since: "2001-01-01", until: "2026-01-01" }, "weeks"],
  [{ since: "2026-01-01", until: "2001-01-01" }, "second"],
  [{ since: "9999-12-31" }, "second"],
])("the chart of any range has a bounded number of columns: %j", async (range, step) => {
  const asked: CountQuery[] = [];
  const reader = {
    count: (query: CountQuery) => {
      asked.push(query);
      return Promise.resolve({ slots: Array.from({ length: query.slots }, () => ({})) });
    },
  };
  const [sinceMs, untilMs] = [range.since, "until" in range ? range.until : undefined].map((text) =>
    text === undefined ? undefined : Date.parse(text),
  );
  const query = { ...(sinceMs !== undefined && { sinceMs }), ...(untilMs !== undefined && { untilMs }) };
  const now = Date.parse("2026-11-30T12:00:00Z");
  const shown = await histogram({ reader, log: silentLog() }, { query, now, hrefOf: () => "" });
  expect(shown.toString()).toContain(step);
  expect(asked[0]?.slots).toBeLessThanOrEqual(66);
});

test("the line of a pending call's arguments has its numbers as sent", () => {
  const given = '[{"arguments":{"amount":12345678901234567890.10,"more":{"most":1e400}}}]';
  expect(givenLine(given)).toBe('amount 12345678901234567890.10, more {"most":1e400}');
});
