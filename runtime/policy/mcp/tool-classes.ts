/**
 * Reviewed classes of tools: the criterion `mcp_tool_class`, and the lock's classes that it is decided with.
 *
 * Promise: a tool without reviewed classes is unknown, which fails allow and deny rules.
 */
import type { Criterion } from "../criterion.ts";
import { LIST_MATCH_SCHEMA, parseListMatch } from "../match.ts";

export const TOOL_CLASSES = ["read", "write", "destructive", "external", "sensitive", "untrusted"] as const;

/** Reviewed classes by tool. */
export type ToolClasses = ReadonlyMap<string, readonly string[]>;

export const TOOL_CLASS = "mcp_tool_class";

export const TOOL_CLASS_CRITERION: Omit<Criterion, "ofOthers"> = {
  name: TOOL_CLASS,
  takesPath: false,
  doc: `Reviewed class of the called tool, from \`tool_lock\`: ${TOOL_CLASSES.join(", ")}; false for other messages. Unknown for a tool without reviewed classes, which then fails allow and deny rules.`,
  about: "tool",
  // Those of mcp_tool: a policy has room for 50.
  reasons: { ok: "mcp-tool-ok", no: "mcp-tool-unauthorized" },
  unknownReason: "mcp-tool-class-unknown",
  isUnknown: () => true,
  schema: LIST_MATCH_SCHEMA,
  read(data, _subPath, path, report) {
    const match = parseListMatch(data, path, report);
    const wrong = Object.values(match ?? {}).find((name) => !isToolClass(name));
    if (wrong !== undefined) report(path, `has ${JSON.stringify(wrong)}, must be one of ${TOOL_CLASSES.join(", ")}`);
    return match && wrong === undefined ? { canonical: match, test: () => false } : undefined;
  },
  actual: () => "",
};

export function isToolClass(name: string): boolean {
  return (TOOL_CLASSES as readonly string[]).includes(name);
}
