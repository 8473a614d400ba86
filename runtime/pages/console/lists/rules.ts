/** Verdicts, and the rules of a policy as they apply to one request: the rule that decided is framed, the others are quiet. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import { icon, type Icon } from "../icons.ts";

/** As in OUTCOMES (`../outcome.ts`), and good: allowed, where that is the answer to a question. */
export type VerdictTone = "good" | "bad" | "warn" | "hold" | "strong" | "quiet";

/** The answer first, in one word and one sentence. */
export function verdictBox(tone: VerdictTone, mark: Icon, title: string, text: HtmlValue): Html {
  return html`<div class="verdict ${tone}">
    <span class="mark">${icon(mark)}</span>
    <div>
      <p class="verdict-title">${title}</p>
      <p>${text}</p>
    </div>
  </div>`;
}

export type CriterionOutcome = "true" | "false" | "unknown" | "error";

/** Untrusted text is visible and bounded already. */
export interface AppliedRule {
  /** From 1, in the order in which rules win: deny rules, approve rules, allow rules. */
  readonly number: number;
  readonly action: "deny" | "approve" | "allow";
  /** "Deny if any of these is true"; with one criterion all of it: 'Deny if the tool is "drop"'. */
  readonly title: string;
  readonly isDeciding: boolean;
  /** Result: "not matched", "matched, not reached". */
  readonly state: string;
  readonly criteria: readonly {
    /** 'the tool is "drop"' */
    readonly text: string;
    /** Value of the request; "" if unknown. */
    readonly actual: string;
    readonly outcome: CriterionOutcome;
  }[];
}

const ACTION_LOOKS: Readonly<Record<AppliedRule["action"], readonly [VerdictTone, Icon]>> = {
  deny: ["bad", "blocks"],
  approve: ["warn", "clock"],
  allow: ["good", "allowed"],
};

/** Without a deciding rule all allow rules are open, since none of them matching is the reason. */
export function ruleList(rules: readonly AppliedRule[]): Html {
  if (rules.length === 0) return html`<p>The policy has no rules. All requests are denied.</p>`;
  const isDecided = rules.some(({ isDeciding }) => isDeciding);
  return html`<div class="rules">
    ${rules.map((rule) => ruleItem(rule, rule.isDeciding || (!isDecided && rule.action === "allow")))}
  </div>`;
}

function ruleItem({ number, action, title, isDeciding, state, criteria }: AppliedRule, isOpen: boolean): Html {
  const [tone, mark] = ACTION_LOOKS[action];
  const head = html`${icon(mark)}<span class="rule-title">${number}. ${title}</span
    ><span class="push">${isDeciding ? html`<span class="badge ${tone}">Decides</span>` : state}</span>`;
  return html`<details class="rule ${isDeciding && `decides ${tone}`}" ${isOpen && html`open`}>
    <summary>${head}</summary>
    <ul>
      ${criteria.map(criterionItem)}
    </ul>
  </details>`;
}

const MARKS: Readonly<Record<CriterionOutcome, readonly [Icon, string]>> = {
  true: ["check", "True"],
  false: ["close", "False"],
  unknown: ["warning", "Unknown"],
  error: ["warning", "Evaluation error"],
};

function criterionItem({ text, actual, outcome }: AppliedRule["criteria"][number]): Html {
  const [mark, word] = MARKS[outcome];
  return html`<li class="${outcome !== "true" && "no"}">
    ${icon(mark)}<span
      ><span class="hidden">${word}: </span
      >${text}${actual !== "" && html` <span class="dim">(actual: <code>${actual}</code>)</span>`}${
        (outcome === "unknown" || outcome === "error") && html` <span class="dim">(${word.toLowerCase()})</span>`
      }</span
    >
  </li>`;
}
