/**
 * Calls that wait for somebody's approval: looked at, and decided about by the rules of their page (approvals/approval-page.ts).
 *
 * Promises: nobody decides about their own call here, nor without the role approver for the route's owner and being one of
 * those whom the policy names; what a tool is given is shown to these alone; of several who decide one does.
 */
import { ownerOfRoute } from "../../shared/route-key.ts";
import { PENDING_CALL } from "../../administration/kinds/pending-call.ts";
import { askerOf, isApprovalId, type ApprovalRecord } from "../../approvals/approval-records.ts";
import type { Approvals } from "../../approvals/interfaces.ts";
import { showCall } from "../../approvals/show-call.ts";
import { toCall, type WaitingCall } from "../../approvals/waiting.ts";
import {
  approvalsBody,
  decidedCallBody,
  waitingCallBody,
  type ApprovalsParts,
  type DecidedRow,
} from "../../pages/console/safety/approvals.ts";
import type { Html } from "../../pages/html.ts";
import { mayApprove } from "../../policy/mcp/approval.ts";
import type { KeptRecord, RecordReader } from "../../record-store/record-reader.ts";
import type { StoredRecord } from "../../store/store.ts";
import { objectTable } from "../objects/object-table.ts";
import type { ActionOutcome, Screen, ScreenAction, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";

export interface ApprovalsScreenDeps {
  readonly approvals: Pick<Approvals, "find" | "given" | "address" | "decide" | "pageWaiting">;
  /** Absent: no records are kept. */
  readonly records?: Pick<RecordReader, "find"> | undefined;
}

const PATH = "/.gateway/console/approvals";
const MOST_SHOWN = 200;
const MOST_READ = 1_000;
const MOST_DECIDED = 50;
/** Of actions, of which decisions are some. */
const DECIDED_PAGES = 3;

type Found = StoredRecord<ApprovalRecord>;

export function approvalsScreen(deps: ApprovalsScreenDeps): Screen {
  const { approvals } = deps;

  const findWaiting = async (id: string): Promise<Found | undefined> => {
    const found = isApprovalId(id) ? await approvals.find(id) : undefined;
    return found?.value.state === "waiting" ? found : undefined;
  };

  const showList = async (visit: ConsoleRequest): Promise<ScreenPage> => {
    const all = await approvals.pageWaiting(MOST_READ);
    const mine = all
      .filter(({ value }) => visit.rights.may("viewer", ownerOf(value)))
      .toSorted((a, b) => endOf(a) - endOf(b));
    const isCut = mine.length > MOST_SHOWN || all.length === MOST_READ;
    const seen = {
      callHref: (id: string) => `${PATH}/${id}`,
      mayDecide: ({ value }: WaitingCall) => whyNotBy(visit, value) === undefined,
    };
    const waiting = objectTable(PENDING_CALL.table, mine.slice(0, MOST_SHOWN).map(toCall), seen, { isCut });
    return { title: "Approvals", body: approvalsBody({ waiting, isCut, decided: await decidedLately(deps, visit) }) };
  };

  const showOne = async (visit: ConsoleRequest, id: string): Promise<ScreenPage | undefined> => {
    const found = isApprovalId(id) ? await approvals.find(id) : undefined;
    if (!found || !visit.rights.may("viewer", ownerOf(found.value))) return undefined;
    const { value } = found;
    if (value.state !== "waiting") return { title: `A call of ${showUntrusted(value.tool)}`, body: endedBody(value) };
    const whyNot = whyNotBy(visit, value);
    const given = whyNot === undefined ? approvals.given(found) : undefined;
    const isUnreadable = whyNot === undefined && given === undefined;
    return {
      title: `A call of ${showUntrusted(value.tool)} waits for approval`,
      body: waitingCallBody({
        tool: showUntrusted(value.tool),
        route: showUntrusted(value.routeName),
        server: showUntrusted(whyNot === undefined ? approvals.address(found) : value.server),
        asker: showUntrusted(value.userName),
        clientName: showUntrusted(value.clientName),
        clientId: showUntrusted(value.clientId),
        askedMs: value.askedAt * 1000,
        endsMs: endOf(found) * 1000,
        approvers: value.approvers.map((groups) => groups.map((group) => showUntrusted(group))),
        isAfterUnknown: value.afterUnknown === true,
        call: given === undefined ? undefined : showCall(given),
        whyNot: isUnreadable ? "Cannot decrypt the call: its key is missing." : whyNot,
        form: { action: `${PATH}/${id}`, request: id, csrf: (name) => visit.csrf(name) },
        back: PATH,
      }),
    };
  };

  const decide = async (
    visit: ConsoleRequest,
    id: string,
    decision: "approved" | "refused",
  ): Promise<ActionOutcome> => {
    const found = await findWaiting(id);
    if (!found) return { refused: await whatBecame(id) };
    const whyNot = whyNotBy(visit, found.value);
    if (whyNot !== undefined) return { refused: whyNot };
    // What nobody can have read is not decided about.
    if (approvals.given(found) === undefined) return { refused: "No changes were made: the arguments cannot be read." };
    if (!(await approvals.decide(id, visit.principal, decision))) return { refused: await whatBecame(id) };
    const told = decision === "approved" ? "may be made once, within ten minutes" : "is not made";
    return { told: `The call of ${showUntrusted(found.value.tool)} ${told}.`, to: PATH };
  };

  const whatBecame = async (id: string): Promise<string> => {
    const found = isApprovalId(id) ? await approvals.find(id) : undefined;
    const by = found?.value.decidedBy?.name;
    if (by !== undefined) return `No changes were made: already decided by ${showUntrusted(by)}.`;
    return "No changes were made: already decided, expired or revoked.";
  };

  const action = (name: string, decision: "approved" | "refused"): ScreenAction => ({
    role: "approver",
    isSensitive: false,
    name,
    async ownerOf(_, form) {
      const found = await findWaiting(form.get("request") ?? "");
      return found && ownerOf(found.value);
    },
    run: (visit, form) => decide(visit, form.get("request") ?? "", decision),
  });

  return {
    path: "approvals",
    group: "Monitor",
    icon: "approvals",
    name: "Approvals",
    async show(visit) {
      const [id, ...more] = visit.path;
      if (more.length > 0) return undefined;
      return id === undefined ? showList(visit) : showOne(visit, id);
    },
    actions: { approve: action("Approve a call", "approved"), refuse: action("Refuse a call", "refused") },
  };
}

/** As on the call's own page, and here nobody confirms what they ask for themselves. */
function whyNotBy({ principal, rights }: ConsoleRequest, value: WaitingCall["value"]): string | undefined {
  const asker = askerOf(value);
  if (principal.user.id === asker.id) return "This is your own request: confirm or withdraw it on your account page.";
  if (!rights.may("approver", ownerOf(value))) return "You need the role approver.";
  if (value.approvers.length === 0) return "The requester confirms this call.";
  return mayApprove(value.approvers, asker, principal.user) ? undefined : "The policy names other approvers.";
}

function endedBody({ state, decidedBy, decidedAt, routeKey, userName }: ApprovalRecord): Html {
  return decidedCallBody({
    state,
    route: showUntrusted(routeKey),
    asker: showUntrusted(userName),
    by: showUntrusted(decidedBy?.name ?? ""),
    timeMs: decidedAt === undefined ? undefined : decidedAt * 1000,
    back: PATH,
  });
}

function endOf({ value, expiresAt = value.askedAt }: Found): number {
  return expiresAt;
}

function ownerOf({ routeKey }: Pick<ApprovalRecord, "routeKey">): string {
  return ownerOfRoute(routeKey);
}

async function decidedLately(
  { records }: ApprovalsScreenDeps,
  visit: ConsoleRequest,
): Promise<ApprovalsParts["decided"]> {
  if (!records) return "none";
  const rows: DecidedRow[] = [];
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

function decidedRow({ rights }: ConsoleRequest, { timeMs, value }: KeptRecord): readonly DecidedRow[] {
  const { action, by, target } = value;
  if ((action !== "approve" && action !== "refuse") || typeof target !== "string") return [];
  // The key of the route stands last; a tool's name may have any words before it.
  const route = target.slice(target.lastIndexOf(" on ") + " on ".length);
  if (!rights.may("viewer", ownerOfRoute(route))) return [];
  const who = typeof by === "string" ? showUntrusted(by) : "";
  return [{ timeMs, isApproved: action === "approve", by: who, target: showUntrusted(target, MAX_TARGET) }];
}

const MAX_TARGET = 400;
