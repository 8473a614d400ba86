/** The tables of all routes with `maglev` together: every process holds them all. */
import { firstBeyondPlaces, MAX_MAGLEV_PLACES } from "../../features/balancing/rules.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { routePrecedence } from "../in-force.ts";
import type { ReadRoute, ReadSlice } from "../read-slice.ts";

/** @returns at most one: of the youngest route that is too much */
export function maglevTableProblems(
  slices: readonly ReadSlice[],
): readonly { readonly route: ReadRoute; readonly problem: UnplacedProblem }[] {
  const all = slices.flatMap((slice) => slice.routes);
  const maglev = all.filter(({ valid }) => valid.load_balancing_policy === "maglev");
  const routes = maglev.map((route) => ({ doc: route.valid, owner: route }));
  if (!firstBeyondPlaces(routes)) return [];
  const byAge = routes.toSorted((a, b) => routePrecedence(a.owner) - routePrecedence(b.owner) || 0);
  const route = firstBeyondPlaces(byAge);
  if (!route) return [];
  const rest = `above ${MAX_MAGLEV_PLACES} places in all, must share upstreams or have a smaller "table_size"`;
  const text = `is "maglev" with a table that brings those of the bundle ${rest}`;
  return [{ route, problem: errorAt(["load_balancing_policy"], text) }];
}
