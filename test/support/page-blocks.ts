/** Code blocks of a page, as tests run them. */
import { readdirSync, readFileSync } from "node:fs";

export interface PageBlock {
  readonly language: string;
  readonly text: string;
  /** The nearest heading before it, without its marks. */
  readonly heading: string;
}

const ROOT = new URL("../../", import.meta.url);

/** @param path of the page, from the root of the repository */
export function readPage(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8");
}

/** @returns paths of the pages in a folder, without those in folders below it; both from the root of the repository */
export function pagesIn(folder: string): readonly string[] {
  const files = readdirSync(new URL(`${folder}/`, ROOT)).filter((file) => file.endsWith(".md"));
  return files.toSorted().map((file) => `${folder}/${file}`);
}

export function blocksOf(page: string): readonly PageBlock[] {
  return [...page.matchAll(/^( *)```([a-z]*)\n([^]*?)^\1```$/gm)].map((match) => {
    const [, indent = "", language = "", text = ""] = match;
    const headings = page.slice(0, match.index).match(/^#+ .*$/gm) ?? [];
    return {
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      heading: headings.at(-1)?.replace(/^#+ /, "") ?? "",
    };
  });
}

/** The one block of a language that has this text. @throws Error unless there is exactly one */
export function blockWith(page: string, language: string, text: string): string {
  const found = blocksOf(page).filter((each) => each.language === language && each.text.includes(text));
  const [only] = found;
  if (!only || found.length > 1) throw new Error(`${found.length} blocks of ${language} have ${text}`);
  return only.text;
}
