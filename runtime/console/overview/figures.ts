/** Figures, and decisions over time, from the counts of all processes. */
import { quantileMs } from "../../health/histogram.ts";
import type { RollupCounts } from "../../health/rollup.ts";
import { shortMs } from "../../pages/console/charts/scale.ts";
import type { FigureParts } from "../../pages/console/overview.ts";
import type { Ranking } from "../../record-store/record-reader.ts";
import { NOT_ALLOWED } from "../decisions/filters.ts";
import { countOf, type CountedStep, mergeSteps, total } from "../health/counted.ts";

const REQUESTS: readonly RollupCounts[] = ["allowed", "denied", "limited", "waiting"];

type Steps = readonly (CountedStep | undefined)[];

/** A spark line is a hundred pixels wide. */
const MAX_POINTS = 24;

const NUMBER = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const SHORT_NUMBER = 999_999;

function numberText(value: number): string {
  return value > SHORT_NUMBER ? COMPACT.format(value) : NUMBER.format(value);
}

export interface FigureFacts {
  readonly steps: Steps;
  /** The same length of time before; undefined: unknown. */
  readonly before: Steps | undefined;
  /** Undefined: no records are stored. */
  readonly users: Ranking | "failed" | undefined;
  readonly decisionsHref: string;
  readonly notAllowedHref: string;
}

export function overviewFigures(facts: FigureFacts): readonly FigureParts[] {
  const { steps, before, users, decisionsHref, notAllowedHref } = facts;
  const sum = total(steps);
  const requests = countOf(sum, REQUESTS);
  const notAllowed = countOf(sum, NOT_ALLOWED);
  const earlier = before && comparable(total(before), sum);
  const points = mergeSteps(steps, Math.ceil(steps.length / MAX_POINTS));
  const perPoint = (of: readonly RollupCounts[]) => points.map((step) => step && countOf(step, of));
  const quantileText = (step: CountedStep, share: number): string => {
    const ms = quantileMs(step.sum.durations, share);
    return ms === undefined ? "–" : shortMs(ms);
  };
  const perMinute = sum.seconds === 0 ? 0 : Math.round((requests * 60) / sum.seconds);
  return [
    {
      name: "Requests",
      href: decisionsHref,
      value: numberText(requests),
      text: joined(`${numberText(perMinute)} a minute`, earlier && change(requests, countOf(earlier, REQUESTS))),
      spark: perPoint(REQUESTS),
      tone: "quiet",
    },
    {
      name: "Not allowed",
      href: notAllowedHref,
      value: numberText(notAllowed),
      small: requests === 0 ? undefined : shareText(notAllowed / requests),
      text:
        joined(undefined, earlier && change(notAllowed, countOf(earlier, NOT_ALLOWED))) || "Denied, limited, pending",
      spark: perPoint(NOT_ALLOWED),
      tone: "bad",
    },
    {
      name: "Response time",
      href: "/.gateway/console/health#traffic",
      value: quantileText(sum, 0.99),
      small: "p99",
      text: joined(
        `${quantileText(sum, 0.5)} p50`,
        earlier && earlier.sum.durations.length > 0 ? `${quantileText(earlier, 0.99)} p99 before` : undefined,
      ),
      spark: points.map((step) => step && quantileMs(step.sum.durations, 0.99)),
      tone: "quiet",
    },
    usersFigure(users),
  ];
}

/** A gateway that was not there for most of the time before is not compared with itself. */
function comparable(before: CountedStep, now: CountedStep): CountedStep | undefined {
  return before.seconds >= now.seconds * 0.8 ? before : undefined;
}

function usersFigure(users: FigureFacts["users"]): FigureParts {
  const common = { name: "Active users", href: "/.gateway/console/people", tone: "quiet" } as const;
  if (users === undefined) return { ...common, value: "–", text: "No record store configured", spark: [] };
  if (users === "failed") return { ...common, value: "–", text: "Record store unavailable", spark: [] };
  const isPartial = users.countedSinceMs !== undefined;
  return {
    ...common,
    value: `${numberText(users.distinct)}${isPartial ? "+" : ""}`,
    text: isPartial ? "Users of the newest records" : "Users with at least one request",
    // Slots that were not counted are no zeros.
    spark: users.slots.map((count, index) =>
      isPartial && users.slots.slice(0, index + 1).every((each) => each === 0) ? undefined : count,
    ),
  };
}

/** "8 % more than before", as far as there is something to compare with. */
function change(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  const share = now / before - 1;
  if (Math.abs(share) < 0.005) return "as before";
  if (share >= 1) return `${COMPACT.format(now / before)} times as many as before`;
  return `${Math.round(Math.abs(share) * 100)} % ${share > 0 ? "more" : "fewer"} than before`;
}

function shareText(share: number): string {
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format(share * 100)} %`;
}

function joined(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(" · ");
}
