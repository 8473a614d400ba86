/** The page of every rejection and failure: what happened, the account, what to do, and the ID to quote. Never internals. */
import { html, type Html } from "./html.ts";
import type { Icon } from "./icons.ts";
import { mark, page, type Page } from "./layout.ts";

export interface ErrorPageParts {
  readonly status: number;
  /** Stable word for programs and operators: "route.not-found". */
  readonly code: string;
  /** Short, as a heading: "Access denied". */
  readonly title: string;
  /** One or two sentences for the user. */
  readonly message: string;
  readonly requestId: string;
  /** The signed-in user, where the page depends on it. */
  readonly user?: string | undefined;
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
  /** A link below the buttons. */
  readonly isQuiet?: boolean;
}

/** A document's own address: the page contains nothing of the request. */
const TRY_AGAIN: PageLink = { href: "", text: "Try again" };

/** A whole document; send it with `pageHeaders()` of layout.ts. */
export function errorPage(parts: ErrorPageParts): Page {
  const { status, code, user, details = [], links = [], supportUrl } = parts;
  const isDenied = code === "access.denied";
  const help = supportUrl === undefined ? [] : [{ href: supportUrl, text: isDenied ? "Ask for access" : "Get help" }];
  const actions = [
    ...(isDenied ? help : []),
    ...(parts.canRetry === true ? [TRY_AGAIN] : []),
    ...links.filter(({ isQuiet }) => isQuiet !== true),
    ...(isDenied ? [] : help),
  ];
  const quiet = links.filter(({ isQuiet }) => isQuiet === true);
  return page({
    title: parts.title,
    mark: mark(...lookOf(status)),
    body: html`<p>
        ${
          user !== undefined &&
          html`You are signed in as <strong><bdi>${user}</bdi></strong
            >. `
        }${asSentence(parts.message)}
      </p>
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
      ${actions.length > 0 && html`<p class="actions">${actions.map(button)}</p>`}
      ${quiet.map(({ href, text }) => html`<p class="link"><a href="${href}">${text}</a></p>`)}`,
    reference: reference(parts),
  });
}

function lookOf(status: number): readonly ["bad" | "warn" | "info", Icon] {
  if (status === 403) return ["bad", "lock"];
  if (status === 401) return ["info", "user"];
  if (status === 404 || status === 421) return ["info", "search"];
  return status === 429 || status === 503 ? ["warn", "clock"] : ["warn", "warning"];
}

/** Facts to quote to a helper. */
export function reference(parts: Pick<ErrorPageParts, "status" | "code" | "requestId">): Html {
  return html`<footer class="ref">
    <dl>
      <dt>Request ID</dt>
      <dd><code>${parts.requestId}</code></dd>
      <dt>Code</dt>
      <dd><code>${parts.code}</code></dd>
      <dt>Status</dt>
      <dd>${parts.status}</dd>
    </dl>
    <p>If you ask for help, give the request ID.</p>
  </footer>`;
}

/** The first action is the one that helps most users. */
function button({ href, text }: PageLink, index: number): Html {
  return html`<a class="${index === 0 ? "button primary" : "button"}" href="${href}">${text}</a>`;
}

/** A heading for users, by the code where it says more than the status. */
export function errorTitle(status: number, code: string): string {
  if (code.startsWith("sign-in.")) return status === 401 ? "Please sign in" : "Sign-in failed";
  if (code === "device.unauthenticated") return "This page needs a registered device";
  if (code === "device.unauthorized") return "This device is not accepted here";
  if (code.startsWith("device.")) return status < 500 ? "The device was not accepted" : "Devices unavailable";
  if (status === 401) return "Please sign in";
  if (status === 403) return "Access denied";
  if (code === "host.unknown") return "Unknown host";
  if (status === 404) return "Page not found";
  if (status === 429) return "Too many requests";
  if (status === 500) return "Something went wrong";
  if (status === 508) return "This address is not set up correctly";
  return status > 500 ? "Not available right now" : "Invalid request";
}

/** Short messages are written without a full stop, for logs and programs. */
function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
