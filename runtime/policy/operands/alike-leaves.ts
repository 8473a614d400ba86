/**
 * Fewer criteria with the same outcome: a policy may name a thousand users, and each request is compared with all of them.
 *
 * Criteria that differ only in the text that they compare with are found in a set. Two replace them: one matches if any of
 * them does, the other if all do. Together they give the reasons that all of them would.
 */
import type { Criterion, Equality, Test } from "../criterion.ts";
import type { Facts } from "../facts.ts";
import { hasElement } from "../match.ts";
import type { PackedOutcome } from "../packed-outcome.ts";
import type { Operator } from "../parse.ts";

/** Fewer are compared one by one. */
export const MANY = 16;

/** The used part of a criterion of a policy. */
interface Leaf {
  readonly criterion: Criterion;
  readonly subPath: string;
  readonly test: Test;
  readonly find: unknown;
  readonly yes: PackedOutcome;
  readonly no: PackedOutcome;
}

interface Rule<L> {
  readonly operator: Operator;
  readonly leaves: readonly L[];
}

/** By their list, which is immutable: a policy with other criteria has another one. */
const knownRules = new WeakMap<readonly Rule<Leaf>[], readonly Rule<Leaf>[]>();
const knownLeaves = new WeakMap<readonly Leaf[], readonly Leaf[]>();

/** The same rules, joined by "or", with all that only join criteria by "or" as one. */
export function fewerRules<L extends Leaf>(rules: readonly Rule<L>[]): readonly Rule<L>[] {
  let fewer = knownRules.get(rules) as readonly Rule<L>[] | undefined;
  if (fewer === undefined) {
    const isJoined = ({ operator, leaves }: Rule<L>): boolean =>
      operator === "or" || (operator === "and" && leaves.length === 1);
    const leaves = rules.filter(isJoined).flatMap((rule) => rule.leaves);
    const others = rules.filter((rule) => !isJoined(rule));
    fewer = leaves.length === 0 ? rules : [...others, { operator: "or", leaves }];
    knownRules.set(rules, fewer);
  }
  return fewer;
}

export function fewerLeaves<L extends Leaf>(leaves: readonly L[]): readonly L[] {
  let fewer = knownLeaves.get(leaves) as readonly L[] | undefined;
  if (fewer === undefined) knownLeaves.set(leaves, (fewer = joinAlike(leaves)));
  return fewer;
}

function joinAlike<L extends Leaf>(leaves: readonly L[]): readonly L[] {
  const alike = new Map<Criterion, Map<string, L[]>>();
  const others: L[] = [];
  for (const leaf of leaves) {
    const { criterion, subPath, yes, no, find, test } = leaf;
    if (test.equality === undefined || find !== undefined) {
      others.push(leaf);
      continue;
    }
    const kinds = alike.get(criterion) ?? new Map<string, L[]>();
    alike.set(criterion, kinds);
    const kind = `${yes} ${no} ${subPath}`;
    const same = kinds.get(kind);
    if (same) same.push(leaf);
    else kinds.set(kind, [leaf]);
  }
  const joined = [...alike.values()].flatMap((kinds) => [...kinds.values()].flatMap((same) => joinSame(same)));
  return [...others, ...joined];
}

function joinSame<L extends Leaf>(same: readonly L[]): readonly L[] {
  const [first] = same;
  const equality = first?.test.equality;
  if (first === undefined || equality === undefined || same.length <= 2) return same;
  const values = new Set(same.flatMap(({ test }) => test.equality?.value ?? []));
  return [
    { ...first, test: (facts: Facts) => hasAny(equality, facts, values) },
    { ...first, test: (facts: Facts) => hasAll(equality, facts, values) },
  ];
}

function hasAny({ subject }: Equality, facts: Facts, values: ReadonlySet<string>): boolean {
  const found = subject(facts);
  if (typeof found === "string") return values.has(found);
  if (found.length <= values.size) return found.some((each) => values.has(each));
  for (const value of values) if (hasElement(found, value)) return true;
  return false;
}

function hasAll({ subject }: Equality, facts: Facts, values: ReadonlySet<string>): boolean {
  const found = subject(facts);
  if (typeof found === "string") return values.size === 1 && values.has(found);
  if (found.length < values.size) return false;
  for (const value of values) if (!hasElement(found, value)) return false;
  return true;
}
