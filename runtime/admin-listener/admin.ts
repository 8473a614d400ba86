/** Pages about one process: readiness for orchestrators, status and metrics for operators. */
import type { Bundle } from "../bundle/bundle.ts";
import type { UpstreamStatus } from "../features/balancing/apply-state.ts";
import type { Closable } from "../shared/clock.ts";
import type { StoreCounts } from "../store/watch/store-counts.ts";
import type { StoreHealth } from "../store/watch/store-health.ts";
import { bundleSeries } from "./bundle-series.ts";
import { createAdminListener, type Admin, type AdminListenerDeps, type AdminPages } from "./listener.ts";
import type { Metrics } from "./metrics.ts";
import { processFacts } from "./process-facts.ts";
import { canPass, recordSeries, type RecordsState, sinkStatus } from "./records/recording.ts";
import { storeSeries, storeStatus } from "./store/store-status.ts";
import { upstreamSeries } from "./part-series.ts";
import type { BundleStatus } from "../bundle/report.ts";

export type { Admin } from "./listener.ts";

export interface PagesDeps {
  readonly bundle: Pick<Bundle, "current" | "status" | "subscribe" | "sealKey">;
  readonly metrics: Metrics;
  readonly isDraining: () => boolean;
  /** Whether the public listener accepts connections. */
  readonly isListening: () => boolean;
  readonly storeHealth: StoreHealth;
  readonly storeCounts: StoreCounts;
  /** State of upstreams; absent: not shown. */
  readonly upstreams?: () => readonly UpstreamStatus[];
  /** Expiry times of the listeners' certificates. */
  readonly certificateEnds?: (() => readonly object[]) | undefined;
  /** Automatic certificates; absent: there are none. */
  readonly acme?: (() => object) | undefined;
  /** Active blocks. */
  readonly blocks?: () => readonly object[];
  /** Notes on tools that rules do not cover, by route. */
  readonly toolNotes?: () => readonly object[];
  /** Results of webhook deliveries; absent: no webhook. */
  readonly webhook?: (() => object) | undefined;
  /** State of record delivery; absent: not shown. */
  readonly records?: RecordsState | undefined;
}

export type AdminDeps = PagesDeps & Omit<AdminListenerDeps, "pages">;

export interface ProcessAdmin extends Admin {
  readonly pages: AdminPages;
}

/** Starts listening. @throws GatewayError `admin.address`, `admin.listen` */
export async function createAdmin(deps: AdminDeps): Promise<ProcessAdmin> {
  const pages = processPages(deps);
  // Before anything is registered: a failure to listen must leave nothing behind.
  const listener = await createAdminListener({ ...deps, pages });
  const stop = followBundle(deps);
  return {
    ...listener,
    pages,
    async close() {
      stop();
      await listener.close();
    },
  };
}

/** Only the pages, for a process that another one serves; until closed the metrics follow the bundle. */
export function createPages(deps: PagesDeps): AdminPages & Closable {
  const stop = followBundle(deps);
  return { ...processPages(deps), close: async () => stop() };
}

function followBundle({ bundle, metrics, storeHealth, storeCounts, upstreams, records }: PagesDeps): () => void {
  for (const series of storeSeries(storeHealth, storeCounts)) metrics.register(series);
  if (records?.thread) for (const series of recordSeries(records.thread)) metrics.register(series);
  if (upstreams) for (const series of upstreamSeries(upstreams)) metrics.register(series);
  for (const series of bundleSeries(bundle)) metrics.register(series);
  return bundle.subscribe((next) => metrics.keepRoutes(next.routes));
}

function processPages(deps: PagesDeps): AdminPages {
  const { bundle, metrics, isDraining, isListening, storeHealth } = deps;
  const about = processFacts(isDraining, storeHealth);

  return {
    async readiness() {
      const { digest, generation, lastError, owners } = bundle.status();
      const draining = isDraining();
      const store = await storeHealth.look();
      const canRecord = canPass(deps.records);
      // Ready as long as it serves verified callers: when the store is unavailable, a balancer that checks all replicas
      // would otherwise have none left.
      const ready = isListening() && !draining && store.serves && generation > 0 && canRecord;
      // A rejected configuration does not make this process unready: it serves the previous valid version, and the
      // other owners.
      return {
        ready,
        digest,
        generation,
        draining,
        ...storeStatus(store),
        reload: lastError ? "failed" : "ok",
        ...(!canRecord && { records: "unavailable" }),
        ...degraded(owners),
      };
    },
    async status() {
      return {
        ...(await about()),
        bundle: bundle.status(),
        // Public: key for sealing secrets for this gateway.
        seal_key: bundle.sealKey ?? null,
        counters: metrics.totals(),
        ...(deps.blocks && { blocks: deps.blocks() }),
        ...(deps.toolNotes && { tool_notes: deps.toolNotes() }),
        ...(deps.upstreams && { upstreams: deps.upstreams() }),
        ...(deps.certificateEnds && { certificates: deps.certificateEnds() }),
        ...(deps.acme && { acme: deps.acme() }),
        ...(deps.webhook && { webhook: deps.webhook() }),
        ...sinkStatus(deps.records),
      };
    },
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
  };
}

/** Number of owners whose slices are not up to date, if any: no names, since readiness is public. */
export function degraded(owners: BundleStatus["owners"]): { readonly owners?: BundleStatus["owners"] } {
  return owners.kept + owners.absent > 0 ? { owners } : {};
}
