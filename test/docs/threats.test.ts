/** The threat model: every trust boundary has rows, every row an attacker that SECURITY.md knows and a test that runs. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { readPage } from "../support/page-blocks.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Cells of the rows below a heading, or of a whole page. */
function tableOf(page: string, heading?: string): readonly (readonly string[])[] {
  const text = readPage(page);
  const from = heading === undefined ? 0 : text.indexOf(`\n## ${heading}\n`);
  const end = heading === undefined ? -1 : text.indexOf("\n## ", from + 1);
  const rows = text.slice(from, end === -1 ? undefined : end).matchAll(/^\| (.*) \|$/gm);
  const cells = [...rows].map(([, row = ""]) => row.split(" | ")).filter(([first]) => first !== "---");
  // Without the head.
  return cells.slice(1);
}

const threats = tableOf("runtime/THREATS.md").map(([boundary = "", who = "", tries = "", kind = "", proof = ""]) => ({
  boundary,
  who,
  tries,
  kind,
  proof,
}));

test("each trust boundary has rows, and each row a boundary", () => {
  const boundaries = tableOf("runtime/SECURITY.md", "Trust boundaries").map(([name]) => name);
  expect(boundaries.length).toBeGreaterThan(25);
  expect([...new Set(threats.map(({ boundary }) => boundary))]).toEqual(boundaries);
});

test("each attacker tries something, and nobody else", () => {
  const attackers = tableOf("runtime/SECURITY.md", "Attackers").map(([name]) => name);
  expect(new Set(threats.map(({ who }) => who))).toEqual(new Set(attackers));
});

test("kinds are those of STRIDE, and each is there", () => {
  expect(threats.filter(({ kind }) => !/^(?!.*(.).*\1)[STRIDE]+$/.test(kind))).toEqual([]);
  expect(["S", "T", "R", "I", "D", "E"].filter((letter) => !threats.some(({ kind }) => kind.includes(letter)))).toEqual(
    [],
  );
});

test("the table of secrets names where each one goes, and a test that runs", () => {
  const secrets = tableOf("runtime/SECURITY.md", "Where each secret goes");
  expect(secrets.length).toBeGreaterThan(20);
  expect(secrets.filter((row) => row.length !== 5 || row.includes(""))).toEqual([]);
  const problems = secrets.map(([secret, , , , proof = ""]) => [secret, problemOf(proof)]);
  expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
});

/** What is wrong with "`file` "title"", or nothing. */
function problemOf(proof: string): string | undefined {
  const [, file = "", title = ""] = /^`(test\/[\w./-]+\.test\.ts)` "([^"]+)"$/.exec(proof) ?? [];
  if (!existsSync(join(root, file)) || file === "") return "names no file";
  const text = readFileSync(join(root, file), "utf8");
  const literal = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  // The call, or the end of one with a table of cases: test.each([…])("title", …
  const before = new RegExp(`^(.*)\\(\\s*["\`]${literal}["\`]`, "m").exec(text)?.[1]?.trim();
  if (before === undefined) return "names no test";
  if (!/^(?:test|it|describe)\b|^\]\)|^\)$/.test(before)) return `begins with ${before}`;
  return /\.(?:skip|todo|fails|only)\b/.test(before) ? "is skipped" : undefined;
}

test("every test that is named is there, and is no skipped one", () => {
  expect(threats.length).toBeGreaterThan(100);
  const problems = threats.flatMap(({ proof }) => {
    const problem = problemOf(proof);
    return problem === undefined ? [] : [`${proof} ${problem}`];
  });
  expect(problems).toEqual([]);
  expect(problemOf('`test/docs/threats.test.ts` "a test that is not here"')).toBe("names no test");
});
