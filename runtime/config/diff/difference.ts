/**
 * Computes which users gain or lose access when one configuration replaces another.
 *
 * Untrusted input: both configurations, checked, and users. Promises: pure. Each gain and each loss has a request that
 * the gateway's own policy engine decides that way. Bounded by the given limits; everything not compared is reported.
 */
import type { UserFacts } from "../../policy/facts.ts";
import { comparePlace, type Comparison, type Limits } from "./compare.ts";
import { placesOf, type Side, tablesOf } from "./places.ts";
import { list } from "./words.ts";
import { byWidth, type DiffStatement, statementsOf } from "./statements.ts";

export type { Side } from "./places.ts";

export interface Difference {
  /** Gains before losses, the widest first. */
  readonly statements: readonly DiffStatement[];
  readonly comparisons: readonly Comparison[];
  /** Relevant parts of these configurations that were not compared. */
  readonly gaps: readonly string[];
  /** The limits were reached before the comparison was complete. */
  readonly isCut: boolean;
}

/** @param people listed and recorded users, compared in addition to representatives */
export function differenceOf(old: Side, next: Side, people: readonly UserFacts[], limits: Limits): Difference {
  const tables = [tablesOf(old), tablesOf(next)] as const;
  const places = placesOf(...tables);
  const comparisons: Comparison[] = [];
  const gaps: string[] = [];
  let isCut = false;
  for (const [at, place] of places.entries()) {
    const found = comparePlace(place, tables, people, limits);
    if (found === undefined) {
      const rest = places.slice(at).map((each) => (each.new ?? each.old)?.key ?? "");
      gaps.push(`there was no room to compare these routes: ${list(rest)}`);
      isCut = true;
      break;
    }
    comparisons.push(found);
    gaps.push(...found.gaps);
    isCut ||= found.isCut;
  }
  return { statements: comparisons.flatMap(statementsOf).toSorted(byWidth), comparisons, gaps, isCut };
}
