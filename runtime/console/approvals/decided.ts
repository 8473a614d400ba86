/** Approvals and refusals out of the stored records, and earlier calls of a tool. */
import { ownerOfRoute } from "../../shared/route-key.ts";
import type { ApprovalRecord } from "../../approvals/approval-records.ts";
import type { DecidedRow, EarlierCalls } from "../../pages/console/safety/approvals.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { addressOfList } from "../addresses.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { ApprovalsScreenDeps } from "./deps.ts";

const MOST_DECIDED = 50;
/** Pages of actions, some of which are decisions. */
const DECIDED_PAGES = 3;
const MOST_EARLIER = 10;
const MAX_TARGET = 400;
const MAX_NOTE = 500;

type Decided = DecidedRow & { readonly rawTarget: string };

export async function recentDecisions(
  { records }: Pick<ApprovalsScreenDeps, "records">,
  visit: ConsoleRequest,
): Promise<readonly Decided[] | "none" | "failed"> {
  if (!records) return "none";
  const rows: Decided[] = [];
  try {
    let cursor: string | undefined;
    for (let page = 0; page < DECIDED_PAGES && rows.length < MOST_DECIDED; page += 1) {
      const query = { kind: "action", order: "newest", limit: 200, ...(cursor !== undefined && { cursor }) } as const;
      const found = await records.find(query);
      rows.push(...found.records.flatMap((record) => decidedRow(visit, record)));
      cursor = found.next;
      if (cursor === undefined) break;
    }
  } catch {
    return "failed";
  }
  return rows.slice(0, MOST_DECIDED);
}

function decidedRow({ rights }: ConsoleRequest, { timeMs, value }: KeptRecord): readonly Decided[] {
  const { action, by, target, reason } = value;
  if ((action !== "approve" && action !== "refuse") || typeof target !== "string") return [];
  // The route's key is last, since a tool's name can contain the separator.
  const route = target.slice(target.lastIndexOf(" on ") + " on ".length);
  if (!rights.may("viewer", ownerOfRoute(route))) return [];
  return [
    {
      timeMs,
      isApproved: action === "approve",
      by: typeof by === "string" ? showUntrusted(by) : "",
      target: showUntrusted(target, MAX_TARGET),
      note: typeof reason === "string" ? showUntrusted(reason, MAX_NOTE) : "",
      rawTarget: target,
    },
  ];
}

/** Calls of the same tool of the same route by the same user, and decisions about them. */
export async function earlierCalls(
  { records }: Pick<ApprovalsScreenDeps, "records">,
  visit: ConsoleRequest,
  { userId: user, routeKey: route, tool }: ApprovalRecord,
): Promise<EarlierCalls> {
  if (!records) return { calls: "none", decisions: [] };
  try {
    const asked = { kind: "decision", user, route, tool, order: "newest", limit: MOST_EARLIER } as const;
    const [found, decided] = await Promise.all([records.find(asked), recentDecisions({ records }, visit)]);
    if (decided === "failed") return { calls: "failed", decisions: [] };
    const ending = ` of ${user}: ${tool} on ${route}`;
    return {
      calls: found.records
        .filter(({ kind }) => kind === "decision")
        .map(({ id, timeMs, outcome }) => ({ href: addressOfList(`decisions/${id}`), timeMs, outcome })),
      decisions: (decided === "none" ? [] : decided)
        .filter(({ rawTarget }) => rawTarget.endsWith(ending))
        .slice(0, MOST_EARLIER),
    };
  } catch {
    return { calls: "failed", decisions: [] };
  }
}
