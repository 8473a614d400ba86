/**
 * Validates files and published slices that were read together: what serves each owner, and why a change must be
 * rejected.
 */
import { type PreviousSlice, loadByOwner, type OwnersOutcome, type OwnerStatus } from "../../config/load-by-owner.ts";
import type { Problem, RouteMemory } from "../../config/load.ts";
import { MAX_PROBLEMS, moreProblems } from "../../settings/problem.ts";
import type { Refusal } from "../../config/refusals.ts";
import type { SourceReading } from "../sources.ts";

export interface ValidationContext {
  /** A configuration file, or a directory. */
  readonly path: string;
  /** Last active slices of owners. */
  readonly previous: ReadonlyMap<string, PreviousSlice>;
  readonly refusals: readonly Refusal[];
  readonly memory?: RouteMemory;
}

export function validateReading(
  { sources, problems: fatal, unread }: Pick<SourceReading, "sources" | "problems" | "unread">,
  { path, previous, refusals, memory }: ValidationContext,
): OwnersOutcome {
  const outcome = loadByOwner({ sources, unread, previous, refusals }, memory);
  const missing = fatal.length === 0 && !sources.some((source) => source.boot) ? [noBootFile(path)] : fatal;
  if (missing.length === 0) return outcome;
  const { standings: none, owners, problems } = outcome;
  return { standings: none, owners, problems: [...missing, ...problems] };
}

function noBootFile(file: string): Problem {
  return { severity: "error", file, path: [], message: "has no main configuration file, must have a gateway.yaml" };
}

/** Slices to be changed. */
export interface Candidates {
  readonly owners: readonly string[];
  /** Names of their files. */
  readonly files: ReadonlySet<string>;
}

/** Every reason to reject the change that resulted in `outcome`. */
export function objections(
  reading: SourceReading,
  { config, problems, standings: after }: OwnersOutcome,
  { owners, files }: Candidates,
  context: ValidationContext,
): readonly Problem[] {
  if (!config) return problems;
  const degraded = after.filter(({ standing }) => standing !== "current");
  const own = degraded.filter(({ owner = "" }) => owners.includes(owner));
  if (own.length > 0 || degraded.length === 0) return own.flatMap((each) => each.problems);
  // Others are not served from their current version: check whether this change is the cause.
  const inForce = owners.flatMap((owner) => context.previous.get(owner)?.sources ?? []);
  const before = validateReading(
    {
      ...reading,
      sources: [
        ...reading.sources.filter(({ file }) => !files.has(file)),
        ...inForce.filter(({ file }) => files.has(file)).map((source) => ({ ...source, boot: false })),
      ],
    },
    context,
  );
  const earlier = new Map(before.standings.map((each) => [each.owner, each.standing]));
  return degraded
    .filter(({ owner, standing }) => isWorse(standing, earlier.get(owner) ?? "absent"))
    .flatMap((each) => each.problems);
}

function isWorse(standing: OwnerStatus["standing"], than: OwnerStatus["standing"]): boolean {
  const order = ["current", "kept", "absent"] as const;
  return order.indexOf(standing) > order.indexOf(than);
}

/** A few problems per file, so that a thousand in one file hide no others. */
export function fewOfEach(problems: readonly Problem[]): readonly Problem[] {
  return [...byFileOf(problems).values()].flatMap(few);
}

export function byFileOf(problems: readonly Problem[]): ReadonlyMap<string, readonly Problem[]> {
  return Map.groupBy(problems, ({ file }) => file);
}

/** Limits the problems, errors first, and counts the rest. */
export function few(problems: readonly Problem[]): readonly Problem[] {
  const [first] = problems;
  const named = problems.filter(({ more }) => more === undefined);
  if (first === undefined || (problems.length <= MAX_PROBLEMS && named.length === problems.length)) return problems;
  const { error = [], warning = [] } = Object.groupBy(named, ({ severity }) => severity);
  const shown = [...error, ...warning].slice(0, MAX_PROBLEMS);
  const total = problems.reduce((sum, { more = 1 }) => sum + more, 0);
  // Callers check for errors, so the count must have severity "error" if any problem has.
  const severity = problems.some((problem) => problem.severity === "error") ? "error" : "warning";
  return [...shown, { ...moreProblems(severity, total - shown.length), file: first.file }];
}
