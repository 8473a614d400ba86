import * as fc from "fast-check";
import { expect, test } from "vitest";

import { wordDifference } from "../../../runtime/console/tool-lock/word-difference.ts";

const marked = (before: string, after: string): string =>
  wordDifference(before, after)
    .map(({ kind, text }) => (kind === "same" ? text : kind === "removed" ? `[-${text}-]` : `{+${text}+}`))
    .join("");

test.each([
  ["Reads a file.", "Reads a file.", "Reads a file."],
  ["Reads a file.", "Sends a file to all.", "[-Reads-]{+Sends+} a file{+ to all+}."],
  ["", "new", "{+new+}"],
  ["old", "", "[-old-]"],
  ["a b c", "a c", "a [-b -]c"],
])("wordDifference(%j, %j) is %j", (before, after, expected) => {
  expect(marked(before, after)).toBe(expected);
});

test("wordDifference() has all of both texts in order, also of long ones", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", " ", ".", "é", "word", "\u{1f600}"), { maxLength: 60 })
    .map((all) => all.join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const pieces = wordDifference(before, after);
      const without = (kind: string): string =>
        pieces.flatMap((each) => (each.kind === kind ? [] : [each.text])).join("");
      expect([without("added"), without("removed")]).toEqual([before, after]);
    }),
    { numRuns: 200, seed: 7 },
  );
  const [long, other] = ["a ".repeat(5_000), "b ".repeat(5_000)];
  expect(wordDifference(long, other).length).toBeLessThan(5);
});
