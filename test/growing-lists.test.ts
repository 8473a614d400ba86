/** Lists in maps grow where they are. `oxc/no-accumulating-spread` sees the same of reduces and of variables in loops. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** `lists.set(key, [...(lists.get(key) ?? []), value])`, and the same of sets. */
const COPIED_VALUE = /\.set\((?:[^;]|\n)*?\[\.\.\.\(?[\w.#]+\.get\(/;
/** `list = [...list, value]` and `this.#list = [...this.#list, value]` */
const COPIED_VARIABLE = /(?<=^|[\s;{(])(?<list>[\w.#]+) = \[\.\.\.\k<list>,/m;
/** `list = [one, ...list]` */
const PREPENDED = /(?<=^|[\s;{(])(?<list>[\w.#]+) = \[[^\n\]]*, \.\.\.\k<list>\]/m;
/** `lists[key] = [...(lists[key] ?? []), one]` */
const COPIED_MEMBER = /(?<list>[\w.#]+\[[^\]\n]+\]) = \[\.\.\.\(?\k<list>/;
const COPIES = [COPIED_VALUE, COPIED_VARIABLE, PREPENDED, COPIED_MEMBER];

test("no list in a map is copied for each element", () => {
  const files = readdirSync(join(root, "runtime"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(400);
  const copying = files.filter((file) => {
    const text = readFileSync(file, "utf8");
    return COPIES.some((copy) => copy.test(text));
  });
  expect(copying.map((file) => file.slice(root.length + 1))).toEqual([]);
  for (const text of [
    "names.set(kind, [...(names.get(kind) ?? []), value]);",
    "by.set(a, new Set([...by.get(a)!, b]))",
  ])
    expect(COPIED_VALUE.test(text)).toBe(true);
  expect(COPIED_VARIABLE.test("    this.list = [...this.list, one];")).toBe(true);
  expect(PREPENDED.test("    this.list = [one, ...this.list];")).toBe(true);
  expect(COPIED_MEMBER.test("lists[key] = [...(lists[key] ?? []), one];")).toBe(true);
});
