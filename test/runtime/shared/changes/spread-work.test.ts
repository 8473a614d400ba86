/** Work in turns: others wait for one turn at most, and nothing is lost. */
import { afterEach, expect, test } from "vitest";

import { changedMembers } from "../../../../runtime/shared/changes/changed-members.ts";
import { onFault } from "../../../../runtime/shared/faults/faults.ts";
import { createSpreadWork } from "../../../../runtime/shared/changes/spread-work.ts";

const done: string[] = [];
afterEach(() => void done.splice(0));

function* steps(name: string, count: number): Generator<void> {
  for (let step = 1; step <= count; step += 1) {
    done.push(`${name}${step}`);
    yield;
  }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a little is done immediately; the rest yields to other work, in the order of submission", async () => {
  const spreadWork = createSpreadWork(3);
  spreadWork.add(steps("a", 2));
  expect(done).toEqual(["a1", "a2"]);

  spreadWork.add(steps("b", 4));
  spreadWork.add(steps("c", 1));
  expect(done.slice(2)).toEqual(["b1", "b2", "b3"]);
  await turn();
  expect(done.slice(2)).toEqual(["b1", "b2", "b3", "b4", "c1"]);
});

test("work that throws ends and is reported; later work is done", async () => {
  const told: unknown[] = [];
  const leave = onFault(({ what, error }) => told.push([what, (error as Error).message]));
  const spreadWork = createSpreadWork(2);
  spreadWork.add(
    (function* () {
      yield* steps("a", 2);
      throw new Error("no");
    })(),
  );
  spreadWork.add(steps("b", 1));
  await turn();
  await turn();
  leave();
  expect(told).toEqual([["what follows from a change of routes", "no"]]);
  expect(done).toEqual(["a1", "a2", "b1"]);
});

test("unfinished work is dropped on close", async () => {
  const spreadWork = createSpreadWork(1);
  spreadWork.add(steps("a", 3));
  spreadWork.close();
  await turn();
  expect(done).toEqual(["a1"]);
});

test.each([
  ["abc", "abc", "", ""],
  ["abc", "adc", "d", "b"],
  ["abcd", "bcda", "", ""],
  ["", "ab", "ab", ""],
  ["ab", "", "", "ab"],
  ["abcde", "xbdy", "xy", "ace"],
])("from %j to %j: %j is added, %j removed", (before, after, added, removed) => {
  const changed = changedMembers(before.split(""), after.split(""));
  expect([changed.added.join(""), changed.removed.join("")]).toEqual([added, removed]);
});
