/** The state of all processes and its problems, as one administrator may see them: for Health, Overview and the navigation. */
import type { HealthReader } from "../../health/health.ts";
import { addFailures } from "../../health/rollup.ts";
import type { HealthProblem } from "../../pages/console/health/health.ts";
import type { Clock } from "../../shared/clock.ts";
import { remember } from "../overview/remember.ts";
import type { ConsoleRequest } from "../screen.ts";
import type { Gathered } from "./gather.ts";
import { findProblems } from "./problems.ts";
import { processNames } from "./process-rows.ts";
import { visibleFailures, visibleReport, type VisibleScope, visibleScope } from "./visible-scope.ts";

export interface HealthFacts extends Gathered {
  readonly scope: VisibleScope;
  /** How users know a process. */
  readonly nameOf: (id: string) => string;
  readonly problems: readonly HealthProblem[];
}

const LATELY_SECONDS = 900;

/** @param now epoch seconds */
export function healthFacts(
  gathered: Gathered,
  { rights, snapshot }: Pick<ConsoleRequest, "rights" | "snapshot">,
  now: number,
): HealthFacts {
  const scope = visibleScope(rights, snapshot);
  const reports = gathered.reports.map((report) => visibleReport(report, scope));
  const nameOf = processNames([...reports, ...gathered.others]);
  const lately = gathered.recent.filter(({ start }) => start > now - LATELY_SECONDS);
  const failures = visibleFailures(addFailures(lately.flatMap(({ rollup }) => rollup?.failures ?? [])), scope);
  return { ...gathered, reports, scope, nameOf, problems: findProblems({ reports, failures, now, nameOf }) };
}

/** The same reader, which asks the store again only after some seconds: all pages show its state. */
export function rememberHealth(reader: HealthReader, clock: Clock): HealthReader {
  const own = remember<Awaited<ReturnType<HealthReader["own"]>>>(clock, REMEMBERED_MS);
  const processes = remember<Awaited<ReturnType<HealthReader["processes"]>>>(clock, REMEMBERED_MS);
  return {
    id: reader.id,
    own: () => own("", () => reader.own()),
    processes: () => processes("", () => reader.processes()),
    traffic: (tier) => reader.traffic(tier),
    ownTraffic: (tier) => reader.ownTraffic(tier),
  };
}

const REMEMBERED_MS = 5_000;
