/** Services for users and clients, composed behind the proxy: the other half of the composition root (gateway.ts). */
import { createApprovalModule } from "./approvals/module.ts";
import { findRoute } from "./config/snapshot.ts";
import { createGuardrailCounts } from "./admin-listener/guardrail-series.ts";
import { approvalSeries, limitSeries } from "./admin-listener/part-series.ts";
import { readPresence } from "./bundle/presence.ts";
import { createDevices } from "./identity/devices/device.ts";
import { connectionLimits } from "./http/listener/connection-limits.ts";
import { createSafeFetch, type SafeFetch } from "./http/fetch/safe-fetch.ts";
import { createIssuerKeys } from "./issuers/issuer-keys.ts";
import { createFetchDocument } from "./oauth/server/clients/fetch-document.ts";
import { findServers } from "./oauth/server/find-issuer.ts";
import type { CardsDeps } from "./portal/cards.ts";
import { catalogEndpoints } from "./catalog/catalog.ts";
import type { RunEvents } from "./oauth/server/deps.ts";
import { createIssuer } from "./oauth/server/issuer.ts";
import { createTaskOutcomes } from "./limits/history/task-outcomes.ts";
import { StoreHistory } from "./limits/history/store-history.ts";
import { RateLimits } from "./limits/rate-limits.ts";
import { knownToolsFor } from "./mcp/listed-tools.ts";
import { serverListEndpoints } from "./mcp/server-list.ts";
import type { TokenRefresh } from "./shared/clock.ts";
import { createPortal } from "./portal/portal.ts";
import type { CoreServices, Own, GatewayOptions } from "./core-services.ts";
import { createGuardrailWarnings } from "./proxy/guardrail/ask.ts";
import { createProxy, type Proxy, type ProxyDeps } from "./proxy/handle.ts";
import type { UserSection } from "./identity/users/user-endpoints.ts";
import { createPeople, type PeopleOptions, type People } from "./people.ts";
import type { Revocations } from "./identity/interfaces.ts";
import { createUpstream, type UpstreamModule } from "./oauth/client/upstream.ts";

export interface Services {
  readonly proxy: Proxy;
  readonly revocations: Revocations;
  /** Begins a shutdown: ends streams that would never end on their own. */
  drain(): void;
}

/** Composes the services for users and clients. All requests reach them through the proxy. */
export async function createServices(ground: CoreServices, options: GatewayOptions, own: Own): Promise<Services> {
  const { boot, bundle: snapshots, store, keys, log, clock, tracing, blocks, metrics, health } = ground;
  const { development } = boot;
  const fetch = createSafeFetch({ development });
  const common = { snapshots, store, keys, issuerKeys: createIssuerKeys({ fetch, clock, log }), log, clock };
  const onRefresh = (refresh: TokenRefresh): void => {
    metrics.refreshed(refresh);
    tracing?.refreshed(refresh);
    health?.refreshed(refresh);
  };
  // Created below from this session.
  const userSections: readonly UserSection[] = [
    async (...of) => console?.userSection(...of),
    (...of) => approvals.userSection(...of),
    (...of) => issuer.userSection(...of),
    (...of) => portal.userSection(...of),
  ];
  const session: People = own(
    createPeople({ ...common, ...sessionEvents(ground), boot, blocks, onRefresh, userSections }),
  );
  const { authenticator, callers, browser, csrf, idJags } = session;
  const { notify, recordAction } = ground;
  const approvals = createApprovalModule({ ...common, session, notify, recordAction });
  metrics.register(approvalSeries(approvals.counts));
  const devices = createDevices({ store, keys, session, log, clock });
  const fetchClientDocument = createFetchDocument({ fetch });
  const guarded = { fetch, development, onRefresh, clientDocumentUrl: options.clientDocumentUrl };
  const upstream = own(createUpstream({ ...common, ...guarded, browser, csrf, idJags, findServers, blocks }));
  const issuer = own(createIssuer({ ...common, session, upstream, fetchClientDocument, ...issuerParts(ground) }));
  const portal = createPortal({
    ...common,
    ...portalParts(ground, session, upstream),
    upstreams: () => proxy.upstreams(),
  });
  const countProcesses = async (): Promise<number> => (await readPresence(store)).length;
  const limits = own(new RateLimits({ snapshots, store, countProcesses, log, clock }));
  const history = own(new StoreHistory({ counts: limits.shared, clock }));
  metrics.register(limitSeries(() => limits.counts()));
  const servers = serverListEndpoints({
    authenticator,
    isConnected: (user, route) => upstream.isConnected(user, route),
    disconnect: (userId, route) => upstream.disconnect(userId, route),
    blocks,
    log,
  });
  const console =
    boot.console && recordAction && health
      ? (await import("./open-console.ts")).openConsole(
          ground,
          options,
          {
            settings: boot.console,
            recordAction,
            health,
            session,
            approvals: approvals.approvals,
            deviceProofs: devices.proofs,
            upstream,
            upstreams: () => proxy.upstreams(),
          },
          own,
        )
      : undefined;
  const proxy: Proxy = own(
    createProxy({
      ...common,
      maxUpstreamConnections: connectionLimits(boot.maxConnections).upstreams,
      endpoints: [
        ...session.endpoints,
        ...issuer.endpoints,
        ...servers,
        ...upstream.endpoints,
        ...devices.endpoints,
        ...approvals.endpoints,
        ...portal.endpoints,
        ...(ground.branding?.endpoints ?? []),
        ...catalogEndpoints({ programs: session.programs, blocks }),
        ...(console?.endpoints ?? []),
      ],
      authenticator: callers,
      signIn: session.signIn,
      deviceProofs: devices.proofs,
      programs: session.programs,
      proofs: session.proofs,
      current: session.current,
      assertions: session.assertions,
      applicationTokens: session.applicationTokens,
      trustedProxyHeaders: boot.trustedProxyHeaders,
      requiresClientCertificate: boot.downstreamMtls?.enforcement === "policy_with_default_deny",
      revocations: session.revocations,
      blocks,
      approvals: approvals.approvals,
      limits,
      ...guardrailParts(ground, fetch),
      history,
      taskOutcomes: createTaskOutcomes({ store, history, clock, log }),
      challenge: (...of) => issuer.challenge(...of),
      showAddress: (...of) => issuer.showAddress(...of),
      upstream,
      answerStore: store,
      records: ground.records,
      auditRequired: boot.auditRequired,
      notify,
      toolLocks: ground.toolLocks,
      listedTools: ground.listedTools,
      replay: boot.replay,
      redactor: ground.redactor,
      metrics: health?.count(metrics) ?? metrics,
      tracing,
    }),
  );
  return {
    proxy,
    revocations: session.revocations,
    drain() {
      proxy.drain();
      console?.drain();
    },
  };
}

function portalParts({ blocks, listedTools }: CoreServices, session: People, upstream: UpstreamModule) {
  const { browser, csrf, revocations } = session;
  const { serverState } = upstream;
  return { blocks, browser, csrf, revocations, serverState, ...consentParts({ listedTools }) };
}

/** Known tools, for pages of users. */
function consentParts({ listedTools }: Pick<CoreServices, "listedTools">): Required<Pick<CardsDeps, "knownTools">> {
  return { knownTools: (route, userId) => knownToolsFor(route, userId, listedTools) };
}

function issuerParts(ground: CoreServices) {
  return { ...consentParts(ground), runEvents: runEvents(ground) };
}

/** Webhook events and records of agent runs. */
function runEvents({ notify, recordAction }: CoreServices): RunEvents {
  return {
    onPending({ id, value }, page) {
      const { workload, servers, approver } = value;
      const data = { page, workload: workload.userId, servers: servers.slice(0, 8), approver };
      notify({ type: "run.waiting", subject: id, data });
    },
    onDecided({ id, value }) {
      recordAction?.({
        action: value.state === "active" ? "approve" : "refuse",
        by: value.userId ?? "",
        target: `run ${id} of ${value.workload.userId} on ${value.servers.join(", ")}`,
        before: "pending",
        after: value.state,
      });
    },
  };
}

/** Metrics and records of sign-ins and sign-outs. */
function sessionEvents({ metrics, health, recordAction }: CoreServices): Partial<PeopleOptions> {
  return {
    onSignOut: (signOut) => metrics.signedOut(signOut),
    onGroupsOmitted: (why) => metrics.groupsOmitted(why),
    onEndedByDirectory: (directory, userId) =>
      recordAction?.({
        action: "revoke",
        by: `directory ${directory}`,
        target: `all access of ${userId}`,
        after: null,
      }),
    onProviderAsked: health?.providerAsked,
  };
}

function guardrailParts(
  { metrics, bundle, clock }: CoreServices,
  fetch: SafeFetch,
): Required<Pick<ProxyDeps, "guardrailFetch" | "countVerdict" | "guardrailWarnings">> {
  const counts = createGuardrailCounts((key) => findRoute(bundle.current(), key) !== undefined);
  for (const series of counts.series) metrics.register(series);
  return { guardrailFetch: fetch, countVerdict: counts.add, guardrailWarnings: createGuardrailWarnings({ clock }) };
}
