/** State of all processes: from the store, or of this process only while the store is unavailable. */
import { within } from "../../shared/clock.ts";
import type { HealthReader } from "../../health/health.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import type { Processes } from "../../health/report-health.ts";
import { type Tier, TIERS } from "../../health/tiers.ts";

export interface Gathered {
  readonly own: ProcessReport;
  /** Own report first; of the others the last one. */
  readonly reports: readonly ProcessReport[];
  /** Processes that report only their active configuration. */
  readonly others: Processes["others"];
  readonly steps: readonly TrafficStep[];
  /** The last hour, in minutes. */
  readonly recent: readonly TrafficStep[];
  /** Only the state of this process is known. */
  readonly isAlone: boolean;
}

/** A page in time with some parts missing is better than a late one. */
const ANSWER_WITHIN_MS = 2_000;

export async function gather(reader: HealthReader, tier: Tier): Promise<Gathered> {
  const minutes = TIERS[0];
  const [own, processes, traffic, recent] = await Promise.all([
    reader.own(),
    orUndefined(reader.processes()),
    orUndefined(reader.traffic(tier)),
    orUndefined(reader.traffic(minutes)),
  ]);
  const rest = (processes?.reports ?? []).filter(({ id }) => id !== own.id).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    own,
    reports: [own, ...rest],
    others: (processes?.others ?? []).filter(({ id }) => id !== own.id),
    steps: traffic ?? reader.ownTraffic(tier),
    recent: recent ?? reader.ownTraffic(minutes),
    isAlone: processes === undefined || traffic === undefined,
  };
}

function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  return within<T | undefined>(
    ANSWER_WITHIN_MS,
    work.catch(() => undefined),
    () => undefined,
  );
}
