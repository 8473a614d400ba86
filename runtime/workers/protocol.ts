/** Messages between the supervisor and its workers, over the channel that `cluster` opens. Plain data. */
import type { MetricValues } from "../admin-listener/series.ts";
import type { WebhookStatus } from "../webhook/tally.ts";
import type { SinkStatus } from "../admin-listener/records/recording.ts";
import type { StoreStatus } from "../admin-listener/store/store-status.ts";
import type { Totals } from "../admin-listener/metrics.ts";
import type { BundleStatus } from "../bundle/report.ts";

/** Report of a worker. */
export interface WorkerReport {
  readonly ready: boolean;
  readonly store: StoreStatus;
  readonly uptimeSeconds: number;
  readonly bundle: BundleStatus;
  readonly totals: Totals;
  /** Health of upstreams, which each worker checks separately. */
  readonly upstreams: readonly object[];
  /** Blocks known to this worker. */
  readonly blocks: readonly object[];
  readonly certificates: readonly object[];
  /** Automatic certificates; undefined without. */
  readonly acme: object | undefined;
  /** Deliveries of this worker, and pending ones that it saw. */
  readonly webhook: WebhookStatus | undefined;
  readonly recordSinks: readonly SinkStatus[];
  /** Whether records can be written, or are not required. */
  readonly canRecord: boolean;
}

export interface WorkerAnswers {
  readonly report: WorkerReport;
  readonly metrics: MetricValues;
}

export type ToWorker =
  | { readonly type: "ask"; readonly id: number; readonly what: keyof WorkerAnswers }
  /** A new publication: check the store. */
  | { readonly type: "look" }
  | { readonly type: "reopen-logs" }
  /** Drain and exit. */
  | { readonly type: "stop" };

export type FromWorker =
  /** Serves. */
  | { readonly type: "ready"; readonly origin: string }
  /** Cannot start; the process ends on its own. */
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "answer"; readonly id: number; readonly value: WorkerAnswers[keyof WorkerAnswers] };
