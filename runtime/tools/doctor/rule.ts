/** A rule: one requirement of clients, and its check. */
import { foreignText } from "../../shared/json/foreign-text.ts";
import type { DoctorAnswer } from "./ask.ts";
import type { DoctorCheck } from "./visit.ts";

export type RuleVerdict =
  | { readonly outcome: "holds" }
  /** @property seen the response @property fix the change to make */
  | { readonly outcome: "broken"; readonly seen: string; readonly fix: string }
  /** An earlier step is broken, or does not apply here. */
  | { readonly outcome: "unknown"; readonly because: string };

export interface Rule {
  /** Stable, kebab-case. */
  readonly id: string;
  /** The statement that is true if the rule is met. */
  readonly says: string;
  readonly check: (visit: DoctorCheck) => Promise<RuleVerdict>;
}

export const HOLDS: RuleVerdict = { outcome: "holds" };

export function broken(seen: string, fix: string): RuleVerdict {
  return { outcome: "broken", seen: short(seen), fix: foreignText(fix, 600) };
}

export function unknown(because: string): RuleVerdict {
  return { outcome: "unknown", because: foreignText(because, 600) };
}

export function holdsIf(holds: boolean, seen: string, fix: string): RuleVerdict {
  return holds ? HOLDS : broken(seen, fix);
}

/** A short description of a response: "302 to https://login.example.com/", "404", "no answer (…)". */
export function describe(answer: DoctorAnswer): string {
  if (answer.failure !== undefined) return `no answer (${answer.failure})`;
  const location = answer.header("location");
  if (location !== undefined) return `${answer.status} to ${short(location)}`;
  const error = answer.json()?.["error"];
  return typeof error === "string" ? `${answer.status} ${short(error)}` : `${answer.status}`;
}

/** Text of the other side, on one line and bounded. */
export function short(text: string): string {
  return foreignText(text.replace(/\s+/g, " "), 240);
}

/** True for a list that contains the text. */
export function lists(value: unknown, text: string): boolean {
  return Array.isArray(value) && value.includes(text);
}
