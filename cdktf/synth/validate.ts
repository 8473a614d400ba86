/** Validates a slice that may contain unknown values, with the real loader. */
import { loadSlices } from "../../runtime/config/load.ts";
import { UNKNOWN_VALUE } from "../../runtime/policy/operands/impossible-operands.ts";
import { messageWithPath, type Problem, type ValuePath } from "../../runtime/settings/problem.ts";
import { canonicalJson } from "../../runtime/shared/canonical-json.ts";
import type { Slice } from "../../runtime/config/slice.ts";
import { Token } from "../framework.ts";
import { hasUnresolved, splitTokens } from "./terraform-text.ts";

/** Problems by the construct they concern, as lines of text. */
export interface SliceProblems {
  readonly gateway: readonly string[];
  /** By route name. */
  readonly routes: ReadonlyMap<string, readonly string[]>;
  readonly warnings: readonly string[];
}

/** Without the main configuration file the loader skips rules that depend on it; they are checked on publishing. */
export function validateSlice(slice: Slice): SliceProblems {
  const unresolved: ValuePath[] = [];
  const text = canonicalJson(withPlaceholders(slice, [], unresolved));
  const { problems } = loadSlices([{ file: slice.owner, text, boot: false }]);
  const certain = problems.filter(({ path }) => !unresolved.some((known) => isWithin(path, known)));
  const routes = new Map<string, string[]>();
  const gateway: string[] = [];
  for (const problem of certain.filter(({ severity }) => severity === "error")) {
    const owner = Object.keys(slice.routes).find((name) => isWithin(problem.path, ["routes", name]));
    const lines = owner === undefined ? gateway : (routes.get(owner) ?? []);
    lines.push(textOf(problem));
    if (owner !== undefined) routes.set(owner, lines);
  }
  return { gateway, routes, warnings: certain.filter(({ severity }) => severity === "warning").map(textOf) };
}

function textOf(problem: Problem): string {
  return problem.path.length === 0 ? `the bundle ${problem.message}` : messageWithPath(problem);
}

function isWithin(path: ValuePath, outer: ValuePath): boolean {
  return outer.every((part, at) => path[at] === part);
}

/** Replaces tokens by text, so that the loader can validate the rest; its problems about the replacements are dropped. */
function withPlaceholders(value: unknown, path: ValuePath, unresolved: ValuePath[]): unknown {
  if (typeof value === "string") {
    const pieces = splitTokens(value);
    if (pieces.every(({ isToken }) => !isToken)) return value;
    unresolved.push(path);
    return pieces
      .map(({ text, isToken }) => (isToken ? `${UNKNOWN_VALUE}${text.replaceAll(/\D/g, "")}` : text))
      .join("");
  }
  if (Token.isUnresolved(value)) {
    unresolved.push(path);
    if (typeof value === "number") return 1;
    return Array.isArray(value) ? ["unknown"] : {};
  }
  if (Array.isArray(value)) return value.map((item, index) => withPlaceholders(item, [...path, index], unresolved));
  if (typeof value !== "object" || value === null || !hasUnresolved(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withPlaceholders(member, [...path, key], unresolved)]),
  );
}
