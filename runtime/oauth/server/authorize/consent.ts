/**
 * Endpoint of the consent page, on the host of sign-in pages: the signed-in user decides about a pending request.
 *
 * Untrusted input: the request (sealed by us, but its link may be sent to a victim) and the form. Promises: a code
 * requires consent by this very user for this client, resource and metadata. Consent comes from our own page (Origin,
 * Fetch Metadata, a token bound to session and request). Each request is answered once.
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import { readForm } from "../../../http/body.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { parseQuery } from "../../../shared/http/query.ts";
import { redirect, respondHtml } from "../../../http/respond.ts";
import type { Log } from "../../../shared/log.ts";
import { pageHeaders } from "../../../pages/layout.ts";
import { consentPage, NO_ACCESS_STATUS, noAccessPage } from "../../../pages/consent.ts";
import { continuePage } from "../../../pages/signed-out.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import type { Clock } from "../../../shared/clock.ts";
import { visibleText } from "../../../shared/json/visible-text.ts";
import { hashSecret, type Keys } from "../../../shared/keys.ts";
import { helpfulProviders, otherProviders } from "../../../identity/sign-in/choose-provider.ts";
import { isFromOwnForm, refuseScript } from "../../../identity/csrf.ts";
import { nameOf, type Principal } from "../../../identity/principal.ts";
import { findSite, type Site } from "../../../identity/sites.ts";
import type { Store } from "../../../store/store.ts";
import { BLOCKED_PAGE, redirectRefusal, refuse, respondNotFound, respondPage, respondUnavailable } from "../answer.ts";
import { keepClient, type ClientDeps } from "../clients/client.ts";
import type { IssuerDeps, IssuerSession, UpstreamStep } from "../deps.ts";
import type { McpServerRoute } from "../find-issuer.ts";
import { codeKey } from "../grant-records.ts";
import { issueCode } from "../grants/grants.ts";
import { CONSENT_PATH } from "../metadata.ts";
import { isLoopbackRedirectUri, redirectSource, redirectTarget, withAnswer } from "../clients/redirect-uri.ts";
import { accessLength, consentScopes, consentTools } from "./consent-parts.ts";
import type { RequestStates } from "./request-state.ts";
import { findWaiting, isRemembered, mayReach, remember, type Waiting } from "./waiting-request.ts";

const MAX_FORM_BYTES = 8_192;

export interface ConsentDeps {
  readonly store: Store;
  readonly session: IssuerSession;
  readonly clients: ClientDeps;
  readonly requests: RequestStates;
  readonly upstream?: UpstreamStep | undefined;
  readonly knownTools?: IssuerDeps["knownTools"];
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

/** GET: shows the page, or responds immediately if the user consented before. */
export async function showConsent(deps: ConsentDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The page exists only on hosts of sign-in pages.
  const site = findPageSite(exchange, snapshot);
  if (!site) return respondNotFound(exchange);

  // A reader of the page could answer for its user, so scripts of the host must not get it.
  if (refuseScript(exchange)) return undefined;

  // A request with this id must be pending.
  const query = parseQuery(exchange.query);
  const waiting = await findWaiting(
    deps,
    site,
    snapshot,
    query.ok ? query.values.get("request") : undefined,
    exchange.remoteAddress,
  );
  if (!waiting) return respondOver(exchange);
  if (deps.session.blocks?.find({ clientId: waiting.client.id })) return respondPage(exchange, BLOCKED_PAGE);

  // A signed-in user is required.
  const who = await deps.session.browser.principal(exchange, snapshot);
  if (!who.ok && who.reason === "unavailable") return respondUnavailable(exchange);
  const policies = waiting.routes.map(({ policy }) => policy);
  if (!who.ok) {
    const providers = helpfulProviders(snapshot.settings, policies);
    return deps.session.browser.requireSignIn(exchange, snapshot, { providers });
  }
  const { principal } = who;

  // A user of an unsuitable provider is asked to sign in with another one.
  const providers = otherProviders(snapshot.settings, policies, principal);
  if (providers) return deps.session.browser.requireSignIn(exchange, snapshot, { providers, isSignedIn: true });

  // A user without access gets a page instead of useless tokens.
  if (!mayReach(waiting, principal)) {
    deps.log.info(
      { request: exchange.id, user: principal.user.id, client: waiting.client.id },
      "consent not offered, user has no access",
    );
    const { id: requestId, supportUrl } = exchange;
    const page = noAccessPage({ ...commonParts(deps, waiting, principal), requestId, supportUrl });
    return respondHtml(exchange, NO_ACCESS_STATUS, page, formHeaders(exchange, waiting));
  }

  // A grant outlives the provider's session, so it needs provider tokens that do so too.
  if (await deps.session.browser.lacksOffline?.(principal.user.id))
    return deps.session.browser.requireSignIn(exchange, snapshot, { isOffline: true });

  // The user has just consented and returns from connecting the upstream, or continued without.
  const { approvedBy } = waiting.request;
  if (approvedBy?.userId === principal.user.id && approvedBy.sid === principal.sid) {
    return issue(deps, exchange, snapshot, waiting, principal);
  }

  // Not asked again: the user consented before for this client, resource and metadata.
  if (await isRemembered(deps, waiting, principal)) return approve(deps, exchange, snapshot, waiting, principal);

  const { client, request } = waiting;
  // Probed here, so that the user need not wait after consenting.
  const silent = await deps.upstream?.unanswered(reachableOf(waiting, principal));
  const page = consentPage({
    ...commonParts(deps, waiting, principal, silent),
    clientHost: client.documentHost,
    redirectTarget: redirectTarget(request.redirectUri),
    isLoopback: isLoopbackRedirectUri(request.redirectUri),
    scopes: consentScopes(request.scope, waiting.routes),
    tools: consentTools(deps, waiting.routes, principal),
    access: accessLength(deps, snapshot, client, principal),
  });
  respondHtml(exchange, 200, page, formHeaders(exchange, waiting));
}

/** POST: the decision. */
export async function decideConsent(deps: ConsentDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The page exists only on hosts of sign-in pages.
  const site = findPageSite(exchange, snapshot);
  if (!site) return respondNotFound(exchange);

  // A foreign page must not be able to decide.
  if (!isFromOwnForm(exchange, site.origin)) return respondForeign(exchange);

  // The form must be ours and complete.
  const form = await readForm(exchange, MAX_FORM_BYTES);
  const decision = form.ok ? form.values.get("decision") : undefined;
  if (!form.ok || (decision !== "approve" && decision !== "deny")) return respondOver(exchange);
  const waiting = await findWaiting(deps, site, snapshot, form.values.get("request"), exchange.remoteAddress);
  if (!waiting) return respondOver(exchange);
  if (deps.session.blocks?.find({ clientId: waiting.client.id })) return respondPage(exchange, BLOCKED_PAGE);

  // The same user must still be signed in, and the form must belong to this session and request.
  const who = await deps.session.browser.principal(exchange, snapshot);
  if (!who.ok && who.reason === "unavailable") return respondUnavailable(exchange);
  if (!who.ok) return redirect(exchange, 303, `${site.origin}${CONSENT_PATH}?request=${waiting.text}`);
  const { principal } = who;
  if (!deps.session.csrf.verify(principal, formName(waiting.id), form.values.get("csrf_token") ?? ""))
    return respondForeign(exchange);

  // The policy may have changed since the page was shown.
  const allowed = mayReach(waiting, principal);
  if (decision === "deny" || !allowed) {
    // "The resource owner or authorization server denied the request" (RFC 6749 §4.1.2.1).
    if (!(await deps.requests.answer(waiting))) return respondOver(exchange);
    const description = allowed ? "The user denied the request" : "The user has no access";
    deps.log.info(
      { request: exchange.id, user: principal.user.id, client: waiting.client.id, allowed },
      "consent denied",
    );
    return redirectRefusal(exchange, waiting.request, refuse("access_denied", description).refusal);
  }

  await remember(deps, waiting, principal);
  await approve(deps, exchange, snapshot, waiting, principal);
}

/** Returns the site of sign-in pages, or undefined on other hosts. */
function findPageSite(exchange: Exchange, snapshot: Snapshot): Site | undefined {
  const site = findSite(snapshot, exchange.host);
  return site?.authenticates === true ? site : undefined;
}

/** Connects missing upstreams first, then issues the code. */
async function approve(
  deps: ConsentDeps,
  exchange: Exchange,
  snapshot: Snapshot,
  waiting: Waiting,
  principal: Principal,
): Promise<void> {
  const pages = findSite(snapshot, exchange.host)?.authenticateOrigin ?? waiting.request.issuer;
  const approver = { userId: principal.user.id, sid: principal.sid };
  const returnTo = `${pages}${CONSENT_PATH}?request=${deps.requests.approved(waiting, approver)}`;
  const connectUrl = await deps.upstream?.connectUrl(
    principal,
    reachableOf(waiting, principal),
    returnTo,
    "Continue without it",
  );
  if (connectUrl === undefined) return issue(deps, exchange, snapshot, waiting, principal);
  // Consent is stored with the request before the redirect to a third party (MCP, "Confused deputy").
  if (!(await deps.requests.noteApproval(waiting, approver))) return respondOver(exchange);
  const headers = ["referrer-policy", "no-referrer"];
  if (exchange.method !== "POST") return redirect(exchange, 302, connectUrl, headers);
  // Not a redirect: browsers apply the page's form-action to redirects, and the destination is not known yet.
  respondHtml(exchange, 200, continuePage({ title: "Connecting the upstream service", href: connectUrl }), [
    ...headers,
    "refresh",
    `0;url=${connectUrl}`,
  ]);
}

/** Deletes the request, so that it is answered once, and sends the code to the client (OAuth 2.1 §4.1.2, RFC 9207 §2). */
async function issue(
  deps: ConsentDeps,
  exchange: Exchange,
  snapshot: Snapshot,
  waiting: Waiting,
  principal: Principal,
): Promise<void> {
  if (!(await deps.requests.answer(waiting))) return respondOver(exchange);
  const { redirectUri, state, issuer } = waiting.request;
  const { lifetimes } = snapshot.settings;
  const approval = { userId: principal.user.id, sessionExpiresAt: principal.expiresAt };
  const code = await issueCode(deps, waiting.request, approval, lifetimes.authorizationCode);
  // Check again now that a revocation can find the code: one of the two must see the other.
  if (!(await deps.session.current(principal))) {
    await deps.store.delete(codeKey(hashSecret(code)));
    return redirectRefusal(exchange, waiting.request, refuse("access_denied", "The user was signed out").refusal);
  }
  await keepClient(deps.clients, waiting.client, lifetimes.refreshToken);
  deps.log.info(
    { request: exchange.id, user: principal.user.id, client: waiting.client.id, audience: waiting.request.audience },
    "authorization code issued",
  );
  redirect(exchange, exchange.method === "POST" ? 303 : 302, withAnswer(redirectUri, { code, state, iss: issuer }), [
    "referrer-policy",
    "no-referrer",
  ]);
}

function reachableOf({ routes }: Waiting, { user }: Principal): readonly McpServerRoute[] {
  return routes.filter((route) => mayReachSomething(route.policy, user));
}

/** @param silent keys of routes whose server did not respond */
function commonParts(deps: ConsentDeps, waiting: Waiting, principal: Principal, silent?: ReadonlySet<string>) {
  const { client, routes, text, id } = waiting;
  const { user } = principal;
  return {
    clientName: visibleText(client.metadata.client_name ?? client.id),
    servers: routes.map((route) => ({
      name: route.name,
      url: route.mcp.resource,
      isSilent: silent?.has(route.key),
      members: route.mcp.members && [...route.mcp.members.values()].map((key) => key.slice(key.indexOf("/") + 1)),
    })),
    user: nameOf(user),
    form: { action: CONSENT_PATH, requestId: text, csrfToken: deps.session.csrf.token(principal, formName(id)) },
  };
}

/** The token of one request is invalid for another. */
function formName(requestId: string): string {
  return `consent ${requestId}`;
}

/**
 * Browsers apply `form-action` to every redirect after a form. Clients redirect on to their own pages ("signed in, you
 * may close this window"), so https is allowed in addition to the redirect URI's source. The page contains no secret.
 */
function formHeaders(exchange: Exchange, waiting: Waiting): readonly string[] {
  const source = redirectSource(waiting.request.redirectUri);
  return pageHeaders(exchange, source.startsWith("https:") ? ["https:"] : ["https:", source]);
}

function respondOver(exchange: Exchange): void {
  respondPage(exchange, {
    status: 400,
    code: "authorization_request_over",
    title: "This request has ended",
    message:
      "It was answered already, took longer than ten minutes, or the application changed meanwhile. Please start again from the application.",
  });
}

function respondForeign(exchange: Exchange): void {
  respondPage(exchange, {
    status: 403,
    code: "foreign_form",
    title: "This form cannot be accepted",
    message: "It does not come from the page that was shown to you. Please start again from the application.",
  });
}
