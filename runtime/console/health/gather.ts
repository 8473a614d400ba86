/** What is known of all processes: from the store, and where that fails from this process alone. */
import { within } from "../../shared/clock.ts";
import type { HealthReader } from "../../health/health.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import type { Processes } from "../../health/tell-health.ts";
import { type Tier, TIERS } from "../../health/tiers.ts";

export interface Gathered {
  readonly own: ProcessReport;
  /** Own one first; of the others what they told last. */
  readonly reports: readonly ProcessReport[];
  /** Those that tell only what they have in force. */
  readonly others: Processes["others"];
  readonly steps: readonly TrafficStep[];
  /** Of the last hour, in minutes. */
  readonly recent: readonly TrafficStep[];
  /** What is shown is of this process alone. */
  readonly isAlone: boolean;
}

/** A page that comes late with everything is worth less than one that is there. */
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
