/** Generated parts of a page: between `<!-- generated: NAME -->` and `<!-- end -->`, each on a separate line. */

const PART = /^<!-- generated: ([a-z-]+) -->\n(?:[^]*?\n)??<!-- end -->$/gm;

/** @param parts name → Markdown @throws Error when the page and `parts` have different names */
export function fillParts(page: string, parts: Readonly<Record<string, string>>): string {
  const left = new Set(Object.keys(parts));
  const filled = page.replaceAll(PART, (_, name: string) => {
    const text = parts[name];
    if (text === undefined) throw new Error(`Cannot make the page: nothing makes its part "${name}"`);
    left.delete(name);
    return `<!-- generated: ${name} -->\n\n${text.replace(/^\n+/, "").trimEnd()}\n\n<!-- end -->`;
  });
  if (left.size > 0) throw new Error(`Cannot make the page: it has no place for ${[...left].join(", ")}`);
  return filled;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`).replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}
