/**
 * Notifies clients with an open stream when the lists that they may see change, as a server would that changes its lists.
 *
 * Compared once a second instead of notified: policy, blocks (which also expire) and drift under a lock come from three
 * sources, and a server that changes its tools in every list must not make clients list endlessly.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshots } from "../../config/snapshot.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { kindOfKey, type LockedKind } from "../../features/mcp/locked-items.ts";
import { toolLockOf, type ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import { recur } from "../../shared/timing/recurring.ts";

/** Lists for which MCP has a change notification. */
export type ChangedList = "tools" | "prompts" | "resources";

export interface ListChanges {
  /** @param tell must not throw @returns call it when the stream ends */
  follow(routeKey: string, tell: (lists: readonly ChangedList[]) => void): () => void;
  /** Called automatically once a second; tests call it. */
  check(): void;
  close(): void;
}

export interface ListChangesDeps {
  readonly snapshots: Pick<Snapshots, "current">;
  readonly toolLocks: Pick<ToolLocks, "differences">;
  readonly blocks?: Pick<Blocks, "hasTools" | "blockedTools"> | undefined;
}

const CHECK_MS = 1_000;
const ALL: readonly ChangedList[] = ["tools", "prompts", "resources"];
/** The list that contains items of a kind; instructions are in no list. */
const LIST_OF: Readonly<Record<LockedKind, ChangedList | undefined>> = {
  tool: "tools",
  prompt: "prompts",
  template: "resources",
  // Skills have no notification of their own; their files are resources.
  skill: "resources",
  instructions: undefined,
};

/** Inputs that decide which items users of a route see. */
interface Seen {
  readonly policy: CompiledRoute["policy"] | undefined;
  readonly mcp: CompiledRoute["mcp"];
  /** Items that are blocked or have drifted, by list. */
  readonly lists: Readonly<Record<ChangedList, string>>;
}

export function createListChanges({ snapshots, toolLocks, blocks }: ListChangesDeps): ListChanges {
  const followed = new Map<string, { seen: Seen; readonly tells: Set<(lists: readonly ChangedList[]) => void> }>();

  const look = (routeKey: string): Seen => {
    const route = findRoute(snapshots.current(), routeKey);
    const blocked = blocks?.hasTools(routeKey) === true ? blocks.blockedTools(routeKey) : [];
    const hides = route !== undefined && toolLockOf(route)?.onDrift === "hide";
    const changed = hides ? [...toolLocks.differences(route).changed].toSorted() : [];
    const of = (list: ChangedList): readonly string[] => changed.filter((key) => LIST_OF[kindOfKey(key)] === list);
    const lists = {
      tools: JSON.stringify([blocked.toSorted(), of("tools")]),
      prompts: JSON.stringify(of("prompts")),
      resources: JSON.stringify(of("resources")),
    };
    return { policy: route?.policy, mcp: route?.mcp, lists };
  };

  const check = (): void => {
    for (const [routeKey, each] of followed) {
      const { seen } = each;
      const now = look(routeKey);
      each.seen = now;
      const isRoute = seen.policy !== now.policy || seen.mcp !== now.mcp;
      const lists = isRoute ? ALL : ALL.filter((list) => seen.lists[list] !== now.lists[list]);
      if (lists.length > 0) for (const tell of Array.from(each.tells)) tell(lists);
    }
  };
  const stopTimer = recur("check for list changes", CHECK_MS, check);

  return {
    check,
    follow(routeKey, tell) {
      const each = followed.get(routeKey) ?? { seen: look(routeKey), tells: new Set() };
      followed.set(routeKey, each);
      each.tells.add(tell);
      return () => {
        each.tells.delete(tell);
        if (each.tells.size === 0 && followed.get(routeKey) === each) followed.delete(routeKey);
      };
    },
    close: () => stopTimer(),
  };
}
