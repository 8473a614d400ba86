/** Screen "Health": reports of all processes, and requests over time. */
import type { HealthParts } from "../../pages/console/health/health.ts";
import { healthBody } from "../../pages/console/health/health.ts";
import type { FilterField } from "../../pages/console/pieces.ts";
import type { HealthReader } from "../../health/health.ts";
import { routeScope } from "../../health/rollup.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import { TIERS, type Tier } from "../../health/tiers.ts";
import type { Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { gather } from "./gather.ts";
import { loopChart, trafficCharts } from "./charts.ts";
import { visibleScopes } from "./counted.ts";
import { healthFacts } from "./facts.ts";
import { processRows } from "./process-rows.ts";
import { certificateRows, providerRows, receiverRows, refreshRows, upstreamRows } from "./rows.ts";
import type { VisibleScope } from "./visible-scope.ts";

export interface HealthScreenDeps {
  readonly health: HealthReader;
}

const PATH = "/.gateway/console/health";
const RANGES: Readonly<Record<Tier["name"], string>> = {
  "1h": "1 hour",
  "6h": "6 hours",
  "48h": "48 hours",
};

export function healthScreen({ health }: HealthScreenDeps): Screen {
  return {
    path: "health",
    group: "Monitor",
    icon: "health",
    name: "Health",
    async show(visit): Promise<ScreenPage | undefined> {
      if (visit.path.length > 0) return undefined;
      return { title: "Health", body: healthBody(await healthParts(health, visit)), scripts: ["chart"] };
    },
  };
}

/** For tests without a frame. */
export async function healthParts(
  health: HealthReader,
  { snapshot, rights, query, now: nowMs }: Pick<ConsoleRequest, "snapshot" | "rights" | "query" | "now">,
): Promise<HealthParts> {
  const now = Math.floor(nowMs / 1000);
  const tier = TIERS.find(({ name }) => name === query.get("range")) ?? TIERS[0];
  const facts = healthFacts(await gather(health, tier), { snapshot, rights }, now);
  const { steps, reports, others, isAlone, scope, nameOf } = facts;
  const routes = routesOf(steps).filter((key) => scope.maySeeRoute(key));
  const route = routes.find((key) => key === query.get("route"));
  const scopes = route === undefined ? visibleScopes(scope) : [routeScope(route)];
  return {
    path: PATH,
    failed: isAlone ? ["The store"] : [],
    problems: facts.problems,
    processes: processRows({ reports, others, now, nameOf }),
    ...upstreamRows(reports, nameOf),
    certificates: certificateRows(reports, now),
    refreshes: refreshRows(reports),
    providers: providerRows(reports),
    receivers: receiverRows(reports, nameOf),
    charts: [...trafficCharts(tier, steps, scopes), loopChart(tier, steps, nameOf)],
    plotted: plottedText(route, scope, isAlone),
    filters: filters(tier, routes, route),
  };
}

function filters(tier: Tier, routes: readonly string[], route: string | undefined): readonly FilterField[] {
  // The first is there without being asked for, as without a filter.
  const ranges = TIERS.map(({ name }, index): readonly [string, string] => [index === 0 ? "" : name, RANGES[name]]);
  const named = routes.map((key): readonly [string, string] => [key, showUntrusted(key)]);
  return [
    { name: "range", label: "Range", value: tier === TIERS[0] ? "" : tier.name, options: ranges },
    { name: "route", label: "Busiest routes", value: route ?? "", options: [["", "All routes"], ...named] },
  ];
}

function routesOf(steps: readonly TrafficStep[]): readonly string[] {
  const prefix = routeScope("");
  const scopes = new Set(steps.flatMap(({ rollup }) => Object.keys(rollup?.scopes ?? {})));
  return [...scopes]
    .filter((scope) => scope.startsWith(prefix))
    .map((scope) => scope.slice(prefix.length))
    .toSorted();
}

function plottedText(route: string | undefined, { isWhole, owners }: VisibleScope, isAlone: boolean): string {
  const ofWhat =
    route !== undefined
      ? `Of ${showUntrusted(route)}`
      : isWhole
        ? "All routes"
        : `Of the routes of ${owners
            .map((owner) => showUntrusted(owner))
            .slice(0, 5)
            .join(", ")}`;
  return `${ofWhat}, ${isAlone ? "This process only" : "of all processes together"}. The current minute is not included.`;
}
