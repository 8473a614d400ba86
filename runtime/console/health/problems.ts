/** Problems in words, with what to do. Each named heading is in the documentation, which a test checks. */
import type { HealthProblem } from "../../pages/console/health/health.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { FailureCount } from "../../health/rollup.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { showUntrusted } from "../show-untrusted.ts";
import {
  certificateProblems,
  orderProblems,
  receiverProblems,
  tokenProblems,
  upstreamProblems,
} from "./problems-outside.ts";
import type { FoundProblem } from "./found.ts";
import { SILENT_AFTER_SECONDS } from "../../health/report-health.ts";

export interface ProblemFacts {
  /** As the reader may see them; the first is this process. */
  readonly reports: readonly ProcessReport[];
  /** Failures of the last quarter of an hour, filtered likewise. */
  readonly failures: readonly FailureCount[];
  /** Epoch seconds. */
  readonly now: number;
  readonly nameOf: (id: string) => string;
}

const LATE_MS = 200;
const MAX_SHOWN = 50;
const MAX_NAMED = 5;

/** The worst first. */
export function findProblems(facts: ProblemFacts): readonly HealthProblem[] {
  const found = [
    ...storeProblems(facts),
    ...facts.reports.flatMap((report) => configurationProblems(report)),
    ...silentProblems(facts),
    ...facts.reports.flatMap((report) => upstreamProblems(report)),
    ...failureProblems(facts),
    ...facts.reports.flatMap((report) => certificateProblems(report, facts.now)),
    ...facts.reports.flatMap((report) => orderProblems(report)),
    ...facts.reports.flatMap((report) => [...tokenProblems(report, facts.now), ...receiverProblems(report)]),
    ...differenceProblems(facts),
    ...facts.reports.flatMap((report) => loopProblems(report)),
  ];
  const groups = Map.groupBy(found, ({ tone, text, details }) => JSON.stringify([tone, text, details]));
  const merged = [...groups.values()].map((same) => merge(same, facts));
  return [...merged.filter(({ tone }) => tone === "bad"), ...merged.filter(({ tone }) => tone === "warn")].slice(
    0,
    MAX_SHOWN,
  );
}

function merge(same: readonly FoundProblem[], { reports, nameOf }: ProblemFacts): HealthProblem {
  const { of: _, ...found } = same[0] as FoundProblem;
  const times = same.flatMap(({ sinceMs }) => sinceMs ?? []);
  const first = { ...found, ...(times.length > 0 && { sinceMs: Math.min(...times) }) };
  const names = [...new Set(same.flatMap(({ of }) => (of ? nameOf(of.id) : [])))];
  if (reports.length < 2 || names.length === reports.length) return { ...first, where: [] };
  const more = names.length - MAX_NAMED;
  return { ...first, where: more > 0 ? [...names.slice(0, MAX_NAMED), `${more} more`] : names };
}

function storeProblems({ reports: [own] }: ProblemFacts): readonly FoundProblem[] {
  if (!own || (own.storeAnswers && own.storeIsReadOnly !== true)) return [];
  const [text, advice] = own.storeAnswers
    ? [
        "The store is read-only for this process",
        "Sign-in, revocation and publishing fail. Check disk space; PostgreSQL must not be a standby.",
      ]
    : ["This process cannot reach the store", "Sign-in, revocation and publishing fail. Check store and network."];
  return [{ tone: "bad", text, details: [], advice, read: "Troubleshoot", of: own }];
}

function isTold(line: string, degraded: ProcessReport["configuration"]["degraded"]): boolean {
  return degraded.some(({ problems }) => problems.includes(line));
}

function configurationProblems(of: ProcessReport): readonly FoundProblem[] {
  const { lastError, degraded, moreDegraded, restartNeeded } = of.configuration;
  const read = "Log messages";
  const found: FoundProblem[] = degraded.map(({ owner, standing, since, problems }) => ({
    tone: "bad",
    text:
      standing === "kept"
        ? `${showUntrusted(owner)}: new slice rejected, previous version active`
        : `${showUntrusted(owner)}: slice rejected, no previous version`,
    details: problems.map((each) => showUntrusted(each, 400)),
    advice: "Other owners are not affected. Ask the owner to fix and republish the slice.",
    read,
    of,
    href: addressOfList("changes", { owner }),
    sinceMs: since * 1000,
  }));
  const details = lastError
    ? [...lastError.problems.map((each) => showUntrusted(each, 400)), ...more(lastError.more)]
    : [];
  if (lastError && !lastError.isPartial) {
    const advice = "Fix the configuration. Until then no owner's changes take effect.";
    const text = "Configuration rejected, previous version active";
    found.unshift({ tone: "bad", text, details, advice, read, of, sinceMs: lastError.at * 1000 });
  } else if (lastError && (degraded.length === 0 || lastError.problems.some((line) => !isTold(line, degraded)))) {
    // With the names of other owners' routes: the problems of each owner do not have them.
    const text = "Some owners are out of date";
    found.push({ tone: "bad", text, details, advice: "Ask the owner to fix and republish the slice.", read, of });
  }
  if (moreDegraded > 0) {
    const text = `${moreDegraded} more owners are out of date`;
    found.push({ tone: "bad", text, details: [], advice: "The admin listener's `/status` has all of them.", read, of });
  }
  if (restartNeeded) {
    const text = "Static settings changed, restart required";
    found.push({
      tone: "warn",
      text,
      details: [],
      advice: "Restart the replicas one at a time.",
      read: "Stop and restart",
      of,
    });
  }
  return found;
}

function more(count: number): readonly string[] {
  return count > 0 ? [`… and ${count} more`] : [];
}

function silentProblems({ reports, now }: ProblemFacts): readonly FoundProblem[] {
  return reports
    .filter((report) => isSilent(report, now))
    .map((of) => ({
      tone: "bad",
      text: "No heartbeat from a process for 30 seconds",
      details: [],
      advice: "It is stuck, was killed, or cannot reach the store. Its last report is shown.",
      read: "High availability",
      of,
      sinceMs: of.seen * 1000,
    }));
}

export function isSilent({ seen }: ProcessReport, now: number): boolean {
  return now - seen > SILENT_AFTER_SECONDS;
}

function failureProblems({ failures }: ProblemFacts): readonly FoundProblem[] {
  const byUpstream = Map.groupBy(failures, ({ route, upstream }) => JSON.stringify([route, upstream]));
  return [...byUpstream.values()].slice(0, MAX_NAMED).map((same) => {
    const { route, upstream } = same[0] as FailureCount;
    const total = same.reduce((sum, { count }) => sum + count, 0);
    const where = upstream === "" ? "" : ` (${showUntrusted(upstream)})`;
    return {
      tone: "warn",
      text: `The upstream of ${showUntrusted(route)}${where} failed in the last quarter of an hour`,
      details: same.map(({ failure, count }) => `${count} × ${failure}`),
      advice: `${total} requests failed. The failure names the side to check.`,
      read: "Log messages",
      href: addressOfId("servers", route),
    };
  });
}

function differenceProblems({ reports, now }: ProblemFacts): readonly FoundProblem[] {
  const live = reports.filter((report) => !report.draining && !isSilent(report, now));
  const found: FoundProblem[] = [];
  if (new Set(live.map(({ configuration: { digest } }) => digest)).size > 1) {
    found.push({
      tone: "warn",
      text: "Processes run different configurations",
      details: [],
      advice: "Normal for seconds after a change. Otherwise compare files across hosts.",
      read: "High availability",
    });
  }
  if (new Set(live.map(({ version }) => version)).size > 1) {
    found.push({
      tone: "warn",
      text: "Processes run different versions",
      details: [],
      advice: "Normal during a rolling update.",
      read: "Upgrade",
    });
  }
  return found;
}

function loopProblems(of: ProcessReport): readonly FoundProblem[] {
  if (of.loopMs === undefined || of.loopMs < LATE_MS) return [];
  return [
    {
      tone: "warn",
      text: "Event loop lag: all requests are delayed",
      details: [],
      advice: "CPU overloaded. Add workers or replicas.",
      read: "Capacity",
      of,
    },
  ];
}
