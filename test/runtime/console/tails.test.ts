/** One stream of decisions, with a reader who stops and goes on. */
import { expect, test } from "vitest";

import { readFilters } from "../../../runtime/console/decisions/filters.ts";
import { createTails } from "../../../runtime/console/decisions/tails.ts";
import type { ConsoleRequest, ConsoleRights } from "../../../runtime/console/screen.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { createFakeExchange } from "../../support/fake-exchange.ts";
import { createMemoryReader, keptDecision } from "../../support/record-reader.ts";

test("a reader who stopped for a while, and for another one, is told what they missed, and goes on", async () => {
  const clock = createTestClock();
  const reader = createMemoryReader();
  let look = (): void => {};
  const never = { subscribe: () => () => {} };
  const tails = createTails({
    reader,
    clock,
    log: silentLog(),
    revocations: never,
    blocks: never,
    snapshots: never,
    policies: { find: () => undefined },
    again: () => Promise.resolve(undefined),
    every: (_ms, next) => {
      look = next;
      return () => {};
    },
  });
  const written: string[] = [];
  let isFull = false;
  // As Node has it: each time once.
  const drains: (() => void)[] = [];
  const exchange = {
    ...createFakeExchange(),
    start: () => {},
    write: (text: Buffer | string) => {
      written.push(String(text));
      return !isFull;
    },
    onDrain: (listener: () => void) => void drains.push(listener),
    onClose: () => {},
    end: () => {},
  };
  const rights = { roles: new Set(), byOwner: new Map(), owners: undefined, may: () => true };
  const principal = { user: { id: "u-alice" }, revocationKeys: [] };
  await tails.open({ exchange, rights, principal, query: new Map() } as unknown as ConsoleRequest, [
    { query: {}, filters: readFilters(new Map()), after: undefined },
  ]);

  const come = async (): Promise<string> => {
    clock.advance(5_000);
    reader.records.push(keptDecision({ timeMs: clock.now() }));
    const before = written.length;
    look();
    await new Promise(setImmediate);
    return written.slice(before).join("");
  };
  for (let round = 0; round < 3; round += 1) {
    isFull = true;
    expect(await come()).toContain("event: row");
    expect(await come()).toBe("");
    isFull = false;
    for (const drained of drains.splice(0)) drained();
    expect(await come()).toContain("1 not shown");
  }
  await tails.close();
});

test("a stream says that its session has ended, and connects again where nothing is known of it", async () => {
  const never = { subscribe: () => () => {} };
  let revoked: (key: string) => void = () => {};
  let blocked = (): void => {};
  let right: () => Promise<ConsoleRights | undefined> = () => Promise.resolve(undefined);
  const tails = createTails({
    reader: createMemoryReader(),
    clock: createTestClock(),
    log: silentLog(),
    revocations: { subscribe: (listener) => ((revoked = listener), () => {}) },
    blocks: { subscribe: (listener) => ((blocked = listener), () => {}) },
    snapshots: never,
    policies: { find: () => undefined },
    again: () => right(),
    every: () => () => {},
  });
  const rights: ConsoleRights = { roles: new Set(), byOwner: new Map(), owners: undefined, may: () => true };
  const endedBy = async (how: () => void): Promise<string> => {
    let text = "";
    const isOver = Promise.withResolvers<void>();
    const exchange = {
      ...createFakeExchange(),
      start: () => {},
      write: (chunk: Buffer | string) => (text += String(chunk)) !== "",
      onClose: () => {},
      end: () => isOver.resolve(),
    };
    const principal = { user: { id: "u-alice" }, revocationKeys: ["session:1"] };
    await tails.open({ exchange, rights, principal, query: new Map() } as unknown as ConsoleRequest, [
      { query: {}, filters: readFilters(new Map()), after: undefined },
    ]);
    how();
    await isOver.promise;
    return text;
  };
  expect(await endedBy(() => revoked("session:1"))).toContain("event: ended");
  expect(await endedBy(() => blocked())).toContain("event: ended");
  right = () => Promise.resolve({ ...rights, owners: ["team-a"] });
  expect(await endedBy(() => blocked())).not.toContain("event:");
  right = () => Promise.reject(new Error("away"));
  expect(await endedBy(() => blocked())).not.toContain("event:");
  await tails.close();
});

test("a user has the newest six streams, and a process 32 of all users", async () => {
  const never = { subscribe: () => () => {} };
  const tails = createTails({
    reader: createMemoryReader(),
    clock: createTestClock(),
    log: silentLog(),
    revocations: never,
    blocks: never,
    snapshots: never,
    policies: { find: () => undefined },
    again: () => Promise.resolve(undefined),
    every: () => () => {},
  });
  const open = async (user: string) => {
    const seen = { text: "", isOver: false, status: 0 };
    const exchange = {
      ...createFakeExchange(),
      start: (status: number) => void (seen.status = status),
      write: (text: Buffer | string) => (seen.text += String(text)) !== "",
      respond: (status: number) => void (seen.status = status),
      onDrain: () => {},
      onClose: () => {},
      end: () => void (seen.isOver = true),
    };
    const rights = { roles: new Set(), byOwner: new Map(), owners: undefined, may: () => true };
    const principal = { user: { id: user }, revocationKeys: [] };
    await tails.open({ exchange, rights, principal, query: new Map() } as unknown as ConsoleRequest, [
      { query: {}, filters: readFilters(new Map()), after: undefined },
    ]);
    return seen;
  };
  const own = [];
  for (let window = 0; window < 8; window += 1) own.push(await open("alice"));
  expect(own.map(({ isOver }) => isOver)).toEqual([true, true, false, false, false, false, false, false]);
  expect(own[0]?.text).toContain("event: replaced");
  for (let user = 0; user < 26; user += 1) await open(`user-${user}`);
  expect(tails.size).toBe(32);
  expect((await open("late")).status).toBe(503);
  expect(tails.size).toBe(32);
  await tails.close();
});
