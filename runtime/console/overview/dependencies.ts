/** The gateway's dependencies, one line each. */
import type { DependencyRow } from "../../pages/console/overview.ts";
import type { HealthFacts } from "../health/facts.ts";
import { isSilent } from "../health/problems.ts";
import { showUntrusted } from "../show-untrusted.ts";

/** @param now epoch seconds */
export function dependencyRows(facts: HealthFacts, hasRecords: boolean, now: number): readonly DependencyRow[] {
  const upstreams = upstreamRow(facts);
  // The rest belongs to no owner.
  return facts.scope.isWhole
    ? [processRow(facts, now), ...providerRows(facts), storeRow(facts, hasRecords), upstreams]
    : [upstreams];
}

function processRow({ reports, others }: HealthFacts, now: number): DependencyRow {
  const serving = reports.filter((report) => !isSilent(report, now) && !report.draining).length + others.length;
  const all = reports.length + others.length;
  const versions = [...new Set(reports.map(({ version }) => showUntrusted(version, 40)))];
  return {
    name: "Replicas and workers",
    text: `${serving} of ${all} ${serving === 1 ? "serves" : "serve"}, version ${versions.join(", ")}`,
    ...(serving === all ? OK : { tone: "bad", state: `${all - serving} not serving` }),
  };
}

function providerRows({ reports }: HealthFacts): readonly DependencyRow[] {
  const latest = new Map<string, HealthFacts["reports"][number]["providers"][number]>();
  for (const each of reports.flatMap(({ providers }) => providers)) {
    if ((latest.get(each.name)?.at ?? 0) <= each.at) latest.set(each.name, each);
  }
  if (latest.size === 0) return [];
  const failing = [...latest.values()].filter(({ problem }) => problem !== undefined);
  const names = (failing.length > 0 ? failing : [...latest.values()]).map(({ name }) => showUntrusted(name, 60));
  const text = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return [
    failing.length === 0
      ? { name: "Identity providers", text: `${text} reachable`, ...OK }
      : { name: "Identity providers", text: `${text} unreachable`, tone: "bad", state: `${failing.length} failing` },
  ];
}

function storeRow({ isAlone, reports }: HealthFacts, hasRecords: boolean): DependencyRow {
  const [own] = reports;
  const records = reports.flatMap((report) => report.records);
  const lost = records.reduce((sum, each) => sum + each.lost, 0);
  const waiting = records.reduce((sum, each) => sum + each.waiting, 0);
  const isAway = records.some((each) => each.isAway);
  const name = "Store and records";
  if (isAlone || own?.storeAnswers === false)
    return { name, text: "The store is unreachable", tone: "bad", state: "Failing" };
  if (own?.storeIsReadOnly === true) return { name, text: "The store is read-only", tone: "bad", state: "Failing" };
  const text =
    hasRecords || records.length > 0 ? `${waiting} records queued, ${lost} dropped` : "No record store configured";
  return {
    name,
    text,
    ...(isAway ? { tone: "bad", state: "Failing" } : lost > 0 ? { tone: "warn", state: "Records lost" } : OK),
  };
}

function upstreamRow({ reports }: HealthFacts): DependencyRow {
  const byAddress = new Map<string, boolean>();
  for (const { route, upstream, healthy } of reports.flatMap(({ upstreams }) => upstreams.shown)) {
    const key = JSON.stringify([route, upstream]);
    byAddress.set(key, (byAddress.get(key) ?? true) && healthy);
  }
  const failing = [...byAddress.values()].filter((healthy) => !healthy).length;
  const all = Math.max(byAddress.size, ...reports.map(({ upstreams }) => upstreams.known));
  if (all === 0) return { name: "Upstreams", text: "None has health checks", tone: "quiet", state: "No status" };
  return {
    name: "Upstreams",
    text: `${all - failing} of ${all} healthy`,
    ...(failing === 0 ? OK : { tone: "bad", state: `${failing} failing` }),
  };
}

const OK = { tone: "good", state: "OK" } as const;
