/** Rules of `prefix` and `path`. */
import { OWN_PREFIXES } from "./own-paths.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import type { RoutingDoc } from "./settings.ts";

export function pathRules(
  route: Partial<RoutingDoc>,
  wrote: (name: keyof RoutingDoc) => boolean,
  report: Report,
): void {
  if (wrote("prefix") && wrote("path")) report(errorAt(["path"], 'cannot stand beside "prefix", must be one of them'));
  for (const name of ["prefix", "path"] as const) {
    const own = OWN_PREFIXES.find((prefix) => route[name] === prefix || route[name]?.startsWith(`${prefix}/`));
    if (own !== undefined)
      report(errorAt([name], `is ${quote(route[name])}, but the gateway itself answers below "${own}"`));
  }
}
