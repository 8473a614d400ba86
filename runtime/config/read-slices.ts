/** Sources → their slices, with what is wrong with each and between them. */
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
  /** By file and place. */
  readonly problems: readonly Problem[];
  readonly slices: readonly ReadSlice[];
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
}

/** @param refusals what was found wrong with such sources before, and only shows when they are compiled */
export function readSlices(
  sources: readonly (SliceSource | SliceValue)[],
  memory?: RouteMemory,
  refusals: readonly Refusal[] = [],
): ReadSlices {
  const problems: Problem[] = [];
  // The boot file first, so that conflicts are reported at what was published against it.
  const ordered = sources.toSorted((a, b) => comparePrecedence(a, b) || compare(a.file, b.file));
  const slices = ordered.map((source) => readSlice(source, problems, memory)).filter((slice) => slice !== undefined);
  const valid = slices.length === ordered.length && !problems.some((problem) => isSettingProblem(problem));
  validateOwners(slices);
  const { boot, settings } = mergeSettings(slices);
  const routes = slices.flatMap((slice) => slice.routes);
  validateConflicts(routes);
  validateHostCertificates(slices);
  // With a setting missing because it was bad, rules that lean on settings would report what is not wrong.
  const hasBoot = ordered.some((source) => source.boot);
  if (valid) validateBundle({ boot: hasBoot ? boot : undefined, settings, slices });
  if (refusals.length > 0) refuse(slices, settings, refusals);
  return { problems: byPlace(problems), slices, boot, settings };
}

/** Hand-written files of a directory share the owner "default"; a slice is one owner's whole word. */
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

/** By file and place. */
export function byPlace(problems: readonly Problem[]): readonly Problem[] {
  // Once for each: slices of machines have thousands of problems without a line.
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
  // Not their difference: that of two infinities is no number.
  return one === other ? 0 : one < other ? -1 : 1;
}
