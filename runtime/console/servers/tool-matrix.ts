/**
 * Who can call which tool: the tools of a server times the users that its rules distinguish.
 *
 * Each cell is decided by the policy's own code for a hypothetical user who has only what the column names. Bounded: TOOLS
 * rows a page, GROUPS columns.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { subjectsOf, type Subject } from "../../config/diff/subjects.ts";
import type { MatrixView } from "../../pages/console/servers/matrix.ts";
import { type ToolReach, toolReachFinder } from "../../policy/reach.ts";
import { addressOfId } from "../addresses.ts";
import { showUntrusted } from "../show-untrusted.ts";

export const TOOLS = 50;
export const GROUPS = 20;
const MAX_SEARCH_CHARACTERS = 128;

/** Names of tools that differ from the lock. */
export interface ToolDifferences {
  readonly changed: ReadonlySet<string>;
  readonly unlocked: ReadonlySet<string>;
}

interface Asked {
  /** Part of a tool's name. */
  readonly search: string;
  /** Name after which the page begins. */
  readonly after: string;
}

/** @param query of the address: `tool` searches, `after` is the last tool of the page before */
export function readMatrixQuery(query: ReadonlyMap<string, string>): Asked {
  return { search: (query.get("tool") ?? "").trim().slice(0, MAX_SEARCH_CHARACTERS), after: query.get("after") ?? "" };
}

/** @param tools sorted names @param differences by names of tools; undefined: no lock */
export function toolMatrix(
  route: CompiledRoute,
  tools: readonly string[],
  differences: ToolDifferences | undefined,
  { search, after }: Asked,
): MatrixView {
  const { subjects, omitted } = columnsOf(route);
  const wanted = search.toLowerCase();
  const found = tools.filter((name) => name.toLowerCase().includes(wanted));
  const rest = found.filter((name) => name > after);
  const shown = rest.slice(0, TOOLS);
  const rules = [...route.policy.deny, ...route.policy.approve, ...route.policy.allow];
  const pageAt = (place: string | undefined): string =>
    addressOfId("servers", route.key, {
      ...(search !== "" && { tool: search }),
      ...(place !== undefined && { after: place }),
    });
  const finders = subjects.map(({ user }) => toolReachFinder(route.policy, user));
  return {
    path: addressOfId("servers", route.key),
    search: showUntrusted(search),
    columns: subjects.map(({ name }) => showUntrusted(name.replace(/,$/, ""))),
    rows: shown.map((name) => ({
      tool: showUntrusted(name),
      state: differences?.changed.has(name) ? "changed" : differences?.unlocked.has(name) ? "unlocked" : undefined,
      cells: finders.map((find) => cellOf(find(name), rules)),
    })),
    count: { all: tools.length, found: found.length },
    omitted,
    pages: {
      first: after === "" ? undefined : pageAt(undefined),
      next: rest.length > TOOLS ? pageAt(shown.at(-1)) : undefined,
      nextText: "More tools",
    },
  };
}

function cellOf(
  { outcome, isPartial, rule }: ToolReach,
  rules: readonly object[],
): MatrixView["rows"][number]["cells"][number] {
  return { outcome, isPartial, rule: rule === undefined ? undefined : rules.indexOf(rule) + 1 };
}

/** Users who are named by one attribute; combinations are only on the page of users. Callers of MCP servers are signed in. */
function columnsOf(route: CompiledRoute): { readonly subjects: readonly Subject[]; readonly omitted: number } {
  const all = subjectsOf([route.policy]).subjects.filter(({ kind, user }) => user !== undefined && kind !== "combined");
  return { subjects: all.slice(0, GROUPS), omitted: Math.max(0, all.length - GROUPS) };
}
