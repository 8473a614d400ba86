/** The documentation as a site: the Markdown pages of the repository, with search, a sidebar and an anchor for every row of a reference table. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

import { defineConfig, type MarkdownRenderer } from "vitepress";

import { rowAnchor } from "../../runtime/config/surfaces/documentation-pages.ts";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const PAGES = fileURLToPath(new URL("../pages/", import.meta.url));

// Copies: pages outside of this folder would not find its packages.
rmSync(PAGES, { recursive: true, force: true });
for (const source of ["README.md", "CHANGELOG.md", "cdktf", "examples", "runtime"])
  cpSync(join(ROOT, source), join(PAGES, source), {
    recursive: true,
    filter: (path) => !/node_modules|cdktf\.out/.test(path) && (statSync(path).isDirectory() || /\.(?:md|webp|svg)$/.test(path)),
  });

const titleOf = (page: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(ROOT, page), "utf8"))?.[1]?.replaceAll("`", "") ?? page;

/** Pages of a folder, in the order in which its README links them. */
function pagesOf(folder: string) {
  const readme = join(ROOT, folder, "README.md");
  const order = existsSync(readme)
    ? [...readFileSync(readme, "utf8").matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, file]) => file)
    : [];
  const files = readdirSync(join(ROOT, folder)).filter((file) => file.endsWith(".md") && file !== "README.md");
  return [...new Set([...order.filter((file) => files.includes(file ?? "")), ...files])].map((file = "") => ({
    text: titleOf(`${folder}/${file}`),
    link: `/${folder}/${file.replace(/\.md$/, "")}`,
  }));
}

const examples = readdirSync(join(ROOT, "examples"))
  .filter((name) => existsSync(join(ROOT, "examples", name, "README.md")))
  .map((name) => ({ text: titleOf(`examples/${name}/README.md`), link: `/examples/${name}/` }));

const reference = [
  { text: "Settings", link: "/runtime/REFERENCE" },
  ...pagesOf("runtime/reference"),
  { text: "Terraform", link: "/runtime/terraform/" },
  { text: "Constructs", link: "/cdktf/" },
];
const project = [
  ...["SECURITY", "UPGRADING", "TESTED", "COMPARISON", "CURVES", "DESIGN", "DECISIONS", "store/SCHEMA"].map((page) => ({
    text: titleOf(`runtime/${page}.md`),
    link: `/runtime/${page}`,
  })),
  { text: "Changelog", link: "/CHANGELOG" },
];

/** One list for each part: groups that fold would be buttons within buttons. */
const sidebar = {
  "/runtime/guide/": [{ text: "Guide", items: pagesOf("runtime/guide") }],
  "/runtime/operations/": [{ text: "Operations", items: pagesOf("runtime/operations") }],
  "/examples/": [{ text: "Examples", items: examples }],
  "/runtime/reference/": [{ text: "Reference", items: reference }],
  "/runtime/REFERENCE": [{ text: "Reference", items: reference }],
  "/runtime/terraform/": [{ text: "Reference", items: reference }],
  "/cdktf/": [{ text: "Reference", items: reference }],
  "/": [{ text: "Project", items: project }],
};

const isPage = (path: string): boolean => path.endsWith(".md") && !path.startsWith(".") && existsSync(join(ROOT, path));

/** The link as the site has it; undefined for files that are no pages. */
function linkOnSite(href: string, from: string): string | undefined {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [target = "", hash] = href.split("#");
  let path = posix.normalize(posix.join(posix.dirname(from), decodeURI(target)));
  if (existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isDirectory()) path = posix.join(path, "README.md");
  if (!isPage(path)) return undefined;
  return `/${path.replace(/README\.md$/, "index.md")}${hash === undefined ? "" : `#${hash}`}`;
}

function rewriteLinks(tokens: Token[], from: string): void {
  const open: boolean[] = [];
  for (const token of tokens) {
    if (token.type === "link_open") {
      const link = linkOnSite(token.attrGet("href") ?? "", from);
      open.push(link !== undefined);
      if (link === undefined) Object.assign(token, { type: "text", content: "", hidden: true });
      else token.attrSet("href", link);
    } else if (token.type === "link_close" && open.pop() === false)
      Object.assign(token, { type: "text", content: "", hidden: true });
  }
}

/** `#NAME` leads to the row of a setting, code, message or metric. */
function anchorRows(tokens: readonly Token[]): void {
  const used = new Set(tokens.flatMap((token) => token.attrGet("id") ?? []));
  tokens.forEach((token, at) => {
    if (token.type !== "tr_open" || tokens[at + 1]?.type !== "td_open") return;
    const [first] = tokens[at + 2]?.children?.filter(({ content }) => content !== "") ?? [];
    const id = rowAnchor(first?.content ?? "");
    if (id === "" || used.has(id)) return;
    used.add(id);
    token.attrSet("id", id);
  });
}

export default defineConfig({
  title: "Gateform",
  description: "Identity-aware gateway for MCP servers and web applications",
  srcDir: "pages",
  outDir: "dist",
  rewrites: (id) => id.replace(/README\.md$/, "index.md"),
  cleanUrls: true,
  lastUpdated: false,
  // Wide tables have the place of the outline.
  transformPageData: ({ relativePath, frontmatter }) => {
    if (/^runtime\/(?:reference\/|[A-Z]+\.md|store\/|operations\/failure-modes)/.test(relativePath))
      frontmatter["aside"] = false;
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/runtime/guide/" },
      { text: "Operations", link: "/runtime/operations/" },
      { text: "Reference", link: "/runtime/REFERENCE" },
      { text: "Errors", link: "/runtime/reference/errors" },
      { text: "Examples", link: "/examples/" },
      { text: "Security", link: "/runtime/SECURITY" },
    ],
  },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      md.core.ruler.push("gateform", ({ tokens, env }) => {
        const from = (env as { path?: string }).path?.slice(PAGES.length) ?? "";
        for (const { children } of tokens) {
          if (children) rewriteLinks(children, from);
          // `<name>` in prose is text; anchors of the pages are the only elements.
          for (const child of children ?? [])
            if (child.type === "html_inline" && !/^<\/?a\b/.test(child.content)) child.type = "text";
        }
        anchorRows(tokens);
      });
    },
  },
});
