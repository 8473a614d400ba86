/**
 * The composition root: opens all parts, connects them, and closes them in reverse order.
 * DESIGN.md draws the parts: every arrow there is a line here.
 */
import { setTimeout as delay } from "node:timers/promises";

import { openListeners } from "./open-listeners.ts";
import type { AdminPages } from "./admin-listener/listener.ts";
import type { Metrics } from "./admin-listener/metrics.ts";
import { recordingReport } from "./admin-listener/records/recording.ts";
import { openAdminCertificates } from "./admin-listener/tls.ts";
import { acmeSeries } from "./admin-listener/part-series.ts";
import { createMintedTokens } from "./admin-listener/minted-tokens.ts";
import { objectEndpoint } from "./admin-listener/objects/endpoint.ts";
import { publishTokenEndpoint } from "./admin-listener/publish-tokens.ts";
import { createPublishWorkloads } from "./admin-listener/publish-workloads.ts";
import { sliceEndpoint } from "./admin-listener/publishing/slices.ts";
import { refuseChosenGroups } from "./shared/net/chosen-groups.ts";
import { type GatewayOptions, type CoreServices, openCoreServices, type Own } from "./core-services.ts";
import type { AcmeStatus } from "./acme/status.ts";
import type { UpstreamStatus } from "./features/balancing/apply-state.ts";
import type { WebhookStatus } from "./webhook/tally.ts";
import { createServices, type Services } from "./services.ts";
import { createAdmin, createPages, type PagesDeps } from "./admin-listener/admin.ts";
import { createPublishCounter } from "./admin-listener/bundle-series.ts";
import type { Awaited } from "./bundle/liveness.ts";
import { startPresence } from "./bundle/presence.ts";
import { startSecretUse } from "./bundle/secret-use.ts";
import { Publisher } from "./bundle/publisher.ts";
import { certificateSeries, createCertificateEnds, type ShownLeaves } from "./health/certificate-ends.ts";
import type { CertificateReport } from "./health/process-report.ts";
import { startAlertingOnExpiry } from "./alerts/expiring-certificates.ts";
import { closeAll } from "./shared/faults/close-all.ts";
import { connectionLimits } from "./http/listener/connection-limits.ts";
import { describeBlock } from "./policy/blocks.ts";
import type { Closable } from "./shared/clock.ts";
import type { BundleStatus } from "./bundle/report.ts";

export interface Gateway {
  /** Origin of the public listener, "http://127.0.0.1:8080". */
  readonly origin: string;
  /** Configured address. If it names no host, `origin` is only one of many addresses. */
  readonly address: string;
  readonly port: number;
  /** Origin of the admin listener; "" if the supervisor has the listener. */
  readonly adminOrigin: string;
  /** Pages of the admin listener, also for a supervisor. */
  readonly pages: AdminPages;
  readonly metrics: Pick<Metrics, "values" | "totals">;
  /** Status of upstreams with several addresses, health checks or ejection. */
  readonly upstreams: () => readonly UpstreamStatus[];
  /** Active blocks, as `/status` shows them. */
  readonly blocks: () => readonly object[];
  readonly certificateEnds: () => readonly object[];
  /** Automatic certificates; undefined without `acme`. */
  readonly acme: () => AcmeStatus | undefined;
  readonly status: () => BundleStatus;
  /** Delivery of events; undefined without a webhook. */
  readonly webhook: () => WebhookStatus | undefined;
  /** Delivery of records; undefined if they go to the log only. */
  readonly recording: () => ReturnType<typeof recordingReport>;
  /** Digest and generation of the active configuration. */
  readonly current: () => { readonly digest: string; readonly generation: number };
  /** Calls back after each change of the configuration. @returns unsubscribe */
  readonly onChange: (listener: () => void) => () => void;
  /** Reads files and published slices now. */
  reload(): Promise<void>;
  /** Reopens the authorization log after rotation. */
  reopenLogs(): void;
  /** Resolves once every authorization record so far is written. */
  flushRecords(): Promise<void>;
  /** Maximum duration of `close()`. */
  readonly closeTimeoutMs: number;
  /** Reports that it stops, waits `drain_delay`, stops accepting, and lets requests finish within `drain_timeout`. */
  close(): Promise<void>;
}

/** For closing records and connections after the requests. */
const CLOSE_GRACE_MS = 5_000;

/** @throws GatewayError with every problem of the configuration, or with the resource that could not be opened */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  refuseChosenGroups();
  // Opened parts, closed again if a later step fails.
  const opened: Closable[] = [];
  const own: Own = (part) => {
    opened.push(part);
    return part;
  };
  const { worker } = options;
  let draining = false;
  let listening = false;

  try {
    const ground = await openCoreServices(options, own);
    const { boot, store, bundle, records, metrics, clock, log } = ground;
    const services = await createServices(ground, options, own);
    const { proxy, revocations } = services;
    // Loaded on demand: a gateway with certificates in files does not pay for it.
    const acme =
      boot.acme && own(await (await import("./acme/acme.ts")).openAcme(boot.acme, { ...ground, snapshots: bundle }));
    for (const series of acme ? acmeSeries(acme) : []) metrics.register(series);
    // Set once the listeners are open.
    let leaves = (): ShownLeaves => ({ public: [], admin: [], hosts: [], automatic: [] });
    const readEnds = createCertificateEnds();
    const certificateEnds = (): readonly CertificateReport[] => readEnds(leaves(), clock.now());
    metrics.register(certificateSeries(certificateEnds));
    const { admin, pages, adminCertificates } = await openAdmin(
      ground,
      { proxy, revocations },
      {
        worker,
        isDraining: () => draining,
        isListening: () => listening,
        certificateEnds,
        acme: acme && (() => acme.status()),
      },
      own,
    );
    // Before the first request: publishers wait for every process with a heartbeat, so a process must not serve without
    // one.
    const { secrets } = ground;
    // Before the heartbeat, from which others learn that a secret is in use.
    const [current, ...earlier] = secrets ?? [];
    if (current !== undefined) own(await startSecretUse({ store, ids: [current, ...earlier], clock, log }));
    own(await startPresence({ store, id: ground.id, bundle, secrets, clock, log }));
    const { server, certificates } = await openListeners(ground, proxy, acme, own);
    listening = true;
    const hosts = () => bundle.current().certificates ?? [];
    const automatic = () => acme?.certificates() ?? [];
    if (ground.webhook) {
      const shown = { public: certificates, admin: adminCertificates, hosts, automatic };
      own(startAlertingOnExpiry(shown, ground.notify, clock));
    }
    leaves = () => ({
      public: certificates?.leaves() ?? [],
      admin: adminCertificates?.leaves() ?? [],
      hosts: hosts(),
      automatic: automatic(),
    });
    if (ground.health) {
      own(
        ground.health.observe({
          isDraining: () => draining,
          upstreams: () => proxy.upstreams(),
          openStreams: () => metrics.totals().openStreams,
          connections: () => server.connections(),
          certificates: certificateEnds,
          acme: () => acme?.status(),
          records: () => records.thread?.status() ?? [],
          webhook: () => ground.webhook?.status(),
        }),
      );
    }
    log.info({ address: server.origin, admin: admin?.origin, digest: bundle.current().digest }, "gateway ready");

    return {
      origin: server.origin,
      address: boot.address,
      port: server.port,
      adminOrigin: admin?.origin ?? "",
      pages,
      metrics,
      upstreams: () => proxy.upstreams(),
      blocks: () => ground.blocks.list().map(describeBlock),
      certificateEnds,
      acme: () => acme?.status(),
      status: () => bundle.status(),
      webhook: () => ground.webhook?.status(),
      recording: () => recordingReport(ground.recording),
      current: () => bundle.current(),
      onChange: (listener) => bundle.subscribe(() => listener()),
      reload: () => bundle.reload(),
      reopenLogs: () => records.reopen(),
      flushRecords: () => records.flush(),
      closeTimeoutMs: boot.drainDelayMs + boot.drainTimeoutMs + CLOSE_GRACE_MS,
      async close() {
        draining = true;
        // With several workers, the supervisor has waited already.
        if (worker === undefined && boot.drainDelayMs > 0) await delay(boot.drainDelayMs);
        // First, since the listener waits for open responses.
        services.drain();
        await closeAll(opened);
      },
    };
  } catch (error) {
    // The first error is the cause. A failure to close must not hide it.
    await closeAll(opened).catch(() => {});
    throw error;
  }
}

async function openAdmin(
  {
    boot,
    bundle,
    metrics,
    store,
    storeHealth,
    storeCounts,
    blocks,
    listedTools,
    webhook,
    clock,
    log,
    recording,
    recordPublished,
    recordAction,
  }: CoreServices,
  { proxy, revocations }: Pick<Services, "proxy" | "revocations">,
  {
    worker,
    isDraining,
    isListening,
    certificateEnds,
    acme,
  }: { readonly worker: string | undefined } & Pick<
    PagesDeps,
    "isDraining" | "isListening" | "certificateEnds" | "acme"
  >,
  own: Own,
) {
  const pagesDeps = {
    bundle,
    metrics,
    isDraining,
    isListening,
    certificateEnds,
    acme,
    storeHealth,
    storeCounts,
    upstreams: () => proxy.upstreams(),
    blocks: () => blocks.list().map(describeBlock),
    toolNotes: () => listedTools.list(),
    webhook: webhook && (() => webhook.status()),
    records: recording,
  };
  if (worker !== undefined)
    return { admin: undefined, pages: own(createPages(pagesDeps)), adminCertificates: undefined };
  const mintedTokens = createMintedTokens({ store, clock });
  const publishes = createPublishCounter();
  metrics.register(publishes.series);
  const onAwaited = (result: Awaited): void => publishes.add({ result });
  const publisher = new Publisher({ store, validate: bundle.validate, clock, record: recordPublished, onAwaited });
  const endpoints = [
    sliceEndpoint(publisher, bundle),
    publishTokenEndpoint(mintedTokens, log, recordAction),
    objectEndpoint({ store, clock, log, revocations, publishTokens: mintedTokens, record: recordAction }),
  ];
  const maxConnections = connectionLimits(boot.maxConnections).other;
  const opened = await openAdminCertificates(boot.adminTls, log);
  const certificates = opened && own(opened);
  const { adminAddress: address, adminHosts: hosts, adminToken: token, publishTokens } = boot;
  const workloads = createPublishWorkloads(boot, { clock, log });
  const access = { hosts, certificates, token, publishTokens, mintedTokens, workloads };
  const admin = own(await createAdmin({ ...pagesDeps, address, ...access, endpoints, maxConnections, log }));
  return { admin, pages: admin.pages, adminCertificates: certificates };
}
