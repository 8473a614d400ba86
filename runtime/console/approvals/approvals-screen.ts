/**
 * Pending approvals as an inbox: viewed, and decided by the rules of their page (approvals/approval-page.ts).
 *
 * Promises: users cannot decide their own calls here. A decision needs the role approver for the route's owner, and a user whom the
 * policy names. Only these users see the arguments. The first of several decisions wins.
 */
import { ownerOfRoute } from "../../shared/route-key.ts";
import { approvalKey, askerOf, isApprovalId, MAX_NOTE, type ApprovalRecord } from "../../approvals/approval-records.ts";
import { showCall } from "../../approvals/show-call.ts";
import type { PanelParts } from "../../pages/console/lists/panel.ts";
import {
  approvalsBody,
  decidedBody,
  decidedCallBody,
  pendingCallBody,
  type PendingRow,
} from "../../pages/console/safety/approvals.ts";
import type { Tab } from "../../pages/console/pieces.ts";
import type { Html } from "../../pages/html.ts";
import { mayApprove } from "../../policy/mcp/approval.ts";
import type { StoredRecord } from "../../store/store.ts";
import type { ActionOutcome, Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { earlierCalls, recentDecisions } from "./decided.ts";
import type { ApprovalsScreenDeps } from "./deps.ts";
import { givenLine, whyApproval } from "./why-approval.ts";

const PATH = "/.gateway/console/approvals";
const MOST_SHOWN = 100;
const MOST_READ = 1_000;
/** Less time left is marked. */
const URGENT_MS = 15 * 60_000;
const SCRIPTS = ["panel"];

type Found = StoredRecord<ApprovalRecord>;

export function approvalsScreen(deps: ApprovalsScreenDeps): Screen {
  const { approvals } = deps;

  const find = async (id: string): Promise<Found | undefined> => (isApprovalId(id) ? approvals.find(id) : undefined);

  const showList = async (visit: ConsoleRequest): Promise<ScreenPage | undefined> => {
    const view = visit.query.get("view") ?? "";
    if (view === "decided")
      return { title: "Approvals", body: decidedBody(viewsOf(view), await recentDecisions(deps, visit)) };
    const all = await approvals.pageWaiting(MOST_READ);
    const visible = all
      .filter(({ value }) => visit.rights.may("viewer", ownerOf(value)))
      .toSorted((a, b) => endOf(a) - endOf(b));
    const mine = visible.filter(({ value }) => whyNotBy(visit, value) === undefined);
    const isOthers = view === "others";
    const listed = isOthers ? visible.filter((each) => !mine.includes(each)) : mine;
    const asked = visit.query.get("open");
    const opened = asked === undefined ? listed[0] : listed.find(({ key }) => key === approvalKey(asked));
    const hrefOf = (id: string): string => `${PATH}?${isOthers ? "view=others&" : ""}open=${id}`;
    const panel: PanelParts | undefined = opened && {
      title: `${showUntrusted(opened.value.userName)}: ${showUntrusted(opened.value.tool)}`,
      closeHref: `${hrefOf("none")}#d-${idOf(opened)}`,
      pageHref: `${PATH}/${idOf(opened)}`,
      body: await pendingBody(deps, visit, opened),
    };
    const body = approvalsBody({
      views: viewsOf(view, { mine: mine.length, others: visible.length - mine.length }),
      pending: listed.slice(0, MOST_SHOWN).map((each) => rowOf(deps, visit, each, hrefOf, each === opened)),
      isCut: listed.length > MOST_SHOWN || all.length === MOST_READ,
      empty: isOthers
        ? "Calls that other users can approve appear here."
        : "Calls that you can approve appear here when an approve rule of a policy matches them.",
      panel,
      isAutomatic: asked === undefined,
    });
    return { title: "Approvals", body, scripts: SCRIPTS };
  };

  const showOne = async (visit: ConsoleRequest, id: string): Promise<ScreenPage | undefined> => {
    const found = await find(id);
    if (!found || !visit.rights.may("viewer", ownerOf(found.value))) return undefined;
    const { value } = found;
    const tool = showUntrusted(value.tool);
    if (value.state !== "waiting") return { title: `Call of ${tool}`, body: endedBody(value) };
    return { title: `Pending call of ${tool}`, body: await pendingBody(deps, visit, found) };
  };

  const decide = async (visit: ConsoleRequest, form: ReadonlyMap<string, string>): Promise<ActionOutcome> => {
    const id = form.get("request") ?? "";
    const decision = form.get("decision");
    const note = (form.get("note") ?? "").trim();
    const found = await find(id);
    if (found?.value.state !== "waiting") return { refused: await outcomeOf(id) };
    const whyNot = whyNotBy(visit, found.value);
    if (whyNot !== undefined) return { refused: whyNot };
    if (decision !== "approved" && decision !== "refused")
      return { refused: "No changes were made: approve or refuse the call." };
    if (note.length > MAX_NOTE)
      return { refused: `No changes were made: the note has more than ${MAX_NOTE} characters.` };
    // A call that cannot be shown is not decided.
    if (approvals.given(found) === undefined) return { refused: "No changes were made: the arguments cannot be read." };
    if (!(await approvals.decide(id, visit.principal, decision, note))) return { refused: await outcomeOf(id) };
    const told = decision === "approved" ? "is approved: it can be made once, within ten minutes" : "is refused";
    return { told: `The call of ${showUntrusted(found.value.tool)} ${told}.`, to: PATH };
  };

  const outcomeOf = async (id: string): Promise<string> => {
    const by = (await find(id))?.value.decidedBy?.name;
    if (by !== undefined) return `No changes were made: already decided by ${showUntrusted(by)}.`;
    return "No changes were made: already decided, expired or revoked.";
  };

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
    actions: {
      decide: {
        role: "approver",
        isSensitive: false,
        name: "Decide a call",
        async ownerOf(_, form) {
          const found = await find(form.get("request") ?? "");
          return found?.value.state === "waiting" ? ownerOf(found.value) : undefined;
        },
        run: decide,
      },
    },
  };
}

function viewsOf(view: string, counts?: { readonly mine: number; readonly others: number }): readonly Tab[] {
  const named = (name: string, count: number | undefined): string => (count ? `${name} (${count})` : name);
  return [
    { name: named("You can approve", counts?.mine), href: PATH, isCurrent: view === "" },
    { name: named("Other approvers", counts?.others), href: `${PATH}?view=others`, isCurrent: view === "others" },
    { name: "Decided", href: `${PATH}?view=decided`, isCurrent: view === "decided" },
  ];
}

/** As on the call's own page. In addition, users cannot confirm their own calls here. */
function whyNotBy({ principal, rights }: ConsoleRequest, value: ApprovalRecord): string | undefined {
  const asker = askerOf(value);
  if (principal.user.id === asker.id) return "This is your own request: confirm or withdraw it on your account page.";
  if (!rights.may("approver", ownerOf(value))) return "You need the role approver.";
  if (value.approvers.length === 0) return "The requester confirms this call.";
  return mayApprove(value.approvers, asker, principal.user) ? undefined : "The policy names other approvers.";
}

function endedBody({ state, decidedBy, decidedAt, routeKey, userName, note = "" }: ApprovalRecord): Html {
  return decidedCallBody({
    state,
    route: showUntrusted(routeKey),
    asker: showUntrusted(userName),
    by: showUntrusted(decidedBy?.name ?? ""),
    timeMs: decidedAt === undefined ? undefined : decidedAt * 1000,
    note: showUntrusted(note, MAX_NOTE),
    back: PATH,
  });
}

function idOf({ key }: Found): string {
  return key.slice(approvalKey("").length);
}

function endOf({ value, expiresAt = value.askedAt }: Found): number {
  return expiresAt;
}

function ownerOf({ routeKey }: Pick<ApprovalRecord, "routeKey">): string {
  return ownerOfRoute(routeKey);
}

function rowOf(
  { approvals }: ApprovalsScreenDeps,
  visit: ConsoleRequest,
  found: Found,
  hrefOf: (id: string) => string,
  isOpen: boolean,
): PendingRow {
  const { value } = found;
  const given = whyNotBy(visit, value) === undefined ? approvals.given(found) : undefined;
  const leftMs = Math.max(0, endOf(found) * 1000 - visit.now);
  return {
    id: idOf(found),
    href: hrefOf(idOf(found)),
    tool: showUntrusted(value.tool, 60),
    given: given === undefined ? "" : givenLine(given),
    about: [value.userName, value.routeKey, value.clientName.replace(/^https:\/\//, "")]
      .filter((text) => text !== "")
      .map((text) => showUntrusted(text, 60))
      .join(" · "),
    left: `${Math.ceil(leftMs / 60_000)} min left`,
    isUrgent: leftMs < URGENT_MS,
    isOpen,
  };
}

/** @param visit of a user who can view the call */
async function pendingBody(deps: ApprovalsScreenDeps, visit: ConsoleRequest, found: Found): Promise<Html> {
  const { approvals } = deps;
  const { value } = found;
  const id = idOf(found);
  const whyNot = whyNotBy(visit, value);
  const given = whyNot === undefined ? approvals.given(found) : undefined;
  const isUnreadable = whyNot === undefined && given === undefined;
  const user = given === undefined ? undefined : await deps.identities.find(value.userId);
  const seesUsers = visit.rights.owners === undefined;
  const why = given === undefined ? undefined : whyApproval(visit.snapshot, value, given, user, seesUsers);
  return pendingCallBody({
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
    why: why?.sentence,
    rules: why?.rules ?? [],
    before: await earlierCalls(deps, visit, value),
    whyNot: isUnreadable ? "Cannot decrypt the call: its key is missing." : whyNot,
    form: { action: `${PATH}/${id}`, request: id, csrfToken: visit.csrf("decide") },
  });
}
