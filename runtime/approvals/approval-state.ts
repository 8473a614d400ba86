/** State of a stored approval for the call that requests it. */
import { nameOf, type Principal } from "../identity/principal.ts";
import type { StoredRecord } from "../store/store.ts";
import type { Keys } from "../shared/keys.ts";
import { approvalKey, type ApprovalRecord, type Decided, givenOf, MAX_NOTE, queryOf } from "./approval-records.ts";
import type { ApprovalState, AskedCall } from "./interfaces.ts";

/** @returns undefined for a used approval: the same call needs another one */
export function stateOf(found: StoredRecord<ApprovalRecord>, call: AskedCall): ApprovalState | undefined {
  const { value } = found;
  const id = found.key.slice(approvalKey("").length);
  const by = value.decidedBy?.id ?? "";
  switch (value.state) {
    case "waiting":
      return { state: "waiting", id, page: pageOf(call, id), expiresAt: found.expiresAt ?? value.askedAt };
    case "approved":
      return { state: "approved", id, by, found };
    case "refused":
      return { state: "refused", id, by };
    case "used":
      return undefined;
  }
  return value.state satisfies never;
}

/** The record of a decision. @param made `now` in epoch seconds */
export function decidedRecord(
  value: ApprovalRecord,
  made: { readonly user: Principal["user"]; readonly decision: Decided; readonly note: string; readonly now: number },
): ApprovalRecord {
  const { user, decision, note, now } = made;
  return {
    ...value,
    state: decision,
    decidedBy: { id: user.id, name: nameOf(user) },
    decidedAt: now,
    ...(note !== "" && { note: note.slice(0, MAX_NOTE) }),
  };
}

export function pageOf({ page }: AskedCall, id: string): string {
  return `${page}?request=${id}`;
}

/** Record of a call that is pending from now on. @param made its key and metadata */
export function newRecord(
  { principal, route, tool, given, approvers }: AskedCall,
  made: {
    readonly key: string;
    readonly sealer: ReturnType<Keys["sealer"]>;
    readonly clientName: string;
    readonly askedAt: number;
    readonly afterUnknown: boolean;
  },
): ApprovalRecord {
  const { user, clientId = "", revocationKeys } = principal;
  const { key, sealer, clientName, askedAt, afterUnknown } = made;
  return {
    schema: 1,
    state: "waiting",
    userId: user.id,
    userName: nameOf(user),
    userEmail: user.email,
    clientId,
    clientName,
    routeKey: route.key,
    routeName: route.name,
    server: route.server,
    ...(route.query !== "" && { query: sealer.seal(route.query, queryOf(key)) }),
    tool,
    given: sealer.seal(given, givenOf(key, given)),
    approvers,
    revocationKeys,
    askedAt,
    ...(afterUnknown && { afterUnknown }),
  };
}
