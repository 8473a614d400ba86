/** Seeded bugs still fit the program; that they are caught `npm run soak:bugs` shows. */
import { stripTypeScriptTypes } from "node:module";

import { expect, test } from "vitest";

import { BUGS } from "./bugs/bugs.ts";
import { withBug } from "./bugs/seed-bug.ts";
import { CHECKS } from "./checks/checks.ts";

test.each(BUGS.map((bug) => [bug.name, bug] as const))("%s stands once where it is to be seeded", (_, bug) => {
  // What does not parse would be caught for another reason.
  for (const text of withBug(bug).values()) expect(() => stripTypeScriptTypes(text)).not.toThrow();
});

test("a text that does not stand there is an error", () => {
  const change = { file: "main.ts", find: "no such text", replace: "" };
  expect(() => withBug({ name: "x", caughtBy: "y", changes: [change] })).toThrow("stands 0 times in main.ts");
});

test("each check has a bug that it must catch", () => {
  expect(new Set(BUGS.map(({ caughtBy }) => caughtBy))).toEqual(new Set(CHECKS.map(({ name }) => name)));
});
