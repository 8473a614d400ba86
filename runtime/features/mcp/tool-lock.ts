/** `mcp.server.tool_lock`: what of a server was reviewed, and how tools and other texts that differ are treated. */
import { block } from "../../settings/types/block.ts";
import { textList } from "../../settings/types/list.ts";
import { textListMap } from "../../settings/types/map.ts";
import { choice, file } from "../../settings/types/scalar.ts";
import { withDefaults, type ShapeDoc } from "../../settings/types/registry.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import type { SecretSource } from "../../settings/secret-spellings.ts";
import { GatewayError } from "../../shared/errors.ts";
import { itemKey, LOCKED_KINDS, type LockedKind } from "./locked-items.ts";
import { digestsOf, parseToolLock, type LockedTool, type ToolLockReading } from "./tool-lock-file.ts";

const DIGEST = /^sha256:[0-9a-f]{64}$/;

const checkDigest = (value: string): string | undefined =>
  DIGEST.test(value) ? undefined : `is ${quote(value)}, must be "sha256:" and 64 lower-case hexadecimal digits`;

export const toolLockShape = {
  tools: textListMap({
    doc: "By name of a tool, the digests of what was reviewed under it (`sha256:…`, as `gateway tools lock` writes them); several where users are shown several ones.",
    unset: "those of `file`",
    annotation: "mcp_server_tool_lock_tools",
    checkValue: checkDigest,
  }),
  prompts: textListMap({
    doc: "The same for prompts. Getting a prompt that differs, and completing its arguments, is denied as calls of tools are.",
    unset: "prompts may change; with `file`, those of the file",
    annotation: "mcp_server_tool_lock_prompts",
    checkValue: checkDigest,
  }),
  resource_templates: textListMap({
    doc: "The same for resource templates, by `uriTemplate`. Completing a template that differs is denied; reading a resource is up to the policy.",
    unset: "resource templates may change; with `file`, those of the file",
    annotation: "mcp_server_tool_lock_resource_templates",
    checkValue: checkDigest,
  }),
  instructions: textList({
    doc: "Digests of the server's `instructions` that were reviewed; an empty list: none were. Others are removed from the response, unless `on_drift` is `warn`.",
    unset: "instructions may change; with `file`, those of the file",
    annotation: "mcp_server_tool_lock_instructions",
    check: checkDigest,
  }),
  file: file({
    doc: "Instead of `tools`: path of the file that `gateway tools lock` wrote, on the gateway's machine, read again when it changes. What stands there for the public address of this server counts. Owners need leave for it in `allowed_refs`.",
    unset: "none",
  }),
  on_drift: choice(["warn", "hide", "deny"], {
    doc: "What becomes of tools that differ from what was reviewed, or were not. `warn`: they are recorded and counted. `hide`: they are left out of lists, too, and their calls denied. `deny`: they stay in lists, where people see what has changed, and their calls are denied.",
    default: "hide",
    annotation: "mcp_server_tool_lock_on_drift",
  }),
  on_unlisted: choice(["pass", "deny"], {
    doc: "Calls of locked tools that no list has shown yet, so that nothing is known of their definition. `pass`: they are made. `deny`: they are denied until a list has shown the tool as it was reviewed, in any process of the gateway. Other processes know of it within 2 seconds.",
    default: "pass",
    annotation: "mcp_server_tool_lock_on_unlisted",
  }),
};

export type ToolLockDoc = ShapeDoc<typeof toolLockShape>;

export const toolLockBlock = block(toolLockShape, {
  doc: "The tools of this server as they were reviewed, whole, and its prompts, resource templates and `instructions` if they are in the lock. What the server lists is compared with the lock. An item that is missing from a list does not differ, since lists may differ by user.",
  unset: "the server may change all of it",
});

export interface ToolLock {
  /** What of the server is locked; all else may change. Tools always are. */
  readonly kinds: ReadonlySet<LockedKind>;
  /** By key (locked-items.ts), the digests of the definitions that were reviewed under it. */
  readonly items: ReadonlyMap<string, ReadonlySet<string>>;
  readonly onDrift: "warn" | "hide" | "deny";
  /** Calls of tools that no list has shown yet. */
  readonly onUnlisted: "pass" | "deny";
  /** Whole, where the lock is a file. */
  readonly reviewed: readonly LockedTool[] | undefined;
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
  for (const member of ["prompts", "resource_templates", "instructions"] as const)
    if (lock.file !== undefined && lock[member] !== undefined)
      report(errorAt([member], 'is next to "file", must be in that file'));
  for (const member of ["tools", "prompts", "resource_templates"] as const)
    for (const [name, digests] of Object.entries(lock[member] ?? {}))
      if (digests.length === 0) report(errorAt([member, name], "is an empty list, must have a digest"));
}

/** @param address of the server, as its users know it @throws GatewayError `config.secret`, `config.tool-lock` */
export function compileToolLock(
  lock: ToolLockDoc | undefined,
  address: string,
  files: SecretSource,
): ToolLock | undefined {
  if (lock === undefined) return undefined;
  const { on_drift: onDrift, on_unlisted: onUnlisted } = withDefaults(toolLockShape, lock);
  if (lock.file === undefined) {
    return { ...ofDigests(lock), onDrift, onUnlisted, reviewed: undefined };
  }
  const reading = readOnce(files.resolve(`file:${lock.file}`));
  if (!reading.ok) throw unusable(lock.file, `it ${reading.problem}`);
  const server = reading.servers.get(address);
  if (!server) throw unusable(lock.file, `it has nothing of ${quote(address)}`);
  const { kinds, items: reviewed } = server;
  return { kinds, items: digestsOf(reviewed), onDrift, onUnlisted, reviewed };
}

function ofDigests(lock: ToolLockDoc): Pick<ToolLock, "kinds" | "items"> {
  const { tools = {}, prompts, resource_templates: template, instructions } = lock;
  const written: Readonly<Record<LockedKind, Readonly<Record<string, readonly string[]>> | undefined>> = {
    tool: tools,
    prompt: prompts,
    template,
    instructions: instructions && (instructions.length === 0 ? {} : { "": instructions }),
  };
  const kinds = LOCKED_KINDS.filter((kind) => written[kind] !== undefined);
  const items = kinds.flatMap((kind) =>
    Object.entries(written[kind] ?? {}).map(([name, digests]) => [itemKey(kind, name), new Set(digests)] as const),
  );
  return { kinds: new Set(kinds), items: new Map(items) };
}

let last: { readonly text: string; readonly reading: ToolLockReading } | undefined;

/** Many routes have one file, and digesting all that is in it takes a while. */
function readOnce(text: string): ToolLockReading {
  if (last?.text !== text) last = { text, reading: parseToolLock(text) };
  return last.reading;
}

function unusable(path: string, why: string): GatewayError {
  return new GatewayError("config.tool-lock", `Cannot use the tool lock ${quote(path)}: ${why}`);
}
