/**
 * The page's endpoint, on the host of sign-in pages: the signed-in user decides about one call.
 *
 * Untrusted input: the address (anyone could have sent it), the form. Promises: viewing changes nothing. A decision
 * must come from our own page's form, for this session and call. Users who cannot approve learn nothing of others'
 * calls. Callers cannot decide calls that another user must approve.
 */
import type { Snapshot } from "../config/snapshot.ts";
import { readForm } from "../http/body.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondAgainLater, respondError, respondHtml } from "../http/respond.ts";
import { isFromOwnForm, refuseForm, refuseScript } from "../identity/csrf.ts";
import type { BrowserSessions, Csrf } from "../identity/interfaces.ts";
import { nameOf, type Principal } from "../identity/principal.ts";
import { withStore } from "../identity/sign-in/sign-in.ts";
import { findSite } from "../identity/sites.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import type { Page } from "../pages/layout.ts";
import { approvalDonePage, approvalPage, waitingSection } from "../pages/approval.ts";
import { mayApprove } from "../policy/mcp/approval.ts";
import { parseQuery } from "../shared/http/query.ts";
import { visibleText } from "../shared/json/visible-text.ts";
import type { StoredRecord } from "../store/store.ts";
import { approvalKey, askerOf, type ApprovalRecord } from "./approval-records.ts";
import type { Approvals } from "./interfaces.ts";
import { showCall } from "./show-call.ts";

export const APPROVAL_PATH = "/.gateway/approval";
const MAX_FORM_BYTES = 4_096;

export interface ApprovalPageDeps {
  readonly approvals: Approvals;
  readonly browser: BrowserSessions;
  readonly csrf: Csrf;
}

/** A pending call, shown to a user who may see it. */
interface Shown {
  readonly id: string;
  readonly found: StoredRecord<ApprovalRecord>;
  readonly principal: Principal;
  readonly mayApprove: boolean;
  readonly isAsker: boolean;
}

export function approvalEndpoints(deps: ApprovalPageDeps): readonly Endpoint[] {
  const { approvals, browser, csrf } = deps;

  /** Undefined when a response was already sent. */
  const personOf = async (exchange: Exchange, snapshot: Snapshot): Promise<Principal | undefined> => {
    const who = await browser.principal(exchange, snapshot);
    if (who.ok && who.principal.kind === "session") return who.principal;
    if (who.ok) refuseForm(exchange);
    else if (who.reason === "unavailable") respondAgainLater(exchange, UNAVAILABLE);
    else await browser.requireSignIn(exchange, snapshot);
    return undefined;
  };

  const findShown = async (id: string, principal: Principal): Promise<Shown | undefined> => {
    const found = await approvals.find(id);
    if (found?.value.state !== "waiting") return undefined;
    const { userId, approvers } = found.value;
    const may = mayApprove(approvers, askerOf(found.value), principal.user);
    const isAsker = principal.user.id === userId;
    return may || isAsker ? { id, found, principal, mayApprove: may, isAsker } : undefined;
  };

  const show = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    if (!findSite(snapshot, exchange.host)?.authenticates) return respondNothing(exchange);
    // A reader of this page could respond for its user: scripts of the host are denied.
    if (refuseScript(exchange)) return undefined;
    const principal = await personOf(exchange, snapshot);
    if (!principal) return undefined;
    const query = parseQuery(exchange.query);
    const shown = await findShown((query.ok && query.values.get("request")) || "", principal);
    const given = shown && approvals.given(shown.found);
    if (!shown || given === undefined) return respondEnded(exchange);
    respondHtml(exchange, 200, render(shown, { given, address: approvals.address(shown.found) }, csrf));
  };

  const decide = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const site = findSite(snapshot, exchange.host);
    if (!site?.authenticates) return respondNothing(exchange);
    if (!isFromOwnForm(exchange, site.origin)) return refuseForm(exchange);
    const form = await readForm(exchange, MAX_FORM_BYTES);
    const principal = await personOf(exchange, snapshot);
    if (!principal) return undefined;
    const id = (form.ok && form.values.get("request")) || "";
    const decision = form.ok ? DECISIONS.get(form.values.get("decision") ?? "") : undefined;
    const token = (form.ok && form.values.get("csrf_token")) || "";
    if (decision === undefined || !csrf.verify(principal, formName(id), token)) return refuseForm(exchange);
    const shown = await findShown(id, principal);
    if (!shown) return respondEnded(exchange);
    if (decision === "approved" && !shown.mayApprove) return respondNotYours(exchange);
    if (!(await approvals.decide(id, principal, decision))) return respondEnded(exchange);
    respondHtml(exchange, 200, approvalDonePage(decision, { tool: visibleText(shown.found.value.tool) }));
  };

  const inStore = (work: (exchange: Exchange, snapshot: Snapshot) => Promise<void>) => {
    return (exchange: Exchange, snapshot: Snapshot) => withStore(exchange, () => work(exchange, snapshot));
  };
  return [
    { methods: ["GET"], path: APPROVAL_PATH, mcp: true, handle: inStore(show) },
    { methods: ["POST"], path: APPROVAL_PATH, mcp: true, handle: inStore(decide) },
  ];
}

const DECISIONS: ReadonlyMap<string, "approved" | "refused"> = new Map([
  ["approve", "approved"],
  ["refuse", "refused"],
]);

const UNAVAILABLE = { code: "approval.unavailable", message: "Approvals cannot be looked up right now." } as const;

/** The user's own pending calls, on the user page. */
export function approvalSection({ approvals }: Pick<ApprovalPageDeps, "approvals">): UserSection {
  return async ({ user }) => {
    const waiting = await approvals.listWaiting(user.id);
    return waitingSection(
      waiting.map(({ key, value }) => ({
        href: `${APPROVAL_PATH}?request=${idOf(key)}`,
        tool: visibleText(value.tool),
        routeName: value.routeName,
        clientName: visibleText(value.clientName),
        asked: new Date(value.askedAt * 1000),
      })),
    );
  };
}

function render(
  { id, found, principal, isAsker, mayApprove: may }: Shown,
  { given, address }: { readonly given: string; readonly address: string },
  csrf: Csrf,
): Page {
  const { value, expiresAt = value.askedAt } = found;
  const { user } = principal;
  return approvalPage({
    tool: visibleText(value.tool),
    routeName: visibleText(value.routeName),
    server: visibleText(address),
    asker: visibleText(value.userName),
    isAsker,
    clientName: visibleText(value.clientName),
    clientId: visibleText(value.clientId),
    ...showCall(given),
    asked: new Date(value.askedAt * 1000),
    ends: new Date(expiresAt * 1000),
    isAfterUnknown: value.afterUnknown === true,
    user: visibleText(nameOf(user)),
    approvers: value.approvers.map((groups) => groups.map(visibleText)),
    mayApprove: may,
    form: { action: APPROVAL_PATH, requestId: id, csrfToken: csrf.token(principal, formName(id)) },
  });
}

function idOf(key: string): string {
  return key.slice(approvalKey("").length);
}

/** A token for one call is invalid for another. */
function formName(id: string): string {
  return `approval ${id}`;
}

function respondNothing(exchange: Exchange): void {
  respondError(exchange, 404, { code: "not-found", message: "Approvals are on the host of the sign-in pages" });
}

/** Also for unknown IDs: the address reveals nothing to users who cannot approve. */
function respondEnded(exchange: Exchange): void {
  respondError(exchange, 404, {
    code: "approval.ended",
    message:
      "No call is pending for you: it was already decided, expired, ended with the requester's access, or needs other approvers.",
    links: [{ href: "/.gateway/", text: "See your page" }],
  });
}

function respondNotYours(exchange: Exchange): void {
  respondError(exchange, 403, {
    code: "approval.not-yours",
    message: "Another user must approve this call.",
  });
}
