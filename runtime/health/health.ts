/**
 * Health of this process, shared with all others for the console: its identity, its active configuration, and the
 * results of its requests per minute.
 */
import { hostname } from "node:os";

import type { AcmeStatus } from "../acme/status.ts";
import type { ConsumerStatus } from "../audit/record-consumer.ts";
import type { UpstreamStatus } from "../features/balancing/apply-state.ts";
import { type Closable, type Clock, epochSeconds, type TokenRefresh } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";
import { watchLoopDelay } from "../shared/timing/loop-delay.ts";
import type { StoreHealth } from "../store/watch/store-health.ts";
import type { Store } from "../store/store.ts";
import type { WebhookStatus } from "../webhook/tally.ts";
import { processFacts } from "../admin-listener/process-facts.ts";
import type { Bundle } from "../bundle/bundle.ts";
import { countedMetrics, type TrafficMetrics } from "./counted-metrics.ts";
import { keepTraffic } from "./keep-traffic.ts";
import {
  type ProcessReport,
  reportAcme,
  reportCertificates,
  reportConfiguration,
  reportProviders,
  reportRecords,
  reportUpstreams,
  type CertificateReport,
} from "./process-report.ts";
import { ownSteps, readTraffic, type TrafficStep } from "./read-traffic.ts";
import { createTally } from "./tally.ts";
import { type Processes, readProcesses, startReportingHealth } from "./report-health.ts";
import type { Tier } from "./tiers.ts";
import { createTraffic } from "./traffic.ts";

export interface HealthDeps {
  readonly store: Store;
  /** ID of this process; unique among all that share the store. */
  readonly id: string;
  readonly bundle: Pick<Bundle, "status" | "current">;
  /** Whether an owner has viewers of its own; undefined: none has. */
  readonly storeHealth: Pick<StoreHealth, "look">;
  readonly isApart: ((owner: string) => boolean) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Parts of the gateway that are opened later. */
export interface Observed {
  readonly isDraining: () => boolean;
  readonly upstreams: () => readonly UpstreamStatus[];
  readonly openStreams: () => number;
  readonly connections: () => Promise<number>;
  readonly certificates: () => readonly CertificateReport[];
  readonly acme: () => AcmeStatus | undefined;
  readonly records: () => readonly ConsumerStatus[];
  readonly webhook: () => WebhookStatus | undefined;
}

export interface Health extends Closable {
  /** Wraps the proxy's metrics so that some also count for the console. */
  count<M extends TrafficMetrics>(metrics: M): ReturnType<typeof countedMetrics<M>>;
  readonly refreshed: (refresh: TokenRefresh) => void;
  /** A provider's metadata was requested. @param problem absent: it responded */
  readonly providerAsked: (name: string, problem?: string) => void;
  /** Starts reporting this process. @returns a handle to stop, to be closed before the observed parts */
  observe(parts: Observed): Closable;
  readonly reader: HealthReader;
}

export interface HealthReader {
  readonly id: string;
  /** Current state of this process. */
  own(): Promise<ProcessReport>;
  /** @throws GatewayError `store.unavailable` */
  processes(): Promise<Processes>;
  /** Traffic of all processes. @throws GatewayError `store.unavailable` */
  traffic(tier: Tier): Promise<readonly TrafficStep[]>;
  ownTraffic(tier: Tier): readonly TrafficStep[];
}

export function startHealth({ store, storeHealth, id, bundle, isApart, clock, log }: HealthDeps): Health {
  const startedAt = epochSeconds(clock);
  const traffic = createTraffic(isApart);
  const tally = createTally(clock);
  const loop = watchLoopDelay();
  // The 99th percentile since the last call.
  const takeLoopMs = (): number => loop.take(({ percentile }) => Math.round(percentile(99) * 100) / 100);
  const trafficKeeper = keepTraffic({ traffic, id, store, takeLoopMs, clock, log });
  const reader = readTraffic({ store, clock });
  let observed: Observed | undefined;
  const about = processFacts(() => observed?.isDraining() ?? false, storeHealth);

  return {
    count: (metrics) => countedMetrics(metrics, traffic),
    refreshed: (refresh) => tally.refreshed(refresh),
    providerAsked: (name, problem) => tally.provider(name, problem),
    observe(parts) {
      observed = parts;
      return startReportingHealth({ store, id, report, clock, log });
    },
    reader: {
      id,
      own: report,
      processes: () => readProcesses(store),
      traffic: (tier) => reader.read(tier),
      ownTraffic: (tier) => ownSteps(tier, trafficKeeper.own(tier), epochSeconds(clock)),
    },
    async close() {
      loop.close();
      await trafficKeeper.close();
    },
  };

  async function report(): Promise<ProcessReport> {
    const { version, node, draining, store: storeState } = await about();
    const { loopMs } = trafficKeeper;
    const webhook = observed?.webhook();
    const acme = observed?.acme();
    return {
      id,
      version,
      node,
      host: hostname(),
      startedAt,
      seen: epochSeconds(clock),
      draining,
      storeAnswers: storeState !== "down",
      ...(storeState === "read-only" && { storeIsReadOnly: true }),
      configuration: reportConfiguration(bundle.status(), bundle.current().routes.length),
      providers: reportProviders(tally.providers()),
      ...(loopMs !== undefined && { loopMs }),
      memoryBytes: process.memoryUsage.rss(),
      openStreams: observed?.openStreams() ?? 0,
      connections: (await observed?.connections()) ?? 0,
      upstreams: reportUpstreams(observed?.upstreams() ?? []),
      certificates: reportCertificates(observed?.certificates() ?? []),
      ...(acme && { acme: reportAcme(acme) }),
      refreshes: tally.refreshes(),
      records: reportRecords(observed?.records() ?? []),
      ...(webhook && { webhook }),
    };
  }
}
