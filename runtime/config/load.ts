/**
 * Configuration text of any number of slices → one checked configuration, or every problem at once.
 *
 * Untrusted input: the texts. Promises: pure and total (it never throws); the same slices in any order give the same
 * configuration, digest included; nothing bad comes through, since a single error leaves `config` out.
 */
import { judgeBundle } from "./bundle-rules.ts";
import { judgeConflicts } from "./conflicts.ts";
import { mergeSettings } from "./merge.ts";
import { quote, type Problem } from "./problem.ts";
import type { RouteMemory } from "./read-route.ts";
import { type ReadSlice, readSlice, type SliceSource } from "./read-slice.ts";
import type { RouteDoc } from "./route.ts";
import type { BootDoc, SettingsDoc } from "./settings.ts";
import { canonicalJson, sha256 } from "./slice.ts";

export { formatProblem, type Problem } from "./problem.ts";
export { createRouteMemory, type RouteMemory } from "./read-route.ts";
export type { SliceSource } from "./read-slice.ts";

export interface CheckedRoute {
  /** "<owner>/<name>". */
  readonly key: string;
  readonly owner: string;
  /** Display name. */
  readonly name: string;
  /** Canonical, see canonical.ts. */
  readonly doc: RouteDoc;
  /** Canonical JSON of `doc`: equal text means an unchanged route. */
  readonly text: string;
}

export interface CheckedConfig {
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
  /** Sorted by key. */
  readonly routes: readonly CheckedRoute[];
  /** SHA-256 (hex) of the canonical JSON of settings and routes. */
  readonly digest: string;
}

export interface LoadOutcome {
  /** By file and place. */
  readonly problems: readonly Problem[];
  /** File → owner, of those whose outline could be read. */
  readonly owners: ReadonlyMap<string, string>;
  /** Absent when any problem is an error. */
  readonly config?: CheckedConfig;
}

/** @param memory of earlier loads: what it has is not judged again. It changes how long this takes, and nothing else */
export function loadSlices(sources: readonly SliceSource[], memory?: RouteMemory): LoadOutcome {
  const { problems, slices, boot, settings } = readSlices(sources, memory);
  memory?.forgetOthers();
  const owners = new Map(slices.map(({ source, owner }) => [source.file, owner]));
  if (problems.some(({ severity }) => severity === "error")) return { problems, owners };
  return { problems, owners, config: { boot, settings, ...checkedRoutes(slices, settings) } };
}

/** The problems alone, for those who need no configuration made. Nothing in `memory` is forgotten. */
export function findProblems(sources: readonly SliceSource[], memory?: RouteMemory): readonly Problem[] {
  return readSlices(sources, memory).problems;
}

interface ReadSlices {
  /** By file and place. */
  readonly problems: readonly Problem[];
  readonly slices: readonly ReadSlice[];
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
}

function readSlices(sources: readonly SliceSource[], memory?: RouteMemory): ReadSlices {
  const problems: Problem[] = [];
  // The boot file first, so that conflicts are reported at what was published against it.
  const ordered = sources.toSorted(
    (a, b) =>
      Number(b.boot) - Number(a.boot) || Number(a.isNew ?? false) - Number(b.isNew ?? false) || compare(a.file, b.file),
  );
  const slices = ordered.map((source) => readSlice(source, problems, memory)).filter((slice) => slice !== undefined);
  const sound = slices.length === ordered.length && !problems.some((problem) => isSettingProblem(problem));
  judgeOwners(slices);
  const { boot, settings } = mergeSettings(slices);
  const routes = slices.flatMap((slice) => slice.routes);
  judgeConflicts(routes);
  // With a setting missing because it was bad, rules that lean on settings would report what is not wrong.
  const hasBoot = ordered.some((source) => source.boot);
  if (sound) judgeBundle({ boot: hasBoot ? boot : undefined, settings, slices });
  return { problems: problems.toSorted(byPlace), slices, boot, settings };
}

function checkedRoutes(
  slices: readonly ReadSlice[],
  settings: SettingsDoc,
): { readonly routes: readonly CheckedRoute[]; readonly digest: string } {
  const routes: CheckedRoute[] = [];
  for (const { owner, routes: read } of slices) {
    for (const { name, doc: written, canonical } of read) {
      if (!written) continue;
      const { doc, text } = canonical(name);
      routes.push({ key: `${owner}/${name}`, owner, name: doc.name ?? name, doc, text });
    }
  }
  routes.sort((a, b) => compare(a.key, b.key));
  // The same text as canonicalJson({ routes: { <key>: doc }, settings }), without writing every route twice.
  const members = routes.map(({ key, text }) => `${JSON.stringify(key)}:${text}`).join(",");
  return { routes, digest: sha256(`{"routes":{${members}},"settings":${canonicalJson(settings)}}`) };
}

/** Hand-written files of a directory share the owner "default"; a slice is one owner's whole word. */
function judgeOwners(slices: readonly ReadSlice[]): void {
  const seen = new Map<string, ReadSlice>();
  for (const slice of slices) {
    const first = seen.get(slice.owner);
    if (first && slice.settingsPath.length > 0) {
      const message =
        first.settingsPath.length === 0
          ? `is ${quote(slice.owner)}, the owner of what ${first.source.file} says, must be another name such as "main"`
          : `is ${quote(slice.owner)}, which ${first.source.file} has too, must be one slice`;
      slice.report({ severity: "error", path: ["owner"], message });
    }
    seen.set(slice.owner, first ?? slice);
  }
}

function isSettingProblem({ severity, path }: Problem): boolean {
  return severity === "error" && !path.startsWith("routes");
}

function byPlace(a: Problem, b: Problem): number {
  return (
    compare(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.column ?? 0) - (b.column ?? 0) ||
    compare(a.path, b.path) ||
    compare(a.message, b.message)
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
