import * as fc from "fast-check";
import { expect, test } from "vitest";

import { itemChanges } from "../../../runtime/console/tool-lock/item-changes.ts";
import { wordDifference } from "../../../runtime/console/tool-lock/word-difference.ts";
import { toolOf, type LockedTool } from "../../../runtime/features/mcp/tool-lock-file.ts";
import { parseExactJson } from "../../../runtime/shared/json/exact-json.ts";

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

function toolsWith(word: string): readonly LockedTool[] {
  return Array.from({ length: 32 }, (_, tool) => {
    const texts = Array.from({ length: 64 }, (__, at) => [`p${at}`, `${word}.`.repeat(240) + word] as const);
    const text = JSON.stringify({ name: `t${tool}`, ...Object.fromEntries(texts) });
    return toolOf(parseExactJson(text) ?? null) as LockedTool;
  });
}

test("a page with many long texts that differ in each word has a few of them word by word", () => {
  const reviewed = toolsWith("a");
  const items = new Map(reviewed.map(({ name, digest }) => [name, new Set([digest])]));
  const lock = {
    kinds: new Set(["tool"] as const),
    items,
    onDrift: "hide",
    onUnlisted: "pass",
    reviewed,
    classes: new Map(),
  } as const;
  const values = itemChanges(lock, toolsWith("b")).items.flatMap((item) => item.values);
  expect(values.length).toBeGreaterThan(10);
  expect(values.filter(({ pieces }) => pieces.length > 2).length).toBeLessThan(5);
});
