/**
 * Sign-out: a page that asks, and a form that ends the session everywhere.
 *
 * Promise: a link or a foreign page ends nothing; only our own form with the session's CSRF token does. The session
 * itself ends, so the cookies of all hosts become invalid within 2 s. Success is reported only after it is stored.
 */
import type { Snapshot } from "../../config/snapshot.ts";
import { readForm } from "../../http/body.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondAgainLater, respondError, respondHtml } from "../../http/respond.ts";
import type { SignOutResult } from "../../shared/clock.ts";
import type { Keys } from "../../shared/keys.ts";
import { continuePage, signedOutPage } from "../../pages/signed-out.ts";
import { signOutPage } from "../../pages/user.ts";
import type { Cookies } from "../cookie.ts";
import { isFromOwnForm, refuseForm, refuseScript } from "../csrf.ts";
import type { IdentityProvider } from "../provider/idp.ts";
import { findProvider } from "../claims-record.ts";
import type { Principal } from "../principal.ts";
import type { SessionRecords } from "../identity-records.ts";
import type { Authenticator, Csrf, Revocations } from "../interfaces.ts";
import { withStore } from "./sign-in.ts";
import { findSite, type Site } from "../sites.ts";
import type { IdentityService } from "../identities.ts";
import { newestOfSession } from "./provider-sessions.ts";

export const SIGN_OUT_FORM = "sign-out";
const MAX_FORM_BYTES = 4096;

export interface SignOutDeps {
  readonly records: SessionRecords;
  readonly identities: Pick<IdentityService, "providerTokens">;
  readonly cookies: Cookies;
  readonly authenticator: Pick<Authenticator, "cookie">;
  readonly revocations: Pick<Revocations, "revoke" | "isPending" | "isRevoked">;
  readonly idp: Pick<IdentityProvider, "endSessionUrl">;
  readonly csrf: Csrf;
  readonly keys: Keys;
  /** For metrics; must not throw. */
  readonly onSignOut?: ((signOut: SignOutResult) => void) | undefined;
}

export interface SignOut {
  /** `/.gateway/sign_out`, GET and POST. */
  readonly handleSignOut: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
  /** `/.gateway/signed_out`: landing page after the provider has ended its own session. */
  readonly handleSignedOut: (exchange: Exchange, snapshot: Snapshot) => void;
}

export function createSignOut(deps: SignOutDeps): SignOut {
  const secrets = deps.keys.sealer("provider-tokens");

  /** @returns false if the provider could not be reached for its sign-out URL */
  const end = async (exchange: Exchange, snapshot: Snapshot, site: Site, principal: Principal): Promise<boolean> => {
    const { settings } = snapshot;
    const sessionId = principal.sid;
    const [record, refreshed] = await Promise.all([
      // Only identifies the session at the provider. Without it, the provider asks the user.
      deps.records.sessions.get(sessionId).catch(() => undefined),
      deps.identities.providerTokens(principal.user.id).catch(() => undefined),
      // In parallel: it is effective in this process even while the store is unavailable.
      deps.revocations.revoke(`session:${sessionId}`),
    ]);
    const sealed = record?.value.idToken;
    const own = sealed === undefined ? undefined : secrets.open(sealed, `session ${sessionId}`)?.toString();
    const idToken = own === undefined ? undefined : newestOfSession(own, refreshed?.idToken ?? "");
    const landing = settings.signOutRedirectUrl ?? `${site.authenticateOrigin}/.gateway/signed_out`;
    // Only the session's own provider is notified. The ID token must not go to another one.
    const provider = findProvider(settings, principal.user.id);
    const providerSignOut =
      provider &&
      (await deps.idp.endSessionUrl(provider, { idToken, returnTo: landing }).then(
        (url) => ({ url, isReached: true }),
        // Signing out must work while the provider is unavailable.
        () => ({ url: undefined, isReached: false }),
      ));
    const next = providerSignOut?.url ?? settings.signOutRedirectUrl;
    const headers = [
      "set-cookie",
      deps.cookies.clearSession(site, settings.cookie),
      ...forgetProvider(exchange, snapshot, site),
    ];
    if (next === undefined) {
      respondHtml(exchange, 200, signedOutPage(), headers);
      return providerSignOut?.isReached !== false;
    }
    // A page that refreshes instead of a redirect: browsers apply the form's policy to redirects after it.
    respondHtml(exchange, 200, continuePage({ title: "Signed out", href: next }), [
      ...headers,
      "refresh",
      `0;url=${next}`,
    ]);
    return providerSignOut?.isReached !== false;
  };

  /** After a sign-out, the user may want another provider. */
  const forgetProvider = (exchange: Exchange, { settings: { cookie } }: Snapshot, site: Site): readonly string[] =>
    deps.cookies.readProvider(exchange, site, cookie) === undefined
      ? []
      : ["set-cookie", deps.cookies.setProvider(undefined, site, cookie)];

  /**
   * Handles an already invalid cookie. If the store did not accept an earlier sign-out, only this process knows it, so
   * it must be stored before a repeated sign-out reports success.
   */
  const endAgain = async (exchange: Exchange, { settings }: Snapshot, site: Site, value: string): Promise<void> => {
    const handle = deps.cookies.openSession(value, site, settings.cookie);
    const key = handle && `session:${handle.sessionId}`;
    if (key === undefined) return;
    // Revoked and not pending: it is stored. A GET writes only what this process has not stored yet.
    const isDone = deps.revocations.isRevoked([key]) || exchange.method !== "POST";
    if (deps.revocations.isPending(key) || !isDone) await deps.revocations.revoke(key);
  };

  return {
    async handleSignOut(exchange, snapshot) {
      let isEndedThere = true;
      await withStore(exchange, async () => {
        const site = findSite(snapshot, exchange.host);
        if (!site)
          return respondError(exchange, 404, { code: "not-found", message: "There is nothing at this address." });
        // First: a foreign page's POST arrives without the cookie and must not make us clear it.
        if (exchange.method === "POST" && !isFromOwnForm(exchange, site.origin)) return refuseForm(exchange);
        if (exchange.method !== "POST" && refuseScript(exchange)) return undefined;
        const { cookie } = snapshot.settings;
        const found = await deps.authenticator.cookie(exchange);
        if (!found.ok && found.reason === "unavailable")
          return respondAgainLater(exchange, {
            code: "sign-out.unavailable",
            message: "Signing out is not possible right now.",
          });
        if (!found.ok) {
          const stale = deps.cookies.readSession(exchange, site, cookie);
          if (stale !== undefined) await endAgain(exchange, snapshot, site, stale);
          const headers = stale === undefined ? [] : ["set-cookie", deps.cookies.clearSession(site, cookie)];
          return respondHtml(exchange, 200, signedOutPage(), headers);
        }
        const { principal } = found;
        if (exchange.method !== "POST") {
          const csrfToken = deps.csrf.token(principal, SIGN_OUT_FORM);
          return respondHtml(exchange, 200, signOutPage({ user: principal.user, csrfToken }));
        }
        const form = await readForm(exchange, MAX_FORM_BYTES);
        if (!form.ok || !deps.csrf.verify(principal, SIGN_OUT_FORM, form.values.get("csrf") ?? "")) {
          return refuseForm(exchange);
        }
        isEndedThere = await end(exchange, snapshot, site, principal);
      });
      if (exchange.method !== "POST") return;
      const done = isEndedThere ? "ok" : "local";
      const result = exchange.status < 400 ? done : exchange.status === 503 ? "unavailable" : "refused";
      deps.onSignOut?.({ kind: "page", result });
    },
    handleSignedOut(exchange, snapshot) {
      const site = findSite(snapshot, exchange.host);
      respondHtml(exchange, 200, signedOutPage(), site && forgetProvider(exchange, snapshot, site));
    },
  };
}
