/**
 * The lock file: reviewed tools, prompts, resource templates and instructions of MCP servers, complete, each with its
 * digest. An absent section of a server is not locked, except `tools`, which is always present.
 *
 * Untrusted input: the text, and all names and texts in it, written by MCP servers. Promises: a digest matches the
 * definition next to it. The output is the same for the same tools in any order, and makes invisible characters
 * visible. Pure.
 */
import { createHash } from "node:crypto";

import { isToolClass, TOOL_CLASSES, type ToolClasses } from "../../policy/mcp/tool-classes.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import {
  byName,
  canonicalText,
  parseExactJson,
  type ExactJson,
  type ExactObject,
} from "../../shared/json/exact-json.ts";
import { itemKey, LOCKABLE, LOCKED_KINDS, type LockedKind } from "./locked-items.ts";

/** A tool, or another item of a server. */
export interface LockedTool {
  readonly kind: LockedKind;
  /** "" for instructions. */
  readonly name: string;
  /** "sha256:…", see `toolDigest`. */
  readonly digest: string;
  /** An object; a text for instructions. */
  readonly definition: ExactJson;
  /** Classes that a reviewer assigned to the tool. */
  readonly classes?: readonly string[];
}

/** An item that differs between users appears once per variant. */
export interface LockedServer {
  /** Kinds with a section. */
  readonly kinds: ReadonlySet<LockedKind>;
  readonly items: readonly LockedTool[];
}

/** By address of the MCP server, as used by clients. */
export type ToolLockFile = ReadonlyMap<string, LockedServer>;

export type ToolLockReading =
  | { readonly ok: true; readonly servers: ToolLockFile }
  /** A predicate: "is no JSON …". */
  | { readonly ok: false; readonly problem: string };

const VERSION = "1";

/** SHA-256 of a definition's canonical form. */
export function toolDigest(definition: ExactJson): string {
  return `sha256:${createHash("sha256").update(canonicalText(definition)).digest("hex")}`;
}

/** An item as listed by a server. @returns undefined without a name, and for instructions that are not a text */
export function toolOf(definition: ExactJson, kind: LockedKind = "tool"): LockedTool | undefined {
  const { naming } = LOCKABLE[kind];
  const name = naming === undefined ? typeof definition === "string" && "" : memberOf(definition, naming);
  return typeof name === "string" ? { kind, name, digest: toolDigest(definition), definition } : undefined;
}

export function parseToolLock(text: string): ToolLockReading {
  const root = parseExactJson(text);
  if (root === undefined) return refused("is not JSON with unique members");
  const version = memberOf(root, "version");
  if (!(version instanceof NumberToken) || version.text !== VERSION)
    return refused('is not a tool lock of "version" 1, must be written by "gateway tools lock"');
  const written = memberOf(root, "servers");
  if (!(written instanceof Map)) return refused('lacks "servers"');
  const servers = new Map<string, LockedServer>();
  for (const [address, server] of written as ExactObject) {
    const kinds = new Set<LockedKind>();
    const items: LockedTool[] = [];
    const place = `of ${JSON.stringify(address)}`;
    for (const kind of LOCKED_KINDS) {
      const { member, word } = LOCKABLE[kind];
      const section = memberOf(server, member);
      if (section === undefined && kind !== "tool") continue;
      if (!Array.isArray(section)) return refused(`lacks the "${member}" ${place}`);
      kinds.add(kind);
      for (const each of section as readonly ExactJson[]) {
        const item = toolOf(memberOf(each, "definition") ?? null, kind);
        if (item === undefined)
          return refused(
            `has ${kind === "instructions" ? `${word} without a text` : `a ${word} without a name`} ${place}`,
          );
        if (item.digest !== memberOf(each, "digest")) {
          const what = kind === "instructions" ? word : JSON.stringify(item.name);
          const state = `has a definition of ${what} ${place} that is not the one of its digest`;
          return refused(`${state}, must be as "gateway tools lock" wrote it`);
        }
        const classes = memberOf(each, "classes");
        if (classes === undefined) items.push(item);
        else if (kind === "tool" && isClassList(classes)) items.push({ ...item, classes });
        else return refused(`has "classes" of ${JSON.stringify(item.name)} ${place} that are not ${CLASS_WORDS}`);
      }
    }
    const mixed = mixedClasses(items);
    if (mixed !== undefined)
      return refused(`has different "classes" for variants of the tool ${JSON.stringify(mixed)} ${place}`);
    servers.set(address, { kinds, items });
  }
  return { ok: true, servers };
}

const CLASS_WORDS = `a list of ${TOOL_CLASSES.join(", ")}, of tools alone`;

function isClassList(value: ExactJson): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && isToolClass(each));
}

/** @returns name of a tool of which not all variants have the same classes */
function mixedClasses(items: readonly LockedTool[]): string | undefined {
  const found = new Map<string, string>();
  for (const { kind, name, classes } of items) {
    if (kind !== "tool") continue;
    const text = JSON.stringify(classes?.toSorted() ?? null);
    if (found.has(name) && found.get(name) !== text) return name;
    found.set(name, text);
  }
  return undefined;
}

/** Reviewed classes by tool. */
export function classesOf(items: readonly LockedTool[]): ToolClasses {
  return new Map(items.flatMap(({ name, classes }) => (classes === undefined ? [] : [[name, classes] as const])));
}

/** Key (locked-items.ts) → digests of its reviewed definitions. */
export function digestsOf(items: readonly LockedTool[]): ReadonlyMap<string, ReadonlySet<string>> {
  const digests = new Map<string, Set<string>>();
  for (const { kind, name, digest } of items) {
    const key = itemKey(kind, name);
    digests.set(key, (digests.get(key) ?? new Set()).add(digest));
  }
  return digests;
}

/** One member per line, so that a changed member is a changed line. */
export function formatToolLock(servers: ToolLockFile): string {
  const written = [...servers].sort(byName).map(([address, { kinds, items }]) => {
    const sections = LOCKED_KINDS.filter((kind) => kinds.has(kind)).map((kind) => {
      const list = formatSection(items.filter((item) => item.kind === kind));
      return `      "${LOCKABLE[kind].member}": ${list}`;
    });
    return `    ${visibleJson(address)}: {\n${sections.join(",\n")}\n    }`;
  });
  const body = written.length === 0 ? "{}" : `{\n${written.join(",\n")}\n  }`;
  return `{\n  "version": ${VERSION},\n  "servers": ${body}\n}\n`;
}

function formatSection(items: readonly LockedTool[]): string {
  const blocks = [...new Map(items.map((item) => [item.digest, item])).values()]
    .sort((one, other) => byName([`${one.name}\0${one.digest}`, 0], [`${other.name}\0${other.digest}`, 0]))
    .map(({ digest, definition, classes }) => {
      const whole = formatExact(definition, 5, FIRST);
      const classified = classes === undefined ? "" : `\n          "classes": ${formatExact([...classes], 5)},`;
      return `{\n          "digest": ${JSON.stringify(digest)},${classified}\n          "definition": ${whole}\n        }`;
    });
  return blocks.length === 0 ? "[]" : `[\n        ${blocks.join(",\n        ")}\n      ]`;
}

/** Members of a definition that readers need first; others follow by name. */
const FIRST = ["name", "uriTemplate", "title", "description", "annotations", "inputSchema", "outputSchema"];

/** JSON over several lines. @param depth indentation level @param first members to write before the others */
export function formatExact(value: ExactJson, depth: number, first: readonly string[] = []): string {
  const start = "  ".repeat(depth);
  if (value instanceof NumberToken) return value.text;
  if (Array.isArray(value)) {
    const items = value as readonly ExactJson[];
    if (items.every((item) => !(item instanceof Map) && !Array.isArray(item)))
      return `[${items.map((item) => formatExact(item, depth)).join(", ")}]`;
    return `[\n${items.map((item) => `${start}  ${formatExact(item, depth + 1)}`).join(",\n")}\n${start}]`;
  }
  if (!(value instanceof Map)) return typeof value === "string" ? visibleJson(value) : JSON.stringify(value);
  const object = value as ExactObject;
  if (object.size === 0) return "{}";
  const rank = (name: string): number => (first.includes(name) ? first.indexOf(name) : first.length);
  const members = [...object]
    .sort((one, other) => rank(one[0]) - rank(other[0]) || byName(one, other))
    .map(([name, each]) => `${start}  ${visibleJson(name)}: ${formatExact(each, depth + 1)}`);
  return `{\n${members.join(",\n")}\n${start}}`;
}

/** Invisible characters: controls, direction marks, joiners, tags, spaces that look like a normal one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** A text as JSON, with invisible characters escaped. */
export function visibleJson(text: string): string {
  return JSON.stringify(text).replace(UNSEEN, (char) =>
    char.split("").reduce((escaped, unit) => `${escaped}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`, ""),
  );
}

/** Whether a text has invisible parts; line ends and tabs are visible. */
export function hasUnseen(text: string): boolean {
  UNSEEN.lastIndex = 0;
  return UNSEEN.test(text.replace(/[\n\r\t]/g, ""));
}

function memberOf(value: ExactJson, name: string): ExactJson | undefined {
  return value instanceof Map ? (value as ExactObject).get(name) : undefined;
}

function refused(problem: string): ToolLockReading {
  return { ok: false, problem };
}
