/** The outcome of a decision as pages show it: an icon and a word. Only what differs from normal has a color. */
import { html, type Html } from "../html.ts";
import { icon, type Icon } from "./icons.ts";

export type DecisionOutcome = "allowed" | "denied" | "limited" | "waiting" | "error" | "sign-in";

interface OutcomeLook {
  /** As verdicts and charts have it. */
  readonly tone: "quiet" | "bad" | "warn" | "hold" | "strong";
  readonly icon: Icon;
  readonly text: string;
}

export const OUTCOMES: Readonly<Record<DecisionOutcome, OutcomeLook>> = {
  allowed: { tone: "quiet", icon: "allowed", text: "Allowed" },
  denied: { tone: "bad", icon: "blocks", text: "Denied" },
  limited: { tone: "hold", icon: "limited", text: "Rate limited" },
  waiting: { tone: "warn", icon: "clock", text: "Pending approval" },
  error: { tone: "strong", icon: "warning", text: "Failed" },
  "sign-in": { tone: "quiet", icon: "sign-in", text: "Sign-in" },
};

/** Without a box: a column of boxes would hide the rows that matter. */
export function outcomeMark(outcome: DecisionOutcome): Html {
  const { tone, icon: name, text } = OUTCOMES[outcome];
  return html`<span class="out ${tone} ${outcome}">${icon(name)}${text}</span>`;
}
