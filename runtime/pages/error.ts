/** The page of every refusal and failure: what happened, what to do, and the id to quote. Never the reason's internals. */
import { html, type Html } from "./html.ts";
import { page } from "./layout.ts";

export interface ErrorPageParts {
  readonly status: number;
  /** Stable word for machines and for whoever looks it up: "route.not-found". */
  readonly code: string;
  /** Short, as a heading: "Access denied". */
  readonly title: string;
  /** One or two sentences for the person in front of the browser. */
  readonly message: string;
  readonly requestId: string;
  /** Facts worth showing, label and value ("Client ID", "https://…"). Shown escaped. */
  readonly details?: readonly (readonly [label: string, value: string])[] | undefined;
  /** Where to go from here. */
  readonly links?: readonly PageLink[] | undefined;
  /** The same address may work in a moment. */
  readonly canRetry?: boolean;
  /** https or mailto, as the settings have it. */
  readonly supportUrl?: string | undefined;
}

export interface PageLink {
  readonly href: string;
  readonly text: string;
}

/** A document's own address: nothing of the request stands in the page. */
const TRY_AGAIN: PageLink = { href: "", text: "Try again" };

/** A whole document; send it with `pageHeaders()` of layout.ts. */
export function errorPage(parts: ErrorPageParts): string {
  const { details = [], links = [], supportUrl } = parts;
  const actions = [
    ...(parts.canRetry === true ? [TRY_AGAIN] : []),
    ...links,
    ...(supportUrl === undefined ? [] : [{ href: supportUrl, text: "Get help" }]),
  ];
  return page({
    title: parts.title,
    body: html`<p>${asSentence(parts.message)}</p>
      ${
        details.length > 0 &&
        html`<dl>
          ${details.map(
            ([label, value]) =>
              html`<dt>${label}</dt>
                <dd><code>${value}</code></dd>`,
          )}
        </dl>`
      }
      ${actions.length > 0 && html`<p>${actions.map(button)}</p>`} ${reference(parts)}`,
  });
}

/** What to quote to somebody who looks it up. */
export function reference(parts: Pick<ErrorPageParts, "status" | "code" | "requestId">): Html {
  return html`<div class="reference">
    <p>If you ask for help, give the request ID.</p>
    <dl>
      <dt>Request ID</dt>
      <dd><code>${parts.requestId}</code></dd>
      <dt>Code</dt>
      <dd><code>${parts.code}</code></dd>
      <dt>Status</dt>
      <dd>${parts.status}</dd>
    </dl>
  </div>`;
}

/** The first action is the one that helps most people. */
function button({ href, text }: PageLink, index: number): Html {
  return html`<a class="${index === 0 ? "button primary" : "button"}" href="${href}">${text}</a>`;
}

/** A heading for people; codes say more than the status where they know more. */
export function errorTitle(status: number, code: string): string {
  if (code.startsWith("sign-in.")) return status === 401 ? "Please sign in" : "Sign-in did not work";
  if (code === "device.unauthenticated") return "This page needs a registered device";
  if (code === "device.unauthorized") return "This device is not accepted here";
  if (code.startsWith("device.")) return status < 500 ? "The device was not accepted" : "Devices cannot be used now";
  if (status === 401) return "Please sign in";
  if (status === 403) return "Access denied";
  if (status === 404) return "Nothing here";
  if (status === 421) return "Unknown host";
  if (status === 429) return "Too many requests";
  if (status === 500) return "Something went wrong";
  if (status === 508) return "This address is not set up correctly";
  return status > 500 ? "Not available right now" : "This request cannot be answered";
}

/** Short messages are written without a full stop, for logs and programs. */
function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
