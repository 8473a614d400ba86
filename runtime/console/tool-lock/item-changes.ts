/** Changed and new items of a server, for the page: of changed ones what differs, word by word; of new ones all. */
import { itemKey, keyLabel, LOCKABLE } from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import type { LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { compareTools, type ToolChange, type ValueChange } from "../../mcp/tool-locks/tool-changes.ts";
import type { ItemChange } from "../../pages/console/safety/tool-lock.ts";
import { canonicalText, type ExactJson, type ExactObject } from "../../shared/json/exact-json.ts";
import { differenceBudget, wordDifference } from "./word-difference.ts";
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
  const budget = differenceBudget();
  const compared = compareTools(before, changed);
  const all: readonly (() => ItemChange)[] = [
    ...compared.changed.map((change) => () => changedItem(change, budget)),
    // An item whose lock has only a digest is not new, though its reviewed definition is unknown.
    ...compared.added.filter((tool) => lock.items.has(keyOf(tool))).map((tool) => () => wholeItem(tool, "digest")),
    ...compared.added.filter((tool) => !lock.items.has(keyOf(tool))).map((tool) => () => wholeItem(tool, "new")),
  ];
  const items: ItemChange[] = [];
  let left = MAX_CHARACTERS;
  for (const make of all) {
    const item = make();
    left -= lengthOf(item);
    if (left < 0) break;
    items.push(item);
  }
  return { items, isCut: items.length < all.length };
}

function keyOf({ kind, name }: Pick<LockedTool, "kind" | "name">): string {
  return itemKey(kind, name);
}

type Budget = ReturnType<typeof differenceBudget>;

function changedItem(change: ToolChange, budget: Budget): ItemChange {
  return {
    item: labelOf(change),
    state: "changed",
    notes: change.notes.map(visible),
    values: change.values.map((value) => ({ place: placeOf(value.path), pieces: piecesOf(value, budget) })),
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

function piecesOf({ before, after }: ValueChange, budget: Budget): ItemChange["values"][number]["pieces"] {
  const texts = [before, after].map((value) => (value === undefined ? "" : textOf(value)));
  const pieces = wordDifference(texts[0] ?? "", texts[1] ?? "", budget);
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
