/** Filters the state of all processes to what the reader may see. */
import type { Snapshot } from "../../config/snapshot.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { FailureCount } from "../../health/rollup.ts";
import type { ConsoleRights } from "../screen.ts";

export interface VisibleScope {
  /** Sees objects of all owners, and of none. */
  readonly isWhole: boolean;
  readonly owners: readonly string[];
  maySeeOwner(owner: string | undefined): boolean;
  maySeeRoute(key: string): boolean;
  /** Addresses of upstreams are for operators. */
  maySeeUpstreams(key: string): boolean;
}

const ownersByRoute = new WeakMap<Snapshot, ReadonlyMap<string, string>>();

export function visibleScope(rights: ConsoleRights, snapshot: Snapshot): VisibleScope {
  const { owners } = rights;
  const maySeeUpstreams = (key: string): boolean => rights.may("operator", ownersOf(snapshot).get(key));
  if (owners === undefined)
    return { isWhole: true, owners: [], maySeeOwner: () => true, maySeeRoute: () => true, maySeeUpstreams };
  const seen = new Set(owners);
  const maySeeOwner = (owner: string | undefined): boolean => owner !== undefined && seen.has(owner);
  const maySeeRoute = (key: string): boolean => maySeeOwner(ownersOf(snapshot).get(key));
  return { isWhole: false, owners, maySeeOwner, maySeeRoute, maySeeUpstreams };
}

function ownersOf(snapshot: Snapshot): ReadonlyMap<string, string> {
  let known = ownersByRoute.get(snapshot);
  if (!known) ownersByRoute.set(snapshot, (known = new Map(snapshot.routes.map(({ key, owner }) => [key, owner]))));
  return known;
}

/** Hides the gateway's own state and other owners from readers who see some owners only. */
export function visibleReport(whole: ProcessReport, sight: VisibleScope): ProcessReport {
  const report = withoutAddresses(whole, sight);
  if (sight.isWhole) return report;
  const { lastError, ...configuration } = report.configuration;
  const degraded = configuration.degraded.filter(({ owner }) => sight.maySeeOwner(owner));
  const shown = report.upstreams.shown.filter(({ route }) => sight.maySeeRoute(route));
  const { webhook: _, acme: __, ...rest } = report;
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

export function visibleFailures(failures: readonly FailureCount[], sight: VisibleScope): readonly FailureCount[] {
  return failures
    .filter(({ route }) => sight.maySeeRoute(route))
    .map((each) => (sight.maySeeUpstreams(each.route) ? each : { ...each, upstream: "" }));
}

/** Check messages also contain addresses. The same upstream has the same number in every process. */
function withoutAddresses(report: ProcessReport, sight: VisibleScope): ProcessReport {
  const { shown } = report.upstreams;
  const hidden = shown.filter(({ route }) => !sight.maySeeUpstreams(route));
  if (hidden.length === 0) return report;
  const byRoute = Map.groupBy(hidden, ({ route }) => route);
  const names = new Map(
    [...byRoute].map(([route, some]) => [route, [...new Set(some.map(({ upstream }) => upstream))].sort()]),
  );
  const nameOf = (route: string, address: string): string =>
    `upstream ${(names.get(route)?.indexOf(address) ?? 0) + 1}`;
  return {
    ...report,
    upstreams: {
      ...report.upstreams,
      shown: shown.map((each) => {
        if (sight.maySeeUpstreams(each.route)) return each;
        const checks = each.checks.map((check) => ({ ...check, last_error: check.healthy ? "" : "fails" }));
        return { ...each, upstream: nameOf(each.route, each.upstream), checks };
      }),
    },
  };
}
