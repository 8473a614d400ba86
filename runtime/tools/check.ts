/** Output of `gateway check`. */
import { lockedOutClients, parseClientIdDomains } from "../features/mcp/known-clients.ts";
import { documentationLine } from "../config/surfaces/documentation.ts";
import { type CheckedConfig, formatProblem, loadSlices, type Problem, type SliceSource } from "../config/load.ts";

export interface CheckReport {
  readonly text: string;
  /** Whether there are no errors. */
  readonly ok: boolean;
}

/** @returns every problem of all sources together and a summary */
export function checkFiles(sources: readonly SliceSource[]): CheckReport {
  const { problems, config } = loadSlices(sources);
  return formatCheck(problems, config);
}

/** @param config absent when an error is among the problems */
export function formatCheck(problems: readonly Problem[], config: CheckedConfig | undefined): CheckReport {
  const lines = problems.map((problem) => formatProblem(problem));
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const counts = `${plural(errors, "error")}, ${plural(problems.length - errors, "warning")}`;
  if (!config || errors > 0)
    return { text: [...lines, ...documentationLine(problems), `bad: ${counts}`].join("\n"), ok: false };
  const summary = `good: ${plural(config.routes.length, "route")}, ${counts}, digest ${config.digest.slice(0, 12)}`;
  return {
    text: [...lines, ...documentationLine(problems), ...mcpNote(config), ...documentNote(config), summary].join("\n"),
    ok: true,
  };
}

/** Stated once, not per route: no file shows what clients of an upstream request. */
function mcpNote({ routes }: CheckedConfig): readonly string[] {
  const count = routes.filter(({ doc }) => doc.mcp?.server).length;
  if (count === 0) return [];
  const serves = count === 1 ? "serves" : "serve";
  return [
    `note: ${plural(count, "MCP server route")} ${serves} only the MCP endpoint (the address of "from", with and without "path") and "extra_paths"; other paths get 404`,
  ];
}

/** A hint, not a problem: it may be intended. */
function documentNote({ routes, settings }: CheckedConfig): readonly string[] {
  if (!routes.some(({ doc }) => doc.mcp?.server)) return [];
  const lockedOut = lockedOutClients(parseClientIdDomains(settings.mcp_allowed_client_id_domains ?? []));
  if (lockedOut.length === 0) return [];
  return [
    `note: "mcp_allowed_client_id_domains" keeps out ${lockedOut.join(", ")}: they come with documents of domains that are not listed, and do not register themselves where documents are taken; "known-clients" in the list allows the common products`,
  ];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
