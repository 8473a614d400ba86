/** What the command line of the soak takes. */
import { expect, test } from "vitest";

import { readOptions } from "./main.ts";

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
