/** The result of one hypothetical request: the verdict, the rule that decides, and other checks. */
import { html, type Html } from "../../html.ts";
import type { Icon } from "../icons.ts";
import { type AppliedRule, ruleList, verdictBox, type VerdictTone } from "../lists/rules.ts";
import { definitions } from "../pieces.ts";

export interface TraceView {
  readonly rules: readonly AppliedRule[];
  /** As `gateway explain` prints it. */
  readonly text: string;
}

export interface VerdictView {
  /** "Active configuration", "With the draft" */
  readonly title: string;
  /** Digest of the bundle; absent: there is none. */
  readonly digest?: string | undefined;
  readonly verdict: { readonly tone: VerdictTone; readonly icon: Icon; readonly text: string };
  /** "alice@example.com calls pay on team-a/orders" */
  readonly question: string;
  /** "Rule 1: amount 620 is above 500"; undefined: no rule decides. */
  readonly why: string | undefined;
  readonly reasons: string;
  readonly trace: TraceView;
  /** Shadow policies of the route, by name. */
  readonly candidates: readonly { readonly title: string; readonly verdict: string; readonly trace: TraceView }[];
  /** Checks in addition to the policy. */
  readonly besides: readonly (readonly [what: string, text: string])[];
  readonly notes: readonly string[];
}

/** @param mark next to the title: whether a draft gives the same result */
export function verdictCard(view: VerdictView, mark?: Html): Html {
  const { title, digest, verdict, question, why, reasons, trace, candidates, besides, notes } = view;
  return html`<section class="card">
    <h2>${title} ${mark}</h2>
    ${verdictBox(verdict.tone, verdict.icon, verdict.text, html`${question}.${why !== undefined && html` ${why}.`}`)}
    ${traceList(trace)}
    ${candidates.map(
      (each) =>
        html`<details>
          <summary>${each.title}: ${each.verdict}</summary>
          ${traceList(each.trace)}
        </details>`,
    )}
    ${definitions([
      ...besides,
      ["Reason codes", reasons],
      ["Configuration", digest !== undefined && html`<code title="${digest}">${digest.slice(0, 12)}</code>`],
    ])}
    ${
      notes.length > 0 &&
      html`<h3>In addition to the policy</h3>
        <ul>
          ${notes.map((note) => html`<li>${note}</li>`)}
        </ul>`
    }
  </section>`;
}

function traceList({ rules, text }: TraceView): Html {
  return html`${ruleList(rules)}
    <details class="more">
      <summary>As <code>gateway explain</code> prints it</summary>
      <pre>${text}</pre>
    </details>`;
}
