/** A problem of a configuration, and its text form. */

export interface Problem {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** 1-based; absent if the problem has no position in the text. */
  readonly line?: number;
  readonly column?: number;
  /** Path of the problem; [] if it concerns the whole file. */
  readonly path: ValuePath;
  /** Actual state, then the expectation: `is "30", must be a duration such as "30s"`. Never contains a secret. */
  readonly message: string;
  /** Number of further problems that this one represents. */
  readonly more?: number;
  /** The other sides of a conflict. A problem without rivals stands alone. */
  readonly rivals?: readonly Rival[];
}

/** Limit of reported problems per block and per slice; the others are only counted. */
export const MAX_PROBLEMS = 100;

/** Members and indexes from the top of a document to a value. */
export type ValuePath = readonly (string | number)[];

/** A problem whose position in a file is not yet known. */
export type UnplacedProblem = Omit<Problem, "file" | "line" | "column">;

/**
 * Receives the findings of rules. A callback, not an iterator, because some thirty rules check each of thousands of
 * routes.
 */
export type Report = (problem: UnplacedProblem) => void;

/** The other side of a conflict. */
export interface Rival {
  readonly file: string;
  readonly path: ValuePath;
  /** A setting that conflicts with a route: the route is at fault unless it is older. */
  readonly isSetting?: boolean;
  /** The message before and after the rival's name; absent if the message does not name it. */
  readonly around?: readonly [before: string, after: string];
}

/** One line for a terminal: `gateway.yaml:3:5: error: "timeout" is "30", must be …`. */
export function formatProblem(problem: Problem): string {
  const position = problem.line === undefined ? "" : `:${problem.line}:${problem.column ?? 1}`;
  return `${problem.file}${position}: ${problem.severity}: ${messageWithPath(problem)}`;
}

/** Without file and severity: `"timeout" is "30", must be …`. */
export function messageWithPath({ path, message }: Pick<Problem, "path" | "message">): string {
  return path.length === 0 ? message : `"${formatPath(path)}" ${message}`;
}

/** ["routes", 2, "set_request_headers", "X-A"] → `routes[2].set_request_headers["X-A"]` */
export function formatPath(path: ValuePath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(part)) text += `[${quote(part)}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

const STEPS = /\[(\d+)\]|\[("(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")\]|([^.[\]]+)/gu;

/**
 * `routes[2].set_request_headers["X-A"]` → its steps. The inverse of formatPath, except for very long names, which that
 * shortens. Total.
 */
export function parsePath(text: string): ValuePath {
  return [...text.matchAll(STEPS)].map(([, index, quoted, name = ""]) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? name : (JSON.parse(quoted) as string);
  });
}

const QUOTED_LENGTH = 80;

/** A value as it appears in a message: JSON, shortened. Not for secrets. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > QUOTED_LENGTH ? `${text.slice(0, QUOTED_LENGTH)}…` : text;
}

/** The type of a value for messages: "text", "a list", … */
export function describe(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a block";
  if (typeof value === "string") return "text";
  return quote(value);
}

export function errorAt(path: ValuePath, message: string): UnplacedProblem {
  return { severity: "error", path, message };
}

export function warningAt(path: ValuePath, message: string): UnplacedProblem {
  return { severity: "warning", path, message };
}

/** Replaces problems beyond the limit. */
export function moreProblems(severity: Problem["severity"], more: number): UnplacedProblem {
  return { severity, path: [], message: `and ${more} more problem${more === 1 ? "" : "s"}`, more };
}

/** A problem with a rival, whose name is part of the message. */
export function conflict(
  path: ValuePath,
  rival: Pick<Rival, "file" | "path">,
  before: string,
  after = "",
): UnplacedProblem {
  const message = `${before}"${formatPath(rival.path)}" in ${rival.file}${after}`;
  return { ...errorAt(path, message), rivals: [{ file: rival.file, path: rival.path, around: [before, after] }] };
}

/** The problem with a path relative to an enclosing value. */
export function below(path: ValuePath, problem: UnplacedProblem): UnplacedProblem {
  return { ...problem, path: [...path, ...problem.path] };
}
