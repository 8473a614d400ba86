/** Differences between the definitions in a lock and the listed ones. Pure. */
import { itemKey, LOCKED_KINDS, type LockedKind } from "../../features/mcp/locked-items.ts";
import { hasUnseen, type LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { byName, canonicalText, type ExactJson, type ExactObject } from "../../shared/json/exact-json.ts";

/** A changed value of a definition; undefined: absent. */
export interface ValueChange {
  /** Names of members, and positions, from the definition down. */
  readonly path: readonly string[];
  readonly before: ExactJson | undefined;
  readonly after: ExactJson | undefined;
}

export interface ToolChange {
  readonly kind: LockedKind;
  readonly name: string;
  readonly values: readonly ValueChange[];
  /** Consequences of the change, where they are not obvious. */
  readonly notes: readonly string[];
}

export interface ToolChanges {
  readonly added: readonly LockedTool[];
  readonly removed: readonly LockedTool[];
  readonly changed: readonly ToolChange[];
  readonly same: number;
}

/** Both lists may have a name several times, since lists differ by user. */
export function compareTools(locked: readonly LockedTool[], listed: readonly LockedTool[]): ToolChanges {
  const keyOf = ({ kind, name }: LockedTool): string => itemKey(kind, name);
  const before = Map.groupBy(locked, keyOf);
  const now = Map.groupBy(listed, keyOf);
  const added: LockedTool[] = [];
  const changed: ToolChange[] = [];
  let same = 0;
  for (const [key, tools] of now) {
    const known = before.get(key);
    if (!known) {
      added.push(...once(tools));
      continue;
    }
    const digests = new Set(known.map(({ digest }) => digest));
    const unlocked = once(tools).filter(({ digest }) => !digests.has(digest));
    if (unlocked.length === 0) same += 1;
    for (const tool of unlocked) changed.push(changeOf(nearest(known, tool), tool));
  }
  const removed = [...before].flatMap(([key, tools]) => (now.has(key) ? [] : once(tools)));
  return {
    added: sorted(added),
    removed: sorted(removed),
    changed: changed.toSorted((a, b) => byName([orderOf(a), 0], [orderOf(b), 0])),
    same,
  };
}

/** Each definition once, by name and digest. */
export function union(lists: readonly (readonly LockedTool[])[]): readonly LockedTool[] {
  return sorted(once(lists.flat()));
}

function once(tools: readonly LockedTool[]): readonly LockedTool[] {
  return [...new Map(tools.map((tool) => [tool.kind + tool.digest, tool])).values()];
}

function sorted(tools: readonly LockedTool[]): readonly LockedTool[] {
  return tools.toSorted((a, b) => byName([`${orderOf(a)}\0${a.digest}`, 0], [`${orderOf(b)}\0${b.digest}`, 0]));
}

/** Tools first. */
function orderOf({ kind, name }: Pick<LockedTool, "kind" | "name">): string {
  return LOCKED_KINDS.indexOf(kind) + name;
}

/** More are never locked for one tool, and each is compared with each listed one. */
const MOST_COMPARED = 8;

/** The locked definition that differs least. */
function nearest(known: readonly LockedTool[], tool: LockedTool): LockedTool {
  const [only] = known;
  if (known.length === 1) return only as LockedTool;
  const counted = known
    .slice(0, MOST_COMPARED)
    .map((each) => ({ each, count: [...valueChanges(each.definition, tool.definition, [])].length }));
  return counted.reduce((least, next) => (next.count < least.count ? next : least)).each;
}

function changeOf(before: LockedTool, { kind, name, definition }: LockedTool): ToolChange {
  const values = [...valueChanges(before.definition, definition, [])];
  return { kind, name, values, notes: values.flatMap(notesOf) };
}

function* valueChanges(
  before: ExactJson | undefined,
  after: ExactJson | undefined,
  path: readonly string[],
): Iterable<ValueChange> {
  if (before instanceof Map && after instanceof Map) {
    const [one, other] = [before as ExactObject, after as ExactObject];
    const names = [...new Set([...one.keys(), ...other.keys()])].sort();
    for (const name of names) yield* valueChanges(one.get(name), other.get(name), [...path, name]);
    return;
  }
  if (before !== undefined && after !== undefined && canonicalText(before) === canonicalText(after)) return;
  yield { path, before, after };
}

/** Defaults of a tool's hints (MCP, ToolAnnotations), and the meaning of a reversal. */
const HINTS: Readonly<
  Record<string, { readonly unset: boolean; readonly turns: Readonly<Record<"true" | "false", string>> }>
> = {
  readOnlyHint: {
    unset: false,
    turns: { true: "says that it only reads", false: "no longer says that it only reads" },
  },
  destructiveHint: { unset: true, turns: { true: "may destroy now", false: "says that it destroys nothing" } },
  idempotentHint: {
    unset: false,
    turns: { true: "says that it may be called twice", false: "no longer says that it may be called twice" },
  },
  openWorldHint: { unset: true, turns: { true: "may reach outside now", false: "says that it stays inside" } },
};

function notesOf({ path, before, after }: ValueChange): readonly string[] {
  const notes: string[] = [];
  const [part, name = ""] = path;
  if (part === "annotations") {
    const names = path.length === 1 ? Object.keys(HINTS) : [name];
    for (const each of names) {
      const hint = Object.hasOwn(HINTS, each) ? HINTS[each] : undefined;
      if (!hint) continue;
      const was = hintOf(path.length === 1 ? memberOf(before, each) : before, hint.unset);
      const is = hintOf(path.length === 1 ? memberOf(after, each) : after, hint.unset);
      if (was !== is) notes.push(hint.turns[is ? "true" : "false"]);
    }
  }
  if (part === "inputSchema" && path.at(-1) === "required") {
    const were = new Set(textsOf(before));
    const must = textsOf(after).filter((each) => !were.has(each));
    if (must.length > 0) notes.push(`now required: ${must.join(", ")}`);
  }
  if (hasUnseenText(after) && !hasUnseenText(before)) notes.push(`invisible characters added to: ${path.join(".")}`);
  return notes;
}

function hintOf(value: ExactJson | undefined, unset: boolean): boolean {
  return typeof value === "boolean" ? value : unset;
}

function memberOf(value: ExactJson | undefined, name: string): ExactJson | undefined {
  return value instanceof Map ? (value as ExactObject).get(name) : undefined;
}

function textsOf(value: ExactJson | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly ExactJson[]).filter((each) => typeof each === "string") : [];
}

function hasUnseenText(value: ExactJson | undefined): boolean {
  if (typeof value === "string") return hasUnseen(value);
  if (Array.isArray(value)) return (value as readonly ExactJson[]).some(hasUnseenText);
  return (
    value instanceof Map && [...(value as ExactObject)].some(([name, each]) => hasUnseen(name) || hasUnseenText(each))
  );
}
