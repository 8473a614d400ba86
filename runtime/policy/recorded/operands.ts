/** Values and member names that a policy compares arguments and claims with. */
import { scalarsOf, type ArgumentMatch } from "../mcp/argument-match.ts";
import { parsePointer } from "../mcp/argument-values.ts";
import type { ListMatch } from "../match.ts";
import type { Leaf, PolicyTree } from "../tree.ts";

export interface Operands {
  readonly values: readonly (string | number | boolean)[];
  /** Member names: steps of pointers and of claims' paths, and the names in `only`. */
  readonly names: readonly string[];
}

export function leavesOf({ allow, deny, approve }: PolicyTree): readonly Leaf[] {
  return [...allow, ...deny, ...approve].flatMap(({ leaves }) => leaves);
}

export function operandsOf(policy: PolicyTree): Operands {
  const found = leavesOf(policy).map(operandsOfLeaf);
  return { values: found.flatMap(({ values }) => values), names: found.flatMap(({ names }) => names) };
}

function operandsOfLeaf({ criterion, data, subPath }: Leaf): Operands {
  if (criterion.name === "claim") {
    const { has, is, exclude } = data as ListMatch;
    const values = [has, is, exclude].filter((each) => each !== undefined);
    return { values, names: [subPath, ...subPath.split("/")] };
  }
  if (criterion.name !== "mcp_tool_argument") return { values: [], names: [] };
  const match = data as ArgumentMatch;
  const matches = [match, match.some, match.every].filter((each) => each !== undefined);
  return {
    values: matches.flatMap(scalarsOf),
    names: [...(parsePointer(match.argument) ?? []), ...matches.flatMap(({ only = [] }) => only)],
  };
}
