/**
 * Sign-in as the authenticate host does it: take the ticket, sign the user in at the provider, hand out a one-time code.
 *
 * Untrusted input: the ticket until it is opened, everything on the callback until state, nonce and code are checked.
 * Promises: a browser is only ever sent on to the provider or to a host of the configuration; the callback works only
 * in the browser that was sent to the provider (it carries nonce and verifier, sealed, in a cookie), and is tried once; the
 * provider's tokens are sealed before they are stored. Nothing is stored before the provider has vouched for somebody.
 */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { providerName } from "../../features/sign-in/providers.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { ErrorCode, StatusOf } from "../../http/codes.ts";
import type { Exchange } from "../../http/exchange.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { redirect, respondError, respondHtml } from "../../http/respond.ts";
import { hashSecret, randomSecret, type Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Blocks } from "../blocks.ts";
import type { Carried, Cookies } from "../cookie.ts";
import type { IdentityService } from "../identities.ts";
import { isStale } from "../provider/auth-time.ts";
import type { IdentityProvider } from "../provider/idp.ts";
import type { SessionRecords } from "../identity-records.ts";
import { respondBlocked } from "../refuse-blocked.ts";
import { refuseUnavailable, withStore, type RouteSignIn } from "./sign-in.ts";
import type { Authenticator } from "../interfaces.ts";
import { findSite, type Site } from "../sites.ts";
import { callbackPath, chooseProvider, findProviders, isOfOne, renderChoice } from "./choose-provider.ts";
import { continuePage } from "../../pages/signed-out.ts";
import { createProviderSessions } from "./provider-sessions.ts";
import { createTickets, type Ticket } from "./ticket.ts";
import type { Store } from "../../store/store.ts";

export interface ProviderSignInDeps {
  readonly store: Pick<Store, "get">;
  readonly records: SessionRecords;
  readonly cookies: Cookies;
  readonly authenticator: Pick<Authenticator, "cookie">;
  readonly identities: Pick<IdentityService, "recordSignIn">;
  readonly idp: IdentityProvider;
  readonly signIn: Pick<RouteSignIn, "start">;
  readonly blocks: Blocks;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ProviderSignIn {
  /** `/.gateway/sign_in`: with `ticket` from a route's host; without, begins a sign-in on this host. */
  readonly handleSignIn: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
  /** `/.gateway/callback`, and `/.gateway/callback/<name>`: where a provider sends the browser back. */
  readonly handleCallback: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

/** The browser follows the redirect at once; nobody else needs the code. */
const CODE_SECONDS = 60;

export function createProviderSignIn(deps: ProviderSignInDeps): ProviderSignIn {
  const { records, cookies, clock } = deps;
  const tickets = createTickets(deps);
  const sessions = createProviderSessions(deps);

  const toProvider = async (
    exchange: Exchange,
    { settings: { cookie } }: Snapshot,
    site: Site,
    ticket: Ticket,
    idp: IdpSettings,
    { sessionId, loginHint }: { readonly sessionId: string | undefined; readonly loginHint: string | undefined },
  ): Promise<void> => {
    const state = randomSecret();
    const checks = { state, nonce: randomSecret(), codeVerifier: randomSecret(48) };
    const isFresh = ticket.isFresh === true;
    const url = await deps.idp.authorizationUrl(idp, {
      ...checks,
      redirectUri: redirectUri(site, idp),
      isFresh,
      loginHint,
    });
    const carried = {
      signInId: ticket.signInId,
      from: site.host,
      host: ticket.host,
      nonce: checks.nonce,
      codeVerifier: checks.codeVerifier,
      provider: startedAt(idp),
      ...(isFresh && { fresh: sessionId === undefined ? {} : { sessionId } }),
    };
    const headers = [
      ...cookies.clearPile(exchange, site, cookie),
      "set-cookie",
      cookies.setCarried(site, cookie, "provider", hashSecret(state), carried),
    ];
    if (loginHint === undefined) return redirect(exchange, 302, url, headers);
    // Not a redirect: browsers hold a form's redirects to the page's form-action, and providers may answer anywhere.
    respondHtml(exchange, 200, continuePage({ title: `Signing in at ${idp.label}`, href: url }), [
      ...headers,
      "refresh",
      `0;url=${url}`,
    ]);
  };

  /** Sends the browser back to the host it came from, with a code that is good there once. */
  const finish = async (
    exchange: Exchange,
    target: Site,
    signInId: string,
    sessionId: string,
    headers: readonly string[] = [],
  ): Promise<void> => {
    const code = randomSecret();
    await records.signInCodes.put(
      hashSecret(code),
      { signInId, sessionId },
      { ifVersion: 0, expiresAt: epochSeconds(clock) + CODE_SECONDS },
    );
    redirect(exchange, 302, `${target.origin}/.gateway/return?code=${code}`, headers);
  };

  /** The site a sign-in goes back to: still configured, and one that signs in here. */
  const findTarget = (snapshot: Snapshot, host: string, site: Site): Site | undefined => {
    const target = findSite(snapshot, host);
    return target?.authenticateOrigin === site.origin ? target : undefined;
  };

  const signIn = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const site = findSite(snapshot, exchange.host);
    const query = parseQuery(exchange.query);
    if (!site || !query.ok) return refuse(exchange, 400, "sign-in.request", "This sign-in link is not complete.");
    const sealed = query.values.get("ticket");
    if (sealed === undefined) {
      return deps.signIn.start(exchange, snapshot, site, query.values.get("return_to") ?? home(snapshot, site));
    }
    if (!site.authenticates) return refuse(exchange, 404, "not-found", "There is nothing at this address.");
    const ticket = tickets.open(sealed);
    const target = ticket && findTarget(snapshot, ticket.host, site);
    if (!ticket || !target) {
      return refuse(exchange, 400, "sign-in.ticket", "The sign-in took too long. Please open the page again.");
    }
    const providers = findProviders(snapshot.settings, ticket.providers);
    if (providers.length === 0)
      return refuse(exchange, 503, "sign-in.not-configured", "Sign-in is not set up on this gateway.");
    const known = await deps.authenticator.cookie(exchange);
    const { sessionId, user } = known.ok ? known.principal : {};
    const isFresh = ticket.isFresh === true;
    if (!isFresh && sessionId !== undefined && user && isOfOne(providers, user.id)) {
      return finish(exchange, target, ticket.signInId, sessionId);
    }
    if (!known.ok && known.reason === "unavailable") return refuseUnavailable(exchange);
    if (!known.ok && known.reason === "blocked") return respondBlocked(exchange);
    const remembered = cookies.readProvider(exchange, site, snapshot.settings.cookie);
    const isOurLink = exchange.header("sec-fetch-site") === "same-origin";
    const wanted = query.values.get("idp");
    const typed = wanted === undefined ? query.values.get("login_hint")?.trim() : undefined;
    const choice = { providers, wanted, typed, isOurLink, remembered, user: isFresh ? undefined : user };
    const idp = chooseProvider(choice);
    if (idp) return toProvider(exchange, snapshot, site, ticket, idp, { sessionId, loginHint: typed });
    respondHtml(exchange, 200, renderChoice(choice, target.host, { path: exchange.path, ticket: sealed }));
  };

  const vouchFor = async (idp: IdpSettings, query: string, checks: Parameters<IdentityProvider["exchangeCode"]>[2]) => {
    const tokens = await deps.idp.exchangeCode(idp, query, checks);
    return { tokens, ...(await deps.idp.readUser(idp, tokens, undefined)) };
  };

  const respondFailure = (exchange: Exchange, error: unknown, headers: readonly string[] = []): void => {
    if (!(error instanceof GatewayError)) throw error;
    deps.log.warn({ reason: error.message, failure: error.code, request: exchange.id }, "a sign-in failed");
    if (error.code === "idp.subject") {
      const message =
        "The identity provider calls you by an id that this gateway cannot take. Its operators have to change it.";
      return refuse(exchange, 403, "sign-in.subject", message, headers);
    }
    if (error.code === "directory.refused")
      return refuse(exchange, 403, "sign-in.refused", "Your company's directory does not let you in.", headers);
    if (error.code !== "idp.refused") return refuseUnavailable(exchange, headers);
    refuse(exchange, 403, "sign-in.refused", "The identity provider did not sign you in.", headers);
  };

  const callback = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    // 1. The state: ours, on this host, in this browser.
    const site = findSite(snapshot, exchange.host);
    const query = parseQuery(exchange.query);
    const state = query.ok ? query.values.get("state") : undefined;
    const { settings } = snapshot;
    const { cookie } = settings;
    const idp = settings.providers.find(({ issuerName }) => exchange.path === callbackPath(issuerName));
    if (!site?.authenticates || !idp || state === undefined) {
      return refuse(exchange, 400, "sign-in.callback", "This sign-in link is not complete.");
    }
    const stateHash = hashSecret(state);
    const begun = cookies.readCarried(exchange, site, cookie, "provider", stateHash);
    if (begun?.from !== site.host) {
      const message = "The sign-in took too long, or was not begun in this browser. Please open the page again.";
      return refuse(exchange, 400, "sign-in.callback", message);
    }
    const done = ["set-cookie", cookies.clearCarried(site, cookie, "provider", stateHash)];
    // "Clients MUST store, for each authorization request, the issuer they sent the authorization request to" (RFC 9700 §4.4.2).
    if (!isSameProvider(begun.provider, idp)) {
      deps.log.warn(
        { idp: providerName(idp), request: exchange.id },
        "an answer came for a sign-in at another provider",
      );
      return refuse(exchange, 400, "sign-in.callback", "This answer belongs to a sign-in elsewhere.", done);
    }
    const isChosen = settings.providers.length > 1;
    // 2. Where it goes back to, before the provider's code is spent.
    const target = findTarget(snapshot, begun.host, site);
    if (!target)
      return refuse(exchange, 400, "sign-in.callback", "The sign-in took too long. Please open the page again.", done);
    // Nor is it spent while there is no store to keep what it brings: the same address works once that is back.
    await records.sessions.get(begun.signInId);
    // 3. The user, as the provider vouches. Whatever comes of it, the browser does not try this code again.
    const checks = { redirectUri: redirectUri(site, idp), state, nonce: begun.nonce, codeVerifier: begun.codeVerifier };
    let vouched: Awaited<ReturnType<typeof vouchFor>>;
    try {
      vouched = await vouchFor(idp, exchange.query, checks);
    } catch (error) {
      // So that they may choose another one.
      const forgotten = isChosen ? ["set-cookie", cookies.setProvider(undefined, site, cookie)] : [];
      return respondFailure(exchange, error, [...done, ...forgotten]);
    }
    const { tokens, userId, profile } = vouched;
    if (begun.fresh && isStale(tokens, epochSeconds(clock))) {
      const asked = new GatewayError("idp.refused", "the provider was told to ask the user anew, and did not");
      return respondFailure(exchange, asked, done);
    }
    const facts = profile ?? { email: "", name: "", groups: [], claims: {} };
    // Nothing of a blocked user is stored: once the block is lifted they sign in anew.
    if (deps.blocks.find({ user: { id: userId, email: facts.email } })) {
      deps.log.warn({ user: userId, request: exchange.id }, "a sign-in was refused: the user is blocked");
      return respondBlocked(exchange, done);
    }
    // 4. Identity, session, cookie of this host, and the way back.
    const over = new GatewayError("idp.refused", "the provider signed the user out since");
    if (await sessions.isOver(snapshot, userId, tokens)) return respondFailure(exchange, over, done);
    await deps.identities.recordSignIn(tokens, userId, facts);
    const session = await sessions.begin(snapshot, userId, tokens, begun.fresh);
    // Once it can be found by whoever ends sessions, so that one of the two sees the other.
    if (await sessions.isOver(snapshot, userId, tokens)) {
      await records.sessions.delete(session.sessionId);
      return respondFailure(exchange, over, done);
    }
    deps.log.info({ user: userId, host: target.host, request: exchange.id }, "signed in");
    const remembered = isChosen ? ["set-cookie", cookies.setProvider(providerName(idp), site, cookie)] : [];
    const headers = ["set-cookie", cookies.setSession(session, site, cookie), ...done, ...remembered];
    await finish(exchange, target, begun.signInId, session.sessionId, headers);
  };

  const answerFailures = (exchange: Exchange, work: () => Promise<void>): Promise<void> =>
    withStore(exchange, work).catch((error: unknown) => respondFailure(exchange, error));

  return {
    handleSignIn: (exchange, snapshot) => answerFailures(exchange, () => signIn(exchange, snapshot)),
    handleCallback: (exchange, snapshot) => answerFailures(exchange, () => callback(exchange, snapshot)),
  };
}

function redirectUri(site: Site, { issuerName }: IdpSettings): string {
  return site.origin + callbackPath(issuerName);
}

type StartedAt = NonNullable<Carried["provider"]["provider"]>;

function startedAt({ issuerName: name, providerUrl: url }: IdpSettings): StartedAt {
  return { ...(name === undefined ? {} : { name }), url };
}

function isSameProvider(started: StartedAt | undefined, { issuerName, providerUrl }: IdpSettings): boolean {
  if (started === undefined) return issuerName === undefined;
  return started.name === issuerName && started.url === providerUrl;
}

/** Where somebody lands who signs in without having been anywhere: the authenticate host serves no route. */
function home(snapshot: Snapshot, site: Site): string {
  return site.authenticates && snapshot.settings.authenticateServiceUrl !== undefined ? "/.gateway/" : "/";
}

function refuse<Code extends ErrorCode>(
  exchange: Exchange,
  status: StatusOf<Code>,
  code: Code,
  message: string,
  headers: readonly string[] = [],
): void {
  respondError(exchange, status, { code, message, links: [{ href: "/.gateway/", text: "Sign in again" }] }, headers);
}
