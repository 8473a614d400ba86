/** One source → its owner, settings and routes, each validated alone. Rules between sources are in bundle-rules.ts. */
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
import { secretRules } from "../settings/secret-spellings.ts";
import { settingsRules } from "./rules/settings.ts";
import { readSource, readValue, type SourceText } from "../settings/source.ts";
import { withFewSuggestions } from "../shared/suggest.ts";
import { isRecord } from "../shared/is-record.ts";

export interface SliceSource extends SliceOrigin {
  readonly text: string;
}

/** A slice that need not be read any more, from Terraform or a cluster. */
export interface SliceValue extends SliceOrigin {
  readonly value: unknown;
}

export interface SliceOrigin {
  /** Name for messages. */
  readonly file: string;
  /** The file given to `gateway run`: may carry boot settings and any secret reference. */
  readonly boot: boolean;
  /** Conflicts with others are reported here, whatever the names of the files: this one is new. */
  readonly isNew?: boolean;
  /** Since when this text is in force (epoch milliseconds); absent when it is not. */
  readonly since?: number;
  /** What its owner had in force, when this is another text. */
  readonly before?: InForce;
}

/** In a conflict the lower one stays: the boot file, then what is in force longest, then what is not, then what is new. */
export function precedence({ boot, isNew = false, since }: SliceOrigin): number {
  if (boot) return -1;
  if (isNew) return Number.POSITIVE_INFINITY;
  return since ?? Number.MAX_SAFE_INTEGER;
}

export interface ReadRoute extends RouteReading {
  readonly slice: ReadSlice;
  /** Where it stands in its source. */
  readonly path: ValuePath;
  readonly name: string;
}

export interface ReadSlice {
  readonly source: SliceOrigin;
  readonly owner: string;
  /** The source says whose it is; else `owner` is "unknown", or no name. */
  readonly hasOwner: boolean;
  /** Path of the settings: [] in a hand-written file. */
  readonly settingsPath: ValuePath;
  readonly boot: BootDoc;
  /** Without `host_certificates`, which are no settings of all routes. */
  readonly settings: SettingsDoc;
  readonly certificates: readonly ReadHostCertificate[];
  readonly routes: readonly ReadRoute[];
  /** Adds a problem at its place. */
  readonly report: (problem: UnplacedProblem) => void;
  /** As it would be added. */
  readonly problemOf: (problem: UnplacedProblem) => Problem;
}

/**
 * @param memory readings of routes that may be used again, and get these
 * @returns undefined when not even the outline could be read; `problems` then has an error
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
      // Its owner is not served from it as it is: what else is wrong shows once these are gone.
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
 * The boot settings alone, before all is read: its routes are not looked at, and its text is not read a second time then.
 *
 * @returns undefined as `readSlice()`
 */
export function readBootFile(source: SliceSource, problems: Problem[]): BootDoc | undefined {
  const opened = openSlice(readSource(source.file, source.text, { isAgain: true }), problems);
  return opened && readSettings(opened.outline, source, opened.report).boot;
}

interface Opened extends Pick<ReadSlice, "report" | "problemOf"> {
  readonly outline: Outline;
  /** So many errors were found that no more are looked for. */
  hasMany(): boolean;
}

function openSlice(text: SourceText, problems: Problem[]): Opened | undefined {
  if (text.problems.length > 0) {
    for (const problem of text.problems) problems.push(problem);
    return undefined;
  }
  const problemOf = placer(text);
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

function placer(text: SourceText): ReadSlice["problemOf"] {
  return ({ severity, path, ...rest }) => {
    const position = path.length === 0 ? {} : text.locate(path, severity);
    return { severity, file: text.file, ...position, path, ...rest };
  };
}

/** An owner's slice as it was last in force, read when somebody asks. */
export interface InForce {
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly slices: () => readonly ReadSlice[];
}
