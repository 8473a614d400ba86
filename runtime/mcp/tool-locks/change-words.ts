/** Tool changes, for people and as JSON. Text of servers is escaped so that none of it steers a terminal. */
import { itemLabel, LOCKABLE, type LockedKind } from "../../features/mcp/locked-items.ts";
import { formatExact, visibleJson, type LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import { canonicalText, type ExactJson, type ExactObject } from "../../shared/json/exact-json.ts";
import type { ToolChange, ToolChanges, ValueChange } from "./tool-changes.ts";

export interface ServerChanges extends ToolChanges {
  /** Address of the MCP server. */
  readonly url: string;
  /** Current definitions of tools for which the lock has only digests. */
  readonly changedByDigest?: readonly LockedTool[];
  /** Kinds that the lock does not cover, so the report omits them. */
  readonly notLocked?: readonly LockedKind[];
}

export function hasChanges({ added, removed, changed }: ToolChanges): boolean {
  return added.length + removed.length + changed.length > 0;
}

/** Lines for a terminal, or a comment in a review. */
export function formatChanges(servers: readonly ServerChanges[]): string {
  return servers.map(formatServer).join("\n\n");
}

function formatServer(server: ServerChanges): string {
  const { url, added, removed, changed, same, changedByDigest = [], notLocked = [] } = server;
  const lines = [
    ...added.flatMap((tool) => [`  + ${nameText(tool)}: not in the lock`, ...definitionLines(tool)]),
    ...removed.map((tool) => `  - ${nameText(tool)}: in the lock, not listed`),
    ...changed.flatMap(changeLines),
    ...changedByDigest.flatMap((tool) => [
      `  ~ ${nameText(tool)}: differs from the lock, which has only its digest; now:`,
      ...definitionLines(tool),
    ]),
    ...(notLocked.length === 0
      ? []
      : [`  not in the lock, and free to change: ${notLocked.map(sectionText).join(", ")}`]),
  ];
  const counts = [
    count(changed.length + changedByDigest.length, "changed"),
    count(added.length, "new"),
    count(removed.length, "gone"),
    count(same, "as locked"),
  ].filter((text) => text !== undefined);
  return [`${visible(url)}: ${counts.join(", ") || "no tools"}`, ...lines].join("\n");
}

function count(of: number, what: string): string | undefined {
  return of === 0 ? undefined : `${of} ${what}`;
}

/** The whole definition: a server could put anything into a part that reviewers do not see. */
function definitionLines({ definition: whole }: LockedTool): readonly string[] {
  if (!(whole instanceof Map)) return [`      ${formatValue(whole)}`];
  const definition = whole as ExactObject;
  const first = ["title", "description", "annotations"].filter((name) => definition.has(name));
  const others = [...definition.keys()].filter((name) => name !== "name" && !first.includes(name)).sort();
  return [...first, ...others].map((name) => `      ${visible(name)}: ${formatValue(definition.get(name) ?? null)}`);
}

function changeLines({ values, notes, ...tool }: ToolChange): readonly string[] {
  return [
    `  ~ ${nameText(tool)}: differs from the lock`,
    ...notes.map((note) => `      ! ${visible(note)}`),
    ...values.flatMap(valueLines),
  ];
}

function valueLines({ path, before, after }: ValueChange): readonly string[] {
  const place = path.map(visible).join(".") || "definition";
  if (before === undefined) return [`      + ${place}: ${formatValue(after ?? null)}`];
  if (after === undefined) return [`      - ${place}: ${formatValue(before)}`];
  const lists = listChange(before, after);
  if (lists !== undefined) return [`      ~ ${place}: ${lists}`];
  if (typeof before !== "string" && typeof after !== "string" && !isLong(before) && !isLong(after))
    return [`      ~ ${place}: was ${formatValue(before)}, now ${formatValue(after)}`];
  return [`      ~ ${place}`, `          was ${formatValue(before)}`, `          now ${formatValue(after)}`];
}

function isLong(value: ExactJson): boolean {
  return typeof value === "object" && value !== null && !(value instanceof NumberToken);
}

/** Added and removed elements of lists of texts (`required`, `enum`). */
function listChange(before: ExactJson, after: ExactJson): string | undefined {
  const [one, other] = [texts(before), texts(after)];
  if (!one || !other) return undefined;
  const [were, are] = [new Set(one), new Set(other)];
  const came = other.filter((text) => !were.has(text)).map((text) => `+${visibleJson(text)}`);
  const went = one.filter((text) => !are.has(text)).map((text) => `-${visibleJson(text)}`);
  return came.length + went.length === 0 ? undefined : [...came, ...went].join(" ");
}

function texts(value: ExactJson): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items = value as readonly ExactJson[];
  return items.every((item) => typeof item === "string") ? items : undefined;
}

function formatValue(value: ExactJson): string {
  return typeof value === "string" ? visibleJson(value) : visible(canonicalText(value));
}

function nameText({ kind, name }: Pick<LockedTool, "kind" | "name">): string {
  return itemLabel(kind, /^[A-Za-z0-9_.-]+$/.test(name) ? name : visibleJson(name));
}

function sectionText(kind: LockedKind): string {
  return kind === "instructions" ? kind : `${LOCKABLE[kind].word}s`;
}

/** Escapes invisible characters. */
function visible(text: string): string {
  return visibleJson(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\");
}

/** One JSON object, for scripts; numbers of definitions as written. */
export function changesJson(servers: readonly ServerChanges[]): string {
  const members = servers.map(({ url, added, removed, changed, same }): ExactJson =>
    object({
      url,
      same: new NumberToken(String(same)),
      added: added.map(toolJson),
      removed: removed.map(toolJson),
      changed: changed.map(({ values, notes, ...tool }) =>
        object({
          ...nameJson(tool),
          notes,
          values: values.map(({ path, before, after }) =>
            object({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }),
          ),
        }),
      ),
    }),
  );
  return formatExact(object({ differs: servers.some(hasChanges), servers: members }), 0, ["differs", "servers"]);
}

function toolJson({ digest, definition, ...tool }: LockedTool): ExactJson {
  return object({ ...nameJson(tool), digest, definition });
}

/** Readers of the member "tool" expect only tools in it. */
function nameJson({ kind, name }: Pick<LockedTool, "kind" | "name">): Readonly<Record<string, ExactJson>> {
  return kind === "tool" ? { tool: name } : { item: kind, name };
}

function object(members: Readonly<Record<string, ExactJson>>): ExactObject {
  return new Map(Object.entries(members));
}
