/**
 * Checks of every form on the portal, before its action.
 *
 * Untrusted input: the whole request. Promise: an accepted form was sent from our own page, by the user who saw it.
 */
import type { Snapshot } from "../../config/snapshot.ts";
import { readForm } from "../../http/body.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { Parameters } from "../../shared/http/query.ts";
import { isFromOwnForm } from "../csrf.ts";
import type { Csrf } from "../interfaces.ts";
import type { AuthResult, Principal } from "../principal.ts";
import { findSite, type Site } from "../sites.ts";

export interface UserFormCheck {
  /** Name of the form in its CSRF token. */
  readonly name: string;
  readonly maxBytes: number;
  readonly csrf: Pick<Csrf, "verify">;
  /** Called after the form has been read. */
  readonly principal: () => AuthResult | Promise<AuthResult>;
}

export type UserForm =
  | { readonly ok: true; readonly site: Site; readonly principal: Principal; readonly values: Parameters }
  | { readonly ok: false; readonly reason: "not-here" | "foreign" | "unavailable" };

export async function readUserForm(exchange: Exchange, snapshot: Snapshot, check: UserFormCheck): Promise<UserForm> {
  // The page exists only on the authenticate host.
  const site = findSite(snapshot, exchange.host);
  if (!site?.authenticates) return { ok: false, reason: "not-here" };
  // A foreign page must not be able to end anything.
  if (!isFromOwnForm(exchange, site.origin)) return FOREIGN;
  const form = await readForm(exchange, check.maxBytes);
  const who = await check.principal();
  if (!who.ok && who.reason === "unavailable") return { ok: false, reason: "unavailable" };
  if (!who.ok || !form.ok) return FOREIGN;
  const { principal } = who;
  if (!check.csrf.verify(principal, check.name, form.values.get("csrf") ?? "")) return FOREIGN;
  return { ok: true, site, principal, values: form.values };
}

const FOREIGN: UserForm = { ok: false, reason: "foreign" };
