/** The page that says with which versions of real systems the gateway was tested, when, and which cases failed. */
import { readFile, writeFile } from "node:fs/promises";

import type { RealSystem } from "./systems.ts";

export interface Outcome {
  readonly seconds: number;
  readonly cases: readonly { readonly name: string; readonly passed: boolean }[];
  /** Cases that were skipped, with the reason in their name. */
  readonly skipped?: readonly string[];
}

const PAGE = new URL("../../runtime/TESTED.md", import.meta.url);
const HEAD = `# Tested with

Real systems around the gateway, from package registries. Written by \`npm run test:real\`, which is not part of \`npm test\`; each part is from its last run. The cases are in \`test/real/\`.
`;

export async function writeReport(name: string, system: RealSystem, outcome: Outcome): Promise<void> {
  const before = await readFile(PAGE, "utf8").catch(() => HEAD);
  await writeFile(PAGE, withPart(before, name, partOf(system, outcome, new Date())));
}

/** Replaces one part of the page and leaves the others; parts are in the order of their names. */
export function withPart(page: string, name: string, text: string): string {
  const parts = new Map<string, string>();
  for (const [, known = "", inside = ""] of page.matchAll(/<!-- real: ([a-z-]+) -->\n(.*?)<!-- end -->\n/gs))
    parts.set(known, inside);
  parts.set(name, text);
  const sorted = [...parts].sort(([one], [other]) => (one < other ? -1 : 1));
  return HEAD + sorted.map(([each, inside]) => `\n<!-- real: ${each} -->\n${inside}<!-- end -->\n`).join("");
}

export function partOf(system: RealSystem, { seconds, cases, skipped = [] }: Outcome, at: Date): string {
  const good = cases.filter(({ passed }) => passed).length;
  const failed = cases.flatMap(({ name, passed }) => (passed ? [] : [`- ${name}: **failed**\n`])).join("");
  const date = at.toISOString().slice(0, 10);
  return `## ${system.title} ${system.version}

From ${system.from}. ${date}: ${good} of ${cases.length} cases passed, in ${seconds} s after the set-up.
${failed === "" ? "" : `\n${failed}`}${skipped.length === 0 ? "" : `\nKnown failures:\n\n${skipped.map((name) => `- ${name}\n`).join("")}`}`;
}
