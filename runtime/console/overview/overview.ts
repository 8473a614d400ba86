/** Screen "Overview": the first page of the console. */
import type { WaitingCall } from "../../approvals/waiting.ts";
import type { HealthReader } from "../../health/health.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import { addFailures } from "../../health/rollup.ts";
import { TIERS, type Tier } from "../../health/tiers.ts";
import type { ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import { overviewBody, type OverviewParts, type Part } from "../../pages/console/overview.ts";
import type { KeptRecord, Ranking, RankQuery, RecordReader } from "../../record-store/record-reader.ts";
import { type Clock, within } from "../../shared/clock.ts";
import type { Store } from "../../store/store.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { decisionsChart } from "../health/charts.ts";
import { countedSteps, mergeSteps, visibleScopes } from "../health/counted.ts";
import { healthFacts } from "../health/facts.ts";
import { gather } from "../health/gather.ts";
import { rangeLinks, RANGES, tierOf } from "../health/ranges.ts";
import { visibleFailures, type VisibleScope } from "../health/visible-scope.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { remember } from "./remember.ts";
import type { ConsoleRequest, Screen, ScreenPage } from "../screen.ts";
import { visibleRoutes } from "../servers/list-servers.ts";
import { isWaitingFor, type ConsoleStatus } from "./status.ts";
import { attentionRows, driftOf, waitingRow } from "./attention.ts";
import { dependencyRows } from "./dependencies.ts";
import { overviewFigures } from "./figures.ts";
import { latestChanges } from "./latest-changes.ts";
import { deniedTools, deniedUsers, MOST, slowestServers } from "./tops.ts";

export interface OverviewDeps {
  readonly status: ConsoleStatus;
  readonly toolLocks: Pick<ToolLocks, "differences">;
  /** Undefined: no records are stored. */
  readonly records: Pick<RecordReader, "find" | "rank"> | undefined;
  readonly store: Store;
  readonly clock: Clock;
}

type Viewer = Pick<ConsoleRequest, "snapshot" | "rights" | "principal" | "query" | "now">;

const USUAL = TIERS.find(({ name }) => name === "6h") ?? TIERS[0];
/** Counts of records are not older than this. */
const REMEMBERED_MS = 10_000;
/** A part that comes later is shown as unavailable. */
const PART_WITHIN_MS = 1_500;
const USER_SLOTS = 24;
const WAITING_SHOWN = 3;
const SHOWN_ROUTES = 3;

export function overviewScreen(deps: OverviewDeps): Screen {
  const ranked = remember<Ranking>(deps.clock, REMEMBERED_MS);
  return {
    path: "overview",
    group: "",
    icon: "overview",
    name: "Overview",
    async show(visit): Promise<ScreenPage | undefined> {
      if (visit.path.length > 0) return undefined;
      const tier = tierOf(visit, USUAL);
      const parts = await overviewParts(deps, visit, ranked);
      return {
        title: "Overview",
        lead: leadOf(parts),
        aside: rangeLinks("overview", tier, USUAL),
        body: overviewBody(parts),
        scripts: ["chart"],
      };
    },
  };
}

function leadOf({ problems, attention, waiting }: OverviewParts): string {
  if (attention === "failed") return "The store is unavailable. This page shows what this process knows.";
  const mine = waiting !== undefined && waiting !== "failed" ? waiting.count : 0;
  const forYou = mine === 0 ? "" : ` ${mine} ${mine === 1 ? "call waits" : "calls wait"} for your decision.`;
  if (problems === 0) return `No problems.${forYou === "" ? " Nothing waits for you." : forYou}`;
  return `${problems} ${problems === 1 ? "item needs" : "items need"} attention.${forYou}`;
}

/** For tests without a frame. */
export async function overviewParts(
  deps: OverviewDeps,
  visit: Viewer,
  ranked: ReturnType<typeof remember<Ranking>>,
): Promise<OverviewParts> {
  const { status, records } = deps;
  const { rights, now: nowMs } = visit;
  const now = Math.floor(nowMs / 1000);
  const tier = tierOf(visit, USUAL);
  const sinceMs = nowMs - tier.steps * tier.stepSeconds * 1000;
  const since = new Date(sinceMs).toISOString().slice(0, 16);
  const rank = async (
    query: Pick<RankQuery, "by" | "most" | "slots" | "outcomes">,
  ): Promise<Part<Ranking> | undefined> => {
    if (!records) return undefined;
    const owners = rights.owners;
    const asked = { ...query, kind: "decision", sinceMs, untilMs: nowMs, ...(owners && { owners }) } as const;
    const key = JSON.stringify([tier.name, owners, query]);
    return inTime(ranked(key, () => records.rank(asked)));
  };
  const [gathered, before, pending, changes, failed, users, tools, denied] = await Promise.all([
    gather(status.health, tier),
    stepsBefore(status.health, tier, now),
    inTime(status.pending(visit)),
    inTime(latestChanges(deps, visit)),
    inTime(lastFailed(deps, visit, sinceMs)),
    rank({ by: "user", most: 0, slots: USER_SLOTS }),
    rank({ by: "tool", most: MOST, slots: 1, outcomes: ["denied"] }),
    rank({ by: "user", most: MOST, slots: 1, outcomes: ["denied"] }),
  ]);
  const facts = healthFacts(gathered, visit, now);
  const { steps, scope, problems } = facts;
  const counted = countedSteps(steps, visibleScopes(scope));
  const { merged } = RANGES[tier.name];
  const calls = pending === "failed" ? [] : pending;
  const drift = driftOf(visibleRoutes(visit), deps.toolLocks);
  return {
    attention:
      facts.isAlone && pending === "failed" ? "failed" : attentionRows({ problems, pending: calls, drift, now }),
    problems: problems.length + drift.length + (calls.length > 0 ? 1 : 0),
    failedLately: failedRoutes(gathered.recent, scope),
    lastFailure:
      failed === undefined || failed === "failed"
        ? undefined
        : { href: addressOfId("decisions", failed.id), timeMs: failed.timeMs },
    waiting: waitingPart(visit, pending, now),
    figures: overviewFigures({
      steps: counted,
      before: before && countedSteps(before, visibleScopes(scope)),
      users,
      decisionsHref: addressOfList("decisions", { since }),
      notAllowedHref: addressOfList("decisions", { outcome: "not-allowed", since }),
    }),
    chart: decisionsChart(mergeSteps(counted, merged), {
      starts: steps.filter((_, index) => index % merged === 0).map(({ start }) => start * 1000),
      stepMs: tier.stepSeconds * merged * 1000,
    }),
    step: RANGES[tier.name].step,
    decisionsHref: addressOfList("decisions"),
    tops: [
      deniedTools({ ranking: tools, since }),
      deniedUsers({ ranking: denied, since }),
      slowestServers(steps, scope),
    ],
    changes: changes === "failed" || changes.length > 0 ? changes : loadedChange(gathered.own),
    changesHref: addressOfList("changes"),
    dependencies: dependencyRows(facts, records !== undefined, now),
  };
}

/** The newest request of the shown time that was allowed and failed. */
async function lastFailed(
  { records }: OverviewDeps,
  { rights: { owners } }: Viewer,
  sinceMs: number,
): Promise<KeptRecord | undefined> {
  const query = { kind: "decision", outcomes: ["error"], sinceMs, order: "newest", limit: 1 } as const;
  return (await records?.find({ ...query, ...(owners && { owners }) }))?.records[0];
}

/** Where nothing was published: the files that this process loaded. */
function loadedChange({ configuration: { digest, loadedAt } }: ProcessReport): OverviewParts["changes"] {
  if (loadedAt === 0) return [];
  const title = `Configuration ${digest.slice(0, 8)} active`;
  const text = "From files, which have their own history · loaded by this process";
  return [{ icon: "changes", href: addressOfList("changes"), title, text, timeMs: loadedAt * 1000 }];
}

/** @param steps of the last hour */
function failedRoutes(steps: readonly TrafficStep[], scope: VisibleScope): readonly string[] {
  const counts = new Map<string, number>();
  const failures = visibleFailures(addFailures(steps.flatMap(({ rollup }) => rollup?.failures ?? [])), scope);
  for (const { route, count } of failures) counts.set(route, (counts.get(route) ?? 0) + count);
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, SHOWN_ROUTES).map(([route, count]) => `${showUntrusted(route, 80)} (${count})`);
  return sorted.length > shown.length ? [...shown, `${sorted.length - shown.length} more`] : shown;
}

/** Undefined for administrators who decide about no calls. */
function waitingPart(visit: Viewer, pending: Part<readonly WaitingCall[]>, now: number): OverviewParts["waiting"] {
  const { roles, byOwner } = visit.rights;
  if (!roles.has("approver") && ![...byOwner.values()].some((each) => each.has("approver"))) return undefined;
  if (pending === "failed") return "failed";
  const mine = pending.filter((call) => isWaitingFor(visit, call));
  return { rows: mine.slice(0, WAITING_SHOWN).map((call) => waitingRow(call, now)), count: mine.length };
}

/** As many steps as the range has, from before it; of the longest range nothing is known. */
async function stepsBefore(health: HealthReader, tier: Tier, now: number): Promise<readonly TrafficStep[] | undefined> {
  const longer = TIERS[TIERS.indexOf(tier) + 1];
  if (!longer) return undefined;
  const seconds = tier.steps * tier.stepSeconds;
  const all = await inTime(health.traffic(longer));
  if (all === "failed") return undefined;
  return all.filter(({ start }) => start >= now - 2 * seconds && start < now - seconds);
}

function inTime<T>(work: Promise<T>): Promise<Part<T>> {
  return within<Part<T>>(
    PART_WITHIN_MS,
    work.catch(() => "failed" as const),
    () => "failed",
  );
}
