/** What comments cite can be found: a section with its document, a decision in DECISIONS.md, a heading of the requirements. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { requirements } from "./requirements.ts";

const root = new URL("..", import.meta.url).pathname;

/** Who publishes documents that have sections. */
const DOCUMENT =
  /RFC ?\d|OAuth|OpenID|W3C|WebAuthn|JSON-RPC|MCP|PROXY protocol|X\.690|APPNOTE|Fetch|HTML|CSP|DE(?:SIGN|CISIONS)\.md/;

interface Comment {
  readonly file: string;
  readonly text: string;
}

/** Blocks, and lines that follow each other. */
const comments: readonly Comment[] = ["runtime", "cdktf", "test", "examples"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes("/generated/") && !path.includes("node_modules"))
    .flatMap((path) => {
      const found = readFileSync(path, "utf8").matchAll(/^[ \t]*\/\*\*?[^]*?\*\/|(?:^[ \t]*\/\/.*\n)+|[ \t]\/\/ .*$/gm);
      return [...found].map(([text]) => ({ file: path.slice(root.length), text }));
    }),
);

const lacking = (isGood: (comment: Comment) => boolean): string[] =>
  comments.filter((each) => !isGood(each)).map(({ file, text }) => `${file}: ${text.trim().slice(0, 120)}`);

describe("comments", () => {
  test("name the document of a section (§) themselves", () => {
    expect(comments.length).toBeGreaterThan(2_000);
    expect(lacking(({ text }) => !text.includes("§") || DOCUMENT.test(text))).toEqual([]);
  });

  test("cite decisions that DECISIONS.md has", () => {
    const decisions = readFileSync(join(root, "runtime/DECISIONS.md"), "utf8");
    // Foundations as D5, numbered ones as "decision 154" or, from 100, as D345.
    const known = new Set([...decisions.matchAll(/^- \*\*(D?\d+)\*\* /gm)].map(([, name = ""]) => name));
    expect(known.size).toBeGreaterThan(30);
    const cited = (text: string): string[] => [
      ...[...text.matchAll(/\b(D\d{1,2})\b/g)].map(([, name = ""]) => name),
      ...[...text.matchAll(/\b(?:D(?=\d{3})|[Dd]ecisions? )(\d{1,3})\b/g)].map(([, number = ""]) => number),
    ];
    expect(comments.flatMap(({ text }) => cited(text)).length).toBeGreaterThan(20);
    expect(lacking(({ text }) => cited(text).every((name) => known.has(name)))).toEqual([]);
  });

  test("cite requirements by headings that test/requirements.ts has", () => {
    const sections = new Set(requirements.map(({ section }) => section));
    const cited = comments.flatMap(({ file, text }) =>
      [...text.matchAll(/test\/requirements\.ts, ((?:"[^"]+"(?:, (?=")| and )?)+)/g)].flatMap(([, list = ""]) =>
        [...list.matchAll(/"([^"]+)"/g)].map(([, section = ""]) => ({ file, section })),
      ),
    );
    expect(cited.length).toBeGreaterThan(5);
    expect(cited.filter(({ section }) => !sections.has(section))).toEqual([]);
    expect(
      lacking(({ file, text }) => !/^(?:runtime|cdktf)\//.test(file) || !/(?<!\/)\brequirements, "/.test(text)),
    ).toEqual([]);
  });

  test("name files that exist", () => {
    const files = new Set(
      ["runtime", "cdktf", "test", "examples"].flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => `/${folder}/${path}`),
      ),
    );
    // Also the end of a path, as in "grants/token.ts".
    const ends = new Set(
      [...files].flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(index + 1))),
    );
    const named = (text: string): string[] =>
      [...text.matchAll(/(?<![\w./*-])(?:[\w-]+\/)*[\w-]+\.ts\b/g)].map(([name]) => name);
    expect(comments.flatMap(({ text }) => named(text)).length).toBeGreaterThan(100);
    expect(lacking(({ text }) => named(text).every((name) => ends.has(name)))).toEqual([]);
  });
});
