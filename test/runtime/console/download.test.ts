/** A file for a reader who takes their time. */
import { expect, test } from "vitest";

import { download } from "../../../runtime/console/decisions/download.ts";
import type { ConsoleRights, ConsoleRequest } from "../../../runtime/console/screen.ts";
import { createTestClock } from "../../support/clock.ts";
import { createFakeExchange } from "../../support/fake-exchange.ts";
import { createMemoryReader, keptDecision } from "../../support/record-reader.ts";

const rights: ConsoleRights = { roles: new Set(["viewer"]), byOwner: new Map(), owners: undefined, may: () => true };

test.each([
  ["goes on for who still may, with one listener for all pages", rights, "end"],
  ["is cut off once the reader may no more, however few pages they took", undefined, "abort"],
  ["is cut off when they may see less", { ...rights, owners: ["team-a"] }, "abort"],
] as const)("a file that is taken slowly %s", async (_, later, end) => {
  const clock = createTestClock();
  const reader = createMemoryReader(Array.from({ length: 700 }, () => keptDecision()));
  let lines = 0;
  let closes = 0;
  const ends: string[] = [];
  const exchange = {
    ...createFakeExchange(),
    start: () => {},
    write: (text: Buffer | string) => {
      lines += String(text).split("\n").length - 1;
      return false;
    },
    onDrain: (listener: () => void) => {
      clock.advance(2_000);
      listener();
    },
    onClose: () => void (closes += 1),
    end: () => void ends.push("end"),
    abort: () => void ends.push("abort"),
  };
  const again = () => Promise.resolve(later);
  const visit = { exchange, rights } as unknown as ConsoleRequest;
  expect(await download({ reader, clock, again }, { visit, query: {}, format: "ndjson" })).toBe(true);
  expect([ends, lines, closes]).toEqual([[end], end === "end" ? 700 : 200, 1]);
});
