/** The threat model: every trust boundary of SECURITY.md has threats, every threat an attacker that it names and a test that runs. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { readPage } from "../support/page-blocks.ts";
import { SECRET_TESTS, THREATS } from "../threats.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Cells of the rows below a heading of SECURITY.md, without the head. */
function tableOf(heading: string): readonly (readonly string[])[] {
  const text = readPage("runtime/SECURITY.md");
  const from = text.indexOf(`\n## ${heading}\n`);
  const end = text.indexOf("\n## ", from + 1);
  const rows = text.slice(from, end === -1 ? undefined : end).matchAll(/^\| (.*) \|$/gm);
  return [...rows]
    .map(([, row = ""]) => row.split(" | "))
    .filter(([first]) => first !== "---")
    .slice(1);
}

const threats = Object.values(THREATS).flat();

test("each trust boundary has threats, and each threat a boundary", () => {
  const boundaries = tableOf("Trust boundaries").map(([name]) => name);
  expect(boundaries.length).toBeGreaterThan(25);
  expect(Object.keys(THREATS)).toEqual(boundaries);
  expect(Object.values(THREATS).filter(({ length }) => length === 0)).toEqual([]);
});

test("each attacker tries something, and no other one does", () => {
  const attackers = tableOf("Attackers").map(([name]) => name);
  expect(new Set(threats.map(({ attacker }) => attacker))).toEqual(new Set(attackers));
});

test("kinds are those of STRIDE, and each is there", () => {
  expect(threats.filter(({ kind }) => !/^(?!.*(.).*\1)[STRIDE]+$/.test(kind))).toEqual([]);
  expect(["S", "T", "R", "I", "D", "E"].filter((letter) => !threats.some(({ kind }) => kind.includes(letter)))).toEqual(
    [],
  );
});

test("the table of secrets names where each one goes, and each has a test that runs", () => {
  const secrets = tableOf("Where each secret goes");
  expect(secrets.length).toBeGreaterThan(20);
  expect(secrets.filter((row) => row.length !== 4 || row.includes(""))).toEqual([]);
  expect(SECRET_TESTS.map(([secret]) => secret)).toEqual(secrets.map(([secret]) => secret));
  const problems = SECRET_TESTS.map(([secret, proof]) => [secret, problemOf(proof)]);
  expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
});

/** What is wrong with "file#title", or nothing. */
function problemOf(proof: string): string | undefined {
  const [, file = "", title = ""] = /^(test\/[\w./-]+\.test\.ts)#(.+)$/.exec(proof) ?? [];
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
  const problems = threats.flatMap(({ test: proof }) => {
    const problem = problemOf(proof);
    return problem === undefined ? [] : [`${proof} ${problem}`];
  });
  expect(problems).toEqual([]);
  expect(problemOf("test/docs/threats.test.ts#a test that is not here")).toBe("names no test");
});
