import { afterEach, beforeEach, expect, test } from "vitest";

import { onFault, type Fault } from "../../../../runtime/shared/faults/faults.ts";
import { guard, guardEach, guardSocket, task } from "../../../../runtime/shared/faults/guard.ts";

const mistake = new Error("a mistake");
const failing = (): never => {
  throw mistake;
};
let told: Fault[];
let stop: () => void;

beforeEach(() => {
  told = [];
  stop = onFault((fault) => void told.push(fault));
});
afterEach(() => stop());

test("guard() and guardEach() end the owner, and pass on arguments and results", () => {
  const broke: unknown[] = [];
  const owner = { broke: (error: unknown) => void broke.push(error) };
  expect(guard(owner, (a: number, b: number) => a + b)(1, 2)).toBe(3);
  expect(guardEach((_owner: typeof owner, a: number, b: number, c: number) => a + b + c)(owner, 1, 2, 3)).toBe(6);
  expect([guard(owner, failing)(), guardEach(failing)(owner)]).toEqual([undefined, undefined]);
  expect(broke).toEqual([mistake, mistake]);
  expect(told).toEqual([]);
});

test("an owner that fails while it ends is reported", () => {
  guard({ broke: failing }, failing)();
  expect(told).toMatchObject([{ scope: "request", error: mistake }]);
});

test("guardSocket() cuts the connection, and reports why", () => {
  let isCut = false;
  guardSocket({ destroy: () => (isCut = true) }, failing)();
  expect([isCut, told]).toMatchObject([true, [{ scope: "request", what: "a connection", error: mistake }]]);
});

test("task() reports errors and rejections, and runs again", async () => {
  const run = task("the upkeep", (isLater: boolean) => (isLater ? Promise.reject(mistake) : failing()));
  run(false);
  run(true);
  await Promise.resolve();
  const fault = { scope: "task", what: "the upkeep", error: mistake };
  expect(told).toEqual([fault, fault]);
});
