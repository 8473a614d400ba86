/**
 * Defence of our own forms and state-changing addresses against requests that nobody made on our own pages.
 * Two walls: the browser says where the request comes from, and the form carries a token bound to the session.
 *
 * Where sign-in has no host of its own, an upstream's pages are of our origin and so are their scripts. These may not read
 * a page of ours nor send its form: only what a window shows and sends passes (Fetch Metadata), and other pages lose their
 * handle on that window (`pageHeaders()`). Service workers still can, and a page with our own opener policy that leads here
 * a window which it wrote itself: the mend is `authenticate_service_url`.
 */
import { createHmac } from "node:crypto";

import type { Exchange } from "../http/exchange.ts";
import { respondError } from "../http/respond.ts";
import { type Keys, sameSecret } from "../shared/keys.ts";
import type { Principal } from "./principal.ts";
import type { Csrf } from "./interfaces.ts";

export function createCsrf(deps: { readonly keys: Keys }): Csrf {
  const keys = deps.keys.derive("csrf");
  const mac = (key: Buffer, principal: Principal, form: string): Buffer =>
    createHmac("sha256", key).update(`${form}\n${principal.sid}`).digest();
  return {
    token(principal, form) {
      const current = keys[0];
      if (!current) throw new TypeError("no csrf key");
      return mac(current, principal, form).toString("base64url");
    },
    verify(principal, form, token) {
      const given = Buffer.from(token, "base64url");
      // Every key is tried, so that a form that was open during a change of shared_secret still works.
      return keys.some((key) => sameSecret(given, mac(key, principal, form)));
    },
  };
}

/**
 * True when the browser says that a page of this very origin sent the request.
 *
 * Browsers send `Origin` with every POST; one that sends neither header is refused, since nothing then tells a form of
 * ours from a foreign one.
 */
export function isFromOwnOrigin(exchange: Exchange, origin: string): boolean {
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return false;
  const sentBy = exchange.headerValues("origin");
  if (sentBy.length === 0) return site === "same-origin";
  return sentBy.length === 1 && sentBy[0] === origin;
}

/** True for a form of ours that was sent by the window that shows it, and not by a script in the background. */
export function isFromOwnForm(exchange: Exchange, origin: string): boolean {
  return isNavigation(exchange) && isFromOwnOrigin(exchange, origin);
}

/**
 * False when the browser says that a script, a frame or anything but a window asks.
 *
 * Browsers send these headers with every request to https and loopback addresses, and scripts cannot set them
 * (W3C Fetch Metadata §2). Programs and old browsers send none.
 */
export function isNavigation(exchange: Exchange): boolean {
  return (
    exchange.headerValues("sec-fetch-mode").every((mode) => mode === "navigate") &&
    exchange.headerValues("sec-fetch-dest").every((destination) => destination === "document")
  );
}

/** Answers what asks for a page of ours and is no window. @returns false when a window asks, and nothing was answered */
export function refuseScript(exchange: Exchange): boolean {
  if (isNavigation(exchange)) return false;
  respondError(exchange, 403, {
    code: "page.not-a-window",
    message: "This page is shown in a window of its own, and not given to scripts and frames.",
  });
  return true;
}

/** The answer to a form that one of the two walls holds back. */
export function refuseForm(exchange: Exchange): void {
  respondError(exchange, 403, {
    code: "form.refused",
    message: "The form was not sent from our own page. Please open the page again.",
  });
}
