/** All mutants of a source, and where each is. */
import { createHash } from "node:crypto";

import { changesAt, type Change } from "./operators.ts";
import { parseSource, walk, nodeAt } from "./syntax.ts";

export interface Mutant extends Change {
  /** Of the whole source and the change: another source has other ids, so that no result is kept past its source. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  /** The line as it stands, without what stands before and behind it. */
  readonly lineText: string;
  /** For people: what stood there and what stands there now. */
  readonly change: string;
}

const short = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 90 ? `${line.slice(0, 60)} … ${line.slice(-25)}` : line;
};

export function findMutants(file: string, source: string): readonly Mutant[] {
  const found = new Map<string, Mutant>();
  const lines = source.split("\n");
  walk(parseSource(source), (node, around) => {
    for (const each of changesAt(node, around, source)) {
      const before = source.slice(each.start, each.end);
      if (before === each.replacement) continue;
      const key = `${each.start} ${each.end} ${each.replacement}`;
      if (found.has(key)) continue;
      const line = source.slice(0, each.start).split("\n").length;
      const id = createHash("sha256").update(`${file}\n${source}\n${key}`).digest("base64url").slice(0, 16);
      const change = `${short(before)} → ${short(each.replacement)}`;
      found.set(key, { ...each, id, file, line, lineText: (lines[line - 1] ?? "").trim(), change });
    }
  });
  return [...found.values()];
}

export const applyMutant = (source: string, { start, end, replacement }: Change): string =>
  source.slice(0, start) + replacement + source.slice(end);

/**
 * The source with a call at each statement and arrow body that names its place: what of it a test has reached.
 *
 * @returns the text, and the places, of which the innermost around a mutant is its own
 */
export function instrument(source: string): { readonly text: string; readonly places: readonly Place[] } {
  const places: Place[] = [];
  const inserts: { readonly at: number; readonly text: string }[] = [];
  const mark = ({ start, end }: Place): string =>
    `globalThis.__reached?.(import.meta.url,${places.push({ start, end }) - 1})`;
  walk(parseSource(source), (node, around) => {
    const parent = around.at(-1);
    const isListed = parent && ["BlockStatement", "Program", "SwitchCase"].includes(parent.type);
    const isPlain = !/^(?:Export|Function|Class)/.test(node.type) && typeof node["directive"] !== "string";
    if (isListed && isPlain && nodeAt(parent, "test") !== node && /Statement|VariableDeclaration$/.test(node.type)) {
      inserts.push({ at: node.start, text: `${mark(node)};` });
    }
    if (
      parent?.type === "ArrowFunctionExpression" &&
      nodeAt(parent, "body") === node &&
      node.type !== "BlockStatement"
    ) {
      // The body may stand in brackets of its own, which are not part of the node.
      inserts.push({ at: node.start, text: `(${mark(node)},` });
      inserts.push({ at: node.end, text: ")" });
    }
  });
  // At the end of the module, for what stands at its top: every importer reaches that.
  inserts.push({ at: source.length, text: `;${mark({ start: 0, end: source.length })};` });
  let text = source;
  for (const { at, text: added } of inserts.toSorted((one, other) => other.at - one.at)) {
    text = text.slice(0, at) + added + text.slice(at);
  }
  return { text, places };
}

export interface Place {
  readonly start: number;
  readonly end: number;
}

/** The number of the innermost place around a mutant. */
export function placeOf({ start, end }: Place, places: readonly Place[]): number {
  let best = places.length - 1;
  for (const [number, place] of places.entries()) {
    if (place.start > start || place.end < end) continue;
    const known = places[best];
    if (!known || place.end - place.start <= known.end - known.start) best = number;
  }
  return best;
}
