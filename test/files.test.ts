/** How large files and folders may be, so that what somebody looks for is found by looking. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;

const files = ["runtime", "cdktf"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((file) => !file.includes("/generated/")),
);

test("no file is longer than 300 lines, but a scanner or state machine that says at its top why it is one", () => {
  expect(files.length).toBeGreaterThan(400);
  const long = files
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }))
    .map(({ file, text }) => ({ file, text, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > 300);
  const excused = ({ lines, text }: (typeof long)[number]): boolean =>
    lines <= 350 && /^\/\*\*[^]*?(?:state machine|scanner)[^]*?\*\//.test(text);
  expect(long.filter((each) => !excused(each)).map(({ file, lines }) => `${file}: ${lines}`)).toEqual([]);
});

test("a folder has at most 20 files, and DESIGN.md says why where it has more than 16", () => {
  const design = readFileSync(join(root, "runtime/DESIGN.md"), "utf8");
  const count = new Map<string, number>();
  for (const file of files) {
    const folder = file.slice(0, file.lastIndexOf("/"));
    count.set(folder, (count.get(folder) ?? 0) + 1);
  }
  const full = [...count].filter(([, number]) => number > 16);
  expect(full.filter(([, number]) => number > 20)).toEqual([]);
  expect(
    full.filter(([folder]) => !design.includes(`- \`${folder}/\` has`)).map(([folder, n]) => `${folder}: ${n}`),
  ).toEqual([]);
});
