/**
 * Selects the drafts that can be served together, validated by the gateway's own rules.
 *
 * Each namespace has its own slice; each problem is mapped to the Ingress that caused it.
 */
import { validateConflicts } from "../../config/rules/conflicts.ts";
import { type UnplacedProblem, formatProblem, type Problem } from "../../settings/problem.ts";
import { createRouteMemory, type RouteMemory } from "../../config/read-route.ts";
import { type ReadRoute, type ReadSlice, readSlice } from "../../config/read-slice.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { IngressDraft } from "./draft.ts";
import { firstMatches } from "./gateway-api/same-match.ts";
import { giveWay } from "./give-way.ts";
import { draftProblemOf } from "./place.ts";
import { type DraftProblem, ingressError } from "./ingress-problem.ts";
import { fileOf, slicesOf } from "./slices.ts";

/** @returns drafts that can be served together. Adds the problems of the others to `bad`. */
export async function servableDrafts(
  drafts: readonly IngressDraft[],
  owner: string,
  bad: Map<string, readonly DraftProblem[]>,
): Promise<readonly IngressDraft[]> {
  // Each route is read once, however often it is validated together with others.
  const memory = createRouteMemory();
  // First each separately, including bad ones, so that all problems are reported together. A bad Ingress takes no requests
  // from another one: conflicts are searched only among the good ones.
  const whole = drafts.filter(({ partial }) => !partial);
  for (const draft of whole) {
    for (const [key, draftProblems] of await validateDrafts([draft], owner, memory)) addNew(bad, key, draftProblems);
  }
  for (;;) {
    const candidates = firstMatches(drafts.filter(({ key }) => !isBad(bad.get(key))));
    const found = await validateDrafts(candidates, owner, memory, true);
    for (const [key, draftProblems] of found) addNew(bad, key, draftProblems);
    if (candidates.every(({ key }) => !isBad(found.get(key)))) return candidates;
  }
}

/** Validates the routes like the gateway, and maps each problem to the Ingress that caused it. */
async function validateDrafts(
  drafts: readonly IngressDraft[],
  owner: string,
  memory: RouteMemory,
  withConflicts = false,
): Promise<ReadonlyMap<string, readonly DraftProblem[]>> {
  const problems: Problem[] = [];
  const slices: (ReadSlice | undefined)[] = [];
  for (const slice of slicesOf(drafts, owner)) {
    slices.push(readSlice({ file: fileOf(slice.owner), value: slice, boot: false }, problems, memory));
    await giveWay();
  }
  if (withConflicts) validateConflicts(byAge(slices, drafts));
  const { found, others } = assignProblems(problems, drafts);
  if (others.length === 0) return found;
  // One Ingress makes the whole slice unreadable (with values nested too deeply, for example). Validate each separately to
  // find it.
  const [draft] = drafts;
  if (drafts.length === 1 && draft) {
    const own = others.map(({ message }) => ingressError({}, message));
    return new Map([[draft.key, [...(found.get(draft.key) ?? []), ...own]]]);
  }
  const alone: (readonly [string, readonly DraftProblem[]])[] = [];
  for (const each of drafts) alone.push(...(await validateDrafts([each], owner, memory)));
  if (alone.some(([, draftProblems]) => isBad(draftProblems))) return new Map(alone);
  throw new GatewayError("kubernetes.slice", `Cannot make a slice: ${others.map(formatProblem).join("; ")}`);
}

/** Routes of all slices, oldest first: the older one keeps requests that two claim. */
function byAge(slices: readonly (ReadSlice | undefined)[], drafts: readonly IngressDraft[]): readonly ReadRoute[] {
  const order = new Map(drafts.flatMap(({ routes }) => routes.map(({ name }) => name)).map((name, at) => [name, at]));
  const routes = slices.flatMap((slice) => slice?.routes ?? []);
  return routes.toSorted((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0));
}

/** Problems of slices by the Ingress ("namespace/name") that caused them; `others` are errors without an Ingress. */
export function assignProblems<P extends UnplacedProblem>(
  problems: readonly P[],
  drafts: readonly IngressDraft[],
): { readonly found: ReadonlyMap<string, readonly DraftProblem[]>; readonly others: readonly P[] } {
  const others: P[] = [];
  const found = new Map<string, DraftProblem[]>();
  const drafted = new Map(
    drafts.flatMap((draft) => draft.routes.map((route) => [route.name, { draft, route }] as const)),
  );
  for (const problem of problems) {
    const draftProblem = draftProblemOf(problem, drafted);
    if (!draftProblem) {
      if (problem.severity === "error") others.push(problem);
      continue;
    }
    const known = found.get(draftProblem.key);
    if (known) known.push(draftProblem.draftProblem);
    else found.set(draftProblem.key, [draftProblem.draftProblem]);
  }
  // An Ingress can have one problem per path: they are reported together.
  return { found: new Map([...found].map(([key, draftProblems]) => [key, unique(draftProblems)])), others };
}

function addNew(
  target: Map<string, readonly DraftProblem[]>,
  key: string,
  draftProblems: readonly DraftProblem[],
): void {
  target.set(key, unique((target.get(key) ?? []).concat(draftProblems)));
}

/** Routes of one Ingress share its annotations, so a problem of one is a problem of all: report it once. */
function unique(draftProblems: readonly DraftProblem[]): readonly DraftProblem[] {
  return [...new Map(draftProblems.map((each) => [JSON.stringify(each), each])).values()];
}

function isBad(draftProblems: readonly DraftProblem[] = []): boolean {
  return draftProblems.some(({ severity }) => severity === "error");
}
