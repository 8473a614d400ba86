/** The rules for the lists of one request: the policy of the route, blocks, and the lock on its tools. */
import type { Blocks } from "../../identity/blocks.ts";
import type { Log } from "../../shared/log.ts";
import { isPlainToolName } from "../../policy/mcp/tool-names.ts";
import { useFinder, type ListedItem } from "../../policy/reach.ts";
import type { PreparedRoute } from "../prepared-route.ts";
import type { RequestContext } from "../request-context.ts";
import { clearTools } from "../../mcp/clear-tools.ts";
import type { ListChanges } from "./list-changes.ts";
import type { LockReader, ToolLockDeps } from "./tool-lock.ts";

/** Limit of criteria times items for one list: 400 items of the largest policy, or any list with an ordinary policy. */
const MAX_EVALUATED = 2_000_000;

/** For each list: tells whether the caller may use an item, by the same policy that decides about its use. */
export function keepsFor(
  { blocks, listedTools, log }: ListDeps,
  { exchange, prepared, principal }: RequestContext,
): () => (item: ListedItem) => boolean {
  // Deferred: most responses have no list.
  return () => {
    const { route } = prepared;
    const { isClearTool } = clearTools(route, blocks);
    const { user, clientId, grantId } = principal ?? {};
    const { allow, deny } = route.policy;
    const criteria = [allow, deny].flat().reduce((sum, { leaves }) => sum + leaves.length, 0);
    let evaluated = 0;
    // Items beyond the limit are hidden: owners choose both numbers, and evaluating all would delay all requests.
    const hasTime = (): boolean => {
      evaluated += criteria;
      if (evaluated <= MAX_EVALUATED) return true;
      const fields = { request: exchange.id, route: route.key, criteria };
      // Log once per list.
      if (evaluated - criteria <= MAX_EVALUATED)
        log.warn(fields, "list too long for rules of its route, remaining entries hidden");
      return false;
    };
    // A call by an unclear name is rejected. Such a name is compared as it is and as servers may read it.
    const isClear = (name: string): boolean =>
      isClearTool === undefined || isPlainToolName(name) || (hasTime() && hasTime() && isClearTool(name));
    const mayUse = useFinder(route.policy, user);
    const noteServed = user && listedTools?.served(route, user.id);
    return (item) => {
      if (!hasTime()) return false;
      if (item.kind !== "tool") return mayUse(item);
      const tool = item.name;
      const isToolClear = isClear(tool);
      if (evaluated > MAX_EVALUATED) return false;
      listedTools?.found(route, tool, isToolClear);
      if (!isToolClear || !mayUse(item)) return false;
      if (blocks?.find({ user, clientId, grantId, routeKey: route.key, tool }) !== undefined) return false;
      noteServed?.(tool);
      return true;
    };
  };
}

/** Whether the policy or blocks of a route can hide items of its lists. */
export function mayHide({ blocks }: Pick<ListDeps, "blocks">, { filtersLists, route }: PreparedRoute): boolean {
  return filtersLists || blocks?.hasTools(route.key) === true;
}

export interface ListDeps extends ToolLockDeps {
  readonly log: Log;
  /** Absent: clients are only notified of their servers' own changes. */
  readonly listChanges?: ListChanges;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "find" | "hasTools" | "blockedTools">;
}

export interface ListRules {
  readonly routeKey: string;
  /** For each list: tells whether the caller may use an item; undefined: all. */
  readonly keeps: (() => (item: ListedItem) => boolean) | undefined;
  readonly lock: LockReader | undefined;
  /** The client parses any response as events. */
  readonly takesEvents?: boolean;
  /** The response to the message comes in another stream (MCP 2024-11-05). */
  readonly isAnsweredElsewhere?: boolean;
  /** Called for each list that was filtered. */
  readonly count?: (list: { readonly hidden: number; readonly shown: number }) => void;
}
