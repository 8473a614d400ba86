/** Counts of some scopes in each step of time. */
import type { TrafficStep } from "../../health/read-traffic.ts";
import {
  addCounts,
  ALL,
  BUSIEST,
  numberOf,
  ownerScope,
  type Rollup,
  type RollupCounts,
  type ScopeCounts,
} from "../../health/rollup.ts";
import type { VisibleScope } from "./visible-scope.ts";

const NOTHING: ScopeCounts = { counts: [], durations: [] };

export interface CountedStep {
  readonly seconds: number;
  readonly sum: ScopeCounts;
}

/** @returns undefined for steps in which the counts of these scopes are unknown */
export function countedSteps(
  steps: readonly TrafficStep[],
  scopes: readonly string[],
): readonly (CountedStep | undefined)[] {
  return steps.map(({ rollup }) =>
    rollup && knows(rollup, scopes)
      ? { seconds: rollup.until - rollup.start, sum: sumOfScopes(rollup, scopes) }
      : undefined,
  );
}

/** The sums that this administrator may see. */
export function visibleScopes({ isWhole, owners }: VisibleScope): readonly string[] {
  return isWhole ? [ALL] : owners.map(ownerScope);
}

export function total(steps: readonly (CountedStep | undefined)[]): CountedStep {
  return steps.reduce<CountedStep>(
    (sum, step) => (step ? { seconds: sum.seconds + step.seconds, sum: addCounts(sum.sum, step.sum) } : sum),
    { seconds: 0, sum: NOTHING },
  );
}

/** Steps in runs of this many, each as one step. */
export function mergeSteps(steps: readonly (CountedStep | undefined)[], size: number): typeof steps {
  if (size <= 1) return steps;
  return Array.from({ length: Math.ceil(steps.length / size) }, (_, index) => {
    const run = steps.slice(index * size, (index + 1) * size);
    return run.every((step) => step === undefined) ? undefined : total(run);
  });
}

export function countOf({ sum }: CountedStep, of: readonly RollupCounts[]): number {
  return of.reduce((count, counted) => count + numberOf(sum, counted), 0);
}

/** A route that is not named had no requests only if all routes with requests are named. */
function knows({ scopes }: Rollup, names: readonly string[]): boolean {
  const isMissing = names.some((name) => name.startsWith("route:") && !Object.hasOwn(scopes, name));
  return !isMissing || Object.keys(scopes).filter((name) => name.startsWith("route:")).length < BUSIEST;
}

function sumOfScopes({ scopes }: Rollup, names: readonly string[]): ScopeCounts {
  return names.reduce((sum, name) => {
    const counts = Object.hasOwn(scopes, name) ? scopes[name] : undefined;
    return counts ? addCounts(sum, counts) : sum;
  }, NOTHING);
}
