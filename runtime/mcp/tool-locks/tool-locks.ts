/** Knowledge of this process about each locked route's tools and other locked items; it outlives reloads. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { itemKey, LOCKABLE, LOCKED_KINDS, type LockedKind } from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { normalResourceUri } from "../../policy/mcp/resource-uri.ts";
import type { McpFacts } from "../../policy/facts.ts";
import type { ListAnswer } from "../lists/list-answer.ts";
import { checkTools, type ToolDrift, type ToolsCheck } from "./check-tools.ts";
import { SeenTools, type DriftChanges, type ToolState, type Viewing } from "./seen-tools.ts";

export interface ToolLocks {
  /** @param key see `calledKey` @param viewer the caller */
  stateOf(route: CompiledRoute, lock: ToolLock, key: string, viewer: string): ToolState;
  /** As far as this process knows: see `SeenTools`. */
  differences(route: CompiledRoute): ReturnType<SeenTools["differences"]>;
  definitionOf(route: CompiledRoute, key: string): string | undefined;
  /** Notes a request for a list, see `SeenTools`. */
  begin(route: CompiledRoute, viewer: string, kind: LockedKind, id: string | undefined, isFirstPage: boolean): number;
  sinceOf(route: CompiledRoute, viewer: string, kind: LockedKind, id: string | undefined): number;
  check(route: CompiledRoute, lock: ToolLock, bytes: Buffer, answer: ListAnswer): ToolsCheck;
  /** Stores the definitions in a response as the server's latest. @returns new differences */
  observe(route: CompiledRoute, check: ToolsCheck, viewing: Viewing): readonly ToolDrift[];
  /** Applies new locks. Known drift stays, also of routes and tools whose lock was removed. */
  follow(routes: readonly CompiledRoute[]): void;
}

export interface LocalToolLocks extends ToolLocks {
  learn(routeKey: string, drifted: ReadonlyMap<string, string>, pending: DriftChanges): void;
}

/** @param share receives changes for other processes */
export function createToolLocks(share?: (routeKey: string, changes: DriftChanges) => void): LocalToolLocks {
  const seen = new Map<string, SeenTools>();
  const seenOf = (key: string): SeenTools => {
    let known = seen.get(key);
    if (!known) seen.set(key, (known = new SeenTools()));
    return known;
  };
  return {
    stateOf: (route, lock, key, viewer) => seenOf(route.key).stateOf(lock, key, viewer),
    differences(route) {
      const { changed, unlocked } = seen.get(route.key)?.differences() ?? NO_DIFFERENCES;
      const lock = toolLockOf(route);
      return { changed: new Set([...changed].filter((key) => lock?.items.has(key))), unlocked };
    },
    definitionOf: (route, key) => seen.get(route.key)?.definitionOf(key),
    begin: ({ key }, viewer, kind, id, isFirstPage) => seenOf(key).begin(viewer, kind, id, isFirstPage),
    sinceOf: ({ key }, viewer, kind, id) => seenOf(key).sinceOf(viewer, kind, id),
    check: ({ key }, lock, bytes, answer) => checkTools(lock, seenOf(key).memory, bytes, answer),
    observe(route, check, viewing) {
      const { key } = route;
      const { newDrifts, changes } = seenOf(key).observe(check, viewing, toolLockOf(route)?.onUnlisted === "deny");
      if (changes.size > 0) share?.(key, changes);
      return newDrifts;
    },
    learn: (key, drifted, pending) => seenOf(key).learn(drifted, pending),
    follow(routes) {
      const locks = new Map(
        routes.flatMap((route) => {
          const lock = toolLockOf(route);
          return lock ? [[route.key, lock] as const] : [];
        }),
      );
      for (const [key, tools] of seen) {
        const lock = locks.get(key);
        // Removing a lock and restoring it does not review anything.
        if (lock) tools.keep(lock);
        else if (seen.size > locks.size + MAX_WITHOUT_LOCK) seen.delete(key);
      }
    },
  };
}

const NO_DIFFERENCES: ReturnType<SeenTools["differences"]> = { changed: new Set(), unlocked: new Set() };
/** Limit for routes whose lock was removed: the latest ones. */
const MAX_WITHOUT_LOCK = 1_000;

export function toolLockOf({ mcp }: CompiledRoute): ToolLock | undefined {
  return mcp?.kind === "server" ? mcp.toolLock : undefined;
}

/** Key of the item that a lock decides about: the called tool, the prompt used, the template completed. */
export function calledKey(lock: ToolLock, { method, tool, prompt, resource }: McpFacts): string | undefined {
  const { kinds } = lock;
  if (tool !== undefined) return itemKey("tool", tool);
  if ((method === "prompts/get" || prompt !== undefined) && kinds.has("prompt")) return itemKey("prompt", prompt ?? "");
  const isTemplate = method === "completion/complete" && resource !== undefined && kinds.has("template");
  if (isTemplate) return itemKey("template", resource);
  return resource !== undefined && kinds.has("skill") ? skillKey(lock, method, resource) : undefined;
}

/** Longer prefixes of a URI are not compared with locked skills: the caller chooses how many there are. */
const MAX_SKILL_PREFIX = 1024;

/** @returns the key of the innermost locked skill that has the file; without one, a key only for `skill:` URIs */
function skillKey({ items }: ToolLock, method: string | undefined, uri: string): string | undefined {
  if (method === "skills/get") return itemKey("skill", uri);
  if (method === "completion/complete") return undefined;
  for (const spelling of new Set([uri, normalResourceUri(uri) ?? uri])) {
    const longest = spelling.length <= MAX_SKILL_PREFIX ? spelling.length : spelling.lastIndexOf("/", MAX_SKILL_PREFIX);
    for (let end = longest; end > 0; end = spelling.lastIndexOf("/", end - 1)) {
      const key = itemKey("skill", `${spelling.slice(0, end)}/SKILL.md`);
      if (items.has(key)) return key;
    }
  }
  return /^skill:/i.test(uri) ? itemKey("skill", uri) : undefined;
}

/** Kind of item that the lock compares in the response to such a request. */
export function lockedKindOf({ kinds }: ToolLock, method: string | undefined): LockedKind | undefined {
  return LOCKED_KINDS.find((kind) => kinds.has(kind) && LOCKABLE[kind].methods.some((each) => each === method));
}
