/** One thing wrong with a configuration, and how it is said to people. */

export interface Problem {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** 1-based; absent when the problem has no place in the text. */
  readonly line?: number;
  readonly column?: number;
  /** To what is wrong; [] when it concerns the whole file. */
  readonly path: ValuePath;
  /** State, then what is expected: `is "30", must be a duration such as "30s"`. Never holds a secret. */
  readonly message: string;
  /** How many problems this one stands for, which are not told one by one. */
  readonly more?: number;
  /** Of a conflict: where the others stand. What has none is wrong by itself. */
  readonly rivals?: readonly Rival[];
}

/** Problems of one block, and of one slice, that are told; of the others it is said how many they are. */
export const MAX_PROBLEMS = 100;

/** Members and indexes from the top of a document to a value. */
export type ValuePath = readonly (string | number)[];

/** A problem before it is known where in which file it stands. */
export type UnplacedProblem = Omit<Problem, "file" | "line" | "column">;

/** Gets what rules find. A callback, not an iterator: each of thousands of routes is asked by some thirty of them. */
export type Report = (problem: UnplacedProblem) => void;

/** The other side of a conflict. */
export interface Rival {
  readonly file: string;
  readonly path: ValuePath;
  /** A setting that a route does not go with: the route is in the wrong, unless it was there first. */
  readonly isSetting?: boolean;
  /** The message is these two with the name of the rival between them; absent when the message does not name it. */
  readonly around?: readonly [before: string, after: string];
}

/** One line for a terminal: `gateway.yaml:3:5: error: "timeout" is "30", must be …`. */
export function formatProblem(problem: Problem): string {
  const place = problem.line === undefined ? "" : `:${problem.line}:${problem.column ?? 1}`;
  return `${problem.file}${place}: ${problem.severity}: ${messageWithPath(problem)}`;
}

/** Without file and severity: `"timeout" is "30", must be …`. */
export function messageWithPath({ path, message }: Pick<Problem, "path" | "message">): string {
  return path.length === 0 ? message : `"${formatPath(path)}" ${message}`;
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

const STEPS = /\[(\d+)\]|\[("(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")\]|([^.[\]]+)/gu;

/** `routes[2].set_request_headers["X-A"]` → its steps; the inverse of formatPath, which shortens very long names. Total. */
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

/** What kind of value somebody wrote, for messages: "text", "a list", … */
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

/** In the place of many. */
export function moreProblems(severity: Problem["severity"], more: number): UnplacedProblem {
  return { severity, path: [], message: `and ${more} more problem${more === 1 ? "" : "s"}`, more };
}

/** A problem that is another's as well, whose name stands in the message. */
export function conflict(
  path: ValuePath,
  rival: Pick<Rival, "file" | "path">,
  before: string,
  after = "",
): UnplacedProblem {
  const message = `${before}"${formatPath(rival.path)}" in ${rival.file}${after}`;
  return { ...errorAt(path, message), rivals: [{ file: rival.file, path: rival.path, around: [before, after] }] };
}

/** The problem as seen from further up in the document. */
export function below(path: ValuePath, problem: UnplacedProblem): UnplacedProblem {
  return { ...problem, path: [...path, ...problem.path] };
}
