/**
 * Reads one source: its owner, settings and routes, each validated alone. For rules between sources, see
 * bundle-rules.ts.
 */
import { type BootDoc, bootNames, type SettingsDoc, settingsFields, settingsSchema } from "./settings.ts";
import type { Field } from "../settings/field.ts";
import { twiceNamed } from "../features/headers/rules.ts";
import { HOST_CERTIFICATES, type ReadHostCertificate } from "../features/listener/host-certificates.ts";
import { validate } from "../settings/validate.ts";
import { type Outline, readOutline } from "./outline.ts";
import {
  below,
  describe,
  errorAt,
  type UnplacedProblem,
  formatPath,
  MAX_PROBLEMS,
  type Problem,
  type ValuePath,
  type Report,
} from "../settings/problem.ts";
import { readRoute, type RouteMemory, type RouteReading } from "./read-route.ts";
import { secretRules } from "../settings/secret-forms.ts";
import { settingsRules } from "./rules/settings.ts";
import { readSource, readValue, type SourceText } from "../settings/source.ts";
import { withFewSuggestions } from "../shared/suggest.ts";
import { isRecord } from "../shared/is-record.ts";

export interface SliceSource extends SliceOrigin {
  readonly text: string;
}

/** A slice that is already parsed, from Terraform or a cluster. */
export interface SliceValue extends SliceOrigin {
  readonly value: unknown;
}

export interface SliceOrigin {
  /** Name for messages. */
  readonly file: string;
  /** The file passed to `gateway run`: it can have static settings and any secret reference. */
  readonly boot: boolean;
  /** Conflicts are reported at this source, because it is new. */
  readonly isNew?: boolean;
  /** Active since (epoch milliseconds); absent if not active. */
  readonly since?: number;
  /** The owner's active version, if this is another text. */
  readonly before?: ActiveVersion;
}

/**
 * In a conflict the lower value wins: the main configuration file, then the longest active, then inactive, then new.
 */
export function precedence({ boot, isNew = false, since }: SliceOrigin): number {
  if (boot) return -1;
  if (isNew) return Number.POSITIVE_INFINITY;
  return since ?? Number.MAX_SAFE_INTEGER;
}

export interface ReadRoute extends RouteReading {
  readonly slice: ReadSlice;
  /** Path in its source. */
  readonly path: ValuePath;
  readonly name: string;
}

export interface ReadSlice {
  readonly source: SliceOrigin;
  readonly owner: string;
  /** The source names its owner; otherwise `owner` is "unknown" or an invalid name. */
  readonly hasOwner: boolean;
  /** Path of the settings: [] in a hand-written file. */
  readonly settingsPath: ValuePath;
  readonly boot: BootDoc;
  /** Without `host_certificates`, which do not apply to all routes. */
  readonly settings: SettingsDoc;
  readonly certificates: readonly ReadHostCertificate[];
  readonly routes: readonly ReadRoute[];
  /** Adds a problem with its location. */
  readonly report: (problem: UnplacedProblem) => void;
  /** The problem as it would be added. */
  readonly problemOf: (problem: UnplacedProblem) => Problem;
}

/**
 * @param memory cached readings of routes; new ones are added
 * @returns undefined if not even the outline could be read; `problems` then has an error
 */
export function readSlice(
  source: SliceSource | SliceValue,
  problems: Problem[],
  memory?: RouteMemory,
): ReadSlice | undefined {
  const text = "text" in source ? readSource(source.file, source.text) : readValue(source.file, source.value);
  const opened = openSlice(text, problems);
  if (opened === undefined) return undefined;
  const { outline, report, problemOf } = opened;
  const settings = readSettings(outline, source, report);
  const routes: ReadRoute[] = [];
  const slice: ReadSlice = {
    source,
    owner: outline.owner,
    hasOwner: outline.hasOwner,
    settingsPath: outline.settingsPath,
    ...settings,
    routes,
    report,
    problemOf,
  };
  for (const [at, entry] of outline.routes.entries()) {
    if (!opened.hasMany()) routes.push(placeRoute(slice, entry, memory));
    else {
      // The source is rejected anyway; further problems show once these are fixed.
      const left = outline.routes.length - at;
      report(
        errorAt(["routes"], `has ${left} more route${left === 1 ? "" : "s"}, not checked: there are too many problems`),
      );
      break;
    }
  }
  return slice;
}

/**
 * Only the static settings, before everything is read: skips the routes, and the text is parsed only once.
 *
 * @returns undefined as `readSlice()`
 */
export function readBootFile(source: SliceSource, problems: Problem[]): BootDoc | undefined {
  const opened = openSlice(readSource(source.file, source.text, { isAgain: true }), problems);
  return opened && readSettings(opened.outline, source, opened.report).boot;
}

interface Opened extends Pick<ReadSlice, "report" | "problemOf"> {
  readonly outline: Outline;
  /** Whether the limit of reported errors is reached. */
  hasMany(): boolean;
}

function openSlice(text: SourceText, problems: Problem[]): Opened | undefined {
  if (text.problems.length > 0) {
    for (const problem of text.problems) problems.push(problem);
    return undefined;
  }
  const problemOf = problemLocator(text);
  let errors = 0;
  const report: ReadSlice["report"] = (problem) => {
    if (problem.severity === "error") errors += 1;
    problems.push(problemOf(problem));
  };
  const { value } = text;
  if (isRecord(value)) {
    const outline = withFewSuggestions(() => readOutline(value, report));
    return { outline, report, problemOf, hasMany: () => errors >= MAX_PROBLEMS };
  }
  report(errorAt([], `is ${describe(value)}, must be a block of settings and routes`));
  return undefined;
}

function readSettings(
  { owner, settings: value, settingsPath: path }: Outline,
  source: SliceOrigin,
  report: ReadSlice["report"],
): Pick<ReadSlice, "boot" | "settings" | "certificates"> {
  const publisher = source.boot ? undefined : owner;
  const known = [...settingsFields, ...(path.length === 0 ? [{ name: "routes" } as Field] : [])];
  const { valid } = validate(settingsSchema, value, known, (problem) => report(below(path, problem)));
  const boot: Record<string, unknown> = {};
  const live: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(valid)) {
    if (name === HOST_CERTIFICATES) continue;
    if (!bootNames.has(name)) live[name] = member;
    else if (source.boot) boot[name] = member;
    else
      report(errorAt([...path, name], "belongs in the file given to `gateway run`, a published slice cannot set it"));
  }
  const reportBelow: Report = (problem) => report(below(path, problem));
  secretRules(settingsFields, valid, publisher, reportBelow);
  for (const problem of settingsRules(valid)) reportBelow(problem);
  for (const name of ["set_response_headers", "jwt_claims_headers"] as const) {
    twiceNamed(Object.keys(valid[name] ?? {}), name, reportBelow);
  }
  const certificates = Object.entries(valid.host_certificates ?? {}).map(([host, doc]) => {
    return { host, doc, path: [...path, HOST_CERTIFICATES, host] };
  });
  return { boot, settings: live, certificates };
}

function placeRoute(
  slice: ReadSlice,
  { path, label, value }: Outline["routes"][number],
  memory?: RouteMemory,
): ReadRoute {
  const reading = readRoute(value, slice.source.boot ? undefined : slice.owner, memory);
  for (const problem of reading.problems) slice.report(below(path, problem));
  return { ...reading, slice, path, name: label ?? reading.ownName ?? formatPath(path) };
}

function problemLocator(text: SourceText): ReadSlice["problemOf"] {
  return ({ severity, path, ...rest }) => {
    const position = path.length === 0 ? {} : text.locate(path, severity);
    return { severity, file: text.file, ...position, path, ...rest };
  };
}

/** An owner's last active slice, read on demand. */
export interface ActiveVersion {
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly slices: () => readonly ReadSlice[];
}
