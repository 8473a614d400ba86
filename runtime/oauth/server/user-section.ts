/** Applications on the account page, and the form with which users revoke access or withdraw a consent. */
import type { Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import { redirect } from "../../http/respond.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import { accessSection } from "../../pages/access.ts";
import type { Html } from "../../pages/html.ts";
import type { Principal } from "../../identity/principal.ts";
import { readUserForm } from "../../identity/users/user-form.ts";
import { respondNotFound, respondPage, respondUnavailable } from "./answer.ts";
import { isClientIdUrl } from "./clients/client-document.ts";
import type { IssuerSession } from "./deps.ts";
import { endAccess, listConsents, listGrants, withdrawConsent, type AccessDeps } from "./list-access.ts";
import { ACCESS_PATH } from "./metadata.ts";

const FORM = "access";
const MAX_FORM_BYTES = 4_096;

export interface UserSectionDeps extends AccessDeps {
  readonly session: Pick<IssuerSession, "browser" | "csrf">;
}

/** @returns undefined if the user has no grants and no consents */
export async function renderUserSection(deps: UserSectionDeps, principal: Principal): Promise<Html | undefined> {
  const userId = principal.user.id;
  const [grants, consents] = await Promise.all([listGrants(deps.store, { userId }), listConsents(deps.store, userId)]);
  return accessSection(
    grants.map((grant) => ({
      id: grant.id,
      clientName: visibleText(grant.clientName),
      clientId: grant.clientId,
      clientHost: isClientIdUrl(grant.clientId) ? new URL(grant.clientId).host : undefined,
      server: grant.audience,
      issuer: grant.assertedBy?.issuer,
      began: toDate(grant.createdAt),
      ends: toDate(grant.expiresAt),
      endsForGood: grant.endsAt === undefined ? undefined : toDate(grant.endsAt),
    })),
    consents.map(({ key, clientName, audience, grantedAt, expiresAt }) => ({
      key,
      clientName: visibleText(clientName),
      server: audience,
      given: toDate(grantedAt),
      ends: toDate(expiresAt),
    })),
    { action: ACCESS_PATH, csrfToken: deps.session.csrf.token(principal, FORM) },
  );
}

/** `POST /.gateway/mcp/access`. Look-ups use the user's own tag, so a user cannot revoke another user's access. */
export async function endByForm(deps: UserSectionDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const { browser, csrf } = deps.session;
  const sent = await readUserForm(exchange, snapshot, {
    name: FORM,
    maxBytes: MAX_FORM_BYTES,
    csrf,
    principal: () => browser.principal(exchange, snapshot),
  });
  if (!sent.ok) return REFUSALS[sent.reason](exchange);

  const userId = sent.principal.user.id;
  const grant = sent.values.get("grant");
  const approval = sent.values.get("approval");
  if (grant !== undefined) await endAccess(deps, grant, "ended by the user", userId);
  if (approval !== undefined) await withdrawConsent(deps.store, userId, approval);
  redirect(exchange, 303, `${sent.site.origin}/.gateway/`);
}

const REFUSALS = { "not-here": respondNotFound, foreign: respondForeign, unavailable: respondUnavailable } as const;

function respondForeign(exchange: Exchange): void {
  respondPage(exchange, {
    status: 403,
    code: "foreign_form",
    title: "This form cannot be accepted",
    message: "It does not come from the page that was shown to you. Please open your page again.",
  });
}

function toDate(epochSeconds: number): Date {
  return new Date(epochSeconds * 1000);
}
