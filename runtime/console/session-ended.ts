/** A session that ends while its user is in the console: the page that says so, and the way back through a sign-in. */
import type { Snapshot } from "../config/snapshot.ts";
import type { Exchange } from "../http/exchange.ts";
import { redirect, respondError } from "../http/respond.ts";
import { refuseScript } from "../identity/csrf.ts";
import type { BrowserSessions } from "../identity/interfaces.ts";
import { CHALLENGE, isReturnPath } from "../identity/sign-in/sign-in.ts";
import type { Site } from "../identity/sites.ts";
import { parseQuery } from "../shared/http/query.ts";

const HOME = "/.gateway/console/";
/** Signs in, and leads to its parameter `to`. */
export const SIGN_IN_PATH = `${HOME}sign-in`;

/** @returns path and query of the page of the console that sent this request, as the browser reports it */
export function pageBefore(exchange: Exchange, { origin }: Site): string | undefined {
  const referrer = exchange.header("referer");
  if (referrer === undefined || !referrer.startsWith(origin + HOME)) return undefined;
  return asPage(referrer.slice(origin.length));
}

/** Says that a page is not shown, or that a form changed nothing. */
export function respondSessionEnded(exchange: Exchange, site: Site): void {
  const isForm = exchange.method === "POST";
  const to = isForm ? (pageBefore(exchange, site) ?? exchange.path) : exchange.path + exchange.query;
  const message = isForm
    ? "No changes were made. Sign in and send the form again."
    : "Sign in to go back to the page that you opened.";
  const href = `${SIGN_IN_PATH}?${new URLSearchParams({ to }).toString()}`;
  respondError(
    exchange,
    401,
    {
      code: "console.session-ended",
      title: "Your session has ended",
      message,
      links: [{ href: isReturnPath(href) ? href : HOME, text: "Sign in" }],
    },
    CHALLENGE,
  );
}

/** `SIGN_IN_PATH`, before the sign-in and after it. */
export async function signIn(
  exchange: Exchange,
  snapshot: Snapshot,
  site: Site,
  browser: BrowserSessions,
): Promise<void> {
  if (refuseScript(exchange)) return undefined;
  const query = parseQuery(exchange.query);
  const to = (query.ok ? asPage(query.values.get("to") ?? "") : undefined) ?? HOME;
  const who = await browser.principal(exchange, snapshot);
  if (who.ok) return redirect(exchange, 302, site.origin + to);
  await browser.requireSignIn(exchange, snapshot);
}

/** @returns undefined for anything but a page of the console, as a browser would read it */
function asPage(address: string): string | undefined {
  if (!isReturnPath(address)) return undefined;
  const { pathname, search } = new URL(address, "https://gateway.invalid");
  return pathname.startsWith(HOME) ? pathname + search : undefined;
}
