/** Notifications that lists have changed, of members and to clients. */
import type { MessageJson } from "../../../mcp/federation/json.ts";
import type { ChangedList } from "../../lists/list-changes.ts";
import type { RequestContext } from "../../request-context.ts";
import type { RouteMember } from "../ask-member.ts";
import type { ListCache } from "./list-cache.ts";
import type { MergedMethod } from "./lists.ts";

const METHODS: Readonly<Record<ChangedList, readonly MergedMethod[]>> = {
  tools: ["tools/list"],
  prompts: ["prompts/list"],
  resources: ["resources/list", "resources/templates/list", "skills/list"],
};

/** @returns undefined for other methods */
export function changedList(method: unknown): ChangedList | undefined {
  const kind = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(String(method))?.[1];
  return kind as ChangedList | undefined;
}

/** @returns the notification */
export function changeOf(list: ChangedList): MessageJson {
  return { jsonrpc: "2.0", method: `notifications/${list}/list_changed` };
}

export function forgetList(cache: ListCache, caller: RequestContext, member: RouteMember, list: ChangedList): void {
  cache.forget(caller, member, METHODS[list]);
}
