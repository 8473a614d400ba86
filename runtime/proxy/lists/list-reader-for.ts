/** Which reader the response to a request needs, if it may hold a list. */
import type { FilteredAnswer } from "../../mcp/lists/filter-answer.ts";
import { FILTERED_METHODS } from "../../mcp/lists/list-answer.ts";
import { lockedKindOf } from "../../mcp/tool-locks/tool-locks.ts";
import type { RequestContext } from "../request-context.ts";
import { ListReader } from "./list-reader.ts";
import type { AnswerReader, ListReceiver } from "./list-receiver.ts";
import { keepsFor, mayHide, type ListDeps } from "./list-rules.ts";
import { StrayReader } from "./stray-reader.ts";
import { lockReaderFor } from "./tool-lock.ts";

/** @returns undefined if no item could be hidden or compared */
export function listReaderFor(deps: ListDeps, context: RequestContext, next: ListReceiver): AnswerReader | undefined {
  const { exchange, prepared, message } = context;
  const { toolLock, route } = prepared;
  const filters = mayHide(deps, prepared);
  if (!filters && toolLock === undefined) return undefined;
  // Streams opened by GET repeat missed responses.
  const isStream = exchange.method === "GET";
  // Lax servers also respond to a notification.
  const method = message?.facts.method;
  const isFiltered = filters && method !== undefined && FILTERED_METHODS.has(method);
  const lockedKind = toolLock && lockedKindOf(toolLock, method);
  const isList = isFiltered || lockedKind !== undefined;
  // A client accepts tools from any stream they come in, and a server with a lock is one that may try that.
  const isOther = !isStream && !isList;
  if (isOther && (toolLock === undefined || exchange.method !== "POST")) return undefined;
  const lock = lockReaderFor(deps, context);
  const keeps = filters ? keepsFor(deps, context) : undefined;
  if (isOther) {
    const ownId = message?.kind === "request" ? message.id : undefined;
    return new StrayReader(ownId, { routeKey: route.key, keeps, lock }, toolLock?.kinds, next);
  }
  const takesEvents = isStream && /event-stream/i.test(exchange.header("accept") ?? "");
  const isAnsweredElsewhere = context.messageAddress !== undefined;
  const count = ({ hidden, shown }: Pick<FilteredAnswer, "hidden" | "shown">): void => {
    if (context.outcome === undefined || lockedKind === "instructions") return;
    const lists = (context.outcome.lists ??= { hidden: 0, shown: 0 });
    lists.hidden += hidden;
    lists.shown += shown;
  };
  const rules = { routeKey: route.key, keeps, lock, takesEvents, isAnsweredElsewhere, count };
  return new ListReader(isStream ? undefined : message, rules, next);
}
