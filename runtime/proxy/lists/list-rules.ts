/** What looks at the lists of one request: the policy of the route, blocks, and the lock on its tools. */
import type { Blocks } from "../../identity/blocks.ts";
import { isRecommendedToolName } from "../../mcp/message.ts";
import { mayUse, type ListedItem } from "../../policy/reach.ts";
import type { RequestContext } from "../request-context.ts";
import type { LockReader, ToolLockDeps } from "./tool-lock.ts";

/** Criteria times items of one list: 400 items of the largest policy, all that a list may have of ordinary ones. */
const MAX_JUDGED = 2_000_000;

/** For each list: whether the caller may use what is listed, by the same policy that decides about its use. */
export function keepsFor(
  { blocks }: ListDeps,
  { prepared, principal }: RequestContext,
): () => (item: ListedItem) => boolean {
  const { route } = prepared;
  const { user, clientId, grantId } = principal ?? {};
  const { allow, deny } = route.policy;
  const criteria = [allow, deny].flat().reduce((sum, { leaves }) => sum + leaves.length, 0);
  const keeps = (item: ListedItem): boolean => {
    if (!mayUse(route.policy, user, item)) return false;
    if (item.kind !== "tool") return true;
    // A call by such a name is refused where rules speak of tools.
    if (route.policy.needsTool && !isRecommendedToolName(item.name)) return false;
    return blocks?.find({ user, clientId, grantId, routeKey: route.key, tool: item.name }) === undefined;
  };
  return () => {
    let judged = 0;
    return (item) => {
      judged += criteria;
      // What nobody has time to judge is not shown: owners choose both numbers, and all would wait.
      return judged <= MAX_JUDGED && keeps(item);
    };
  };
}

export interface ListDeps extends ToolLockDeps {
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "find" | "hasTools">;
}

/** What looks at a list. */
export interface ListRules {
  /** For each list: whether the caller may use an item; undefined: all. */
  readonly keeps: (() => (item: ListedItem) => boolean) | undefined;
  readonly lock: LockReader | undefined;
  /** The client reads what comes as events, whatever it is. */
  readonly takesEvents?: boolean;
  /** Told of each list that was filtered. */
  readonly count?: (list: { readonly hidden: number; readonly shown: number }) => void;
}
