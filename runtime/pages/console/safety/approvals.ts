/** Pending approvals as an inbox, and recent decisions. All texts are visible and bounded. */
import { sentWith, type ApprovalPageParts } from "../../approval.ts";
import { html, type Html } from "../../html.ts";
import { icon } from "../icons.ts";
import { type PanelParts, split } from "../lists/panel.ts";
import { type AppliedRule, ruleList } from "../lists/rules.ts";
import { type DecisionOutcome, outcomeMark } from "../outcome.ts";
import {
  actionFields,
  badge,
  consoleTime,
  definitions,
  emptyState,
  pager,
  sourceFailed,
  type Tab,
  table,
  tabs,
} from "../pieces.ts";

export interface DecidedRow {
  readonly timeMs: number;
  readonly isApproved: boolean;
  readonly by: string;
  /** As the record has it. */
  readonly target: string;
  readonly note: string;
}

export interface PendingRow {
  readonly id: string;
  readonly href: string;
  readonly tool: string;
  /** Arguments in one line; "" for users who cannot see them. */
  readonly given: string;
  /** "bob@example.com · payments/desk · Claude Code" */
  readonly about: string;
  /** "14 min left" */
  readonly left: string;
  readonly isUrgent: boolean;
  readonly isOpen: boolean;
}

export interface ApprovalsParts {
  readonly views: readonly Tab[];
  readonly pending: readonly PendingRow[];
  /** There are more. */
  readonly isCut: boolean;
  /** Why the list is empty. */
  readonly empty: string;
  readonly panel: PanelParts | undefined;
  /** The panel was not asked for by the address: narrow windows show the list instead. */
  readonly isAutomatic: boolean;
}

export function approvalsBody({ views, pending, isCut, empty, panel, isAutomatic }: ApprovalsParts): Html {
  const list =
    pending.length === 0
      ? emptyState("No pending approvals", empty)
      : html`<ul class="card rows" aria-label="Pending approvals, earliest expiry first">
            ${pending.map(pendingRow)}
          </ul>
          ${isCut && pager({ note: "There are more pending calls." })}`;
  return html`<div class="head">
      <p>Tool calls that need an approval. Each is approved once, with exactly these arguments.</p>
    </div>
    ${tabs("Views", views)} ${split(list, panel, `inbox${isAutomatic ? " auto" : ""}`)}`;
}

function pendingRow({ id, href, tool, given, about, left, isUrgent, isOpen }: PendingRow): Html {
  return html`<li id="d-${id}" ${isOpen && html`aria-current="true"`}>
    <p>
      <a class="row-link" href="${href}"
        ><code><bdi>${tool}</bdi></code></a
      >
      <bdi>${given}</bdi>
    </p>
    <p class="left ${isUrgent && "urgent"}">${left}</p>
    <p class="dim"><bdi>${about}</bdi></p>
  </li>`;
}

export function decidedBody(views: readonly Tab[], decided: readonly DecidedRow[] | "none" | "failed"): Html {
  const text = decided === "none" ? "Set record_store to see decisions here." : "No approvals or rejections yet.";
  const list =
    decided === "failed"
      ? sourceFailed("The record store")
      : table({
          id: "decided",
          caption: "Recent decisions, newest first",
          columns: [
            { name: "Time", kind: "short" },
            { name: "Decision", kind: "short" },
            { name: "By", kind: "short" },
            { name: "Call", kind: "wide", isHead: true },
            { name: "Note", kind: "wide" },
          ],
          rows: (decided === "none" ? [] : decided).map(({ timeMs, isApproved, by, target, note }) => [
            consoleTime(timeMs),
            decisionMark(isApproved),
            html`<bdi>${by}</bdi>`,
            html`<bdi>${target}</bdi>`,
            html`<bdi>${note}</bdi>`,
          ]),
          empty: emptyState("No decisions recorded", text),
        });
  return html`${tabs("Views", views)} ${list}`;
}

function decisionMark(isApproved: boolean): Html {
  return isApproved
    ? html`<span class="out quiet allowed">${icon("allowed")}Approved</span>`
    : html`<span class="out bad">${icon("blocks")}Refused</span>`;
}

export interface PendingCallParts {
  readonly tool: string;
  readonly route: string;
  readonly server: string;
  readonly asker: string;
  readonly clientName: string;
  readonly clientId: string;
  readonly askedMs: number;
  readonly endsMs: number;
  /** Groups, of each of which one member has to approve; [] if the requester confirms. */
  readonly approvers: readonly (readonly string[])[];
  readonly isAfterUnknown: boolean;
  /** Undefined: not visible to this user. */
  readonly call: Pick<ApprovalPageParts, "arguments" | "others" | "fields"> | undefined;
  /** "Rule 2: amount 450 is above 100"; undefined if the arguments are not visible, or the policy has changed. */
  readonly why: string | undefined;
  readonly rules: readonly AppliedRule[];
  readonly before: EarlierCalls;
  /** Why this user cannot decide; undefined: they can. */
  readonly whyNot: string | undefined;
  readonly form: { readonly action: string; readonly request: string; readonly csrfToken: string };
}

export interface EarlierCalls {
  /** Calls of the tool by the same user, newest first; none: no records are stored; failed: the store is unavailable. */
  readonly calls:
    | readonly { readonly href: string; readonly timeMs: number; readonly outcome: DecisionOutcome }[]
    | "none"
    | "failed";
  readonly decisions: readonly Omit<DecidedRow, "target">[];
}

export function pendingCallBody(parts: PendingCallParts): Html {
  const { call, form, whyNot, why, rules, before } = parts;
  const isNamed = parts.clientName !== parts.clientId;
  const client = html`${isNamed && html`<bdi>${parts.clientName}</bdi> (unverified name)`}
    <span class="dim address"><bdi>${parts.clientId}</bdi></span>`;
  return html`${definitions([
      ["Requested by", html`<bdi>${parts.asker}</bdi>, ${consoleTime(parts.askedMs)}`],
      ["Client", parts.clientId === "" ? "none" : client],
      ["Route", html`<bdi>${parts.route}</bdi> <span class="dim address"><bdi>${parts.server}</bdi></span>`],
      ["Tool", html`<code><bdi>${parts.tool}</bdi></code>`],
      ["Expires", consoleTime(parts.endsMs)],
      ["Approvers", approversText(parts.approvers)],
    ])}
    ${call === undefined ? html`<p class="dim">Only approvers can see the arguments.</p>` : sentWith(call)}
    ${
      parts.isAfterUnknown &&
      html`<p class="failed" role="note">
        <strong>The same call was approved before.</strong> The outcome is unknown. Check the server before you approve
        it again.
      </p>`
    }
    <div class="halves">
      ${
        (why !== undefined || rules.length > 0) &&
        html`<section>
          <h3>Why it needs approval</h3>
          ${why !== undefined && html`<p>${why}.</p>`} ${ruleList(rules)}
        </section>`
      }
      <section>
        <h3>Earlier calls</h3>
        ${earlierPart(before)}
      </section>
    </div>
    ${whyNot === undefined ? decideForm(form) : html`<p class="told">${whyNot}</p>`}`;
}

function earlierPart({ calls, decisions }: EarlierCalls): Html {
  if (calls === "none") return html`<p class="dim">Set record_store to see earlier calls here.</p>`;
  if (calls === "failed") return sourceFailed("The record store");
  const allowed = calls.filter(({ outcome }) => outcome === "allowed").length;
  return html`${
      calls.length === 0
        ? html`<p class="dim">No earlier calls of this tool by this user.</p>`
        : html`<p class="dim">Of the last ${calls.length} calls of this tool by this user, ${allowed} were allowed.</p>`
    }
    <ul class="plain-list">
      ${decisions.map(
        ({ timeMs, isApproved, by, note }) =>
          html`<li>
            ${decisionMark(isApproved)} by <bdi>${by}</bdi>,
            ${consoleTime(timeMs, "minute")}${note !== "" && html`: <q><bdi>${note}</bdi></q>`}
          </li>`,
      )}
      ${calls.map(
        ({ href, timeMs, outcome }) =>
          html`<li>${outcomeMark(outcome)} <a href="${href}">${consoleTime(timeMs, "minute")}</a></li>`,
      )}
    </ul>`;
}

const MAX_NOTE = 500;

function decideForm({ action, request, csrfToken }: PendingCallParts["form"]): Html {
  return html`<form class="decide" method="post" action="${action}">
    ${actionFields({ name: "decide", csrfToken, fields: [["request", request]] })}
    <p>
      <label for="note">Note (optional, recorded)</label>
      <input id="note" name="note" maxlength="${MAX_NOTE}" autocomplete="off" />
    </p>
    <p class="bar">
      <button class="danger" type="submit" name="decision" value="refused">${icon("close")}Refuse</button>
      <button class="primary" type="submit" name="decision" value="approved">${icon("check")}Approve once</button>
    </p>
    <p class="hint">Valid for one call with exactly these arguments, within ten minutes.</p>
  </form>`;
}

export interface DecidedCallParts {
  /** waiting: no longer pending. */
  readonly state: "waiting" | "approved" | "refused" | "used";
  readonly route: string;
  readonly asker: string;
  readonly by: string;
  readonly timeMs: number | undefined;
  readonly note: string;
  readonly back: string;
}

export function decidedCallBody({ state, route, asker, by, timeMs, note, back }: DecidedCallParts): Html {
  const words = { waiting: "not decided", approved: "approved, not used", refused: "refused", used: "approved, used" };
  return html`${definitions([
      ["Decision", state === "refused" ? badge("bad", words[state]) : badge("good", words[state])],
      ["By", by !== "" && html`<bdi>${by}</bdi>`],
      ["At", timeMs !== undefined && consoleTime(timeMs)],
      ["Note", note !== "" && html`<bdi>${note}</bdi>`],
      ["Requested by", html`<bdi>${asker}</bdi>`],
      ["Route", html`<bdi>${route}</bdi>`],
    ])}
    <p><a class="button" href="${back}">Back</a></p>`;
}

function approversText(approvers: PendingCallParts["approvers"]): Html {
  if (approvers.length === 0) return html`the requester`;
  return html`another user in
  ${approvers.map((groups, index) => {
    const names = groups.map((group, at) => html`${at > 0 && " or "}<code><bdi>${group}</bdi></code>`);
    return html`${index > 0 && ", and in "}${names}`;
  })}`;
}
