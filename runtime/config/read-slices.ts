/** Reads the slices of sources, with problems within and between them. */
import type { BootDoc, SettingsDoc } from "./settings.ts";
import { validateBundle } from "./rules/bundle.ts";
import { validateConflicts } from "./rules/conflicts.ts";
import { validateHostCertificates } from "./rules/host-certificates.ts";
import { mergeSettings } from "./merge.ts";
import { DEFAULT_OWNER } from "../features/process/owners.ts";
import { formatPath, type Problem, quote } from "../settings/problem.ts";
import type { RouteMemory } from "./read-route.ts";
import {
  precedence,
  type ReadSlice,
  readSlice,
  type SliceOrigin,
  type SliceSource,
  type SliceValue,
} from "./read-slice.ts";
import { type Refusal, refuse } from "./refusals.ts";

export interface ReadSlices {
  /** By file and path. */
  readonly problems: readonly Problem[];
  readonly slices: readonly ReadSlice[];
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
}

/** @param refusals earlier compilation failures of such sources */
export function readSlices(
  sources: readonly (SliceSource | SliceValue)[],
  memory?: RouteMemory,
  refusals: readonly Refusal[] = [],
): ReadSlices {
  const problems: Problem[] = [];
  // The main configuration file first, so that conflicts are reported at the published slice.
  const ordered = sources.toSorted((a, b) => comparePrecedence(a, b) || compare(a.file, b.file));
  const slices = ordered.map((source) => readSlice(source, problems, memory)).filter((slice) => slice !== undefined);
  const valid = slices.length === ordered.length && !problems.some((problem) => isSettingProblem(problem));
  validateOwners(slices);
  const { boot, settings } = mergeSettings(slices);
  const routes = slices.flatMap((slice) => slice.routes);
  validateConflicts(routes);
  validateHostCertificates(slices);
  // If an invalid setting is missing, rules that depend on it would report false problems.
  const hasBoot = ordered.some((source) => source.boot);
  if (valid) validateBundle({ boot: hasBoot ? boot : undefined, settings, slices });
  if (refusals.length > 0) refuse(slices, settings, refusals);
  return { problems: byLocation(problems), slices, boot, settings };
}

/** Hand-written files of a directory share the owner "default"; a slice must be its owner's only one. */
function validateOwners(slices: readonly ReadSlice[]): void {
  const seen = new Map<string, ReadSlice>();
  for (const slice of slices) {
    const first = seen.get(slice.owner);
    if (first && slice.settingsPath.length > 0) {
      const message =
        first.settingsPath.length === 0
          ? `is ${quote(slice.owner)}, the owner of what ${first.source.file} says, must be another name such as ${quote(DEFAULT_OWNER)}`
          : `is ${quote(slice.owner)}, which ${first.source.file} has too, must be one slice`;
      const rivals = [{ file: first.source.file, path: ["owner"] }];
      slice.report({ severity: "error", path: ["owner"], message, rivals });
    }
    seen.set(slice.owner, first ?? slice);
  }
}

function isSettingProblem({ severity, path }: Problem): boolean {
  return severity === "error" && path[0] !== "routes";
}

/** Sorts by file and path. */
export function byLocation(problems: readonly Problem[]): readonly Problem[] {
  // Formatted once each: generated slices have thousands of problems without a line.
  const texts = new Map(problems.map((problem) => [problem, formatPath(problem.path)]));
  return problems.toSorted(
    (a, b) =>
      compare(a.file, b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0) ||
      compare(texts.get(a) ?? "", texts.get(b) ?? "") ||
      compare(a.message, b.message),
  );
}

export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function comparePrecedence(a: SliceOrigin, b: SliceOrigin): number {
  const [one, other] = [precedence(a), precedence(b)];
  // Not their difference: infinity minus infinity is NaN.
  return one === other ? 0 : one < other ? -1 : 1;
}
