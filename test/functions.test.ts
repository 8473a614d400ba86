/** Functions have a maximum length, so that a reader can keep all of one in view. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { isNode, type Node, parseSource, walk } from "./mutation/syntax.ts";

const MOST = 120;

const root = new URL("..", import.meta.url).pathname;

/** Parsing all sources would take seconds. A long function is only in a file where the formatter indents a long block. */
function hasLongBlock(text: string): boolean {
  const lines = text.split("\n");
  return lines.some((line, at) => {
    if (!line.endsWith("{") || /^\s*(?:export )?(?:class|interface) /.test(line)) return false;
    const end = `${/^\s*/.exec(line)?.[0]}}`;
    const next = lines.slice(at + 1, at + MOST).findIndex((each) => each.startsWith(end));
    return next === -1;
  });
}

function nameOf(around: readonly Node[]): string {
  const [outer] = around.slice(-1);
  const named = outer?.["id"] ?? outer?.["key"];
  return isNode(named) ? String(named["name"]) : "(no name)";
}

function longFunctions(file: string): readonly { readonly name: string; readonly lines: number }[] {
  const text = readFileSync(join(root, file), "utf8");
  if (!hasLongBlock(text)) return [];
  const found: { readonly name: string; readonly lines: number }[] = [];
  walk(parseSource(text), (node, around) => {
    if (!/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return;
    const lines = text.slice(node.start, node.end).split("\n").length;
    const own = isNode(node["id"]) ? String(node["id"]["name"]) : nameOf(around);
    if (lines > MOST) found.push({ name: `${file} ${own}`, lines });
  });
  return found;
}

test("functions have at most 120 lines", () => {
  const files = ["runtime", "cdktf"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
      .filter((file) => !file.includes("/generated/")),
  );
  expect(files.length).toBeGreaterThan(400);
  const long = files.flatMap(longFunctions);
  expect(long).toEqual([]);
});
