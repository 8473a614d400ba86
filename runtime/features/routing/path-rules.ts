/** Rules of `prefix` and `path`. */
import { OWN_PREFIXES } from "./own-paths.ts";
import { errorAt, type UnplacedProblem, quote } from "../../settings/problem.ts";
import type { RoutingDoc } from "./settings.ts";

export function* pathRules(
  route: Partial<RoutingDoc>,
  wrote: (name: keyof RoutingDoc) => boolean,
): Iterable<UnplacedProblem> {
  if (wrote("prefix") && wrote("path")) yield errorAt(["path"], 'cannot stand beside "prefix", must be one of them');
  for (const name of ["prefix", "path"] as const) {
    const own = OWN_PREFIXES.find((prefix) => route[name] === prefix || route[name]?.startsWith(`${prefix}/`));
    if (own !== undefined)
      yield errorAt([name], `is ${quote(route[name])}, but the gateway itself answers below "${own}"`);
  }
}
