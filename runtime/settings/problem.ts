/** One thing wrong with a configuration, and how it is said to people. */

export interface Problem {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** 1-based; absent when the problem has no place in the text. */
  readonly line?: number;
  readonly column?: number;
  /** "routes[2].mcp.server.path"; "" when it concerns the whole file. */
  readonly path: string;
  /** State, then wish: `is "30", must be a duration such as "30s"`. Never holds a secret. */
  readonly message: string;
}

/** Members and indexes from the top of a document to a value. */
export type ValuePath = readonly (string | number)[];

/** A problem before it is known where in which file it stands. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly path: ValuePath;
  readonly message: string;
  /** Of a conflict: where the others stand. What has none is wrong by itself. */
  readonly rivals?: readonly Rival[];
}

/** The other side of a conflict. */
export interface Rival {
  readonly file: string;
  readonly path: ValuePath;
  /** A setting that a route does not go with: the route is in the wrong, unless it was there first. */
  readonly isSetting?: boolean;
}

/** A problem of which is known whom it is a conflict with. */
export interface PlacedProblem extends Problem {
  rivals?: readonly Rival[];
  /** What `path` says, of a problem with rivals. */
  place?: ValuePath;
}

/** One line for a terminal: `gateway.yaml:3:5: error: "timeout" is "30", must be …`. */
export function formatProblem(problem: Problem): string {
  const place = problem.line === undefined ? "" : `:${problem.line}:${problem.column ?? 1}`;
  const subject = problem.path === "" ? "" : `"${problem.path}" `;
  return `${problem.file}${place}: ${problem.severity}: ${subject}${problem.message}`;
}

/** ["routes", 2, "set_request_headers", "X-A"] → `routes[2].set_request_headers["X-A"]`. */
export function formatPath(path: ValuePath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(part)) text += `[${quote(part)}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

const QUOTED_LENGTH = 80;

/** A value as it appears in a message: JSON, shortened. Not for secrets. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > QUOTED_LENGTH ? `${text.slice(0, QUOTED_LENGTH)}…` : text;
}

/** What kind of value somebody wrote, for messages: "text", "a list", … */
export function describe(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a block";
  if (typeof value === "string") return "text";
  return quote(value);
}

export function fault(path: ValuePath, message: string): Finding {
  return { severity: "error", path, message };
}

export function doubt(path: ValuePath, message: string): Finding {
  return { severity: "warning", path, message };
}

/** The finding as seen from further up in the document. */
export function below(path: ValuePath, finding: Finding): Finding {
  return { ...finding, path: [...path, ...finding.path] };
}
