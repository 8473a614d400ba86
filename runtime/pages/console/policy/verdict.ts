/** One imagined request, and what becomes of it. */
import { html, type Html } from "../../html.ts";
import { badge, card, definitions, type Tone } from "../pieces.ts";

export interface RuleView {
  /** "deny, any of" */
  readonly title: string;
  /** "true", "false", "unknown", "error" */
  readonly outcome: string;
  readonly criteria: readonly {
    readonly outcome: string;
    /** "groups {"has":"staff"}" */
    readonly asked: string;
    /** What the request has; "" when that cannot be told. */
    readonly actual: string;
    readonly reasons: string;
  }[];
}

export interface TraceView {
  readonly rules: readonly RuleView[];
  /** As `gateway explain` prints it. */
  readonly text: string;
}

export interface VerdictView {
  /** "Active configuration", "With the draft" */
  readonly title: string;
  /** Digest of the bundle; absent: of none. */
  readonly digest?: string | undefined;
  /** "Allowed", "Denied: blocked-user" */
  readonly verdict: { readonly tone: Tone; readonly text: string };
  /** "alice@example.com calls pay on team-a/orders" */
  readonly question: string;
  readonly reasons: string;
  readonly trace: TraceView;
  /** Candidates of the route, by their names. */
  readonly candidates: readonly { readonly title: string; readonly verdict: string; readonly trace: TraceView }[];
  /** What acts beside the policy. */
  readonly besides: readonly (readonly [what: string, text: string])[];
  readonly notes: readonly string[];
}

export function verdictCard(view: VerdictView): Html {
  const { title, digest, verdict, question, reasons, trace, candidates, besides, notes } = view;
  return card(
    title,
    html`<p>${badge(verdict.tone, verdict.text)} ${question}</p>
      ${definitions([
        ["Reasons", reasons],
        ["Bundle", digest === undefined ? undefined : html`<code>${digest}</code>`],
        ...besides,
      ])}
      <h3>Why</h3>
      ${traceList(trace)}
      ${candidates.map(
        (each) =>
          html`<details>
            <summary>${each.title}: ${each.verdict}</summary>
            ${traceList(each.trace)}
          </details>`,
      )}
      ${
        notes.length > 0 &&
        html`<h3>Beside the policy</h3>
          <ul>
            ${notes.map((note) => html`<li>${note}</li>`)}
          </ul>`
      }`,
  );
}

function traceList({ rules, text }: TraceView): Html {
  return html`${
      rules.length === 0
        ? html`<p>No rule: nobody may pass.</p>`
        : html`<ul class="trace">
            ${rules.map(ruleItem)}
          </ul>`
    }
    <details>
      <summary>As <code>gateway explain</code> prints it</summary>
      <pre>${text}</pre>
    </details>`;
}

function ruleItem({ title, outcome, criteria }: RuleView): Html {
  return html`<li>
    ${title}: ${outcomeBadge(outcome, title)}
    <ul>
      ${criteria.map(
        (each) =>
          html`<li>
            ${outcomeBadge(each.outcome, title)} <code>${each.asked}</code>${
              each.actual !== "" && html`, is <code>${each.actual}</code>`
            }${each.reasons !== "" && html` <span class="dim">${each.reasons}</span>`}
          </li>`,
      )}
    </ul>
  </li>`;
}

const TONES: Readonly<Record<string, Tone>> = { false: "quiet", unknown: "warn", error: "bad" };

/** What is true of a deny rule is no good news. */
function outcomeBadge(outcome: string, rule: string): Html {
  const met = rule.startsWith("deny") ? "bad" : rule.startsWith("approve") ? "warn" : "good";
  return badge(TONES[outcome] ?? met, outcome);
}
