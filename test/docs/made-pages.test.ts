/** What pages say from code is what the code says: tables of clients, truth tables, arguments, the reference. */
import { expect, test } from "vitest";

import { madePages } from "../../runtime/package/pages.ts";
import { fillParts } from "../../runtime/package/pages/parts.ts";
import { readPage } from "../support/page-blocks.ts";

const made = madePages();

test.each([...made.keys()])("%s is as `npm run pages` writes it", (path) => {
  expect(readPage(path)).toBe(made.get(path));
});

test("a part that nothing makes, or that has no place, is an error", () => {
  const page = "# Page\n\n<!-- generated: one -->\nold\n<!-- end -->\n";
  expect(fillParts(page, { one: "new" })).toBe("# Page\n\n<!-- generated: one -->\n\nnew\n\n<!-- end -->\n");
  expect(() => fillParts(page, {})).toThrow('nothing makes its part "one"');
  expect(() => fillParts(page, { one: "new", two: "new" })).toThrow("it has no place for two");
});
