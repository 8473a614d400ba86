/** Knowledge of this process about each locked route's tools and other locked items; it outlives reloads. */
import type { CompiledRoute } from "../../config/compiled.ts";
import {
  itemKey,
  kindOfKey,
  LOCKABLE,
  LOCKED_KINDS,
  nameOfKey,
  type LockedKind,
} from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { mayBeSkillUri, normalResourceUri } from "../../policy/mcp/resource-uri.ts";
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
const SKILL_FILE = "/SKILL.md";

/**
 * @returns the key of the innermost locked skill that has the file; for what could be a skill that is not locked, or part of
 *   one, a key that is not in the lock
 */
function skillKey(lock: ToolLock, method: string | undefined, uri: string): string | undefined {
  const own = itemKey("skill", uri);
  if (method === "skills/get") return own;
  if (method === "completion/complete") return undefined;
  const { byDirectory, schemes } = lockedSkills(lock);
  const normal = normalResourceUri(uri);
  const mayBeSkill = mayBeSkillUri(uri);
  // It may be a file of another skill than its prefix names.
  if (normal === undefined) return mayBeSkill || schemes.has(schemeOf(uri)) ? own : undefined;
  const path = normal.replace(/[?#].*/s, "");
  const directory = path.endsWith(SKILL_FILE) ? path.slice(0, -SKILL_FILE.length) : undefined;
  const exact = directory === undefined ? undefined : byDirectory.get(directory);
  if (exact !== undefined) return exact;
  const longest = path.length <= MAX_SKILL_PREFIX ? path.length : path.lastIndexOf("/", MAX_SKILL_PREFIX);
  for (let end = longest; end > 0; end = path.lastIndexOf("/", end - 1)) {
    const key = byDirectory.get(path.slice(0, end));
    // A skill in the directory of another one has a lock of its own, or none.
    if (key !== undefined) return directory === undefined ? key : own;
  }
  return mayBeSkill ? own : undefined;
}

interface LockedSkills {
  /** Keys by the normal form of the directory, or of the whole URI where it does not end with the usual name. */
  readonly byDirectory: ReadonlyMap<string, string>;
  readonly schemes: ReadonlySet<string>;
}

const knownSkills = new WeakMap<ToolLock["items"], LockedSkills>();

function lockedSkills({ items }: ToolLock): LockedSkills {
  const known = knownSkills.get(items);
  if (known) return known;
  const keys = [...items.keys()].filter((key) => kindOfKey(key) === "skill");
  const byDirectory = new Map(
    keys.map((key) => {
      const uri = normalResourceUri(nameOfKey(key)) ?? nameOfKey(key);
      return [uri.endsWith(SKILL_FILE) ? uri.slice(0, -SKILL_FILE.length) : uri, key];
    }),
  );
  const skills = { byDirectory, schemes: new Set(keys.map((key) => schemeOf(nameOfKey(key)))) };
  knownSkills.set(items, skills);
  return skills;
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(":") + 1).toLowerCase();
}

/** Kind of item that the lock compares in the response to such a request. */
export function lockedKindOf({ kinds }: ToolLock, method: string | undefined): LockedKind | undefined {
  return LOCKED_KINDS.find((kind) => kinds.has(kind) && LOCKABLE[kind].methods.some((each) => each === method));
}
