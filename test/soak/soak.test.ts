/**
 * The soak in a minute: each quick fault once, under little traffic. What is judged is what must hold on any machine: nothing lost,
 * nobody let in, and traffic comes back. `npm run soak` is the long form.
 */
import { expect, test } from "vitest";

import { findPostgres } from "../support/postgres.ts";
import { readOptions } from "./main.ts";
import { plotSvg } from "./plot.ts";
import { reportText } from "./report.ts";
import { runSoak } from "./run.ts";

/** Of each family one that costs little: they stand in for what the command does at length. */
const QUICK = [
  "worker-killed",
  "replica-killed",
  "clients-cut",
  "database-killed",
  "upstream-resets",
  "provider-keys-rotated",
  "publishers-race",
];

const postgres = findPostgres();
test.skipIf("missing" in postgres)(
  "two replicas over PostgreSQL lose nothing and let nobody in through quick faults, and serve again after each",
  async () => {
    const report = await runSoak({
      // Time is not what ends it: each fault comes once.
      minutes: 20,
      seed: 19,
      stores: ["postgres"],
      replicas: 2,
      workers: 2,
      faults: QUICK,
      brief: true,
      ease: 8,
    });
    expect(report.passed, reportText(report)).toBe(true);
    const [store] = report.stores;
    expect(store?.faults.map(({ name }) => name).toSorted()).toEqual(QUICK.toSorted());
    expect(Object.keys(store?.operations ?? {})).toEqual(
      expect.arrayContaining(["request web", "request tools", "redeem refresh-token", "sign-in", "publish", "stream"]),
    );
    expect(store && plotSvg(store)).toContain(">database-killed</text>");
  },
  // It takes less than a minute on a machine that does nothing else.
  1_200_000,
);

test.each([
  [["--minutes", "0"], /--minutes is "0"/],
  [["--replicas", "4"], /--replicas is "4"/],
  [["--store", "mysql"], /must be sqlite, postgres or both/],
  [["--faults", "worker-killed,nonsense"], /Cannot find fault "nonsense"/],
])("readOptions() refuses %j", (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});

test("readOptions() takes what the issue asks for", () => {
  expect(readOptions(["--minutes", "10", "--seed", "7", "--store", "both", "--replicas", "3"])).toMatchObject({
    minutes: 10,
    seed: 7,
    stores: ["postgres", "sqlite"],
    replicas: 3,
  });
});
