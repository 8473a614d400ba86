/**
 * Endpoints for browsers on the host of MCP server routes: connect (to the upstream) and callback (back).
 *
 * Untrusted input: both queries. Promises: redirects lead only to checked addresses. Users connect only for themselves,
 * after sign-in and policy check. Every failure is a page with instructions.
 *
 * @see test/requirements.ts, "Endpoints"
 */
import type { CompiledRoute } from "../../../config/compiled.ts";
import type { BrowserSessions } from "../../../identity/interfaces.ts";
import { findRoute, type Snapshot } from "../../../config/snapshot.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { parseQuery } from "../../../shared/http/query.ts";
import { redirect, respondHtml } from "../../../http/respond.ts";
import type { Log } from "../../../shared/log.ts";
import { continuePage } from "../../../pages/signed-out.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import type { Principal } from "../../../identity/principal.ts";
import type { TokenAttacher } from "../attach-token.ts";
import { respondFailure, respondConnectFailure, type Way } from "./failure-page.ts";
import type { BeginResult, CompleteResult, Flows } from "./flow.ts";
import { allowedConnectRedirect, returnAddress, type ConnectTickets } from "./connect-flow.ts";
import type { ConnectFlow } from "../connection-records.ts";
import { findTarget, type UpstreamTarget } from "../target.ts";

/** Finds the MCP server routes of a host for a client's `resource`. */
export type FindServers = (snapshot: Snapshot, host: string, resource: string) => readonly CompiledRoute[];

export interface ConnectDeps {
  readonly browser: BrowserSessions;
  readonly flows: Flows;
  readonly tickets: ConnectTickets;
  readonly attacher: TokenAttacher;
  readonly findServers: FindServers;
  readonly isBlocked: (route: CompiledRoute) => boolean;
  /** Upstreams that this user has to connect. */
  readonly missing: (userId: string, targets: readonly UpstreamTarget[]) => Promise<ReadonlySet<UpstreamTarget>>;
  /** Returns true if the upstream is known to reject this user's requests without a token. */
  readonly wasRefused: (userId: string, target: UpstreamTarget) => Promise<boolean>;
  /** Records that a flow could not start: users are not sent here again for a while. */
  readonly noteFailure: (target: UpstreamTarget) => void;
  readonly log: Log;
}

/** `GET /.gateway/mcp/connect?redirect_url=…`, optionally with `resource`, or with a ticket of ours. */
export async function connect(deps: ConnectDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // Only on hosts with MCP servers.
  const routes = serverRoutes(snapshot, exchange.host);
  if (routes.length === 0) return respondFailure(exchange, "not-here");

  // Validate the return address before any redirect.
  const query = parseQuery(exchange.query);
  if (!query.ok) return respondFailure(exchange, "bad-request");
  const ticket = query.values.get("ticket");
  // One server of the host if it is named, otherwise all.
  const resource = query.values.get("resource");
  const named = resource === undefined ? routes : deps.findServers(snapshot, exchange.host, resource);
  const redirectUrl = query.values.get("redirect_url");
  const returnTo = allowedConnectRedirect(redirectUrl, snapshot, named.length === 0 ? routes : named);
  if (ticket === undefined && returnTo === undefined) return respondFailure(exchange, "bad-redirect");
  const requested = returnTo === undefined ? undefined : connectFlowOf(returnTo, named);
  if (named.length === 0) return respondFailure(exchange, "unknown-server", requested);

  // A signed-in user is required.
  const who = await deps.browser.principal(exchange, snapshot);
  if (!who.ok && who.reason === "unavailable") return respondFailure(exchange, "store-unavailable");
  if (!who.ok) return deps.browser.requireSignIn(exchange, snapshot);
  const { principal } = who;

  const connectFlow = ticket === undefined ? requested : deps.tickets.open(ticket, principal.user.id);
  if (!connectFlow) return respondFailure(exchange, "bad-ticket");

  // As in the list of servers: a user without access has nothing to connect.
  const allowed = routes.filter(
    (route) => connectFlow.routes.includes(route.key) && mayReachSomething(route.policy, principal.user),
  );
  if (allowed.length === 0) return respondFailure(exchange, "denied-by-policy", connectFlow);
  const open = allowed.filter((route) => !deps.isBlocked(route));
  if (open.length === 0) return respondFailure(exchange, "blocked", connectFlow);
  const way = { exchange, snapshot, principal, connectFlow: { ...connectFlow, routes: open.map(({ key }) => key) } };
  await continueFlow(deps, way);
}

/** @param returnTo an application's URL, already validated */
function connectFlowOf(returnTo: string, routes: readonly CompiledRoute[]): ConnectFlow {
  return { returnTo, routes: routes.map(({ key }) => key), back: "Back to the application", tellsErrors: true };
}

/** `GET /.gateway/mcp/client/oauth/callback`. */
export async function callback(deps: ConnectDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  if (serverRoutes(snapshot, exchange.host).length === 0) return respondFailure(exchange, "not-here");
  const query = parseQuery(exchange.query);
  if (!query.ok) return respondFailure(exchange, "bad-request");

  // The session that started the flow must be here. Browsers send a strict cookie only with a navigation of our own
  // (RFC 6265bis §5.2).
  const who = await deps.browser.principal(exchange, snapshot);
  if (!who.ok && who.reason === "unavailable") return respondFailure(exchange, "store-unavailable");
  if (!who.ok) {
    const isForeign = exchange.header("sec-fetch-site") !== "same-origin";
    if (who.reason === "missing" && snapshot.settings.cookie.sameSite === "strict" && isForeign) {
      return continueHere(exchange);
    }
    return respondFailure(exchange, "signed-out");
  }

  const result = await deps.flows.complete(who.principal, exchange.host, query.values, snapshot);
  if (!result.ok) return respondIncomplete(deps, { exchange, snapshot, principal: who.principal }, result);
  deps.attacher.forget(result.flow.userId, result.target);
  const { journey: connectFlow, routeKey } = result.flow;
  const rest = connectFlow.routes.filter((key) => key !== routeKey);
  await continueFlow(deps, {
    exchange,
    snapshot,
    principal: who.principal,
    connectFlow: { ...connectFlow, routes: rest },
  });
}

interface Travelling {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly connectFlow: ConnectFlow;
}

/** Continues with the next upstream to connect, or returns. */
async function continueFlow(
  deps: ConnectDeps,
  { exchange, snapshot, principal, connectFlow }: Travelling,
): Promise<void> {
  const ways = connectFlow.routes.flatMap((key, index) => {
    const route = snapshot.routes.find((each) => each.key === key && each.host === exchange.host);
    const target = route && !deps.isBlocked(route) ? findTarget(route) : undefined;
    return route && target ? [{ key, index, route, target }] : [];
  });
  const missing = await deps.missing(
    principal.user.id,
    ways.map(({ target }) => target),
  );
  for (const { key, index, route, target } of ways) {
    if (!missing.has(target)) continue;
    const rest = { ...connectFlow, routes: connectFlow.routes.slice(index) };
    const begun = await deps.flows.begin(principal, target, snapshot.settings, rest);
    if (begun.ok) return redirect(exchange, 302, begun.url, NO_REFERRER);
    if (begun.isOfUser !== true) deps.noteFailure(target);
    deps.log.warn(
      { request: exchange.id, route: key, failure: begun.failure, reason: begun.detail },
      "cannot connect upstream account",
    );
    const failure = failureOf(begun.failure);
    // The upstream may serve this user without a token. The first request shows it.
    const canContinue = connectFlow.isOptional === true && failure === "not-set-up";
    if (canContinue && !(await deps.wasRefused(principal.user.id, target))) continue;
    // The user has not left yet: the application gets the cause and handles it in its own way.
    if (connectFlow.tellsErrors === true)
      return redirect(exchange, 302, returnAddress(connectFlow, failure), NO_REFERRER);
    return respondConnectFailure(exchange, target.route.name, failure, wayOf(deps, principal, route, rest, failure));
  }
  redirect(exchange, 302, connectFlow.returnTo, NO_REFERRER);
}

function respondIncomplete(
  deps: ConnectDeps,
  { exchange, snapshot, principal }: Omit<Travelling, "connectFlow">,
  result: Extract<CompleteResult, { ok: false }>,
): void {
  const { failure, journey: connectFlow, code } = result;
  deps.log.warn({ request: exchange.id, failure, reason: result.detail }, "upstream account not connected");
  const route = findRoute(snapshot, connectFlow?.routes[0]);
  if (!connectFlow || !route) return respondFailure(exchange, failure === "foreign" ? "foreign" : "over");
  respondConnectFailure(exchange, route.name, failure, wayOf(deps, principal, route, connectFlow, failure), code);
}

/** Links after a failure: retry or return. */
function wayOf(
  deps: ConnectDeps,
  principal: Principal,
  route: CompiledRoute | undefined,
  connectFlow: ConnectFlow,
  failure: string,
): Way {
  return {
    again: route && deps.tickets.url(route.origin, principal.user.id, connectFlow),
    back: returnAddress(connectFlow, failure),
    backText: connectFlow.back,
  };
}

function failureOf(failure: Extract<BeginResult, { ok: false }>["failure"]) {
  return failure === "unavailable" || failure === "issuer-changed" ? failure : "not-set-up";
}

/** Reloads the same URL from a page of this host. */
function continueHere(exchange: Exchange): void {
  const here = exchange.path + exchange.query;
  respondHtml(exchange, 200, continuePage({ title: "Almost there", href: here }), ["refresh", `0;url=${here}`]);
}

function serverRoutes(snapshot: Snapshot, host: string): readonly CompiledRoute[] {
  return snapshot.routes.filter((route) => route.host === host && route.mcp?.kind === "server");
}

/** The query contains a code or a state. */
const NO_REFERRER = ["referrer-policy", "no-referrer"] as const;
