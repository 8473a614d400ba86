/**
 * One source → its owner, settings and routes, each judged alone.
 *
 * A source is a hand-written file (settings beside a `routes` list, owner "default") or a slice
 * (`version`, `owner`, `settings`, `routes` by name). Rules between sources are in bundle-rules.ts.
 */
import type { z } from "zod";

import { derivedName } from "./canonical.ts";
import type { Field } from "./fields.ts";
import { headerRules, twiceNamed } from "./header-settings.ts";
import { unknownMember } from "./kinds.ts";
import { mcpRules } from "./mcp.ts";
import { describe, type Finding, formatPath, type Problem, quote, type ValuePath } from "./problem.ts";
import { type RouteDoc, routeFields, routeNameWish, routeSchema } from "./route.ts";
import { secretRules } from "./secrets.ts";
import { type BootDoc, bootNames, isOwner, type SettingsDoc, settingsFields, settingsSchema } from "./settings.ts";
import { settingsRules } from "./settings-rules.ts";
import { readSource, type SourceText } from "./source.ts";
import { parseOrigin } from "./values.ts";

export interface SliceSource {
  /** Name for messages. */
  readonly file: string;
  readonly text: string;
  /** The file given to `gateway run`: may carry boot settings and any secret reference. */
  readonly boot: boolean;
}

export interface ReadRoute {
  readonly slice: ReadSlice;
  /** Where it stands in its source. */
  readonly path: ValuePath;
  readonly name: string;
  /** Its members without problems; complete exactly when `doc` is set. */
  readonly sound: Partial<RouteDoc>;
  readonly doc?: RouteDoc;
}

export interface ReadSlice {
  readonly source: SliceSource;
  readonly owner: string;
  /** Path of the settings: [] in a hand-written file. */
  readonly settingsPath: ValuePath;
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
  readonly routes: readonly ReadRoute[];
  /** Adds a problem at its place. */
  readonly report: (finding: Finding) => void;
}

type Members = Readonly<Record<string, unknown>>;

/** @returns undefined when not even the outline could be read; `problems` then has an error */
export function readSlice(source: SliceSource, problems: Problem[]): ReadSlice | undefined {
  const text = readSource(source.file, source.text);
  if (text.problems.length > 0) {
    problems.push(...text.problems);
    return undefined;
  }
  const report = reporter(text, problems);
  if (!isMembers(text.value)) {
    report(fault([], `is ${describe(text.value)}, must be a block of settings and routes`));
    return undefined;
  }
  const isSlice = ["version", "owner", "settings"].some((name) => Object.hasOwn(text.value as Members, name));
  const outline = isSlice ? sliceOutline(text.value, report) : fileOutline(text.value, report);
  const settings = readSettings(outline.settings, outline.settingsPath, source, report);
  const routes: ReadRoute[] = [];
  const slice: ReadSlice = {
    source,
    owner: outline.owner,
    settingsPath: outline.settingsPath,
    ...settings,
    routes,
    report,
  };
  for (const entry of outline.routes) routes.push(readRoute(slice, entry));
  return slice;
}

interface Outline {
  readonly owner: string;
  readonly settings: unknown;
  readonly settingsPath: ValuePath;
  readonly routes: readonly { readonly path: ValuePath; readonly label?: string; readonly value: unknown }[];
}

function sliceOutline(value: Members, report: ReadSlice["report"]): Outline {
  const known = ["version", "owner", "settings", "routes"];
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) report(fault([name], unknownMember(name, known)));
  }
  if (value["version"] !== 1) {
    const state = value["version"] === undefined ? "is missing" : `is ${quote(value["version"])}`;
    report(fault(["version"], `${state}, must be 1`));
  }
  const owner = value["owner"];
  if (typeof owner !== "string" || !isOwner(owner)) {
    const state = owner === undefined ? "is missing" : `is ${quote(owner)}`;
    report(fault(["owner"], `${state}, must be lower-case letters, digits, "-", "_" and "."`));
  }
  const routes = value["routes"] ?? {};
  if (!isMembers(routes)) report(fault(["routes"], `is ${describe(routes)}, must be a block of named routes`));
  return {
    owner: typeof owner === "string" ? owner : "unknown",
    settings: Object.hasOwn(value, "settings") ? value["settings"] : {},
    settingsPath: ["settings"],
    routes: Object.entries(isMembers(routes) ? routes : {}).map(([label, route]) => {
      const wish = routeNameWish(label);
      if (wish !== undefined) report(fault(["routes", label], `has a name that ${wish}`));
      return { path: ["routes", label], label, value: route };
    }),
  };
}

function fileOutline(value: Members, report: ReadSlice["report"]): Outline {
  const { routes = [], ...settings } = value;
  if (!Array.isArray(routes)) {
    const hint = isMembers(routes) ? '; named routes belong to a slice with "version: 1" and "owner"' : "";
    report(fault(["routes"], `is ${describe(routes)}, must be a list of routes${hint}`));
  }
  const items: readonly unknown[] = Array.isArray(routes) ? routes : [];
  return {
    owner: "default",
    settings,
    settingsPath: [],
    routes: items.map((route, index) => ({ path: ["routes", index], value: route })),
  };
}

function readSettings(
  value: unknown,
  path: ValuePath,
  source: SliceSource,
  report: ReadSlice["report"],
): { readonly boot: BootDoc; readonly settings: SettingsDoc } {
  const known = [...settingsFields, ...(path.length === 0 ? [{ name: "routes" } as Field] : [])];
  const { sound } = judge(settingsSchema, value, known, (finding) => report(below(path, finding)));
  const boot: Record<string, unknown> = {};
  const live: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(sound)) {
    if (!bootNames.has(name)) live[name] = member;
    else if (source.boot) boot[name] = member;
    else report(fault([...path, name], "belongs in the file given to `gateway run`, a published slice cannot set it"));
  }
  for (const finding of secretRules(settingsFields, sound, !source.boot)) report(below(path, finding));
  for (const finding of settingsRules(sound)) report(below(path, finding));
  for (const name of ["set_response_headers", "jwt_claims_headers"] as const) {
    for (const finding of twiceNamed(Object.keys(sound[name] ?? {}), name)) report(below(path, finding));
  }
  return { boot, settings: live };
}

function readRoute(slice: ReadSlice, entry: Outline["routes"][number]): ReadRoute {
  let sound = true;
  const report = (finding: Finding): void => {
    if (finding.severity === "error") sound = false;
    slice.report(below(entry.path, finding));
  };
  const judged = judge(routeSchema, entry.value, routeFields, report);
  const route = judged.sound;
  const wrote = (name: keyof RouteDoc): boolean => isMembers(entry.value) && Object.hasOwn(entry.value, name);
  for (const finding of secretRules(routeFields, route, !slice.source.boot)) report(finding);
  for (const finding of headerRules(route, wrote)) report(finding);
  if (route.mcp) for (const finding of mcpRules(route.mcp)) report(finding);
  for (const finding of pathRules(route, wrote)) report(finding);
  if (judged.complete && !wrote("policy")) {
    report({ severity: "warning", path: [], message: 'has no "policy", so everything is denied' });
  }
  const name = entry.label ?? route.name ?? derivedName(route);
  const doc = judged.complete && sound ? { doc: route as RouteDoc } : {};
  return { slice, path: entry.path, name, sound: route, ...doc };
}

/** Prefixes under which the gateway answers itself, D25. */
const OWN_PREFIXES = [
  "/.gateway",
  "/.well-known/gateway",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/.well-known/oauth-protected-resource",
];

function* pathRules(route: Partial<RouteDoc>, wrote: (name: keyof RouteDoc) => boolean): Iterable<Finding> {
  if (wrote("prefix") && wrote("path")) yield fault(["path"], 'cannot stand beside "prefix", must be one of them');
  for (const name of ["prefix", "path"] as const) {
    const own = OWN_PREFIXES.find((prefix) => route[name] === prefix || route[name]?.startsWith(`${prefix}/`));
    if (own !== undefined)
      yield fault([name], `is ${quote(route[name])}, but the gateway itself answers below "${own}"`);
  }
  if (route.from !== undefined && !parseOrigin(route.from).ok) yield fault(["from"], "must be an origin");
}

/** Judges a block against its schema. `sound` holds the members without problems. */
function judge<T extends object>(
  schema: z.ZodType<T>,
  value: unknown,
  fields: readonly Field[],
  report: (finding: Finding) => void,
): { readonly complete: boolean; readonly sound: Partial<T> } {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { complete: true, sound: parsed.data };
  const bad = new Set<PropertyKey>();
  for (const issue of parsed.error.issues) {
    const path = issue.path as (string | number)[];
    if (issue.code === "unrecognized_keys") {
      const known = membersAt(fields, path);
      for (const key of issue.keys) report(fault([...path, key], unknownMember(key, known)));
      for (const key of path.length === 0 ? issue.keys : path.slice(0, 1)) bad.add(key);
    } else {
      report(fault(path, issue.message));
      if (path[0] !== undefined) bad.add(path[0]);
    }
  }
  const members = isMembers(value) ? Object.entries(value) : [];
  return { complete: false, sound: Object.fromEntries(members.filter(([name]) => !bad.has(name))) as Partial<T> };
}

/** Names that may stand in the block at a path. */
function membersAt(fields: readonly Field[], path: ValuePath): readonly string[] {
  let [members, rest] = [fields, path];
  while (rest.length > 0) {
    const field = members.find((each) => each.name === rest[0]);
    if (!field?.fields) return [];
    members = field.fields;
    // Items of a list and labels of a map are one more step.
    rest = rest.slice(field.kind === "block" ? 1 : 2);
  }
  return members.flatMap(({ name, kind }) => (kind === "secret" ? [name, `${name}_ref`, `${name}_sealed`] : [name]));
}

function reporter(text: SourceText, problems: Problem[]): ReadSlice["report"] {
  return ({ severity, path, message }) => {
    problems.push({ severity, file: text.file, ...text.locate(path), path: formatPath(path), message });
  };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function below(path: ValuePath, finding: Finding): Finding {
  return { ...finding, path: [...path, ...finding.path] };
}

function fault(path: ValuePath, message: string): Finding {
  return { severity: "error", path, message };
}
