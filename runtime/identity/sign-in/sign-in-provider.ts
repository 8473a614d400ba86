/**
 * Sign-in on the authenticate host: opens the ticket, signs the user in at the provider, and issues a one-time code.
 *
 * Untrusted input: the ticket until it is opened, and the callback until state, nonce and code are checked. Promises:
 * redirects lead only to the provider or to configured hosts. The callback works once, in the browser that was sent to
 * the provider (proven by a cookie for this very `state`). Other browsers start again. Provider tokens are sealed
 * before they are stored. Except for a few long return addresses, nothing is stored before the provider confirms the
 * user.
 */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { providerName } from "../../features/sign-in/providers.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { Exchange } from "../../http/exchange.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { redirect, respondHtml } from "../../http/respond.ts";
import { hashSecret, randomSecret, type Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Blocks } from "../blocks.ts";
import { SIGN_IN_SECONDS, type Cookies, type SessionHandle } from "../cookie.ts";
import type { IdentityService } from "../identities.ts";
import { isStale } from "../provider/auth-time.ts";
import type { IdentityProvider, SignInChecks } from "../provider/idp.ts";
import type { SessionRecords } from "../identity-records.ts";
import { respondBlocked } from "../refuse-blocked.ts";
import { refuseUnavailable, withStore, type RouteSignIn } from "./sign-in.ts";
import type { Authenticator } from "../interfaces.ts";
import { findSite, type Site } from "../sites.ts";
import { callbackPath, chooseProvider, findProviders, isOfOne, renderChoice } from "./choose-provider.ts";
import { continuePage } from "../../pages/signed-out.ts";
import { createRespondFailure, refuse, type RespondFailure } from "./failure.ts";
import { findProvider } from "../claims-record.ts";
import { createLongAddresses, type LongAddresses } from "./long-addresses.ts";
import type { OfflineStep } from "./offline-step.ts";
import { createProviderSessions, type ProviderSessions } from "./provider-sessions.ts";
import {
  checksOf,
  createTickets,
  isSameProvider,
  redirectUri,
  startedAt,
  stepSecret,
  type ProviderStep,
  type Ticket,
  type SignInTickets,
} from "./ticket.ts";
import type { Store } from "../../store/store.ts";

export interface ProviderSignInDeps {
  readonly store: Pick<Store, "get">;
  readonly records: SessionRecords;
  readonly cookies: Cookies;
  readonly authenticator: Pick<Authenticator, "cookie">;
  readonly identities: Pick<IdentityService, "recordSignIn">;
  readonly idp: IdentityProvider;
  readonly offline: OfflineStep;
  readonly signIn: Pick<RouteSignIn, "start">;
  readonly blocks: Blocks;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ProviderSignIn {
  /** `/.gateway/sign_in`: with a `ticket` from a route's host; without, starts a sign-in on this host. */
  readonly handleSignIn: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
  /** `/.gateway/callback` and `/.gateway/callback/<name>`: callback of a provider. */
  readonly handleCallback: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

/** The browser follows the redirect immediately. */
const CODE_SECONDS = 60;
const TOO_LATE = "The sign-in took too long, or was not started in this browser. Please open the page again.";

interface Parts extends ProviderSignInDeps {
  readonly tickets: SignInTickets;
  readonly sessions: ProviderSessions;
  readonly addresses: LongAddresses;
  readonly respondFailure: RespondFailure;
}

export function createProviderSignIn(deps: ProviderSignInDeps): ProviderSignIn {
  const parts: Parts = {
    ...deps,
    tickets: createTickets(deps),
    sessions: createProviderSessions(deps),
    addresses: createLongAddresses(deps),
    respondFailure: createRespondFailure(deps),
  };
  const answerFailures = (exchange: Exchange, work: () => Promise<void>): Promise<void> =>
    withStore(exchange, work).catch((error: unknown) => parts.respondFailure(exchange, error));

  return {
    handleSignIn: (exchange, snapshot) => answerFailures(exchange, () => signIn(parts, exchange, snapshot)),
    handleCallback: (exchange, snapshot) => answerFailures(exchange, () => callback(parts, exchange, snapshot)),
  };
}

async function signIn(deps: Parts, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const { tickets, cookies } = deps;
  const site = findSite(snapshot, exchange.host);
  const query = parseQuery(exchange.query);
  if (!site || !query.ok) return refuse(exchange, 400, "sign-in.request", "This sign-in link is not complete.");
  const sealed = query.values.get("ticket");
  if (sealed === undefined)
    return deps.signIn.start(exchange, snapshot, site, query.values.get("return_to") ?? home(snapshot, site));
  if (!site.authenticates) return refuse(exchange, 404, "not-found", "There is nothing at this address.");
  const ticket = tickets.open(sealed);
  const target = ticket && findTarget(snapshot, ticket.host, site);
  if (!ticket || !target) return refuse(exchange, 400, "sign-in.ticket", TOO_LATE);
  if (tickets.isExpired(ticket)) return restart(deps, exchange, target, ticket);
  const providers = findProviders(snapshot.settings, ticket.providers);
  if (providers.length === 0)
    return refuse(exchange, 503, "sign-in.not-configured", "Sign-in is not set up on this gateway.");
  const known = await deps.authenticator.cookie(exchange);
  const { sessionId, user } = known.ok ? known.principal : {};
  const isFresh = ticket.isFresh === true;
  if (!isFresh && sessionId !== undefined && user && isOfOne(providers, user.id)) {
    const session = { sessionId, userId: user.id };
    const own = ticket.isOffline === true ? findProvider(snapshot.settings, user.id) : undefined;
    if (own) return toProvider(deps, exchange, snapshot, site, ticket, own, { offline: session });
    return finish(deps, exchange, target, ticket, session);
  }
  if (!known.ok && known.reason === "unavailable") return refuseUnavailable(exchange);
  if (!known.ok && known.reason === "blocked") return respondBlocked(exchange);
  const remembered = cookies.readProvider(exchange, site, snapshot.settings.cookie);
  const isOurLink = exchange.header("sec-fetch-site") === "same-origin";
  const chosen = query.values.get("idp");
  const typed = chosen === undefined ? query.values.get("login_hint")?.trim() : undefined;
  const choice = { providers, chosen, typed, isOurLink, remembered, user: isFresh ? undefined : user };
  const idp = chooseProvider(choice);
  const about = { ...(sessionId !== undefined && { sessionId }), ...(typed !== undefined && { loginHint: typed }) };
  if (idp) return toProvider(deps, exchange, snapshot, site, ticket, idp, about);
  respondHtml(exchange, 200, renderChoice(choice, target.host, { path: exchange.path, ticket: sealed }));
}

async function callback(deps: Parts, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const { tickets, cookies, sessions } = deps;
  // 1. The state: ours, for this host and this browser.
  const site = findSite(snapshot, exchange.host);
  const query = parseQuery(exchange.query);
  const state = query.ok ? query.values.get("state") : undefined;
  const { settings } = snapshot;
  const { cookie } = settings;
  const idp = settings.providers.find(({ issuerName }) => exchange.path === callbackPath(issuerName));
  if (!site?.authenticates || !idp || state === undefined)
    return refuse(exchange, 400, "sign-in.callback", "This sign-in link is not complete.");
  const begun = tickets.openState(state);
  if (begun?.from !== site.host) return refuse(exchange, 400, "sign-in.callback", TOO_LATE);
  const stateHash = hashSecret(state);
  const done = ["set-cookie", cookies.clearBegun(site, cookie, "provider", stateHash)];
  // 2. The return address, before the provider's code is used.
  const target = findTarget(snapshot, begun.ticket.host, site);
  if (!target) return refuse(exchange, 400, "sign-in.callback", TOO_LATE, done);
  const ticket = await deps.addresses.restored(begun);
  // Expired, repeated, or another browser than the one sent to the provider: ignore the response.
  if (tickets.isExpired(begun) || !cookies.isBegun(exchange, site, cookie, "provider", stateHash))
    return restart(deps, exchange, target, ticket);
  // "Clients MUST store, for each authorization request, the issuer they sent the authorization request to" (RFC 9700 §4.4.2).
  if (!isSameProvider(begun.provider, idp)) {
    deps.log.warn({ idp: providerName(idp), request: exchange.id }, "sign-in response from unexpected provider");
    return refuse(exchange, 400, "sign-in.callback", "This response belongs to another sign-in.", done);
  }
  const isChosen = settings.providers.length > 1;
  // Check the store before using the code: if the store is unavailable, the same URL works later.
  await deps.records.sessions.get(ticket.signInId);
  // 3. The user, confirmed by the provider. Whatever the result, the browser does not use this code again.
  const checks = { redirectUri: redirectUri(site, idp), state, ...checksOf(begun) };
  const fail = (error: unknown, headers: readonly string[] = done): void =>
    deps.respondFailure(exchange, error, headers, target.origin + ticket.returnTo);
  if (begun.offline) {
    await deps.offline.take(idp, exchange.query, checks, begun.offline.userId);
    return finish(deps, exchange, target, ticket, begun.offline, done);
  }
  let confirmed: Awaited<ReturnType<typeof confirmUser>>;
  try {
    confirmed = await confirmUser(deps, idp, exchange.query, checks);
  } catch (error) {
    // Another tab signed the user in meanwhile, which some providers report as an error, or the provider's page had expired.
    if (!begun.fresh && (await hasSession(deps, exchange, snapshot, ticket)))
      return restart(deps, exchange, target, ticket, done);
    // Lets the user choose another provider.
    const forgotten = isChosen ? ["set-cookie", cookies.setProvider(undefined, site, cookie)] : [];
    return fail(error, [...done, ...forgotten]);
  }
  const { tokens, userId, profile } = confirmed;
  if (begun.fresh && isStale(tokens, epochSeconds(deps.clock))) {
    const notAsked = new GatewayError("idp.refused", "the provider did not ask the user again, although requested");
    return fail(notAsked);
  }
  const facts = profile ?? { email: "", name: "", groups: [], claims: {} };
  // Nothing about a blocked user is stored. After the block they sign in again.
  if (deps.blocks.find({ user: { id: userId, email: facts.email } })) {
    deps.log.warn({ user: userId, request: exchange.id }, "sign-in denied, user is blocked");
    return respondBlocked(exchange, done);
  }
  // 4. Identity, session, cookie of this host, and the redirect back.
  const over = new GatewayError("idp.refused", "the provider signed the user out since");
  if (await sessions.isSignedOut(snapshot, userId, tokens)) return fail(over);
  await deps.identities.recordSignIn(tokens, userId, facts);
  const session = await sessions.begin(snapshot, userId, tokens, begun.fresh);
  // Check again now that a sign-out can find the session: one of the two must see the other.
  if (await sessions.isSignedOut(snapshot, userId, tokens)) {
    await deps.records.sessions.delete(session.sessionId);
    return fail(over);
  }
  deps.log.info({ user: userId, host: target.host, request: exchange.id }, "signed in");
  const remembered = isChosen ? ["set-cookie", cookies.setProvider(providerName(idp), site, cookie)] : [];
  const headers = ["set-cookie", cookies.setSession(session, site, cookie), ...done, ...remembered];
  await finish(deps, exchange, target, ticket, session, headers);
}

async function toProvider(
  deps: Parts,
  exchange: Exchange,
  { settings: { cookie } }: Snapshot,
  site: Site,
  ticket: Ticket,
  idp: IdpSettings,
  { sessionId, loginHint, offline }: Pick<ProviderStep, "offline"> & { sessionId?: string; loginHint?: string },
): Promise<void> {
  const { tickets, cookies } = deps;
  const isFresh = ticket.isFresh === true;
  const step: ProviderStep = {
    ticket: await deps.addresses.carried(exchange, ticket),
    from: site.host,
    secret: stepSecret(),
    provider: startedAt(idp),
    ...(isFresh && { fresh: sessionId === undefined ? {} : { sessionId } }),
    ...(offline && { offline }),
    expiresAt: epochSeconds(deps.clock) + SIGN_IN_SECONDS,
  };
  const state = tickets.sealState(step);
  const url = await deps.idp.authorizationUrl(idp, {
    state,
    ...checksOf(step),
    redirectUri: redirectUri(site, idp),
    isFresh,
    isOffline: offline !== undefined,
    loginHint,
  });
  const begun = cookies.setBegun(site, cookie, "provider", hashSecret(state));
  const headers = [...cookies.trimPile(exchange, site, cookie), "set-cookie", begun];
  if (loginHint === undefined) return redirect(exchange, 302, url, headers);
  // Not a redirect: browsers apply the page's form-action to redirects, and providers may be anywhere.
  const page = continuePage({ title: `Signing in at ${idp.label}`, href: url });
  respondHtml(exchange, 200, page, [...headers, "refresh", `0;url=${url}`]);
}

/** Redirects the browser to its original host, with a code that is valid there once. */
async function finish(
  deps: Parts,
  exchange: Exchange,
  target: Site,
  ticket: Ticket,
  { sessionId, userId }: Pick<SessionHandle, "sessionId" | "userId">,
  headers: readonly string[] = [],
): Promise<void> {
  const code = randomSecret();
  const { signInId } = ticket;
  const expiresAt = epochSeconds(deps.clock) + CODE_SECONDS;
  await deps.records.signInCodes.put(hashSecret(code), { signInId, sessionId }, { ifVersion: 0, expiresAt });
  // Sealed: with the record only, write access to the store would allow the choice of another session.
  const to = deps.tickets.seal({ ...ticket, session: { sessionId, userId } }, "return");
  redirect(exchange, 302, `${target.origin}/.gateway/return?code=${code}&to=${to}`, headers);
}

/** Redirects to the route's host, which starts the sign-in again. */
function restart(
  { tickets }: Parts,
  exchange: Exchange,
  target: Site,
  ticket: Ticket,
  headers: readonly string[] = [],
): void {
  redirect(exchange, 302, `${target.origin}/.gateway/return?to=${tickets.seal(ticket, "return")}`, headers);
}

/** Returns the site of the return address if it is configured and signs in here. */
function findTarget(snapshot: Snapshot, host: string, site: Site): Site | undefined {
  const target = findSite(snapshot, host);
  return target?.authenticateOrigin === site.origin ? target : undefined;
}

async function confirmUser(deps: Parts, idp: IdpSettings, query: string, checks: SignInChecks) {
  const tokens = await deps.idp.exchangeCode(idp, query, checks);
  return { tokens, ...(await deps.idp.readUser(idp, tokens, undefined)) };
}

/** Returns true if the browser is already signed in with an acceptable provider. */
async function hasSession(deps: Parts, exchange: Exchange, { settings }: Snapshot, ticket: Ticket): Promise<boolean> {
  const known = await deps.authenticator.cookie(exchange);
  return known.ok && isOfOne(findProviders(settings, ticket.providers), known.principal.user.id);
}

/** Landing page of a sign-in without a return address. A separate authenticate host serves no route. */
function home(snapshot: Snapshot, site: Site): string {
  return site.authenticates && snapshot.settings.authenticateServiceUrl !== undefined ? "/.gateway/" : "/";
}
