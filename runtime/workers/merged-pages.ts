/** Several workers shown as one gateway: readiness, status and metrics for the supervisor's admin listener. */
import type { JWK } from "jose";

import { degraded } from "../admin-listener/admin.ts";
import type { AdminPages } from "../admin-listener/listener.ts";
import type { Totals } from "../admin-listener/metrics.ts";
import { createSeriesRegistry, mergeMetrics, type Series } from "../admin-listener/series.ts";
import { processFacts } from "../admin-listener/process-facts.ts";
import { storeStatus, worstStoreStatus } from "../admin-listener/store/store-status.ts";
import type { StoreHealth } from "../store/watch/store-health.ts";
import { mergeSinks } from "../admin-listener/records/recording.ts";
import { mergeStatus } from "../webhook/tally.ts";
import type { Fleet } from "./fleet.ts";
import type { WorkerReport } from "./protocol.ts";

export interface MergedPagesDeps {
  readonly fleet: Fleet;
  readonly storeHealth: Pick<StoreHealth, "look">;
  readonly sealKey: JWK | undefined;
  readonly isDraining: () => boolean;
  /** Metrics of the supervisor. */
  readonly series: readonly Series[];
}

export function mergedPages({ fleet, storeHealth, sealKey, isDraining, series }: MergedPagesDeps): AdminPages {
  const about = processFacts(isDraining, storeHealth);
  const own = createSeriesRegistry({ processMetrics: false });
  for (const each of series) own.register(each);
  own.register({
    name: "gateway_workers",
    help: "Worker processes by state.",
    type: "gauge",
    read() {
      const members = fleet.members();
      const serving = members.filter((member) => member.serving).length;
      return [
        { value: serving, labels: { state: "serving" } },
        { value: members.length - serving, labels: { state: "starting" } },
      ];
    },
  });
  own.register({
    name: "gateway_worker_restarts_total",
    help: "Restarts of worker processes.",
    type: "counter",
    read: () => [{ value: fleet.members().reduce((sum, { restarts }) => sum + restarts, 0) }],
  });

  return {
    async readiness() {
      const reports = await fleet.recentReports();
      // The workers serve; only publishers depend on the supervisor's own store.
      const store = worstStoreStatus(reports.map((report) => report.store)) ?? storeStatus(await storeHealth.look());
      const draining = isDraining();
      const serving = reports.filter(({ ready }) => ready).length;
      const { digest = "", published, owners } = reports[0]?.bundle ?? {};
      return {
        // One serving worker is enough; the others are restarting.
        ready: !draining && serving > 0,
        digest,
        generation: published?.inForce ?? 0,
        draining,
        ...store,
        reload: reports.some(({ bundle }) => bundle.lastError) ? "failed" : "ok",
        ...(reports.some(({ canRecord }) => !canRecord) && { records: "unavailable" }),
        ...(owners && degraded(owners)),
        workers: { serving, wanted: fleet.members().length },
      };
    },
    async status() {
      const reports = await fleet.ask("report");
      const webhook = mergeStatus([...reports.values()].flatMap((report) => report.webhook ?? []));
      const acme = [...reports.values()].flatMap((report) => report.acme ?? [])[0];
      const sinks = mergeSinks([...reports.values()].map(({ recordSinks }) => recordSinks));
      return {
        ...(await about()),
        ...worstStoreStatus([...reports.values()].map(({ store }) => store)),
        bundle: [...reports.values()].map(({ bundle }) => bundle)[0] ?? null,
        // Public: key for sealing secrets for this gateway.
        seal_key: sealKey ?? null,
        blocks: [...reports.values()].map(({ blocks }) => blocks)[0] ?? null,
        certificates: [...reports.values()].map(({ certificates }) => certificates)[0] ?? [],
        counters: sumOf([...reports.values()]),
        ...(acme && { acme }),
        ...(webhook && { webhook }),
        ...(sinks.length > 0 && { record_sinks: sinks }),
        workers: fleet.members().map((member) => ({ ...member, ...aboutWorker(reports.get(member.name)) })),
      };
    },
    async metrics() {
      const values = [...(await fleet.ask("metrics")).values()];
      return mergeMetrics([...values, await own.values()]);
    },
  };
}

function aboutWorker(report: WorkerReport | undefined): object {
  if (!report) return {};
  const { ready, store, uptimeSeconds, bundle, upstreams, blocks } = report;
  const { digest, published, lastError } = bundle;
  return {
    ready,
    ...store,
    uptime_seconds: uptimeSeconds,
    digest,
    published: published?.inForce ?? 0,
    upstreams,
    // A worker that lags behind the others does not know all of them.
    blocks: blocks.length,
    ...(lastError && { problems: lastError.problems }),
  };
}

function sumOf(reports: readonly WorkerReport[]): Totals {
  const total = (of: keyof Totals): number => reports.reduce((sum, { totals }) => sum + totals[of], 0);
  return {
    requests: total("requests"),
    allowed: total("allowed"),
    denied: total("denied"),
    refused: total("refused"),
    openStreams: total("openStreams"),
  };
}
