/** Screen "Health": reports of all processes, and requests over time. */
import type { HealthParts } from "../../pages/console/health/health.ts";
import { healthBody } from "../../pages/console/health/health.ts";
import type { FilterField } from "../../pages/console/pieces.ts";
import type { HealthReader } from "../../health/health.ts";
import { routeScope } from "../../health/rollup.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import { TIERS } from "../../health/tiers.ts";
import type { Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { gather } from "./gather.ts";
import { loopChart, trafficCharts } from "./charts.ts";
import { visibleScopes } from "./counted.ts";
import { healthFacts } from "./facts.ts";
import { processRows } from "./process-rows.ts";
import { rangeLinks, RANGES, tierOf } from "./ranges.ts";
import { certificateRows, dependencyRows } from "./rows.ts";
import { upstreamRows } from "./upstream-rows.ts";
import type { VisibleScope } from "./visible-scope.ts";

export interface HealthScreenDeps {
  readonly health: HealthReader;
}

const PATH = "/.gateway/console/health";
const [USUAL] = TIERS;

export function healthScreen({ health }: HealthScreenDeps): Screen {
  return {
    path: "health",
    group: "Monitor",
    icon: "health",
    name: "Health",
    async show(visit): Promise<ScreenPage | undefined> {
      if (visit.path.length > 0) return undefined;
      const parts = await healthParts(health, visit);
      const tier = tierOf(visit, USUAL);
      const route = parts.filter.value === "" ? undefined : parts.filter.value;
      return {
        title: "Health",
        lead: leadOf(parts),
        aside: rangeLinks("health", tier, USUAL, { route }),
        body: healthBody(parts),
        scripts: ["chart"],
      };
    },
  };
}

function leadOf({ problems, processes }: HealthParts): string {
  const count =
    problems.length === 0 ? "No problems" : `${problems.length} ${problems.length === 1 ? "problem" : "problems"}`;
  return `${count}. Reported by ${processes.length} ${processes.length === 1 ? "process" : "processes"}.`;
}

/** For tests without a frame. */
export async function healthParts(
  health: HealthReader,
  { snapshot, rights, query, now: nowMs }: Pick<ConsoleRequest, "snapshot" | "rights" | "query" | "now">,
): Promise<HealthParts> {
  const now = Math.floor(nowMs / 1000);
  const tier = tierOf({ query }, USUAL);
  const facts = healthFacts(await gather(health, tier), { snapshot, rights }, now);
  const { steps, reports, others, isAlone, scope, nameOf } = facts;
  const routes = routesOf(steps).filter((key) => scope.maySeeRoute(key));
  const route = routes.find((key) => key === query.get("route"));
  const scopes = route === undefined ? visibleScopes(scope) : [routeScope(route)];
  const { latency, requests, failures } = trafficCharts(tier, steps, scopes);
  return {
    path: PATH,
    failed: isAlone ? ["The store"] : [],
    problems: facts.problems,
    latency,
    requests,
    step: RANGES[tier.name].step,
    charts: [failures, loopChart(tier, steps, nameOf)],
    plotted: plottedText(route, scope, isAlone),
    filter: routeFilter(routes, route),
    kept: tier === USUAL ? [] : [["range", tier.name]],
    processes: processRows({ reports, others, now, nameOf }),
    certificates: certificateRows(reports, now),
    upstreams: upstreamRows(facts, now),
    dependencies: dependencyRows(facts),
  };
}

function routeFilter(routes: readonly string[], route: string | undefined): FilterField {
  const named = routes.map((key): readonly [string, string] => [key, showUntrusted(key)]);
  return { name: "route", label: "Busiest routes", value: route ?? "", options: [["", "All routes"], ...named] };
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
