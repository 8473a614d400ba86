/** The ways of a value in DESIGN.md can be walked: the files are there, and each has to do with the next. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { describe, expect, test } from "vitest";

const runtime = new URL("../runtime", import.meta.url).pathname;

/** Most files of a way, longest allowed. */
const LONGEST: Readonly<Record<string, number>> = {
  "Header value, text to upstream": 22,
  "Terraform attribute, plan to bundle": 16,
  "Tool name, bytes to record": 16,
};

interface Step {
  readonly file: string;
  /** By which it is reached, where the step before does not know it. */
  readonly via: string | undefined;
}

function waysOf(design: string): ReadonlyMap<string, readonly Step[]> {
  const section = /## Ways of a value\n([^]*?)\n## /.exec(design)?.[1] ?? "";
  const ways = new Map<string, readonly Step[]>();
  for (const item of section.split(/\n(?=- \*\*)/)) {
    const [, name, text = ""] = /^- \*\*([^*]+)\*\*: ([^]*)$/.exec(item) ?? [];
    if (name !== undefined) ways.set(name, stepsOf(text));
  }
  return ways;
}

function stepsOf(text: string): readonly Step[] {
  const steps: Step[] = [];
  let via: string | undefined;
  for (const [, joint, file] of text.matchAll(/\(`([^`]+)`\)|`([^`]+)`/g)) {
    if (joint !== undefined) via = joint;
    else {
      steps.push({ file: file ?? "", via });
      via = undefined;
    }
  }
  return steps;
}

const imports = new Map<string, ReadonlySet<string>>();

function importsOf(file: string): ReadonlySet<string> {
  let known = imports.get(file);
  if (!known) {
    const text = readFileSync(join(runtime, `${file}.ts`), "utf8");
    const found = [...text.matchAll(/from "(\.[^"]+)\.ts"/g)].map(([, path = ""]) =>
      normalize(join(dirname(file), path)),
    );
    const started = [...text.matchAll(/startThread\(import\.meta\.url, "([\w-]+)"/g)];
    imports.set(file, (known = new Set([...found, ...started.map(([, name = ""]) => join(dirname(file), name))])));
  }
  return known;
}

const knowEachOther = (one: string, other: string): boolean => importsOf(one).has(other) || importsOf(other).has(one);

const ways = waysOf(readFileSync(join(runtime, "DESIGN.md"), "utf8"));

describe.each(Object.entries(LONGEST))("%s", (name, longest) => {
  const steps = ways.get(name) ?? [];
  const files = new Set(steps.map(({ file }) => file));

  test("has files that exist, and no more than a newcomer can follow", () => {
    expect(files.size).toBeGreaterThan(8);
    expect(files.size).toBeLessThanOrEqual(longest);
    expect([...files].filter((file) => !existsSync(join(runtime, `${file}.ts`)))).toEqual([]);
  });

  test("goes from each file to one that it knows, or by the file in brackets", () => {
    const broken = steps.slice(1).filter(({ file, via }, index) => {
      const before = steps[index]?.file ?? "";
      if (via === undefined) return !knowEachOther(before, file);
      if (via === before || via === file) return !knowEachOther(before, file);
      return !(knowEachOther(before, via) && knowEachOther(via, file));
    });
    expect(broken).toEqual([]);
  });
});
