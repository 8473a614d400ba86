/** No file imports itself by way of others, types included: each folder can be read from one end to the other. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;

/** Files that need each other, with the reason. */
const PAIRS: readonly (readonly [why: string, ...files: readonly string[]])[] = [
  [
    "a connection drives its exchange, which writes by it",
    "runtime/http/http1-server/connection.ts",
    "runtime/http/http1-server/connection-owner.ts",
    "runtime/http/http1-server/exchange.ts",
  ],
];

const imports = new Map(
  readdirSync(join(root, "runtime"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => {
      const file = join("runtime", name);
      const text = readFileSync(join(root, file), "utf8");
      const found = [...text.matchAll(/(?:from|import\() ?"(\.{1,2}\/[^"]+\.ts)"/g)];
      return [file, found.map(([, path = ""]) => normalize(join(dirname(file), path)))] as const;
    }),
);

/** @returns what a file leads to, itself only by a circle */
function reachedFrom(file: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [file];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const each of imports.get(next) ?? []) {
      if (reached.has(each)) continue;
      reached.add(each);
      waiting.push(each);
    }
  }
  return reached;
}

test("files import each other in one direction", () => {
  expect(imports.size).toBeGreaterThan(1_000);
  const known = new Set(PAIRS.flatMap(([, ...files]) => files));
  const inCircles = [...imports.keys()].filter((file) => reachedFrom(file).has(file));
  expect(inCircles.filter((file) => !known.has(file))).toEqual([]);
  expect([...known].filter((file) => !inCircles.includes(file))).toEqual([]);
});
