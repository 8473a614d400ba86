/**
 * Classes of tools in a lock file: classes that a reviewer assigned stay, and the server's annotations are only a proposal.
 *
 * Untrusted input: annotations of servers. Promise: nothing here classifies a tool.
 */
import type { LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { isRecord } from "../../shared/is-record.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import type { ExactJson } from "../../shared/json/exact-json.ts";

export const PROPOSAL =
  '\nTools without "classes" in the lock file, with classes proposed by the annotations of the server. Review, then add them:';

const MAX_PROPOSALS = 100;

/** A changed definition must be reviewed again. */
export function keepClasses(locked: readonly LockedTool[], listed: readonly LockedTool[]): readonly LockedTool[] {
  const reviewed = new Map(locked.map(({ digest, classes }) => [digest, classes]));
  return listed.map((item) => {
    const classes = item.kind === "tool" ? reviewed.get(item.digest) : undefined;
    return classes === undefined ? item : { ...item, classes };
  });
}

/** @returns 'delete_repo: ["write", "destructive"]' */
export function proposalsFor(items: readonly LockedTool[]): readonly string[] {
  const open = items.filter(({ kind, classes }) => kind === "tool" && classes === undefined);
  const more = open.length > MAX_PROPOSALS ? [`… and ${open.length - MAX_PROPOSALS} more tools`] : [];
  const lines = open
    .slice(0, MAX_PROPOSALS)
    .map(({ name, definition }) => `${foreignText(name)}: ${JSON.stringify(proposedClasses(definition))}`);
  return [...lines, ...more];
}

/** By the defaults of the protocol: without annotations a tool writes, destroys and reaches other systems. */
function proposedClasses(definition: ExactJson): readonly string[] {
  const annotations = definition instanceof Map ? definition.get("annotations") : undefined;
  const given = annotations instanceof Map ? Object.fromEntries(annotations) : {};
  const hints: Readonly<Record<string, unknown>> = isRecord(given) ? given : {};
  const isReader = hints["readOnlyHint"] === true;
  return [
    isReader ? "read" : "write",
    ...(!isReader && hints["destructiveHint"] !== false ? ["destructive"] : []),
    ...(hints["openWorldHint"] !== false ? ["external"] : []),
  ];
}
