/**
 * The gateway as an OAuth client toward upstream services: obtains, stores, sends and revokes Internal Tokens.
 *
 * Files: target and need (requirements of routes), discovery/ (authorization servers), connect/ (client identity, the
 * user's flow, requests to token endpoints), tokens/ (users' connections), direct/ (tokens without user connection),
 * attach-token and refusal (proxied requests), changes (announcements to replicas), connection-records (stored data).
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { endpointOverStore, type Endpoint } from "../../http/endpoint.ts";
import type { SafeFetch } from "../../http/fetch/safe-fetch.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { steadyClock, type Clock, type Closable, type TokenRefresh } from "../../shared/clock.ts";
import type { Principal, User } from "../../identity/principal.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { BrowserSessions, Csrf, IdJags } from "../../identity/interfaces.ts";
import type { Store } from "../../store/store.ts";
import { createConnections, type Connections } from "./list-connections.ts";
import { createTokenAttacher, type TokenAttacher, type TokenSource } from "./attach-token.ts";
import { createConnectionChanges } from "./changes.ts";
import { createBoundIssuers } from "./discovery/bound-issuer.ts";
import { createClientChooser } from "./connect/client-choice.ts";
import { respondClientDocument } from "./connect/client-document.ts";
import { callback, connect, type FindServers } from "./connect/connect.ts";
import { respondFailure } from "./connect/failure-page.ts";
import { createFlows, type FlowDeps } from "./connect/flow.ts";
import { createTickets } from "./connect/connect-flow.ts";
import { DirectTokens } from "./direct/direct-tokens.ts";
import { createNeeds } from "./need.ts";
import { needKey, type UpstreamTokenRecord } from "./connection-records.ts";
import { createRefusalHandler, type RefusalHandler } from "./refusal.ts";
import {
  CALLBACK_PATH,
  canConnect,
  CLIENT_DOCUMENT_PATH,
  CONNECT_PATH,
  findTarget,
  type UpstreamTarget,
} from "./target.ts";
import { createUserSection, DISCONNECT_PATH, type ConnectionState, type FindServerState } from "./user-section.ts";
import { createUpstreamTokenStore } from "./tokens/token-store.ts";

export interface UpstreamDeps {
  readonly snapshots: Snapshots;
  readonly store: Store;
  readonly keys: Keys;
  readonly browser: BrowserSessions;
  readonly csrf: Csrf;
  /** ID-JAGs of users, from their identity provider. */
  readonly idJags: IdJags;
  /** Compares resources like the authorization server. */
  readonly findServers: FindServers;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "find">;
  readonly fetch: SafeFetch;
  /** Allows http and loopback in discovery. */
  readonly development: boolean;
  readonly log: Log;
  readonly clock: Clock;
  /** Overrides the URL of our client ID metadata document, for tests without an https address. */
  readonly clientDocumentUrl?: string | undefined;
  readonly onRefresh?: ((refresh: TokenRefresh) => void) | undefined;
  /** Maximum wait for servers that are probed for their need of a token; for tests. */
  readonly lookMs?: number | undefined;
}

export interface UpstreamModule extends Closable {
  readonly endpoints: readonly Endpoint[];
  readonly tokens: TokenAttacher;
  readonly refusals: RefusalHandler;
  /** State in the list of servers (D19): true if the user has completed the flow, or none is needed. */
  isConnected(user: Pick<User, "id">, route: CompiledRoute): Promise<boolean>;
  stateOf(userId: string, route: CompiledRoute): Promise<ConnectionState>;
  /** For the portal. */
  readonly serverState: FindServerState;
  /** Whether the user has a flow to complete before these routes work. Never true for an upstream that cannot be connected. */
  mustConnect(userId: string, routes: readonly CompiledRoute[]): Promise<boolean>;
  /**
   * URL where a browser connects the missing upstreams of these routes of one host, and then returns.
   *
   * @param returnTo URL of our own, already checked
   * @returns undefined if nothing is missing
   */
  connectUrl(
    principal: Principal,
    routes: readonly CompiledRoute[],
    returnTo: string,
    back: string,
  ): Promise<string | undefined>;
  /** Keys of routes whose server did not respond to a probe. */
  unanswered(routes: readonly CompiledRoute[]): Promise<ReadonlySet<string>>;
  /**
   * Deletes the user's tokens and revokes them at the upstream.
   *
   * @param by who disconnects on behalf of the user
   * @returns true if there were any
   */
  disconnect(userId: string, route: CompiledRoute, by?: string): Promise<boolean>;
  /** Users' connections. */
  readonly connections: Connections;
}

/** A flow that could not start is not requested again by rejected refreshes within this time. */
const FAILED_MS = 60_000;

export function createUpstream(deps: UpstreamDeps): UpstreamModule {
  const { snapshots, clock, log } = deps;
  const steady = steadyClock(clock);
  const issuers = createBoundIssuers(deps);
  const clients = createClientChooser({ ...deps, issuers });
  const needs = createNeeds({ ...deps, issuers });
  const changes = createConnectionChanges(deps);
  const tokenStore = createUpstreamTokenStore({ ...deps, clients, changes, needs });
  const directTokens = new DirectTokens({ ...deps, clients, needs });
  const source = (target: UpstreamTarget): TokenSource => (target.direct ? directTokens : tokenStore);
  const tokens = createTokenAttacher({
    tokenStore: {
      hold: (userId, target) => source(target).hold(userId, target),
      replace: (userId, target, ...of) => source(target).replace(userId, target, ...of),
    },
    snapshots,
    changes,
    clock,
    log,
  });
  const refusals = createRefusalHandler({ tokenStore, directTokens, needs, attacher: tokens, log });
  /** Requests of a blocked route cause no requests to its upstream or authorization server. */
  const isBlocked = (route: CompiledRoute): boolean => deps.blocks?.find({ routeKey: route.key }) !== undefined;
  const flows = createFlows({ ...deps, clients, needs, tokenStore, isBlocked });
  const tickets = createTickets(deps);
  /** Upstream → time until which its flows count as failing. */
  const failing = new Map<string, number>();

  const { isMissing, missingOf, canBeConnected, targetsOf } = createMissing(deps, { needs, tokenStore, isBlocked });

  const connectDeps = {
    browser: deps.browser,
    flows,
    tickets,
    attacher: tokens,
    findServers: deps.findServers,
    isBlocked,
    missing: missingOf,
    wasRefused: async (userId: string, target: UpstreamTarget) =>
      target.mode !== "discovery" || (await needs.wasSent(userId, target)) !== undefined,
    noteFailure: (target: UpstreamTarget) => void failing.set(needKey(target), steady.now() + FAILED_MS),
    log,
  };

  const endpoint = (method: "GET" | "POST", path: string, handle: Endpoint["handle"]): Endpoint =>
    endpointOverStore({ methods: [method], path, mcp: true, handle }, log, (exchange) =>
      respondFailure(exchange, "store-unavailable"),
    );

  const stateOf = async (userId: string, route: CompiledRoute): Promise<ConnectionState> => {
    const target = findTarget(route);
    if (!target || target.direct) return "not-needed";
    if (isUsable(await tokenStore.find(userId, target), clock)) return "connected";
    return (await needs.look(target)) === "needed" ? "disconnected" : "not-needed";
  };

  const disconnect = async (userId: string, route: CompiledRoute, by?: string): Promise<boolean> => {
    const target = findTarget(route);
    return target !== undefined && (await tokenStore.disconnect(userId, target, by));
  };

  const userSection = createUserSection({
    browser: deps.browser,
    csrf: deps.csrf,
    tickets,
    stateOf,
    disconnect,
  });

  return {
    endpoints: [
      endpoint("POST", DISCONNECT_PATH, (exchange, snapshot) => userSection.disconnectByForm(exchange, snapshot)),
      endpoint("GET", CONNECT_PATH, (exchange, snapshot) => connect(connectDeps, exchange, snapshot)),
      endpoint("GET", CALLBACK_PATH, (exchange, snapshot) => callback(connectDeps, exchange, snapshot)),
      {
        methods: ["GET"],
        path: CLIENT_DOCUMENT_PATH,
        mcp: true,
        cors: true,
        handle: (exchange, snapshot) => respondClientDocument(exchange, snapshot),
      },
    ],
    tokens,
    refusals,
    isConnected: async (user, route) => (await stateOf(user.id, route)) !== "disconnected",
    stateOf,
    serverState: userSection.serverState,
    async mustConnect(userId, routes) {
      for (const route of routes) {
        const target = findTarget(route);
        if (!target || steady.now() < (failing.get(needKey(target)) ?? 0)) continue;
        // Such an upstream may serve this user without a token. The client keeps its access until a request is rejected.
        if (target.mode === "discovery" && !(await needs.wasSent(userId, target))) continue;
        if (canBeConnected(target) && (await isMissing(userId, target))) return true;
      }
      return false;
    },
    async connectUrl(principal, routes, returnTo, back) {
      const missing = [...(await missingOf(principal.user.id, targetsOf(routes)))].map(({ route }) => route.key);
      const [first] = routes;
      if (missing.length === 0 || !first) return undefined;
      return tickets.url(first.origin, principal.user.id, { returnTo, routes: missing, back, isOptional: true });
    },
    async unanswered(routes) {
      const targets = targetsOf(routes).filter(({ direct }) => !direct);
      const looked = await Promise.all(targets.map((target) => needs.look(target)));
      return new Set(targets.filter((_, index) => looked[index] === "unanswered").map(({ route }) => route.key));
    },
    disconnect,
    connections: createConnections(deps),
    async close() {
      await changes.close();
      await Promise.all([tokenStore.close(), directTokens.close()]);
    },
  };
}

/** Upstreams that users have to connect. */
function createMissing(
  { snapshots, clock }: UpstreamDeps,
  { needs, tokenStore, isBlocked }: Pick<FlowDeps, "needs" | "tokenStore" | "isBlocked">,
) {
  /** Returns true if the user is known to have something to connect there. */
  const isMissing = async (userId: string, target: UpstreamTarget): Promise<boolean> => {
    // Direct grants need no user consent.
    if (target.direct) return false;
    if ((await needs.look(target)) !== "needed" && !(await needs.wasSent(userId, target))) return false;
    const record = await tokenStore.find(userId, target);
    return !isUsable(record, clock) || (record?.wantedScopes.length ?? 0) > 0;
  };
  /** In parallel: unresponsive servers delay the user only once. */
  const missingOf = async (userId: string, targets: readonly UpstreamTarget[]): Promise<Set<UpstreamTarget>> => {
    const found = await Promise.all(targets.map((target) => isMissing(userId, target)));
    return new Set(targets.filter((_, index) => found[index]));
  };
  /** Returns true if the user can connect the upstream. */
  const canBeConnected = (target: UpstreamTarget): boolean =>
    canConnect(target, snapshots.current().settings) && !isBlocked(target.route);
  const targetsOf = (routes: readonly CompiledRoute[]): readonly UpstreamTarget[] =>
    routes.flatMap((route) => {
      const target = findTarget(route);
      return target && canBeConnected(target) ? [target] : [];
    });
  return { isMissing, missingOf, canBeConnected, targetsOf };
}

/** A valid token, or a renewable one. */
function isUsable(record: UpstreamTokenRecord | undefined, clock: Clock): boolean {
  if (!record || record.ended !== undefined || record.tokens === undefined) return false;
  return record.canRefresh || record.expiresAt === undefined || record.expiresAt * 1000 > clock.now();
}
