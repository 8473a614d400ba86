/** What looks at the lists of one request: the policy of the route, blocks, and the lock on its tools. */
import type { Blocks } from "../../identity/blocks.ts";
import type { Log } from "../../shared/log.ts";
import { isPlainToolName } from "../../policy/mcp/tool-names.ts";
import { mayUse, type ListedItem } from "../../policy/reach.ts";
import type { RequestContext } from "../request-context.ts";
import { clearTools } from "../../mcp/clear-tools.ts";
import type { ListChanges } from "./list-changes.ts";
import type { LockReader, ToolLockDeps } from "./tool-lock.ts";

/** Criteria times items of one list: 400 items of the largest policy, all that a list may have of ordinary ones. */
const MAX_JUDGED = 2_000_000;

/** For each list: whether the caller may use what is listed, by the same policy that decides about its use. */
export function keepsFor(
  { blocks, listedTools, log }: ListDeps,
  { exchange, prepared, principal }: RequestContext,
): () => (item: ListedItem) => boolean {
  // Most answers have no list.
  return () => {
    const { route } = prepared;
    const { isClearTool } = clearTools(route, blocks);
    const { user, clientId, grantId } = principal ?? {};
    const { allow, deny } = route.policy;
    const criteria = [allow, deny].flat().reduce((sum, { leaves }) => sum + leaves.length, 0);
    let judged = 0;
    // What nobody has time to judge is not shown: owners choose both numbers, and all would wait.
    const hasTime = (): boolean => {
      judged += criteria;
      if (judged <= MAX_JUDGED) return true;
      const fields = { request: exchange.id, route: route.key, criteria };
      // Once for each list.
      if (judged - criteria <= MAX_JUDGED)
        log.warn(fields, "list too long for rules of its route, remaining entries hidden");
      return false;
    };
    // A call by an unclear name is rejected. Such a name is compared as it is and as servers may read it.
    const isClear = (name: string): boolean =>
      isClearTool === undefined || isPlainToolName(name) || (hasTime() && hasTime() && isClearTool(name));
    return (item) => {
      if (!hasTime()) return false;
      if (item.kind !== "tool") return mayUse(route.policy, user, item);
      const tool = item.name;
      const isToolClear = isClear(tool);
      if (judged > MAX_JUDGED) return false;
      listedTools?.found(route, tool, isToolClear);
      if (!isToolClear || !mayUse(route.policy, user, item)) return false;
      return blocks?.find({ user, clientId, grantId, routeKey: route.key, tool }) === undefined;
    };
  };
}

export interface ListDeps extends ToolLockDeps {
  readonly log: Log;
  /** Absent: clients hear only of what their servers change. */
  readonly listChanges?: ListChanges;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "find" | "hasTools" | "blockedTools">;
}

/** What looks at a list. */
export interface ListRules {
  /** For each list: whether the caller may use an item; undefined: all. */
  readonly keeps: (() => (item: ListedItem) => boolean) | undefined;
  readonly lock: LockReader | undefined;
  /** The client reads what comes as events, whatever it is. */
  readonly takesEvents?: boolean;
  /** What answers the message comes in another stream (MCP 2024-11-05). */
  readonly isAnsweredElsewhere?: boolean;
  /** Told of each list that was filtered. */
  readonly count?: (list: { readonly hidden: number; readonly shown: number }) => void;
}
