/**
 * Plain English: words and phrases that readers would have to guess at, counted on each surface. `language.json` has the rules
 * and how many hits each surface may have; a number only goes down, and with `GATEWAY_UPDATE_GOLDEN=1` it goes down to what is left.
 *
 * `LANGUAGE_HITS=u npx vitest run --config test/vitest.config.ts test/language.test.ts` prints the hits of surface `u`.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";

import { transformSync } from "esbuild";
import { expect, test } from "vitest";

interface Check {
  /** By letter: what is read ("strings", "comments", "prose" or lines), and globs of files. */
  readonly surfaces: Readonly<Record<string, readonly [reads: string, ...globs: string[]]>>;
  /** Hits that a surface may have. */
  readonly today: Record<string, number>;
  /** "file: text" */
  readonly allow: readonly string[];
  readonly rules: readonly (readonly [pattern: string, better: string, surfaces: string])[];
}

const root = new URL("..", import.meta.url).pathname;
const file = new URL("language.json", import.meta.url);
const check = JSON.parse(readFileSync(file, "utf8")) as Check;
const allowed = new Set(check.allow);

const rules = check.rules.map(([pattern, better, surfaces]) => ({
  pattern: new RegExp(pattern, pattern.startsWith("^") ? "" : "i"),
  better,
  surfaces,
}));

const NEITHER = /node_modules|^\.site\/pages\/|\/generated\/|cdktf\.out|^CHANGELOG\.md$/;

/** Texts in quotes, without comments and imports. */
function stringsOf(source: string): readonly string[] {
  const { code } = transformSync(source, { loader: "ts", minifyWhitespace: false, legalComments: "none" });
  const body = code.replaceAll(/^(?:import|export) [^;]*?from "[^"]+";$|^import "[^"]+";$/gm, "");
  return [...body.matchAll(/"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\[^])*)`/g)].map(
    ([, double, single, template]) => double ?? single ?? template ?? "",
  );
}

function commentsOf(source: string): readonly string[] {
  const found = source.matchAll(/\/\*\*?([^]*?)\*\/|(?:^|\s)\/\/ (.*)$/gm);
  return [...found].map(([, block, line]) => (block ?? line ?? "").replaceAll(/\n\s*\* ?/g, " ").trim());
}

/** Markdown without fences, code and addresses. */
function proseOf(markdown: string): readonly string[] {
  const text = markdown.replaceAll(/^ *(```|~~~)[^]*?^ *\1.*$/gm, "").replaceAll(/`[^`]*`|\]\([^)]*\)/g, "");
  return text.split("\n");
}

const READERS: Readonly<Record<string, (text: string) => readonly string[]>> = {
  strings: stringsOf,
  comments: commentsOf,
  prose: proseOf,
  "lines with a space": (text) => text.split("\n").filter((line) => line.includes(" ")),
};

interface Hit {
  readonly text: string;
  readonly found: string;
  readonly better: string;
}

function hitsOf(surface: string, name: string, texts: readonly string[]): readonly Hit[] {
  const own = rules.filter(({ surfaces }) => surfaces.includes(surface));
  return texts.flatMap((text) =>
    own.flatMap(({ pattern, better }) => {
      const found = pattern.exec(text)?.[0];
      const hit = `${name}: ${text.trim().slice(0, 140)}`;
      return found === undefined || allowed.has(hit) ? [] : [{ text: hit, found, better }];
    }),
  );
}

function countAll(): ReadonlyMap<string, readonly Hit[]> {
  const found = new Map<string, Hit[]>();
  for (const surface of Object.keys(check.surfaces)) found.set(surface, []);
  const names = globSync(["runtime/**/*.ts", "cdktf/**/*.ts", "**/*.md", "test/golden/words.txt"], {
    cwd: root,
    exclude: (name) => NEITHER.test(name),
  }).filter((name) => !NEITHER.test(name));
  for (const name of names.toSorted()) {
    const source = readFileSync(join(root, name), "utf8");
    const taken = new Set<string>();
    for (const [surface, [reads, ...globs]] of Object.entries(check.surfaces)) {
      // A text belongs to the first surface that has it.
      if (taken.has(reads) || !globs.some((glob) => matchesGlob(name, glob))) continue;
      taken.add(reads);
      found.get(surface)?.push(...hitsOf(surface, name, READERS[reads]?.(source) ?? []));
    }
  }
  return found;
}

test("no surface has more words that readers must guess at than before", () => {
  const found = countAll();
  const shown = process.env["LANGUAGE_HITS"];
  if (shown !== undefined)
    for (const { text, found: word, better } of found.get(shown) ?? [])
      console.log(`${text}\n    "${word}" → ${better}`);
  const counts = Object.fromEntries([...found].map(([surface, hits]) => [surface, hits.length]));
  if (process.env["GATEWAY_UPDATE_GOLDEN"] === "1") {
    const lower = Object.entries(counts).map(([surface, count]) => [
      surface,
      Math.min(count, check.today[surface] ?? count),
    ]);
    const line = `"today": ${JSON.stringify(Object.fromEntries(lower)).replaceAll(/([:,])/g, "$1 ")}`;
    writeFileSync(file, readFileSync(file, "utf8").replace(/"today": \{[^}]*\}/, line));
  }
  const { today } = JSON.parse(readFileSync(file, "utf8")) as Check;
  const more = Object.entries(counts).filter(([surface, count]) => count > (today[surface] ?? 0));
  expect(more.map(([surface, count]) => `${surface}: ${count}, at most ${today[surface]}`)).toEqual([]);
});
