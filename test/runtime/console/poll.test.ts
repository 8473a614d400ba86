/** What is new, asked once for all who follow it. */
import { expect, test } from "vitest";

import { createPoll, findNewest, type LiveUpdates } from "../../../runtime/console/decisions/poll.ts";
import { createTestClock } from "../../support/clock.ts";
import { createMemoryReader, keptDecision, type MemoryReader } from "../../support/record-reader.ts";

function startPoll() {
  const clock = createTestClock();
  const reader: MemoryReader = createMemoryReader();
  const errors: unknown[] = [];
  let look = (): void => {};
  let isStopped = true;
  const poll = createPoll(
    {
      reader,
      clock,
      onError: (error) => void errors.push(error),
      every(_, work) {
        look = work;
        isStopped = false;
        return () => (isStopped = true);
      },
    },
    { kind: "decision" },
  );
  const heard: LiveUpdates[] = [];
  /** A second later. */
  const tick = async (): Promise<LiveUpdates | undefined> => {
    clock.advance(1_000);
    heard.length = 0;
    look();
    await new Promise(setImmediate);
    return heard[0];
  };
  const leave = poll.follow((news) => void heard.push(news));
  const add = (count: number, given: Parameters<typeof keptDecision>[0] = {}) =>
    reader.records.push(...Array.from({ length: count }, () => keptDecision({ timeMs: clock.now(), ...given })));
  return { clock, reader, errors, poll, heard, tick, leave, add, isStopped: () => isStopped };
}

test("tells each record once, again when it is over, and late ones too", async () => {
  const { clock, reader, tick, add } = startPoll();
  add(1);
  expect((await tick())?.records).toHaveLength(1);
  expect(await tick()).toBeUndefined();
  const [first] = reader.records;
  if (first) reader.records[0] = { ...first, result: { status: 200, durationMs: 3 } };
  expect((await tick())?.records.map(({ result }) => result?.status)).toEqual([200]);
  add(1, { timeMs: clock.now() - 2_000 });
  expect((await tick())?.records).toHaveLength(1);
  expect(await tick()).toBeUndefined();
});

test("leaves out allowed ones before any other, and says so", async () => {
  const { tick, add } = startPoll();
  add(30, { outcome: "denied" });
  // Newer than all of those.
  add(400, { timeMs: 1_800_000_000_500 });
  const news = await tick();
  expect(news?.isSample).toBe(true);
  expect(news?.records.filter(({ outcome }) => outcome === "denied")).toHaveLength(30);
  expect(news?.records.filter(({ outcome }) => outcome === "allowed")).toHaveLength(50);
});

test("asks once for all, not again while an answer is out, and nothing when nobody follows", async () => {
  const { poll, reader, tick, leave, isStopped } = startPoll();
  const more = poll.follow(() => {});
  await tick();
  expect(reader.asked).toHaveLength(1);
  leave();
  expect([poll.followers, isStopped()]).toEqual([1, false]);
  more();
  expect([poll.followers, isStopped()]).toEqual([0, true]);
});

test("goes on when the store is back", async () => {
  const { reader, errors, tick, add } = startPoll();
  reader.isAway = true;
  expect(await tick()).toBeUndefined();
  expect(errors).toHaveLength(1);
  reader.isAway = false;
  add(1);
  expect((await tick())?.records).toHaveLength(1);
});

test("a search that takes its time goes on, and is no flood", async () => {
  const { reader, add } = startPoll();
  add(7);
  const slow: typeof reader.find = async (query) => {
    const page = await reader.find({ ...query, limit: 1 });
    return { ...page, isPartial: true };
  };
  expect(await findNewest({ find: slow }, {})).toMatchObject({ records: { length: 7 }, isFull: false });
  add(300);
  expect(await findNewest(reader, {})).toMatchObject({ records: { length: 200 }, isFull: true });
});
