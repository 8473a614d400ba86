/** Times and lengths of time as people read them. */
import { html, type Html } from "./html.ts";

export function time(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${minute(date)}</time>`;
}

export function day(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${date.toISOString().slice(0, 10)}</time>`;
}

export function minute(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const UNITS = [
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
] as const;

/** "90 days", "36 hours", "1 minute": whole, in the largest unit that says it exactly. @param seconds whole, above 0 */
export function span(seconds: number): string {
  const [unitSeconds, unit] = UNITS.find(([each]) => seconds % each === 0) ?? [1, "second"];
  const count = seconds / unitSeconds;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
