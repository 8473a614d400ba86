/** `mcp.server.tool_lock`: what of a server's tools was reviewed, and what becomes of tools that differ from it. */
import { block } from "../../settings/types/block.ts";
import { textListMap } from "../../settings/types/map.ts";
import { choice, file } from "../../settings/types/scalar.ts";
import { withDefaults, type ShapeDoc } from "../../settings/types/registry.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import type { SecretSource } from "../../settings/secret-spellings.ts";
import { GatewayError } from "../../shared/errors.ts";
import { digestsOf, parseToolLock, type LockedTool, type ToolLockReading } from "./tool-lock-file.ts";

const DIGEST = /^sha256:[0-9a-f]{64}$/;

export const toolLockShape = {
  tools: textListMap({
    doc: "By name of a tool, the digests of what was reviewed under it (`sha256:…`, as `gateway tools lock` writes them); several where users are shown several ones.",
    unset: "those of `file`",
    annotation: "mcp_server_tool_lock_tools",
    checkValue: (value) =>
      DIGEST.test(value) ? undefined : `is ${quote(value)}, must be "sha256:" and 64 lower-case hexadecimal digits`,
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
  doc: "The tools of this server as they were reviewed, whole. What the server lists is compared with it; a tool that is missing from a list is no difference, since lists may differ by user.",
  unset: "tools may change as the server likes",
});

export interface ToolLock {
  /** By name, the digests of the definitions that were reviewed under it. */
  readonly tools: ReadonlyMap<string, ReadonlySet<string>>;
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
          ? 'is empty, must have "tools" or "file"'
          : 'has both "tools" and "file", must have one of them',
      ),
    );
  for (const [name, digests] of Object.entries(lock.tools ?? {}))
    if (digests.length === 0) report(errorAt(["tools", name], "is an empty list, must have a digest"));
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
    const tools = new Map(Object.entries(lock.tools ?? {}).map(([name, digests]) => [name, new Set(digests)] as const));
    return { tools, onDrift, onUnlisted, reviewed: undefined };
  }
  const reading = readOnce(files.resolve(`file:${lock.file}`));
  if (!reading.ok) throw unusable(lock.file, `it ${reading.problem}`);
  const tools = reading.servers.get(address);
  if (!tools) throw unusable(lock.file, `it has nothing of ${quote(address)}`);
  return { tools: digestsOf(tools), onDrift, onUnlisted, reviewed: tools };
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
