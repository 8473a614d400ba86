/** Policies whose criteria on classes of tools are decided with the classes of a route's tool lock. */
import type { CompiledPolicy } from "./evaluate.ts";
import type { Facts } from "./facts.ts";
import { compileListMatch, type ListMatch } from "./match.ts";
import { TOOL_CLASS, type ToolClasses } from "./mcp/tool-classes.ts";
import type { Leaf, OperatorRule } from "./tree.ts";

/** The policy with its criteria on classes decided by these. @returns the same object if it has none */
export function bindToolClasses(policy: CompiledPolicy, classes: ToolClasses | undefined): CompiledPolicy {
  const rules = [...policy.allow, ...policy.deny, ...policy.approve];
  if (!classes || !rules.some(({ leaves }) => leaves.some(({ criterion }) => criterion.name === TOOL_CLASS)))
    return policy;
  const bindLeaf = (leaf: Leaf): Leaf => {
    if (leaf.criterion.name !== TOOL_CLASS) return leaf;
    const matches = compileListMatch(leaf.data as ListMatch);
    const classesOf = ({ mcp }: Facts): readonly string[] | undefined => classes.get(mcp?.tool ?? "");
    return {
      ...leaf,
      criterion: { ...leaf.criterion, isUnknown: (facts) => classesOf(facts) === undefined },
      test: (facts) => matches(classesOf(facts) ?? []),
      actual: (facts) => JSON.stringify(classesOf(facts) ?? []),
    };
  };
  const bound = <R extends OperatorRule>(rule: R): R => ({ ...rule, leaves: rule.leaves.map(bindLeaf) });
  return {
    ...policy,
    allow: policy.allow.map(bound),
    deny: policy.deny.map(bound),
    approve: policy.approve.map(bound),
    known: [new Map(), new Map()],
  };
}
