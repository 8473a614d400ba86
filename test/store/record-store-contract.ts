/** What the record store promises over both databases. */
import { afterEach, describe, expect, test } from "vitest";
import * as fc from "fast-check";

import type { RecordCopy } from "../../runtime/audit/record-consumer.ts";
import type { RecordPlace } from "../../runtime/record-store/back-end.ts";
import type { KeptRecord, RecordQuery, RecordReader } from "../../runtime/record-store/record-reader.ts";
import { createPostgresBackEnd } from "../../runtime/record-store/postgres/postgres-back-end.ts";
import { createSqliteBackEnd } from "../../runtime/record-store/sqlite/sqlite-back-end.ts";
import { readRecords } from "../../runtime/record-store/result.ts";
import { forgetRecords } from "../../runtime/record-store/forget.ts";
import { openRecordReader } from "../../runtime/record-store/record-store.ts";
import { copyOf, endOf } from "../support/record-copies.ts";
import type { TestConsumer } from "../support/record-consumers.ts";
import { openTestStore } from "../support/record-store.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";

const HOUR = 3600_000;
/** A busy machine takes its time; what never comes fails all the same. */
const USERS = ["alice", "bob", "carol"];
const ROUTES = ["team-a/github", "team-a/jira", "team-b/github", "team-c/wiki"];
const TOOLS = ["read", "write", undefined];
const CLIENTS = ["client-1", "client-2"];

interface Made {
  readonly at: number;
  readonly user: string;
  readonly route: string;
  readonly tool: string | undefined;
  readonly client: string;
  readonly outcome: "allowed" | "denied" | "limited" | "waiting" | "error" | "sign-in";
}

const made = fc.record({
  user: fc.constantFrom(...USERS),
  route: fc.constantFrom(...ROUTES),
  tool: fc.constantFrom(...TOOLS),
  client: fc.constantFrom(...CLIENTS),
  outcome: fc.constantFrom("allowed", "allowed", "denied", "limited", "waiting", "error", "sign-in"),
});
const question = fc.record(
  {
    user: fc.constantFrom("alice", "bob", "bob@example.com", "ALICE@example.com", "nobody"),
    route: fc.constantFrom(...ROUTES),
    tool: fc.constantFrom("read", "write"),
    client: fc.constantFrom(...CLIENTS),
    outcomes: fc.subarray(["allowed", "denied", "limited", "waiting", "error", "sign-in"] as const),
    owners: fc.subarray(["team-a", "team-b", "team-x"]),
    since: fc.nat(400),
    until: fc.nat(400),
  },
  { requiredKeys: [] },
);

/** @returns all records that the question finds, page by page */
export async function findAll(reader: RecordReader, query: RecordQuery): Promise<readonly KeptRecord[]> {
  const found: KeptRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await reader.find(cursor === undefined ? query : { ...query, cursor });
    if (!page.isPartial && page.next !== undefined) expect(page.records).toHaveLength(query.limit);
    found.push(...page.records);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

const requestIds = (records: readonly KeptRecord[]): readonly unknown[] =>
  records.map(({ value }) => value["request-id"]);

/** @param fresh an empty place */
export function recordStoreContract(fresh: () => Promise<RecordPlace>): void {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });
  const writer = (place: RecordPlace, clock: TestClock, maxRecords = 2_000): TestConsumer => {
    const options = { place, maxAgeMs: 24 * HOUR, maxRecords };
    const store = openTestStore(options, { clock, log: () => {}, flushMs: 5 });
    open.push(store);
    return store;
  };
  const readerOf = (place: RecordPlace, maxRows = 200_000): RecordReader => {
    const reader = openRecordReader({ place, maxAgeMs: 24 * HOUR }, { maxRows, maxMs: 60_000 });
    open.push(reader);
    return reader;
  };
  const start = (): number => Date.now() - HOUR;

  test("find() answers what a look at every record would, page by page, in both orders", async () => {
    const place = await fresh();
    const from = start();
    const clock = createTestClock(from);
    const store = writer(place, clock);
    const random = fc.sample(made, { numRuns: 400, seed: 17 });
    const all: readonly Made[] = random.map((each, at) => ({
      ...each,
      at,
      // Callers who are asked to sign in are not known.
      user: each.outcome === "sign-in" ? "" : each.user,
    }));
    // Late ones among them: they come up to twenty behind.
    const arriving = all.toSorted((a, b) => a.at + (a.at % 7 === 0 ? 20.5 : 0) - (b.at + (b.at % 7 === 0 ? 20.5 : 0)));
    for (const [index, each] of arriving.entries()) {
      clock.set(from + each.at * 1000);
      const isAllowed = each.outcome === "allowed" || each.outcome === "limited" || each.outcome === "error";
      const extra = {
        allow: isAllowed,
        ...(each.user === ""
          ? { "allow-why-false": ["credential-missing"] }
          : { user: each.user, email: `${each.user}@example.com` }),
        route: each.route,
        "mcp-tool": each.tool,
        "client-id": each.client,
        ...(each.outcome === "limited" && { limited: { limit: "calls" } }),
        ...(each.outcome === "waiting" && { approval: { state: "waiting", id: "1" } }),
      };
      store.take([copyOf(from + each.at * 1000, String(each.at), extra)]);
      if (index % 3 === 0) await store.flush();
      if (each.outcome === "error") store.take([endOf(String(each.at), 502)]);
    }
    await store.flush();
    expect(store.status()).toMatchObject({ waiting: 0, lost: 0, isAway: false, taken: 400 });
    const reader = readerOf(place);
    const small = readerOf(place, 1);
    expect((await reader.stats()).count).toBe(400);

    await fc.assert(
      fc.asyncProperty(
        question,
        fc.constantFrom("newest" as const, "oldest" as const),
        fc.constantFrom(1, 7, 50, 200),
        async ({ since, until, ...asked }, order, limit) => {
          const query: RecordQuery = {
            ...asked,
            ...(since !== undefined && { sinceMs: from + since * 1000 }),
            ...(until !== undefined && { untilMs: from + until * 1000 }),
            order,
            limit,
          };
          const expected = all.filter(
            (each) =>
              (asked.user === undefined || asked.user.toLowerCase().replace("@example.com", "") === each.user) &&
              (asked.route === undefined || asked.route === each.route) &&
              (asked.tool === undefined || asked.tool === each.tool) &&
              (asked.client === undefined || asked.client === each.client) &&
              (asked.outcomes === undefined || asked.outcomes.includes(each.outcome)) &&
              (asked.owners === undefined || asked.owners.includes(each.route.split("/")[0] ?? "")) &&
              (since === undefined || each.at >= since) &&
              (until === undefined || each.at < until),
          );
          const ids = expected.map(({ at }) => String(at));
          const wanted = order === "newest" ? ids.toReversed() : ids;
          // With hardly any work a page: as many pages, and nothing left out.
          const some = limit >= 7 ? reader : small;
          expect(requestIds(await findAll(some, query))).toEqual(wanted);
          const times = { sinceMs: from + (since ?? 0) * 1000, untilMs: from + (until ?? 400) * 1000 };
          if (times.untilMs <= times.sinceMs) return;
          const { slots, countedSinceMs } = await reader.count({ ...asked, ...times, slots: 7 });
          expect(countedSinceMs).toBeUndefined();
          const counted = slots.flatMap((slot) => Object.entries(slot));
          const number = (outcome: string): number =>
            counted.reduce((sum, [name, count]) => sum + (name === outcome ? count : 0), 0);
          for (const outcome of ["allowed", "denied", "limited", "waiting", "error", "sign-in"])
            expect(number(outcome)).toBe(expected.filter((each) => each.outcome === outcome).length);
          const ranked = await reader.rank({ ...asked, ...times, slots: 1, by: "user", most: 20 });
          const perUser = Map.groupBy(expected, ({ user }) => user);
          const counts = ranked.rows.map(({ record, count }) => [record.userId ?? "", count] as const);
          expect(Object.fromEntries(counts)).toEqual(
            Object.fromEntries([...perUser].map(([user, same]) => [user, same.length])),
          );
          expect(counts.map(([, count]) => count)).toEqual(counts.map(([, count]) => count).toSorted((a, b) => b - a));
          expect(ranked.distinct).toBe([...perUser.keys()].filter((user) => user !== "").length);
          expect(ranked.slots).toEqual([ranked.distinct]);
        },
      ),
      { numRuns: 60, seed: 5 },
    );
    const one = await reader.find({ request: "123", order: "newest", limit: 10 });
    expect(requestIds(one.records)).toEqual(["123"]);
    const [first, last] = await Promise.all(
      [all[0], all.at(-1)].map((each) =>
        reader.count({ sinceMs: from, untilMs: from + 400_000, slots: 4, request: String(each?.at) }),
      ),
    );
    expect([first, last].map((found) => found?.slots.findIndex((slot) => Object.keys(slot).length > 0))).toEqual([
      0, 3,
    ]);
    const partial = await small.find({ user: "nobody", order: "newest", limit: 10 });
    expect(partial).toEqual({ records: [], isPartial: true, next: expect.any(String) });
  });

  test("an outcome finds its decision, waiting or written, and is found by the record's id", async () => {
    const place = await fresh();
    const from = start();
    const store = writer(place, createTestClock(from));
    store.take([copyOf(from, "early"), endOf("early", 200), copyOf(from + 1, "late", { user: "alice" })]);
    await store.flush();
    store.take([endOf("late", 503), endOf("nobody's", 500)]);
    await store.flush();
    const reader = readerOf(place);
    const [late, early] = (await reader.find({ order: "newest", limit: 10 })).records;
    expect(early).toMatchObject({ outcome: "allowed", kind: "decision", timeMs: from, result: { status: 200 } });
    const result = {
      status: 503,
      durationMs: 1.5,
      succeeded: true,
      guardrail: { verdict: "pass" },
      listHidden: 2,
      listShown: 3,
    };
    expect(late).toMatchObject({ outcome: "error", userId: "alice", result });
    expect(await reader.get(late?.id ?? "")).toEqual(late);
    expect(await reader.get("zzz")).toBeUndefined();
    expect(await reader.get("NOT AN ID")).toBeUndefined();
    await expect(reader.find({ order: "newest", limit: 10, cursor: "o1.1" })).rejects.toMatchObject({
      code: "records.cursor",
    });
  });

  test("what is read again after a crash is there once, with its outcome, wherever it was joined", async () => {
    const place = await fresh();
    const from = start();
    const options = { place, maxAgeMs: 24 * HOUR, maxRecords: 2_000 };
    const backEnd =
      place.kind === "postgres"
        ? createPostgresBackEnd(place.url, options)
        : createSqliteBackEnd(place.path, false, options);
    open.push(backEnd);
    const line = ({ value }: RecordCopy, more: object, note = ""): string =>
      JSON.stringify({ ...value, ...more }) + note;
    const note = `\t${new Date(from).toISOString()}`;
    const lines = [
      line(copyOf(from, "a"), { instance: "run", seq: 1 }),
      // They have one id: of one millisecond, and 512 places apart.
      line(copyOf(from, "b"), { instance: "run", seq: 513 }),
      line(copyOf(from, "c"), { instance: "run", seq: 2 }),
      line(endOf("b", 502), { instance: "run", of: 513, seq: 514 }, note),
      line(endOf("a", 500), { instance: "run", of: 1, seq: 515 }, note),
      line(endOf("c", 200), { instance: "run", of: 2, seq: 516 }, note),
      // Of a decision that is not there.
      line(endOf("d", 200), { instance: "run", of: 3, seq: 517 }, note),
    ];
    // Cut off somewhere, and read again up to somewhere else.
    for (const [begin, end] of [
      [0, 2],
      [0, 4],
      [2, 5],
      [0, 6],
      [4, 7],
      [0, 7],
    ] as const)
      await backEnd.write({ ...readRecords(lines.slice(begin, end), from), now: from });
    const reader = readerOf(place);
    const { records } = await reader.find({ order: "oldest", limit: 10 });
    expect(
      records
        .map(({ value, result, outcome }) => [value["request-id"], result?.status, outcome])
        .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
    ).toEqual([
      ["a", 500, "error"],
      ["b", 502, "error"],
      ["c", 200, "allowed"],
    ]);
    expect((await reader.stats()).count).toBe(3);
  });

  test("actions and other records are kinds of their own; what is about the log alone is left out", async () => {
    const place = await fresh();
    const from = start();
    const store = writer(place, createTestClock(from));
    const action = { message: "administrative action", by: "alice", target: "session 1", user: undefined };
    store.take([copyOf(from, "", action), copyOf(from + 1, "", { message: "tool lock drift" })]);
    store.take([copyOf(from + 2, "", { message: "audit checkpoint" }), copyOf(from + 3, "decision")]);
    await store.flush();
    const reader = readerOf(place);
    const kinds = (await reader.find({ order: "oldest", limit: 10 })).records.map(({ kind }) => kind);
    expect(kinds).toEqual(["action", "other", "decision"]);
    const { records } = await reader.find({ order: "oldest", limit: 10, kind: "action", user: "alice" });
    expect(records).toMatchObject([{ kind: "action", userId: "alice" }]);
  });

  test("two writers at once: every record is there once, with an id of its own", async () => {
    const place = await fresh();
    const from = start();
    const clocks = [createTestClock(from), createTestClock(from)];
    const stores = clocks.map((clock) => writer(place, clock));
    for (let at = 0; at < 300; at += 1) {
      for (const [which, store] of stores.entries()) {
        clocks[which]?.set(from + at);
        store.take([copyOf(from + at, `${which}-${at}`)]);
      }
      if (at % 60 === 59) await Promise.all(stores.map((store) => store.flush()));
    }
    await Promise.all(stores.map((store) => store.flush()));
    const found = await findAll(readerOf(place), { order: "oldest", limit: 100 });
    expect(new Set(requestIds(found)).size).toBe(600);
    expect(new Set(found.map(({ id }) => id)).size).toBe(600);
    expect(found).toHaveLength(600);
    expect(found.map(({ timeMs }) => timeMs)).toEqual(found.map(({ timeMs }) => timeMs).toSorted((a, b) => a - b));
  });

  test("a clock that is set back takes no record from others", async () => {
    const place = await fresh();
    const from = start();
    const store = writer(place, createTestClock(from));
    const times = [0, 0, 0, 1, 0, 1, 2, 0, 0];
    store.take(times.map((at, index) => copyOf(from + at, String(index))));
    await store.flush();
    store.take([copyOf(from, "9"), copyOf(from + 1, "10")]);
    store.take([endOf("4", 500), endOf("9", 500)]);
    await store.flush();
    const found = await findAll(readerOf(place), { order: "oldest", limit: 10 });
    expect(new Set(requestIds(found))).toEqual(new Set(Array.from({ length: 11 }, (_, index) => String(index))));
    expect(found.filter(({ outcome }) => outcome === "error").map(({ value }) => value["request-id"])).toEqual(
      expect.arrayContaining(["4", "9"]),
    );
  });

  test("forgetRecords() takes what is about a user, and nothing else", async () => {
    const place = await fresh();
    const from = start();
    const store = writer(place, createTestClock(from));
    store.take([
      copyOf(from, "1", { user: "alice", email: "alice@example.com" }),
      copyOf(from + 1, "2", { user: "other-id", email: "Alice@example.com" }),
      copyOf(from + 2, "3", { user: "bob", approval: { state: "approved", by: "alice" } }),
      copyOf(from + 3, "4", { message: "administrative action", by: "root@host", target: "device 1 of alice" }),
      copyOf(from + 4, "5", { user: "bob", "mcp-tool-parameters": { by: "alice" } }),
      copyOf(from + 5, "6", { message: "administrative action", by: "bob", target: "device 1 of malice" }),
      copyOf(from + 6, "7", {
        message: "administrative action",
        by: "bob",
        target: "approval 1 of alice: read on a/b",
      }),
      copyOf(from + 7, "8", { message: "administrative action", by: "bob", target: "device 1 of Alice B" }),
    ]);
    await store.flush();
    const names = { ids: ["alice", "Alice B"], emails: ["alice@example.com"] };
    expect(await forgetRecords({ place }, names)).toBe(6);
    expect(await forgetRecords({ place }, names)).toBe(0);
    const reader = readerOf(place);
    expect(requestIds(await findAll(reader, { order: "oldest", limit: 10 }))).toEqual(["5", "6"]);
    expect((await reader.stats()).count).toBe(2);
    store.take([copyOf(from + 8, "9")]);
    await store.flush();
    expect((await reader.stats()).count).toBe(3);
  });

  describe("retention", () => {
    test("the last ones stay, and no more than max_records", async () => {
      const place = await fresh();
      const from = start();
      const clock = createTestClock(from);
      const store = writer(place, clock, 200);
      for (let at = 0; at < 500; at += 5) {
        clock.set(from + at);
        store.take(Array.from({ length: 5 }, (_, more) => copyOf(from + at + more, String(at + more))));
        await store.flush();
      }
      await store.close();
      // What a killed process has left undone, the next one does.
      const next = writer(place, clock, 200);
      const reader = readerOf(place);
      await expect.poll(async () => (await reader.stats()).count).toBeLessThanOrEqual(200);
      await next.close();
      const found = requestIds(await findAll(reader, { order: "newest", limit: 200 }));
      expect(found.length).toBeGreaterThanOrEqual(180);
      expect(found).toEqual(Array.from({ length: found.length }, (_, at) => String(499 - at)));
    });

    test("what is older than max_age is not shown, and goes when all of its segment is", async () => {
      const place = await fresh();
      const old = Date.now() - 25 * HOUR;
      const clock = createTestClock(old);
      const store = writer(place, clock);
      store.take([copyOf(old, "old"), copyOf(old + 2 * HOUR, "young")]);
      await store.flush();
      const reader = readerOf(place);
      expect(requestIds(await findAll(reader, { order: "newest", limit: 10 }))).toEqual(["young"]);
      expect((await reader.stats()).oldestMs).toBe(old + 2 * HOUR);
      await store.close();
      clock.set(old + 27 * HOUR);
      writer(place, clock);
      await expect.poll(async () => (await reader.stats()).count).toBe(0);
    });
  });
}
