/**
 * A request's path through the gateway: `handle` finds its route, then `webSteps` or `mcpSteps` run in order, up to the first
 * that responds. Before them come accept and exchange (http/listener/server.ts).
 *
 * Untrusted input: every Exchange. Promises: requests that are not understood, not authenticated or not allowed do not reach
 * an upstream; a failing part denies; each check leaves one record.
 */
import type { Snapshot, Snapshots } from "../config/snapshot.ts";
import { createUpstreamStates, statusOf, type UpstreamStatus } from "../features/balancing/apply-state.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondError } from "../http/respond.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { Authenticator, Revocations } from "../identity/interfaces.ts";
import type { Principal } from "../identity/principal.ts";
import { createMessageAddresses } from "../mcp/message-address.ts";
import { createApprovalStates } from "../mcp/approval/request-state.ts";
import { createMcpSessions, type McpSessions } from "../mcp/mcp-sessions.ts";
import { createTaskIds } from "../mcp/tasks/task-ids.ts";
import { createToolLocks } from "../mcp/tool-locks/tool-locks.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { createHealthChecks } from "../upstreams/health/health-checks.ts";
import { createNamedPools } from "../upstreams/named-pools.ts";
import type { Transport } from "../upstreams/transport-types.ts";
import { createTransport } from "../upstreams/transport.ts";
import { answerRoute } from "./answer-route.ts";
import { answerNoRoute, answerUnknownHost } from "./answers/answer-no-route.ts";
import { createApprovalHolds, holdForApproval, type HoldDeps } from "./approval/hold.ts";
import { decideMcp } from "./approval/decide-mcp.ts";
import { useApproval, type ApproveDeps } from "./approval/approve.ts";
import { renewDevices, type DeviceDeps } from "./device.ts";
import { createEndpointFinder } from "./endpoints.ts";
import { firstChecks, type ClientCertificateDeps } from "./first-checks.ts";
import { forward } from "./forwarding/forward.ts";
import type { ForwardDeps } from "./forwarding/forwarding.ts";
import type { PendingAnswersDeps } from "./federation/pending-answers.ts";
import { federatedSteps } from "./federation/steps.ts";
import { checkByGuardrail } from "./guardrail/check-call.ts";
import { createHopCounter } from "./forwarding/hop-count.ts";
import { fetchProviderTokens } from "./forwarding/provider-tokens.ts";
import type { RequestHeaderDeps } from "./forwarding/request-headers.ts";
import { UnderWay } from "./forwarding/stream-admission.ts";
import { Streams } from "./forwarding/streams.ts";
import { upgrade } from "./forwarding/upgrade.ts";
import { rewritePath } from "./forwarding/upstream-path.ts";
import { cookieSealBeginnings } from "../identity/cookie.ts";
import { attachInternalToken, refusalOf, type InternalTokenDeps } from "./tokens/internal-token.ts";
import { createListChanges } from "./lists/list-changes.ts";
import type { ToolLockDeps } from "./lists/tool-lock.ts";
import {
  answerPreflight,
  checkOrigin,
  findMcpPath,
  openMessageAddress,
  openSession,
  readMessage,
  sealSession,
  takeMessage,
} from "./mcp-route.ts";
import { authenticateToken, requireBoundToken } from "./tokens/presented-token.ts";
import { narrowListen } from "./narrow-listen.ts";
import type { OutcomeDeps } from "./history/outcome.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import { createRequestContext } from "./request-context.ts";
import { buildRouteTable, prepareRouteTable, type RouteTable } from "./route-table.ts";
import { runSteps, type Step } from "./steps.ts";
import { createScopeChallenges } from "./answers/require-scopes.ts";
import { checkTasks, openTasks } from "./tasks/open-tasks.ts";
import {
  authenticateCookie,
  authenticateOwnToken,
  authenticateProviderToken,
  decideWeb,
  requireSignIn,
  type ProgramDeps,
  type SignInDeps,
} from "./web-route.ts";
import { task } from "../shared/faults/guard.ts";
import { createSpreadWork } from "../shared/changes/spread-work.ts";

/** Dependencies of the steps and of forwarding, each with its own interface. */
export interface ProxyDeps
  extends
    ProgramDeps,
    SignInDeps,
    DeviceDeps,
    ClientCertificateDeps,
    InternalTokenDeps,
    ApproveDeps,
    OutcomeDeps,
    Pick<HoldDeps, "approvalHoldMs">,
    Omit<RequestHeaderDeps, "hopCounter" | "cookieSeals">,
    PendingAnswersDeps,
    Pick<ForwardDeps, "guardrailFetch" | "countVerdict" | "guardrailWarnings">,
    ToolLockDeps {
  readonly snapshots: Snapshots;
  /** Endpoints of the gateway itself, of all modules. */
  readonly endpoints: readonly Endpoint[];
  readonly authenticator: Authenticator;
  /** Reads the current principal, for open responses; absent = they are not rechecked. */
  readonly current?: (principal: Principal) => Promise<Principal | undefined>;
  readonly revocations: Revocations;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Blocks;
  /** Open connections to all upstreams together; absent: no limit. */
  readonly maxUpstreamConnections?: number | undefined;
  /** Absent: the gateway does not trace requests. */
  readonly tracing?: Tracing | undefined;
}

export interface Proxy {
  handle(exchange: Exchange): void;
  /** True for hosts of routes and for the authenticate host; the other one for hosts of routes with http://. */
  servesHost(host: string): boolean;
  servesPlainHost(host: string): boolean;
  /** Upstream responses in flight, including open streams. */
  readonly underWay: number;
  /** For tests and metrics. */
  readonly streams: Streams;
  /** Status of upstreams with health checks or several members; for metrics and the status page. */
  upstreams(): readonly UpstreamStatus[];
  /** Starts a shutdown: ends endless streams. Call it, then close the server, then call `close()`. */
  drain(): void;
  /** Waits for responses in flight up to `timeoutMs` (default 10 s), then aborts the rest. May be called twice. */
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
}

export function createProxy(proxyDeps: ProxyDeps & { readonly transport?: Transport }): Proxy {
  const { toolLocks = createToolLocks() } = proxyDeps;
  const deps = { ...proxyDeps, toolLocks };
  const transport = deps.transport ?? createTransport({ maxConnections: deps.maxUpstreamConnections });
  const streams = new Streams(deps);
  const endpoints = createEndpointFinder(deps);
  const mcpSessions = createMcpSessions(deps);
  const messageAddresses = createMessageAddresses(deps);
  const taskIds = createTaskIds(deps);
  const approvalStates = createApprovalStates(deps);
  const holds = createApprovalHolds();
  const states = createUpstreamStates();
  const spreadWork = createSpreadWork();
  const checks = createHealthChecks({ transport, log: deps.log, spreadWork });
  const pools = createNamedPools();
  const listChanges = createListChanges(deps);
  const follow = (next: Snapshot): void => {
    states.follow(next);
    checks.follow(next);
    toolLocks.follow(next.routes);
    proxyDeps.listedTools?.follow(next.routes);
  };
  const underWay = new UnderWay();

  const forwarding: ForwardDeps = {
    ...deps,
    transport,
    streams,
    messageAddresses,
    taskIds,
    // The same in all processes that share the secret.
    hopCounter: createHopCounter(deps.keys.derive("gateway-id")[0]?.toString("hex", 0, 6) ?? ""),
    cookieSeals: cookieSealBeginnings(deps.keys),
    listChanges,
    sealSession: (context, upstreamSession) => sealSession(mcpSessions, context, upstreamSession),
    refusalOf: (context, status, headers) => refusalOf(deps, context, status, headers),
    underWay,
  };
  const onWebRoutes = webSteps(deps, forwarding);
  const onMcpRoutes = mcpSteps(deps, forwarding, { approvalStates, holds, mcpSessions });
  let snapshot: Snapshot = deps.snapshots.current();
  follow(snapshot);
  let table: RouteTable = buildRouteTable(snapshot);
  const preparedTables = new WeakMap<Snapshot, RouteTable>();
  const unprepare = deps.snapshots.prepare?.(async (next) => {
    preparedTables.set(next, await prepareRouteTable(next));
  });
  const unsubscribe = deps.snapshots.subscribe((next) => {
    follow(next);
    table = preparedTables.get(next) ?? buildRouteTable(next);
    snapshot = next;
    streams.reconsider(next);
    // Later, not between two requests that wait for the swap.
    setImmediate(task("end of connections without a route", () => spreadWork.add(endConnections(next))));
  });

  return {
    streams,
    upstreams: () => [...states.all()].map((state) => statusOf(state, deps.clock.now())),
    get underWay() {
      return underWay.count;
    },
    servesHost: (host) => table.findHost(host) !== undefined,
    servesPlainHost: (host) => table.findHost(host)?.scheme === "http",

    handle(exchange) {
      const trace = deps.tracing?.begin(exchange);
      const host = table.findHost(exchange.routedHost ?? exchange.host);
      exchange.supportUrl = snapshot.settings.supportUrl;
      exchange.addedHeaders = table.addedHeaders[host?.scheme ?? (exchange.secure ? "https" : "http")];
      if (!host) {
        deps.metrics?.refused("host-unknown");
        return answerUnknownHost(exchange);
      }
      if (endpoints.answer(exchange, snapshot)) return;

      const found = host.findRoute(exchange.path, exchange);
      if (!found.ok) {
        deps.metrics?.refused(found.reason);
        return answerNoRoute(exchange, found.reason);
      }
      const { prepared } = found;
      exchange.addedHeaders = prepared.addedHeaders;
      trace?.routed(prepared.route);
      if (prepared.route.mcp !== undefined && !snapshot.settings.mcpEnabled) {
        respondError(exchange, 503, { code: "mcp.disabled", message: "MCP is not enabled on this gateway" });
        return;
      }
      if (prepared.isMcpServer && endpoints.answerBelowRoute(exchange, snapshot)) return;

      const context = createRequestContext(exchange, snapshot, prepared, trace, found.otherPaths);
      runSteps(prepared.isMcpServer ? onMcpRoutes(prepared) : onWebRoutes, context, deps.log);
    },

    drain() {
      // An endless stream would hold the process until the deadline. Its client reopens it elsewhere.
      streams.endAll((stream) => stream.isEndless);
      holds.releaseAll();
    },

    async close({ timeoutMs = 10_000 } = {}) {
      unprepare?.();
      unsubscribe();
      checks.close();
      listChanges.close();
      streams.endAll((stream) => stream.isEndless);
      await underWay.idleWithin(timeoutMs);
      streams.close();
      await transport.close();
    },
  };

  function* endConnections({ routes }: Snapshot): Generator<void> {
    yield* pools.follow(routes);
    transport.retain({ has: (key) => pools.has(key) || checks.usesPool(key) });
  }
}

/** Steps on ordinary routes and MCP client routes. */
function webSteps(deps: ProxyDeps, forwarding: ForwardDeps): readonly Step[] {
  return [
    ...firstChecks(deps),
    authenticateProviderToken(deps),
    authenticateCookie(deps),
    authenticateOwnToken(deps),
    renewDevices(deps),
    requireSignIn(deps),
    decideWeb(deps),
    fetchProviderTokens(deps),
    answerRoute(deps),
    rewritePath(deps),
    upgrade(forwarding),
    forward(forwarding),
  ];
}

type OwnMcpDeps = Pick<HoldDeps, "approvalStates" | "holds"> & { readonly mcpSessions: McpSessions };

/** Steps on MCP server routes; routes with members send requests to them by the steps of direct calls. */
function mcpSteps(
  deps: ProxyDeps,
  forwarding: ForwardDeps,
  own: OwnMcpDeps,
): (route: PreparedRoute) => readonly Step[] {
  const calls = callSteps(deps, forwarding, own);
  const direct = [...firstChecks(deps), checkOrigin(deps), answerPreflight, authenticateToken(deps), ...calls];
  const federated = federatedSteps(deps, { ...forwarding, ...own, snapshots: deps.snapshots }, calls);
  return ({ isFederated }) => (isFederated ? federated : direct);
}

/** Steps once the caller is known, the same for members of federated routes. */
function callSteps(deps: ProxyDeps, forwarding: ForwardDeps, own: OwnMcpDeps): readonly Step[] {
  const { messageAddresses, taskIds } = forwarding;
  const bound = { ...deps, ...own, messageAddresses, taskIds };
  return [
    requireBoundToken(deps),
    findMcpPath(deps),
    openMessageAddress(bound),
    readMessage(deps),
    takeMessage(deps),
    openSession(bound),
    holdForApproval(bound),
    checkByGuardrail(deps),
    openTasks(bound),
    decideMcp({ ...bound, scopeChallenges: createScopeChallenges(deps) }),
    narrowListen(deps),
    checkTasks(bound),
    attachInternalToken(deps),
    fetchProviderTokens(deps),
    useApproval(deps),
    forward(forwarding),
  ];
}
