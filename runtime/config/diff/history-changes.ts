/** Changed history rules (`mcp.server.history_rules`), in words. */
import { compileHistoryRules } from "../../features/mcp/compile-history.ts";
import type { CheckedRoute } from "../load.ts";

type Routes = readonly Pick<CheckedRoute, "key" | "doc">[];

/** @returns 'acme/tools: history rule "refunds" is new: up to 500 of /amount in all within 1d …' */
export function historyChanges(before: Routes, after: Routes): readonly string[] {
  const [old, next] = [byRule(before), byRule(after)];
  return [...new Set([...old.keys(), ...next.keys()])].toSorted().flatMap((rule) => {
    const [was, is] = [old.get(rule), next.get(rule)];
    if (was === is) return [];
    if (was === undefined) return [`${rule} is new: ${is}`];
    return [is === undefined ? `${rule} is removed: ${was}` : `${rule} changes: was ${was}; is ${is}`];
  });
}

function byRule(routes: Routes): ReadonlyMap<string, string> {
  return new Map(
    routes.flatMap(({ key, doc }) =>
      (compileHistoryRules(doc.mcp?.server?.history_rules) ?? []).map(
        ({ name, words, isShadow }) =>
          [`${key}: history rule "${name}"`, `${words}${isShadow ? " (in shadow)" : ""}`] as const,
      ),
    ),
  );
}
