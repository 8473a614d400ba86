/** Pages hold together: every link and anchor leads somewhere, each reader's question is answered within two clicks. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { describe, expect, test } from "vitest";

import { ADMIN_ERROR_DOCS, COMMAND_PAGES } from "../../runtime/config/surfaces/documentation-pages.ts";
import { pagesIn, readPage } from "../support/page-blocks.ts";

const root = new URL("../../", import.meta.url).pathname;

const pages = [
  ...readdirSync(root).filter((file) => file.endsWith(".md")),
  ...[".github", "cdktf", "examples", "runtime"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((file) => join(folder, String(file)))
      .filter((file) => file.endsWith(".md") && !/node_modules|cdktf\.out/.test(file)),
  ),
];

/** Without code blocks: what looks like a link in them is code. */
const proseOf = (path: string): string => readPage(path).replaceAll(/^( *)```[^]*?^\1```$/gm, "");

/** As GitHub makes them of headings; and those written as `<a id>`. */
function anchorsOf(path: string): ReadonlySet<string> {
  const prose = proseOf(path);
  const anchors = new Set([...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id = ""]) => id));
  for (const [, title = ""] of prose.matchAll(/^#+ (.*)$/gm)) {
    const slug = title
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    let unique = slug;
    for (let count = 1; anchors.has(unique); count++) unique = `${slug}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

interface Link {
  readonly from: string;
  /** From the root; a folder stands for the README in it. */
  readonly to: string;
  readonly anchor: string | undefined;
}

function linksOf(from: string): readonly Link[] {
  return [...proseOf(from).matchAll(/\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].map(([, target = "", anchor]) => {
    const path = target === "" ? from : normalize(join(dirname(from), target));
    const isFolder = existsSync(join(root, path)) && statSync(join(root, path)).isDirectory();
    return { from, to: isFolder ? join(path, "README.md") : path, anchor };
  });
}

const links = pages.flatMap(linksOf);

describe("links", () => {
  test("lead to files that exist", () => {
    expect(pages.length).toBeGreaterThan(20);
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter(({ to }) => !existsSync(join(root, to)))).toEqual([]);
  });

  test("lead to sections that exist", () => {
    const sections = links.filter(({ to, anchor }) => anchor !== undefined && to.endsWith(".md"));
    expect(sections.length).toBeGreaterThan(30);
    expect(sections.filter(({ to, anchor = "" }) => !anchorsOf(to).has(anchor))).toEqual([]);
  });

  test("lead from errors of commands and of the admin listener to pages and sections that exist", () => {
    const targets = [...Object.values(COMMAND_PAGES), ADMIN_ERROR_DOCS].map((each) => each.split("#"));
    expect(targets.length).toBeGreaterThan(15);
    for (const [page = "", anchor] of targets) {
      expect(pages).toContain(page);
      if (anchor !== undefined) expect(anchorsOf(page)).toContain(anchor);
    }
  });

  test("lead from the README to every page", () => {
    const reached = new Set(["README.md"]);
    for (const page of reached)
      for (const { from, to } of links) if (from === page && to.endsWith(".md")) reached.add(to);
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});

describe("terms of the glossary", () => {
  const glossary = readPage("runtime/guide/glossary.md");
  const terms = [...glossary.matchAll(/^\| ([A-Za-z ]+) \| /gm)].map(([, term = ""]) => term).slice(1);
  const guide = pagesIn("runtime/guide").filter((page) => page !== "runtime/guide/glossary.md");

  test.each(["README.md", ...guide, "runtime/SECURITY.md"])("are linked where %s uses them first", (page) => {
    expect(terms.length).toBeGreaterThan(12);
    const text = readPage(page);
    // Lengths stay: what is no prose becomes blanks.
    const prose = text.replaceAll(/^( *)```[^]*?^\1```$|<!-- generated[^]*?<!-- end -->|^#+ .*$|`[^`\n]+`/gm, (part) =>
      part.replaceAll(/[^\n]/g, " "),
    );
    const linked = [...text.matchAll(/\[[^\]]*\]\([^)]*\)/g)];
    const bare = terms.filter((term) => {
      const at = new RegExp(`(?<![\\w-])${term}s?(?![\\w-])`, "i").exec(prose)?.index;
      return at !== undefined && !linked.some(({ index, 0: link }) => index <= at && at < index + link.length);
    });
    expect(bare).toEqual([]);
  });
});

/** Rows of the table below "Twelve questions". */
const questions = [
  ...readPage(".github/CONTRIBUTING.md").matchAll(
    /^\| ([^|]+) \| ([^|]+\?) \| \[[^\]]+\]\(([^)#]*)#([^)]+)\) \| ([^|]+) \|$/gm,
  ),
].map(([, reader = "", question = "", target = "", anchor = "", words = ""]) => ({
  reader,
  question,
  page: target === "" ? ".github/CONTRIBUTING.md" : normalize(join(".github", target)),
  anchor,
  words,
}));

test("each of twelve readers is named once", () => {
  expect(questions.map(({ reader }) => reader)).toEqual([
    "platform engineer",
    "module author",
    "security reviewer",
    "contributor",
    "on call",
    "end user",
    "newcomer",
    "identity administrator",
    "policy author",
    "MCP user",
    "key owner",
    "support",
  ]);
});

test.each(questions)("$reader: $question", ({ page, anchor, words }) => {
  const oneClick = new Set(["README.md", ...links.filter(({ from }) => from === "README.md").map(({ to }) => to)]);
  const twoClicks = new Set([...oneClick, ...links.filter(({ from }) => oneClick.has(from)).map(({ to }) => to)]);
  expect(twoClicks).toContain(page);
  expect(anchorsOf(page)).toContain(anchor);
  const section = sectionOf(page, anchor);
  expect(section.includes(words), `"${words}" is not in that section`).toBe(true);
  // An answer is on the first screen of its section.
  expect(section.slice(0, section.indexOf(words)).split("\n").length).toBeLessThan(45);
});

/** From the heading to the next one of its rank or higher. */
function sectionOf(page: string, anchor: string): string {
  const prose = readPage(page);
  const headings = [...prose.matchAll(/^(#+) (.*)$/gm)];
  const at = headings.findIndex(
    ([, , title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-") === anchor,
  );
  const [begin, rank = ""] = headings[at] ?? [];
  if (begin === undefined) return "";
  const end = headings.slice(at + 1).find(([, marks = ""]) => marks.length <= rank.length);
  return prose.slice(headings[at]?.index, end?.index);
}
