/** Form of pages: one task and at most 8 KB each, first what it is for, then steps, then how to verify that it worked. */
import { describe, expect, test } from "vitest";

import { pagesIn, readPage } from "../support/page-blocks.ts";

const pages = ["runtime/guide", "runtime/operations"].flatMap(pagesIn);

/** Pages to look something up, or for users: they have no steps. */
const NO_TASK = ["README", "glossary", "for-users", "provider-examples", "failure-modes"];
const tasks = pages.filter((page) => !NO_TASK.some((name) => page.endsWith(`/${name}.md`)));

test.each(["README.md", "runtime/UPGRADING.md", "CHANGELOG.md", ...pages])("%s has at most 8 KB", (page) => {
  expect(Buffer.byteLength(readPage(page))).toBeLessThanOrEqual(8192);
});

describe("task pages", () => {
  test("are most of all", () => {
    expect(tasks.length).toBeGreaterThan(30);
  });

  test.each(tasks)("%s says what it is for, and how to verify that it worked", (page) => {
    const [title = "", blank, first = ""] = readPage(page).split("\n");
    expect(title).toMatch(/^# [A-Z]/);
    expect(blank).toBe("");
    expect(first).toMatch(/^[A-Z]/);
    expect(readPage(page)).toMatch(/^(?: {0,3}\d\. )?\*\*Verify/m);
  });

  test.each(tasks)("%s numbers its steps from 1", (page) => {
    const text = readPage(page).replaceAll(/^( *)```[^]*?^\1```$/gm, "");
    const numbers = [...text.matchAll(/^(\d+)\. |^#+ /gm)].map(([, number]) => number);
    const starts = numbers.filter((number, at) => number !== undefined && numbers[at - 1] === undefined);
    expect(starts.filter((number) => number !== "1")).toEqual([]);
  });

  test.each(pages)("%s is in the table of its folder", (page) => {
    const [, folder = "", name = ""] = /^(.*)\/([^/]+)$/.exec(page) ?? [];
    if (name !== "README.md") expect(readPage(`${folder}/README.md`)).toContain(`](${name})`);
  });
});
