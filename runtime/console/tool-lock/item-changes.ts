/** Changed and new items of a server, for the page: of changed ones what differs, word by word; of new ones all. */
import { itemKey, keyLabel, LOCKABLE } from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import type { LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { compareTools, type ToolChange, type ValueChange } from "../../mcp/tool-locks/tool-changes.ts";
import type { ItemChange } from "../../pages/console/safety/tool-lock.ts";
import { canonicalText, type ExactJson, type ExactObject } from "../../shared/json/exact-json.ts";
import { wordDifference } from "./word-difference.ts";
import { showUntrustedLines } from "../show-untrusted.ts";

/** Characters of all items; `gateway tools diff` shows all of longer differences. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_PIECE = 8 * 1024;

/** @param changed as servers list them now @returns whether items are omitted, too */
export function itemChanges(
  lock: ToolLock,
  changed: readonly LockedTool[],
): { readonly items: readonly ItemChange[]; readonly isCut: boolean } {
  const keys = new Set(changed.map(keyOf));
  const before = (lock.reviewed ?? []).filter((tool) => keys.has(keyOf(tool)));
  const compared = compareTools(before, changed);
  const all = [
    ...compared.changed.map(changedItem),
    // An item whose lock has only a digest is not new, though its reviewed definition is unknown.
    ...compared.added.filter((tool) => lock.items.has(keyOf(tool))).map((tool) => wholeItem(tool, "digest")),
    ...compared.added.filter((tool) => !lock.items.has(keyOf(tool))).map((tool) => wholeItem(tool, "new")),
  ];
  let left = MAX_CHARACTERS;
  const items = all.filter((item) => (left -= lengthOf(item)) >= 0);
  return { items, isCut: items.length < all.length };
}

function keyOf({ kind, name }: Pick<LockedTool, "kind" | "name">): string {
  return itemKey(kind, name);
}

function changedItem(change: ToolChange): ItemChange {
  return {
    item: labelOf(change),
    state: "changed",
    notes: change.notes.map(visible),
    values: change.values.map((value) => ({ place: placeOf(value.path), pieces: piecesOf(value) })),
  };
}

function wholeItem(tool: LockedTool, state: "digest" | "new"): ItemChange {
  const { definition } = tool;
  const members = definition instanceof Map ? [...(definition as ExactObject)] : [["text", definition] as const];
  return {
    item: labelOf(tool),
    state,
    notes: [],
    values: members
      .filter(([name]) => name !== LOCKABLE[tool.kind].naming)
      .map(([name, value]) => ({ place: visible(name), pieces: [{ kind: "same", text: visible(textOf(value)) }] })),
  };
}

function labelOf(tool: Pick<LockedTool, "kind" | "name">): string {
  return visible(keyLabel(keyOf(tool)));
}

function placeOf(path: readonly string[]): string {
  return path.map(visible).join(" › ") || "text";
}

function piecesOf({ before, after }: ValueChange): ItemChange["values"][number]["pieces"] {
  const pieces = wordDifference(before === undefined ? "" : textOf(before), after === undefined ? "" : textOf(after));
  return pieces.map(({ kind, text }) => ({ kind, text: visible(text) }));
}

function textOf(value: ExactJson): string {
  return typeof value === "string" ? value : canonicalText(value);
}

function visible(text: string): string {
  return showUntrustedLines(text, MAX_PIECE);
}

function lengthOf({ values }: ItemChange): number {
  return values.reduce((sum, { pieces }) => sum + pieces.reduce((all, { text }) => all + text.length, 0), 0);
}
