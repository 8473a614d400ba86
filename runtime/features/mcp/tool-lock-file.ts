/**
 * The lock file: the tools of MCP servers as somebody has reviewed them, whole, each with its digest.
 *
 * Untrusted input: the text, and all names and texts in it, which MCP servers have written. Promises: a digest belongs to the
 * definition beside it; what is written is the same for the same tools, in whatever order they came, and shows characters
 * that nobody would see. Pure.
 */
import { createHash } from "node:crypto";

import { NumberToken } from "../../shared/canonical-json.ts";
import {
  byName,
  canonicalText,
  parseExactJson,
  type ExactJson,
  type ExactObject,
} from "../../shared/json/exact-json.ts";

export interface LockedTool {
  readonly name: string;
  /** "sha256:…", see `toolDigest`. */
  readonly digest: string;
  readonly definition: ExactObject;
}

/** By address of the MCP server, as its users know it. A tool that users see differently stands there once for each way. */
export type ToolLockFile = ReadonlyMap<string, readonly LockedTool[]>;

export type ToolLockReading =
  | { readonly ok: true; readonly servers: ToolLockFile }
  /** A predicate: "is no JSON …". */
  | { readonly ok: false; readonly problem: string };

const VERSION = "1";

/** Of a tool's whole definition: SHA-256 of its canonical form. */
export function toolDigest(definition: ExactJson): string {
  return `sha256:${createHash("sha256").update(canonicalText(definition)).digest("hex")}`;
}

/** A tool as a server lists it. @returns undefined without a name */
export function toolOf(definition: ExactJson): LockedTool | undefined {
  if (!(definition instanceof Map)) return undefined;
  const object = definition as ExactObject;
  const name = object.get("name");
  return typeof name === "string" ? { name, digest: toolDigest(object), definition: object } : undefined;
}

export function parseToolLock(text: string): ToolLockReading {
  const root = parseExactJson(text);
  if (root === undefined) return refused("is no JSON in which every member stands once");
  const version = memberOf(root, "version");
  if (!(version instanceof NumberToken) || version.text !== VERSION)
    return refused('is no tool lock of "version" 1, must be written by "gateway tools lock"');
  const written = memberOf(root, "servers");
  if (!(written instanceof Map)) return refused('lacks "servers"');
  const servers = new Map<string, readonly LockedTool[]>();
  for (const [address, server] of written as ExactObject) {
    const tools = memberOf(server, "tools");
    if (!Array.isArray(tools)) return refused(`lacks the "tools" of ${JSON.stringify(address)}`);
    const read: LockedTool[] = [];
    for (const each of tools as readonly ExactJson[]) {
      const tool = toolOf(memberOf(each, "definition") ?? null);
      const digest = memberOf(each, "digest");
      const place = `of ${JSON.stringify(address)}`;
      if (tool === undefined) return refused(`has a tool without a name ${place}`);
      if (tool.digest !== digest) {
        const state = `has a definition of ${JSON.stringify(tool.name)} ${place} that is not the one of its digest`;
        return refused(`${state}, must be as "gateway tools lock" wrote it`);
      }
      read.push(tool);
    }
    servers.set(address, read);
  }
  return { ok: true, servers };
}

/** Name → the digests of what was reviewed under it. */
export function digestsOf(tools: readonly LockedTool[]): ReadonlyMap<string, ReadonlySet<string>> {
  const digests = new Map<string, Set<string>>();
  for (const { name, digest } of tools) digests.set(name, (digests.get(name) ?? new Set()).add(digest));
  return digests;
}

/** One member in a line, so that a changed one is a changed line. */
export function formatToolLock(servers: ToolLockFile): string {
  const written = [...servers].sort(byName).map(([address, tools]) => {
    const blocks = [...new Map(tools.map((tool) => [tool.digest, tool])).values()]
      .sort((one, other) => byName([`${one.name}\0${one.digest}`, 0], [`${other.name}\0${other.digest}`, 0]))
      .map(({ digest, definition }) => {
        const whole = formatExact(definition, 5, FIRST);
        return `{\n          "digest": ${JSON.stringify(digest)},\n          "definition": ${whole}\n        }`;
      });
    const list = blocks.length === 0 ? "[]" : `[\n        ${blocks.join(",\n        ")}\n      ]`;
    return `    ${visibleJson(address)}: {\n      "tools": ${list}\n    }`;
  });
  const body = written.length === 0 ? "{}" : `{\n${written.join(",\n")}\n  }`;
  return `{\n  "version": ${VERSION},\n  "servers": ${body}\n}\n`;
}

/** What people read first of a definition; all else follows by name. */
const FIRST = ["name", "title", "description", "annotations", "inputSchema", "outputSchema"];

/** JSON over several lines. @param depth how far it stands to the right @param first of its members, before the others */
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

/** What nobody sees: controls, marks of direction, joiners, tags, spaces that look like the usual one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** A text as JSON, in which what nobody would see is escaped. */
export function visibleJson(text: string): string {
  return JSON.stringify(text).replace(UNSEEN, (char) =>
    char.split("").reduce((escaped, unit) => `${escaped}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`, ""),
  );
}

/** Whether somebody who reads a text misses a part of it; line ends and tabs are seen. */
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
