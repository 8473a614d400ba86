/** Upstreams: first those with health checks, then the others by the outcome of their requests. */
import type { FailureCount } from "../../health/rollup.ts";
import { addFailures, routeScope } from "../../health/rollup.ts";
import type { StateRow } from "../../pages/console/health/health.ts";
import { html } from "../../pages/html.ts";
import { addressOfId } from "../addresses.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { countedSteps, countOf, total } from "./counted.ts";
import type { HealthFacts } from "./facts.ts";
import { visibleFailures } from "./visible-scope.ts";

const MAX_AWAY = 50;
const MAX_UNCHECKED = 10;
const MAX_NAMED = 2;
const LATELY_SECONDS = 900;

type UpstreamFacts = Pick<HealthFacts, "reports" | "recent" | "scope" | "nameOf">;

/** @param now epoch seconds */
export function upstreamRows(facts: UpstreamFacts, now: number): readonly StateRow[] {
  const { away, available } = checkedRows(facts);
  return [...away, ...uncheckedRows(facts, now), ...available];
}

/** Each upstream once, with the processes that see it so. */
function checkedRows({ reports, nameOf }: UpstreamFacts) {
  const seen = reports.flatMap(({ id, upstreams }) => upstreams.shown.map((status) => ({ id, status })));
  const groups = [...Map.groupBy(seen, ({ status: s }) => JSON.stringify([s.route, s.upstream])).values()];
  const unhealthy = groups
    .map((same) => same.filter(({ status }) => !status.healthy))
    .filter(({ length }) => length > 0);
  const away = unhealthy.slice(0, MAX_AWAY).map((same): StateRow => {
    const { route, upstream, checks, ejections } = (same[0] as (typeof seen)[number]).status;
    const reasons = checks.flatMap(({ kind, last_error: error }) =>
      error === "" ? [] : `${kind}: ${showUntrusted(error)}`,
    );
    return {
      tone: "bad",
      name: showUntrusted(route),
      href: addressOfId("servers", route),
      text: [
        html`<code>${showUntrusted(upstream)}</code>`,
        ...reasons,
        ejections > 0 && `ejected ${ejections} ${ejections === 1 ? "time" : "times"} for failed responses`,
        same.length < reports.length && `reported by ${same.map(({ id }) => nameOf(id)).join(", ")}`,
      ],
      state: "Unavailable",
    };
  });
  // Reports list unavailable upstreams first, and not all of the others.
  const known = Math.max(groups.length, ...reports.map(({ upstreams }) => upstreams.known));
  const rest = known - unhealthy.length;
  const available: readonly StateRow[] =
    rest > 0
      ? [{ tone: "good", name: `${rest} available`, text: ["With health checks or several addresses"], state: "OK" }]
      : [];
  return { away, available };
}

/** The busiest routes whose upstreams have no status: rate and errors of the last 15 minutes, those with errors first. */
function uncheckedRows({ reports, recent, scope }: UpstreamFacts, now: number): readonly StateRow[] {
  const checked = new Set(reports.flatMap(({ upstreams }) => upstreams.shown.map(({ route }) => route)));
  const lately = recent.filter(({ start }) => start > now - LATELY_SECONDS);
  const prefix = routeScope("");
  const keys = new Set(
    lately
      .flatMap(({ rollup }) => Object.keys(rollup?.scopes ?? {}))
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length)),
  );
  const failures = visibleFailures(addFailures(lately.flatMap(({ rollup }) => rollup?.failures ?? [])), scope);
  const counted = [...keys]
    .filter((key) => !checked.has(key) && scope.maySeeRoute(key))
    .map((key) => {
      const sum = total(countedSteps(lately, [routeScope(key)]));
      const requests = countOf(sum, ["allowed"]);
      return { key, requests, seconds: sum.seconds, errors: countOf(sum, ["5xx", "cut"]) };
    })
    .filter(({ requests, errors }) => requests + errors > 0)
    .toSorted((a, b) => b.errors - a.errors || b.requests - a.requests);
  const rows = counted.slice(0, MAX_UNCHECKED).map(({ key, requests, seconds, errors }): StateRow => {
    const of = failures.filter(({ route }) => route === key);
    return {
      tone: errors > 0 ? "warn" : "good",
      name: showUntrusted(key),
      href: addressOfId("servers", key),
      text: [rateText(requests, seconds), errorText(errors, requests), ...failureTexts(of), "no health check"],
      state: errors > 0 ? "Errors" : "Responds",
    };
  });
  const more = counted.slice(MAX_UNCHECKED);
  if (more.length === 0) return rows;
  const errors = more.reduce((sum, each) => sum + each.errors, 0);
  const requests = more.reduce((sum, each) => sum + each.requests, 0);
  const text = [latelyText(requests), errorText(errors, requests)];
  const state = errors > 0 ? "Errors" : "Respond";
  return [
    ...rows,
    { tone: errors > 0 ? "warn" : "good", name: `${more.length} more without health checks`, text, state },
  ];
}

function rateText(requests: number, seconds: number): string {
  const perMinute = seconds === 0 ? 0 : (requests * 60) / seconds;
  return perMinute >= 1 ? `${Math.round(perMinute).toLocaleString("en")} requests a minute` : latelyText(requests);
}

function latelyText(requests: number): string {
  return `${requests.toLocaleString("en")} ${requests === 1 ? "request" : "requests"} in 15 minutes`;
}

function errorText(errors: number, requests: number): string {
  if (errors === 0) return "no errors";
  const share = requests === 0 ? "" : ` (${((100 * errors) / Math.max(requests, errors)).toFixed(1)} %)`;
  return `${errors.toLocaleString("en")} ${errors === 1 ? "error" : "errors"}${share}`;
}

function failureTexts(failures: readonly FailureCount[]): readonly string[] {
  return failures.slice(0, MAX_NAMED).map(({ failure, count }) => `${count} × ${showUntrusted(failure, 60)}`);
}
