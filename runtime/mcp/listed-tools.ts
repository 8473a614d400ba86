/**
 * Notes for operators about the tools that a route's server lists, in addition to its lock. They cover names that rules
 * cannot decide about, which are hidden, and names that differ from one in a rule only by case or form, which that rule
 * does not cover.
 *
 * Untrusted input: the names. Bounded per route and in total; each is reported once.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import { kindOfKey, nameOfKey } from "../features/mcp/locked-items.ts";
import { type KnownTools, lookAlikeFinder, MAX_TOOL_CHARACTERS } from "../policy/mcp/tool-names.ts";
import type { Log } from "../shared/log.ts";
import { createServedTools } from "./lists/served-tools.ts";
import { toolLockOf } from "./tool-locks/tool-locks.ts";

export interface ToolNotes {
  /** Hidden and denied, since rules cannot decide about them. */
  readonly unclear: readonly string[];
  /** The name of a tool, and the similar one in a rule that does not cover it. */
  readonly uncovered: readonly { readonly tool: string; readonly rule: string }[];
}

export interface ListedTools {
  /** A list contains a tool. @param isClear whether rules can decide about it */
  found(route: CompiledRoute, tool: string, isClear: boolean): void;
  /** A user gets a list. @returns call it with each tool in the list */
  served(route: CompiledRoute, userId: string): (tool: string) => void;
  /** Names of the tools that this process has seen in lists of a route, at most 300, hidden ones excepted. For administrators. */
  namesOf(routeKey: string): readonly string[];
  /** Those of this user's own lists. */
  namesFor(routeKey: string, userId: string): readonly string[];
  /** Notes of this process; undefined: none. */
  notesOf(routeKey: string): ToolNotes | undefined;
  /** Notes of all routes that have some, for `/status`. */
  list(): readonly (ToolNotes & { readonly route: string })[];
  /** Applies new rules: compares listed and locked names with them. */
  follow(routes: readonly CompiledRoute[]): void;
}

interface Known {
  readonly route: CompiledRoute;
  /** Names listed so far, also under earlier rules. */
  readonly names: Set<string>;
  readonly unclear: Set<string>;
  readonly uncovered: Map<string, string>;
  readonly findLookAlike: ReturnType<typeof lookAlikeFinder>;
}

const MAX_NAMES = 300;
const MAX_NAMES_IN_ALL = 30_000;
const MAX_NOTES = 50;
const MAX_REPORTED = 1000;

export function createListedTools({ log }: { readonly log: Log }): ListedTools {
  const known = new Map<string, Known>();
  /** Over reloads. */
  const reported = new Set<string>();
  const servedTools = createServedTools();
  let names = 0;

  const isNew = (about: object): boolean => {
    const key = JSON.stringify(about);
    if (reported.has(key)) return false;
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(key);
    return true;
  };

  const compare = ({ route, uncovered, findLookAlike }: Known, tool: string): void => {
    const rule = findLookAlike?.(tool);
    if (rule === undefined || uncovered.size >= MAX_NOTES) return;
    uncovered.set(tool, rule);
    const about = { route: route.key, tool, rule };
    if (isNew(about)) log.warn(about, "tool not covered by rule, name differs only in case or spelling");
  };

  const notesOf = (routeKey: string): ToolNotes | undefined => {
    const of = known.get(routeKey);
    if (!of || of.unclear.size + of.uncovered.size === 0) return undefined;
    const uncovered = [...of.uncovered].map(([tool, rule]) => ({ tool, rule }));
    return { unclear: [...of.unclear].sort(), uncovered };
  };

  /** @param listed names that the server listed earlier */
  const begin = (route: CompiledRoute, listed: ReadonlySet<string>): Known => ({
    route,
    names: new Set(listed),
    unclear: new Set(),
    uncovered: new Map(),
    findLookAlike: lookAlikeFinder(route.policy.toolMatches),
  });

  return {
    namesOf(routeKey) {
      const of = known.get(routeKey);
      return of ? [...of.names].filter((name) => !of.unclear.has(name)) : [];
    },
    namesFor: (routeKey, userId) => servedTools.namesFor(routeKey, userId),
    served({ key }, userId) {
      if (!known.has(key)) return () => {};
      const add = servedTools.adder(key, userId);
      return (tool) => add(tool.slice(0, MAX_TOOL_CHARACTERS));
    },
    notesOf,
    list: () =>
      [...known.keys()].flatMap((route) => {
        const notes = notesOf(route);
        return notes ? [{ route, ...notes }] : [];
      }),
    found(route, name, isClear) {
      const of = known.get(route.key);
      const tool = name.slice(0, MAX_TOOL_CHARACTERS);
      // A request that started under other rules is not evidence for these.
      if (of?.route !== route || of.names.has(tool)) return;
      // A name that does not fit in is checked again in each list.
      if (of.names.size < MAX_NAMES && names < MAX_NAMES_IN_ALL) {
        of.names.add(tool);
        names += 1;
      }
      if (isClear) return compare(of, tool);
      if (of.unclear.size >= MAX_NOTES) return;
      of.unclear.add(tool);
      const about = { route: route.key, tool };
      if (isNew(about)) log.warn(about, "tool hidden, name can be mistaken for one in a rule");
    },
    follow(routes) {
      const earlier = new Map(known);
      known.clear();
      names = 0;
      for (const route of routes) {
        if (route.mcp?.kind !== "server") continue;
        const same = earlier.get(route.key);
        if (same?.route === route) {
          known.set(route.key, same);
          names += same.names.size;
          continue;
        }
        const of = begin(route, same?.names ?? new Set());
        known.set(route.key, of);
        if (of.findLookAlike) {
          for (const tool of new Set([...of.names, ...lockedTools(route)])) compare(of, tool);
        }
        // The next list shows whether they are clear under these rules.
        for (const tool of same?.unclear ?? []) of.names.delete(tool);
        names += of.names.size;
      }
      servedTools.retain(new Set(known.keys()));
    },
  };
}

/** Names of a server's tools for administrators: of its lock, and of the lists that this process has seen. */
export function knownTools(route: CompiledRoute, listed: Pick<ListedTools, "namesOf"> | undefined): readonly string[] {
  return [...new Set([...lockedTools(route), ...(listed?.namesOf(route.key) ?? [])])].sort();
}

/**
 * Names of a server's tools for one user: those of its lock and of its policy, which owners wrote for all, and those
 * of the user's own lists. What other users' lists had stays theirs: a server can list tools for some users only.
 */
export function knownToolsFor(
  route: CompiledRoute,
  userId: string,
  listed: Pick<ListedTools, "namesFor"> | undefined,
): KnownTools {
  const named = route.policy.toolMatches.flatMap(({ is, in: list = [] }) => (is === undefined ? list : [is, ...list]));
  const complete = [...lockedTools(route), ...(listed?.namesFor(route.key, userId) ?? [])];
  return { names: [...new Set([...complete, ...named])].sort(), isComplete: complete.length > 0 };
}

function lockedTools(route: CompiledRoute): readonly string[] {
  return [...(toolLockOf(route)?.items.keys() ?? [])].filter((key) => kindOfKey(key) === "tool").map(nameOfKey);
}
