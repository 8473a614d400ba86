/** Calls that wait for somebody's approval, and what was decided lately. All texts come visible and bounded. */
import { sentWith, type ApprovalPageParts } from "../../approval.ts";
import { html, type Html } from "../../html.ts";
import {
  actionFields,
  badge,
  card,
  consoleTime,
  definitions,
  emptyState,
  pager,
  sourceFailed,
  table,
} from "../pieces.ts";

export interface DecidedRow {
  readonly timeMs: number;
  readonly isApproved: boolean;
  readonly by: string;
  /** What it was, as the record says. */
  readonly target: string;
}

export interface ApprovalsParts {
  readonly waiting: Html;
  /** More wait than are read at once. */
  readonly isCut: boolean;
  /** none: records are not kept; failed: they cannot be asked. */
  readonly decided: readonly DecidedRow[] | "none" | "failed";
}

export function approvalsBody({ waiting, isCut, decided }: ApprovalsParts): Html {
  return html`${waiting} ${isCut && pager({ note: "There are more pending calls." })}
    <h2>Recent decisions</h2>
    ${decidedPart(decided)}`;
}

function decidedPart(decided: ApprovalsParts["decided"]): Html {
  if (decided === "failed") return sourceFailed("The record store");
  const text = decided === "none" ? "Set record_store to see decisions here." : "No approvals or rejections yet.";
  return table({
    id: "decided",
    caption: "Recent decisions, newest first",
    columns: [
      { name: "Time", kind: "short" },
      { name: "Decision" },
      { name: "By" },
      { name: "Call", kind: "wide", isHead: true },
    ],
    rows: (decided === "none" ? [] : decided).map(({ timeMs, isApproved, by, target }) => [
      consoleTime(timeMs),
      isApproved ? badge("good", "approved") : badge("bad", "refused"),
      html`<bdi>${by}</bdi>`,
      html`<bdi>${target}</bdi>`,
    ]),
    empty: emptyState("No decisions recorded", text),
  });
}

export interface WaitingCallParts {
  readonly tool: string;
  readonly route: string;
  readonly server: string;
  readonly asker: string;
  readonly clientName: string;
  readonly clientId: string;
  readonly askedMs: number;
  readonly endsMs: number;
  /** Groups of which each has to have somebody; [] where the asker confirms. */
  readonly approvers: readonly (readonly string[])[];
  readonly isAfterUnknown: boolean;
  /** Undefined: not for this person's eyes. */
  readonly call: Pick<ApprovalPageParts, "arguments" | "others" | "fields"> | undefined;
  /** Why this person does not decide; undefined: they may. */
  readonly whyNot: string | undefined;
  readonly form: { readonly action: string; readonly request: string; csrf(name: string): string };
  readonly back: string;
}

export function waitingCallBody(parts: WaitingCallParts): Html {
  const { call, form, whyNot } = parts;
  return html`${definitions([
    ["Requested by", html`<bdi>${parts.asker}</bdi>`],
    [
      "Client",
      parts.clientId === ""
        ? "none"
        : html`<bdi>${parts.clientName}</bdi>, as it calls itself
            <span class="dim address"><bdi>${parts.clientId}</bdi></span>`,
    ],
    ["Route", html`<bdi>${parts.route}</bdi> <span class="dim address"><bdi>${parts.server}</bdi></span>`],
    ["Tool", html`<code><bdi>${parts.tool}</bdi></code>`],
    ["Asked", consoleTime(parts.askedMs)],
    ["Ends", consoleTime(parts.endsMs)],
    ["Approvers", approversText(parts.approvers)],
  ])}
  ${
    call === undefined
      ? html`<p class="dim">What the tool is given is shown to those who may decide about it.</p>`
      : sentWith(call)
  }
  ${
    parts.isAfterUnknown &&
    html`<p class="failed" role="note">
      <strong>The same call was approved before.</strong> Nobody knows whether it was carried out: look at the server
      before you approve it again.
    </p>`
  }
  ${
    whyNot === undefined
      ? card(
          "Decide",
          html`<p>This is for one call that sends exactly this, within ten minutes.</p>
            <div class="bar">
              ${decideForm(form, "refuse", "Refuse")} ${decideForm(form, "approve", "Approve once")}
              <a class="button" href="${parts.back}">Decide later</a>
            </div>`,
        )
      : html`<p>${whyNot}</p>
          <p><a class="button" href="${parts.back}">Back</a></p>`
  }`;
}

export interface DecidedCallParts {
  /** waiting: not any more, by the time that this is read. */
  readonly state: "waiting" | "approved" | "refused" | "used";
  readonly route: string;
  readonly asker: string;
  readonly by: string;
  readonly timeMs: number | undefined;
  readonly back: string;
}

export function decidedCallBody({ state, route, asker, by, timeMs, back }: DecidedCallParts): Html {
  const words = {
    waiting: "not decided",
    approved: "approved, and not made yet",
    refused: "refused",
    used: "approved, and made",
  };
  return html`${definitions([
      ["Decision", state === "refused" ? badge("bad", words[state]) : badge("good", words[state])],
      ["By", by !== "" && html`<bdi>${by}</bdi>`],
      ["At", timeMs !== undefined && consoleTime(timeMs)],
      ["Requested by", html`<bdi>${asker}</bdi>`],
      ["Route", html`<bdi>${route}</bdi>`],
    ])}
    <p><a class="button" href="${back}">Back</a></p>`;
}

function decideForm(form: WaitingCallParts["form"], name: string, button: string): Html {
  return html`<form method="post" action="${form.action}">
    ${actionFields({ name, csrfToken: form.csrf(name), fields: [["request", form.request]] })}
    <button class="${name === "approve" && "primary"}" type="submit">${button}</button>
  </form>`;
}

function approversText(approvers: WaitingCallParts["approvers"]): Html {
  if (approvers.length === 0) return html`the requester confirms it`;
  return html`another user: a member of
  ${approvers.map((groups, index) => {
    const names = groups.map((group, at) => html`${at > 0 && " or "}<code><bdi>${group}</bdi></code>`);
    return html`${index > 0 && ", and of "}${names}`;
  })}`;
}
