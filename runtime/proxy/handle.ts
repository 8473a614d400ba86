/**
 * A request's way through the gateway, as a list.
 *
 * accept, exchange (http/listener/server.ts) → host → own endpoints → route → preflight and Origin → authenticate → inspect →
 * decide and record (web-route.ts, mcp-route.ts) → request headers → forward → response headers (forward.ts).
 *
 * Untrusted input: every Exchange. Promises: what is not understood, not authenticated or not allowed does not reach an
 * upstream; a failing part denies; each check leaves one record.
 */
import { respondError } from "../http/respond.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Keys } from "../shared/keys.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { createMessageAddresses } from "../mcp/message-address.ts";
import { createMcpSessions } from "../mcp/sessions.ts";
import { refuseBlockedRoute } from "./blocked.ts";
import { refuseWithoutCertificate } from "./client-certificate.ts";
import { recordRefusal } from "./decide.ts";
import { createEndpointFinder } from "./endpoints.ts";
import { buildRouteTable, prepareRouteTable, type RouteTable } from "./route-table.ts";
import type { NoRouteReason } from "../features/routing/apply-host-routes.ts";
import { poolKeyOf } from "../features/connection/pool-key.ts";
import type { Transport } from "../upstreams/transport-types.ts";
import { createHealthChecks, type HealthChecks } from "../upstreams/health/health-checks.ts";
import { refusalOf } from "./internal-token.ts";
import { createMaglevTables } from "../features/balancing/apply-maglev-tables.ts";
import { sealSession, serveMcpRoute, type McpDeps } from "./mcp-route.ts";
import { beginPassage, type Passage, type ProxyDeps } from "./request-context.ts";
import { createPasses } from "./forwarding/hop-count.ts";
import type { RoutePlan } from "./prepared-route.ts";
import { guard, proceed } from "./steps.ts";
import { createStreams, type Streams } from "./forwarding/streams.ts";
import { createTransport } from "../upstreams/transport.ts";
import { createUpstreamStates, statusOf, type UpstreamStatus } from "../features/balancing/apply-state.ts";
import { serveWebRoute } from "./web-route.ts";

export type { ProxyDeps, ProxyMetrics } from "./request-context.ts";

export interface Proxy {
  handle(exchange: Exchange): void;
  /** True for hosts of routes and for the authenticate host. */
  servesHost(host: string): boolean;
  /** Answers under way at the upstreams, open streams included. */
  readonly underWay: number;
  /** For tests and metrics. */
  readonly streams: Streams;
  /** What is known of upstreams, where it decides anything; for metrics and the status page. */
  upstreams(): readonly UpstreamStatus[];
  /** Begins a shutdown: ends streams that would never end by themselves. Call it, then close the server, then `close()`. */
  drain(): void;
  /** Waits for what is under way up to `timeoutMs` (default 10 s), then cuts what is left. May be called twice. */
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
}

const DEFAULT_DRAIN_MS = 10_000;

export function createProxy(deps: ProxyDeps & { readonly transport?: Transport }): Proxy {
  const transport = deps.transport ?? createTransport();
  const streams = createStreams(deps);
  const endpoints = createEndpointFinder(deps);
  const mcpSessions = createMcpSessions(deps);
  const messageAddresses = createMessageAddresses(deps);
  const states = createUpstreamStates();
  const checks = createHealthChecks({ transport, log: deps.log });
  const maglevTables = createMaglevTables();
  const follow = (next: Snapshot): void => {
    states.follow(next);
    maglevTables.follow(next);
    checks.follow(next);
  };
  let underWay = 0;
  let whenIdle: (() => void) | undefined;

  const steps: McpDeps = {
    ...deps,
    mcpSessions,
    forwarding: {
      ...deps,
      transport,
      streams,
      messageAddresses,
      passes: createPasses(idOf(deps.keys)),
      sealSession: (passage, upstreamSession) => sealSession(mcpSessions, passage, upstreamSession),
      refusalOf: (passage, status, headers) => refusalOf(deps, passage, status, headers),
      begun: () => (underWay += 1),
      finished: () => {
        underWay -= 1;
        if (underWay === 0) whenIdle?.();
      },
    },
  };

  let snapshot: Snapshot = deps.snapshots.current();
  follow(snapshot);
  let table: RouteTable = buildRouteTable(snapshot);
  const prepared = new WeakMap<Snapshot, RouteTable>();
  const unprepare = deps.snapshots.prepare?.(async (next) => {
    prepared.set(next, await prepareRouteTable(next));
  });
  const unsubscribe = deps.snapshots.subscribe((next) => {
    follow(next);
    table = prepared.get(next) ?? buildRouteTable(next);
    snapshot = next;
    streams.reconsider(next);
    // Not between two requests that wait for the swap.
    setImmediate(() => transport.retain(poolKeysOf(next, checks)));
  });

  return {
    streams,
    upstreams: () => [...states.all()].map((state) => statusOf(state, deps.clock.now())),
    get underWay() {
      return underWay;
    },

    servesHost: (host) => table.findHost(host) !== undefined,

    handle(exchange) {
      const trace = deps.tracing?.begin(exchange);
      const host = table.findHost(exchange.host);
      exchange.addedHeaders = table.addedHeaders[host?.scheme ?? (exchange.secure ? "https" : "http")];
      if (!host) {
        deps.metrics?.refused("host-unknown");
        respondError(exchange, 421, { code: "host.unknown", message: "This gateway does not serve this host" });
        return;
      }
      if (endpoints.answer(exchange, snapshot)) return;

      const found = host.findRoute(exchange.path);
      if (!found.ok) {
        deps.metrics?.refused(found.reason);
        answerNoRoute(exchange, found.reason);
        return;
      }
      const { plan } = found;
      exchange.addedHeaders = plan.addedHeaders;
      trace?.routed(plan.route);
      if (plan.route.mcp !== undefined && !snapshot.settings.mcpEnabled) {
        respondError(exchange, 503, { code: "mcp.disabled", message: "MCP is not enabled on this gateway" });
        return;
      }
      if (plan.isMcpServer && endpoints.answerBelowRoute(exchange, snapshot)) return;

      const passage = beginPassage(exchange, snapshot, plan, trace, found.otherPath);
      guard(steps, passage, () => {
        if (refuseBlockedRoute(steps, passage)) return;
        if (refuseWithoutCertificate(steps, passage)) return;
        if (exchange.upgrade !== undefined && refuseUpgrade(steps, passage)) return;
        if (plan.isMcpServer) serveMcpRoute(steps, passage);
        else serveWebRoute(steps, passage);
      });
    },

    drain() {
      // A stream without an end of its own would hold the process until the deadline; its client opens it anew elsewhere.
      streams.endAll((stream) => stream.isEndless);
    },

    async close({ timeoutMs = DEFAULT_DRAIN_MS } = {}) {
      unprepare?.();
      unsubscribe();
      checks.close();
      maglevTables.close();
      streams.endAll((stream) => stream.isEndless);
      await idleWithin(timeoutMs);
      streams.close();
      await transport.close();
    },
  };

  function idleWithin(timeoutMs: number): Promise<void> {
    if (underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/**
 * Refuses WebSocket where the route does not take it, or not from this page, and records it. Browsers send cookies with a
 * handshake that any page begins and let it read the answers; no preflight asks first, so a foreign Origin ends here.
 *
 * @returns false when the handshake goes on
 */
function refuseUpgrade(deps: McpDeps, passage: Passage): boolean {
  const { exchange, plan } = passage;
  const origin = exchange.header("origin");
  const isTaken = plan.route.allowWebsockets && !plan.isMcpServer;
  if (isTaken && (origin === undefined || origin === routeOrigin(exchange, plan))) return false;
  deps.metrics?.refused("websocket");
  const recorded = recordRefusal(deps, passage, isTaken ? "origin-not-allowed" : "websocket-not-allowed");
  proceed(deps, passage, recorded, () =>
    respondError(exchange, 403, { code: "websocket.refused", message: "This address takes no WebSocket from here" }),
  );
  return true;
}

/** The same in all processes that share the secret. */
function idOf(keys: Keys): string {
  return keys.derive("gateway-id")[0]?.toString("hex", 0, 6) ?? "";
}

/** Scheme and host under which the client knows the route. */
function routeOrigin(exchange: Exchange, { route, scheme }: RoutePlan): string {
  return route.isWildcard ? `${scheme}://${exchange.host}` : route.origin;
}

function poolKeysOf(snapshot: Snapshot, checks: HealthChecks): ReadonlySet<string> {
  const keys = new Set<string>(checks.poolKeys());
  for (const { to } of snapshot.routes) for (const upstream of to) keys.add(poolKeyOf(upstream));
  return keys;
}

function answerNoRoute(exchange: Exchange, reason: NoRouteReason): void {
  if (reason === "no-route") {
    respondError(exchange, 404, { code: "route.not-found", message: "There is nothing at this address" });
  } else if (reason === "path-too-long") {
    respondError(exchange, 414, { code: "request.path-too-long", message: "The path of this request is too long" });
  } else {
    respondError(exchange, 400, {
      code: "request.ambiguous-path",
      message: "The path of this request has two readings",
    });
  }
}
