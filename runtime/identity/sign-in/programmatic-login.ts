/**
 * Programmatic login: a program on a user's computer gets a token with which it acts as that user on one host.
 *
 * 1. The program requests `/.gateway/api/v1/login?gateway_redirect_uri=…` on a route's host and gets a URL as text.
 * 2. The user opens it: a page on the host of sign-in pages asks for consent.
 * 3. The browser goes to the program's redirect URI with `gateway_jwt=<token>`.
 *
 * Untrusted input: the redirect URI, the ticket, the form. Promises: a token is sent only to a URI on
 * `programmatic_redirect_domain_whitelist` (loopback by default), checked again before sending. It needs consent on our
 * own page with the session's CSRF token, since a link can be sent to any user. The token is valid only for that host's
 * ordinary routes and ends with the session.
 */
import type { LiveSettings } from "../../config/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { matchesDomain } from "../../settings/domains.ts";
import { readForm } from "../../http/body.ts";
import type { Exchange } from "../../http/exchange.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { respondAgainLater, respondError, respondHtml, respondText } from "../../http/respond.ts";
import type { Keys } from "../../shared/keys.ts";
import { programAccessPage } from "../../pages/program-access.ts";
import { continuePage } from "../../pages/signed-out.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { isFromOwnForm, refuseForm, refuseScript } from "../csrf.ts";
import { programAudience, type ExternalTokens } from "../external-token.ts";
import type { Principal } from "../principal.ts";
import type { Authenticator, Csrf, SignIn } from "../interfaces.ts";
import { withStore } from "./sign-in.ts";
import { findSite, type Site } from "../sites.ts";

export const LOGIN_PATH = "/.gateway/api/v1/login";
export const APPROVE_PATH = "/.gateway/api/v1/approve";

const REDIRECT_PARAMETER = "gateway_redirect_uri";
const TOKEN_PARAMETER = "gateway_jwt";
/** The user must respond within this time. */
const TICKET_SECONDS = 600;
/** The ticket contains it and must fit into the return address of a sign-in. */
const MAX_REDIRECT_CHARACTERS = 1000;
const MAX_FORM_BYTES = 8192;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

export interface ProgrammaticLoginDeps {
  readonly authenticator: Pick<Authenticator, "cookie">;
  readonly signIn: SignIn;
  readonly externalTokens: Pick<ExternalTokens, "mint">;
  readonly csrf: Csrf;
  readonly keys: Keys;
  readonly clock: Clock;
}

export interface ProgrammaticLogin {
  readonly handleLogin: (exchange: Exchange, snapshot: Snapshot) => void;
  readonly handleApprove: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

/** A program's request, sealed into the URL that it gets. */
interface LoginRequest {
  readonly host: string;
  readonly redirectUri: string;
  readonly expiresAt: number;
}

export function createProgrammaticLogin(deps: ProgrammaticLoginDeps): ProgrammaticLogin {
  const { clock } = deps;
  const sealer = deps.keys.sealer("programmatic-login");

  const openLoginRequest = (
    text: string | undefined,
    snapshot: Snapshot,
  ): { request: LoginRequest; target: Site } | undefined => {
    const bytes = text === undefined ? undefined : sealer.open(text, "wish");
    if (!bytes) return undefined;
    const request = JSON.parse(bytes.toString()) as LoginRequest;
    const target = findSite(snapshot, request.host);
    // The configuration may have changed since.
    const isValid = target && allowedLoginRedirect(request.redirectUri, snapshot.settings) !== undefined;
    return isValid && request.expiresAt > epochSeconds(clock) ? { request, target } : undefined;
  };

  /** Handles the consent from our own page. */
  const approve = async (
    exchange: Exchange,
    site: Site,
    principal: Principal,
    found: { readonly request: LoginRequest; readonly target: Site },
    form: ReadonlyMap<string, string>,
  ): Promise<void> => {
    const { request, target } = found;
    if (!deps.csrf.verify(principal, formName(request), form.get("csrf") ?? "")) return refuseForm(exchange);
    const url = new URL(request.redirectUri);
    if (form.get("decision") !== "approve") url.searchParams.append("error", "access_denied");
    else {
      const token = deps.externalTokens.mint({
        kind: "programmatic",
        userId: principal.user.id,
        ...(principal.sessionId === undefined ? {} : { sessionId: principal.sessionId }),
        audience: programAudience(target.origin),
        expiresAt: principal.expiresAt,
      });
      url.searchParams.append(TOKEN_PARAMETER, token);
    }
    // A page that refreshes instead of a redirect: browsers apply the form's policy to redirects after it.
    respondHtml(exchange, 200, continuePage({ title: "Back to the program", href: url.href }), [
      "refresh",
      `0;url=${url.href}`,
    ]);
  };

  return {
    handleLogin(exchange, snapshot) {
      const site = findSite(snapshot, exchange.host);
      const query = parseQuery(exchange.query);
      const written = query.ok ? query.values.get(REDIRECT_PARAMETER) : undefined;
      if (!site || written === undefined) {
        const message = `Programs get an address to sign in at with ${LOGIN_PATH}?${REDIRECT_PARAMETER}=…`;
        return respondError(exchange, query.ok ? 404 : 400, { code: "login.redirect-missing", message });
      }
      const redirectUri = allowedLoginRedirect(written, snapshot.settings);
      if (redirectUri === undefined) {
        return respondError(exchange, 400, {
          code: "login.redirect-refused",
          message: `The ${REDIRECT_PARAMETER} is not an allowed address`,
        });
      }
      const request: LoginRequest = { host: site.host, redirectUri, expiresAt: epochSeconds(clock) + TICKET_SECONDS };
      const ticket = sealer.seal(JSON.stringify(request), "wish");
      respondText(exchange, 200, `${site.authenticateOrigin}${APPROVE_PATH}?request=${ticket}`);
    },

    handleApprove: (exchange, snapshot) =>
      withStore(exchange, async () => {
        const site = findSite(snapshot, exchange.host);
        // The page exists only on hosts of sign-in pages.
        if (!site?.authenticates) {
          return respondError(exchange, 404, { code: "not-found", message: "There is nothing at this address." });
        }
        const isPost = exchange.method === "POST";
        if (isPost && !isFromOwnForm(exchange, site.origin)) return refuseForm(exchange);
        if (!isPost && refuseScript(exchange)) return undefined;
        const form = isPost ? await readForm(exchange, MAX_FORM_BYTES) : undefined;
        if (form && !form.ok) return refuseForm(exchange);
        const query = parseQuery(exchange.query);
        const ticket =
          form?.ok === true ? form.values.get("request") : query.ok ? query.values.get("request") : undefined;
        const found = openLoginRequest(ticket, snapshot);
        if (!found) {
          return respondError(exchange, 400, {
            code: "login.request",
            message: "This request expired or was modified. Please start again in the program.",
          });
        }
        const who = await deps.authenticator.cookie(exchange);
        if (!who.ok) {
          if (who.reason !== "unavailable") return deps.signIn.redirect(exchange, snapshot);
          const message = "This is not possible right now.";
          return respondAgainLater(exchange, { code: "login.unavailable", message });
        }
        const { principal } = who;
        if (form?.ok === true) return approve(exchange, site, principal, found, form.values);
        const page = programAccessPage({
          user: principal.user.email || principal.user.id,
          address: found.target.origin,
          redirectTarget: new URL(found.request.redirectUri).host,
          isLoopback: LOOPBACK.has(new URL(found.request.redirectUri).hostname),
          ends: new Date(principal.expiresAt * 1000),
          form: {
            action: APPROVE_PATH,
            request: ticket ?? "",
            csrfToken: deps.csrf.token(principal, formName(found.request)),
          },
        });
        respondHtml(exchange, 200, page);
      }),
  };
}

/** The token of one form is invalid for another request's form. */
function formName({ host, redirectUri, expiresAt }: LoginRequest): string {
  return `programmatic-login ${host} ${redirectUri} ${expiresAt}`;
}

/**
 * Normalizes a redirect URI that may receive a token.
 *
 * @returns undefined unless it is https (or http on loopback) on a listed host, without user name and fragment
 */
export function allowedLoginRedirect(
  text: string,
  settings: Pick<LiveSettings, "programmaticRedirectDomains">,
): string | undefined {
  // Browsers read "\" as "/" and drop control characters: such a URI leads elsewhere than it seems.
  if (text.length > MAX_REDIRECT_CHARACTERS || !/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text)) return undefined;
  const url = URL.parse(text);
  if (!url || url.username !== "" || url.password !== "" || text.includes("#")) return undefined;
  // The parameters of our response must occur only once.
  if (url.searchParams.has(TOKEN_PARAMETER) || url.searchParams.has("error")) return undefined;
  const isLoopback = LOOPBACK.has(url.hostname);
  if (url.protocol !== "https:" && !isLoopback) return undefined;
  const { programmaticRedirectDomains: domains } = settings;
  return (domains === undefined ? isLoopback : matchesDomain(domains, url.hostname)) ? url.href : undefined;
}
