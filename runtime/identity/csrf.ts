/**
 * CSRF protection of our own forms and state-changing endpoints.
 *
 * Two independent checks: the browser reports where the request comes from, and the form carries a token bound to the
 * session.
 *
 * Without a separate sign-in host, upstream pages and their scripts share our origin. They must not read our pages or
 * submit our forms, so only window navigations are accepted (Fetch Metadata), and other pages lose their handle on the
 * window (`pageHeaders()`). Two attacks remain: service workers, and pages with the same opener policy that navigate a
 * window which they wrote. `authenticate_service_url` prevents both.
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
      const presented = Buffer.from(token, "base64url");
      // Try every key: a form opened before a change of shared_secret still works.
      return keys.some((key) => sameSecret(presented, mac(key, principal, form)));
    },
  };
}

/**
 * Returns true if the browser reports that a page of this very origin sent the request.
 *
 * Browsers send `Origin` with every POST. A request with neither header is rejected: nothing distinguishes our form
 * from a foreign one.
 */
export function isFromOwnOrigin(exchange: Exchange, origin: string): boolean {
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return false;
  const sentBy = exchange.headerValues("origin");
  if (sentBy.length === 0) return site === "same-origin";
  return sentBy.length === 1 && sentBy[0] === origin;
}

/** Returns true if our form was submitted by the window that shows it, not by a background script. */
export function isFromOwnForm(exchange: Exchange, origin: string): boolean {
  return isNavigation(exchange) && isFromOwnOrigin(exchange, origin);
}

/**
 * Returns false if the browser reports a script, a frame or another source that is not a window.
 *
 * Browsers send these headers with every request to https and loopback addresses, and scripts cannot set them (W3C
 * Fetch Metadata §2). Programs and old browsers send none.
 */
export function isNavigation(exchange: Exchange): boolean {
  return (
    exchange.headerValues("sec-fetch-mode").every((mode) => mode === "navigate") &&
    exchange.headerValues("sec-fetch-dest").every((destination) => destination === "document")
  );
}

/** Rejects requests for a page that do not come from a window. @returns false if a window sent it and no response was sent */
export function refuseScript(exchange: Exchange): boolean {
  if (isNavigation(exchange)) return false;
  respondError(exchange, 403, {
    code: "page.not-a-window",
    message: "This page opens only in its own window, not in scripts or frames.",
  });
  return true;
}

/** Response to a form that fails one of the two checks. */
export function refuseForm(exchange: Exchange): void {
  respondError(exchange, 403, {
    code: "form.refused",
    message: "The form was not sent from our own page. Please open the page again.",
  });
}
