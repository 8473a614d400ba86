/** `mcp.server.tool_lock`: reviewed items of a server, and how to treat tools and other texts that differ. */
import { isToolClass, TOOL_CLASSES, type ToolClasses } from "../../policy/mcp/tool-classes.ts";
import { block } from "../../settings/types/block.ts";
import { textList } from "../../settings/types/list.ts";
import { textListMap } from "../../settings/types/map.ts";
import { choice, file } from "../../settings/types/scalar.ts";
import { withDefaults, type ShapeDoc } from "../../settings/types/registry.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import type { SecretSource } from "../../settings/secret-forms.ts";
import { GatewayError } from "../../shared/errors.ts";
import { itemKey, LOCKED_KINDS, type LockedKind } from "./locked-items.ts";
import { classesOf, digestsOf, parseToolLock, type LockedTool, type ToolLockReading } from "./tool-lock-file.ts";

const DIGEST = /^sha256:[0-9a-f]{64}$/;

const checkDigest = (value: string): string | undefined =>
  DIGEST.test(value) ? undefined : `is ${quote(value)}, must be "sha256:" and 64 lower-case hexadecimal digits`;

export const toolLockShape = {
  tools: textListMap({
    doc: "Digests of the reviewed tools, by tool name. Several if users see different definitions.",
    unset: "those in `file`",
    annotation: "mcp_server_tool_lock_tools",
    checkValue: checkDigest,
  }),
  prompts: textListMap({
    doc: "Digests of reviewed prompts, by name.",
    unset: "those in `file`; otherwise not checked",
    annotation: "mcp_server_tool_lock_prompts",
    checkValue: checkDigest,
  }),
  resource_templates: textListMap({
    doc: "Digests of reviewed resource templates, by `uriTemplate`.",
    unset: "those in `file`; otherwise not checked",
    annotation: "mcp_server_tool_lock_resource_templates",
    checkValue: checkDigest,
  }),
  skills: textListMap({
    doc: "Digests of reviewed skills, by the URI of their `SKILL.md`.",
    unset: "those in `file`; otherwise not checked",
    annotation: "mcp_server_tool_lock_skills",
    checkValue: checkDigest,
  }),
  instructions: textList({
    doc: "Digests of the server's reviewed `instructions`. An empty list allows none.",
    unset: "those in `file`; otherwise not checked",
    annotation: "mcp_server_tool_lock_instructions",
    check: checkDigest,
  }),
  file: file({
    doc: "File written by `gateway tools lock`, instead of `tools`, reloaded when it changes. Owners need `allowed_refs`.",
    unset: "none",
  }),
  classes: textListMap({
    doc: `Reviewed classes of tools, by name, for \`mcp_tool_class\`: ${TOOL_CLASSES.join(", ")}.`,
    unset: "those in `file`",
    annotation: "mcp_server_tool_lock_classes",
    checkValue: (name) =>
      isToolClass(name) ? undefined : `is ${quote(name)}, must be one of ${TOOL_CLASSES.join(", ")}`,
  }),
  on_drift: choice(["warn", "hide", "deny"], {
    doc: "Tools that are not locked or differ: recorded, also hidden and denied, or denied but listed.",
    default: "hide",
    annotation: "mcp_server_tool_lock_on_drift",
  }),
  on_unlisted: choice(["pass", "deny"], {
    doc: "Whether calls of locked tools pass before a list has shown them.",
    default: "pass",
    annotation: "mcp_server_tool_lock_on_unlisted",
  }),
};

export type ToolLockDoc = ShapeDoc<typeof toolLockShape>;

export const toolLockBlock = block(toolLockShape, {
  doc: "Digests of reviewed tools and, if included, prompts, resource templates, skills and `instructions`.",
  unset: "none",
});

export interface ToolLock {
  /** Locked kinds; others may change. Tools are always locked. */
  readonly kinds: ReadonlySet<LockedKind>;
  /** By key (locked-items.ts), digests of the reviewed definitions. */
  readonly items: ReadonlyMap<string, ReadonlySet<string>>;
  readonly onDrift: "warn" | "hide" | "deny";
  /** Calls of tools that no list has contained yet. */
  readonly onUnlisted: "pass" | "deny";
  /** Complete definitions, if the lock is a file. */
  readonly reviewed: readonly LockedTool[] | undefined;
  readonly classes: ToolClasses;
}

/** @returns problems with paths below the block */
export function toolLockRules(lock: ToolLockDoc, report: Report): void {
  if ((lock.tools === undefined) === (lock.file === undefined))
    report(
      errorAt(
        [],
        lock.file === undefined
          ? 'has neither "tools" nor "file", must have one of them'
          : 'has both "tools" and "file", must have one of them',
      ),
    );
  for (const member of ["prompts", "resource_templates", "skills", "instructions", "classes"] as const)
    if (lock.file !== undefined && lock[member] !== undefined)
      report(errorAt([member], 'is next to "file", must be in that file'));
  for (const member of ["tools", "prompts", "resource_templates", "skills"] as const)
    for (const [name, digests] of Object.entries(lock[member] ?? {}))
      if (digests.length === 0) report(errorAt([member, name], "is an empty list, must have a digest"));
}

/** @param address of the server, as used by clients @throws GatewayError `config.secret`, `config.tool-lock` */
export function compileToolLock(
  lock: ToolLockDoc | undefined,
  address: string,
  files: Pick<SecretSource, "resolve">,
): ToolLock | undefined {
  if (lock === undefined) return undefined;
  const { on_drift: onDrift, on_unlisted: onUnlisted } = withDefaults(toolLockShape, lock);
  if (lock.file === undefined) {
    return { ...ofDigests(lock), onDrift, onUnlisted, reviewed: undefined, classes: writtenClasses(lock) };
  }
  const reading = readOnce(files.resolve(`file:${lock.file}`));
  if (!reading.ok) throw unusable(lock.file, `it ${reading.problem}`);
  const server = reading.servers.get(address);
  if (!server) throw unusable(lock.file, `it has nothing of ${quote(address)}`);
  const { kinds, items: reviewed } = server;
  return { kinds, items: digestsOf(reviewed), onDrift, onUnlisted, reviewed, classes: classesOf(reviewed) };
}

/** Classes in the document itself; those of a file are unknown here. */
export function writtenClasses({ classes = {} }: Pick<ToolLockDoc, "classes"> = {}): ToolClasses {
  return new Map(Object.entries(classes));
}

function ofDigests(lock: ToolLockDoc): Pick<ToolLock, "kinds" | "items"> {
  const { tools = {}, prompts, resource_templates: template, skills, instructions } = lock;
  const written: Readonly<Record<LockedKind, Readonly<Record<string, readonly string[]>> | undefined>> = {
    tool: tools,
    prompt: prompts,
    template,
    skill: skills,
    instructions: instructions && (instructions.length === 0 ? {} : { "": instructions }),
  };
  const kinds = LOCKED_KINDS.filter((kind) => written[kind] !== undefined);
  const items = kinds.flatMap((kind) =>
    Object.entries(written[kind] ?? {}).map(([name, digests]) => [itemKey(kind, name), new Set(digests)] as const),
  );
  return { kinds: new Set(kinds), items: new Map(items) };
}

let last: { readonly text: string; readonly reading: ToolLockReading } | undefined;

/** Many routes share one file, and digesting all its items takes a while. */
function readOnce(text: string): ToolLockReading {
  if (last?.text !== text) last = { text, reading: parseToolLock(text) };
  return last.reading;
}

function unusable(path: string, why: string): GatewayError {
  return new GatewayError("config.tool-lock", `Cannot use the tool lock ${quote(path)}: ${why}`);
}
