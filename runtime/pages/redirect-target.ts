/** Where the answer of a decision is sent, in words. */
import { html, type Html } from "./html.ts";

export interface RedirectTarget {
  /** Host, or scheme of an application ("cursor:"), that gets the answer. */
  readonly redirectTarget: string;
  /** The answer goes to a program on the user's own machine. */
  readonly isLoopback: boolean;
}

/** The bare host is shown in each case: it is what a person can compare. */
export function redirectText({ redirectTarget, isLoopback }: RedirectTarget): Html {
  if (isLoopback) return html`a program on this computer, at <code>${redirectTarget}</code>`;
  if (redirectTarget.endsWith(":"))
    return html`the application on this computer that opens <code>${redirectTarget}</code> links`;
  return html`the website <code>${redirectTarget}</code>`;
}
