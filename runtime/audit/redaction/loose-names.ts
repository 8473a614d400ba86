/** Forms of argument names that servers may treat alike: ignoring separators, and several names as one. */
import { foldCase } from "../../policy/mcp/fold-case.ts";

/** One form for names that servers may confuse. A name of separators only is unchanged. */
export function looseName(name: string): string {
  const fold = foldCase(name.trimStart());
  // Punctuation: .NET joins names by a colon, paths by a slash.
  return fold.replace(/[!-/:-@[-`{-~]/g, "") || fold;
}

/** Targets of several names that are written as one. */
export interface Joining<Node> {
  readonly joined: Map<string, Set<Node>>;
}

/** A node, and the names from it on, joined. */
export interface Start<Node> {
  readonly from: Node;
  readonly text: string;
}

/** Joining four names is enough for flat forms of nested values, and bounds the entries of each pointer. */
const MOST_JOINED = 4;

/**
 * Notes that the names from each start on, followed by this one, lead to `next`.
 *
 * @param node before `next`
 * @param name loose
 * @returns the starts for the name after this one
 */
export function joinNames<Node extends Joining<Node>>(
  starts: readonly Start<Node>[],
  node: Node,
  name: string,
  next: Node,
): readonly Start<Node>[] {
  // An empty name would lead to one position in two ways.
  if (name === "") return [];
  const longer = starts.map(({ from, text }) => ({ from, text: text + name }));
  for (const { from, text } of longer) {
    const known = from.joined.get(text);
    if (known) known.add(next);
    else from.joined.set(text, new Set([next]));
  }
  return [...longer, { from: node, text: name }].slice(1 - MOST_JOINED);
}
