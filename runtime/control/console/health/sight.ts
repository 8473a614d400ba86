/** Of what is known of all processes, what this person may see. */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { FailureCount } from "../../health/rollup.ts";
import type { ConsoleRights } from "../screen.ts";

export interface Sight {
  /** Sees all owners' things, and what belongs to nobody. */
  readonly isWhole: boolean;
  readonly owners: readonly string[];
  maySeeOwner(owner: string | undefined): boolean;
  maySeeRoute(key: string): boolean;
}

const ownersByRoute = new WeakMap<Snapshot, ReadonlyMap<string, string>>();

export function sightOf({ owners }: ConsoleRights, snapshot: Snapshot): Sight {
  if (owners === undefined) return { isWhole: true, owners: [], maySeeOwner: () => true, maySeeRoute: () => true };
  const seen = new Set(owners);
  const maySeeOwner = (owner: string | undefined): boolean => owner !== undefined && seen.has(owner);
  const maySeeRoute = (key: string): boolean => maySeeOwner(ownersOf(snapshot).get(key));
  return { isWhole: false, owners, maySeeOwner, maySeeRoute };
}

function ownersOf(snapshot: Snapshot): ReadonlyMap<string, string> {
  let known = ownersByRoute.get(snapshot);
  if (!known) ownersByRoute.set(snapshot, (known = new Map(snapshot.routes.map(({ key, owner }) => [key, owner]))));
  return known;
}

/** What concerns the gateway as a whole, or others, is left out for who sees some owners' things alone. */
export function seenReport(report: ProcessReport, sight: Sight): ProcessReport {
  if (sight.isWhole) return report;
  const { lastError, ...configuration } = report.configuration;
  const degraded = configuration.degraded.filter(({ owner }) => sight.maySeeOwner(owner));
  const shown = report.upstreams.shown.filter(({ route }) => sight.maySeeRoute(route));
  const { webhook: _, ...rest } = report;
  return {
    ...rest,
    configuration: {
      ...configuration,
      degraded,
      moreDegraded: 0,
      ...(lastError && !lastError.isPartial && { lastError: { ...lastError, problems: [], more: 0 } }),
    },
    providers: [],
    upstreams: { known: shown.length, away: shown.filter(({ healthy }) => !healthy).length, shown },
    certificates: report.certificates.filter(({ owner }) => sight.maySeeOwner(owner)),
    refreshes: report.refreshes.filter(({ route }) => route !== undefined && sight.maySeeRoute(route)),
    records: [],
  };
}

export function seenFailures(failures: readonly FailureCount[], sight: Sight): readonly FailureCount[] {
  return failures.filter(({ route }) => sight.maySeeRoute(route));
}
