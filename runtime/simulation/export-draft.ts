/** A draft as text for a pull request: YAML, a Terraform `gateway_bundle`, or constructs. */
import { readSlice, type SliceSource } from "../config/read-slice.ts";
import { routeFields } from "../config/route.ts";
import { writeHcl } from "../config/write/write-hcl.ts";
import { writeTypescript } from "../config/write/write-typescript.ts";
import type { WrittenSlice } from "../config/write/written-slice.ts";
import { settingsFields } from "../config/settings.ts";
import type { Field } from "../settings/field.ts";
import { formatPath, type ValuePath } from "../settings/problem.ts";
import { memberNames, secretNames, secretUses } from "../settings/secret-forms.ts";
import { partsOf } from "../settings/shapes.ts";
import { readSource } from "../settings/source.ts";
import { isRecord, type Members } from "../shared/is-record.ts";
import { visibleText } from "../shared/json/visible-text.ts";
import { yamlText } from "../shared/json/yaml-text.ts";
import type { Draft } from "./draft.ts";

export const EXPORT_FORMATS = ["yaml", "hcl", "typescript"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportedDraft {
  /** "team-a.tf" */
  readonly fileName: string;
  readonly text: string;
}

/** Their values may be credentials, and no policy draft changes them. */
const OMITTED = ["set_request_headers", "set_response_headers", "rewrite_response_headers"];
const ENDINGS: Readonly<Record<ExportFormat, string>> = { yaml: "yaml", hcl: "tf", typescript: "ts" };

/**
 * Exports a whole slice as written; for a policy, only its route, without values that may be secret.
 *
 * @param source source that contains the draft @param where current location of the owner's slice, for the notes
 * @returns undefined if the draft cannot be read
 */
export function exportDraft(
  source: SliceSource,
  { kind, owner, route: key = "" }: Draft,
  format: ExportFormat,
  where: string,
): ExportedDraft | undefined {
  const slice = readSlice(source, []);
  const { value } = readSource(source.file, source.text);
  if (!slice || !isRecord(value)) return undefined;
  const routes = slice.routes.filter(({ name }) => kind === "slice" || `${owner}/${name}` === key);
  const hidden: string[] = [];
  const written = routes.map(({ name, path }) => {
    const members = valueAt(value, path);
    return [name, kind === "slice" ? members : withoutSecrets(name, members, hidden)] as const;
  });
  const settings = kind === "slice" ? valueAt(value, slice.settingsPath) : {};
  const { routes: _, ...own } = settings;
  const document = {
    owner,
    isPublished: false,
    settings: slice.settingsPath.length === 0 ? own : settings,
    routes: Object.fromEntries(written),
  };
  const notes = [
    `Draft of owner "${owner}"${kind === "policy" ? `, route "${key}" alone` : ""}; it is not active.`,
    where,
    ...(kind === "policy" ? ["Copy only its policy into your own configuration."] : []),
    ...hidden,
  ];
  const omitted = format === "yaml" ? [] : omittedPaths(document, format === "hcl");
  if (omitted.length > 0) notes.push(`Omitted, no setting or a secret in plain text: ${omitted.join(", ")}.`);
  const fileName = `${owner}.${ENDINGS[format]}`;
  return { fileName, text: `${commented(notes, format === "typescript" ? "//" : "#")}\n${textOf(document, format)}` };
}

function textOf(document: WrittenSlice, format: ExportFormat): string {
  switch (format) {
    case "yaml":
      return sliceYaml(document);
    case "hcl":
      return writeHcl(document, "");
    case "typescript":
      return writeTypescript(document);
  }
  return format satisfies never;
}

/** Paths that the other formats cannot express: unknown names, and in HCL secrets in plain text. */
function omittedPaths({ settings, routes }: WrittenSlice, omitsSecrets: boolean): readonly string[] {
  const live = settingsFields.filter(({ scope }) => scope === "live");
  const namesOf = (field: Field): readonly string[] =>
    memberNames(field).filter((name) => !omitsSecrets || field.kind !== "secret" || name !== field.name);
  const below = (fields: readonly Field[], members: Members, path: ValuePath): readonly ValuePath[] => {
    const byName = new Map(fields.flatMap((field) => namesOf(field).map((name) => [name, field] as const)));
    return Object.entries(members).flatMap(([name, value]) => {
      const field = byName.get(name);
      const here = [...path, name];
      if (!field) return [here];
      const parts = field.fields && partsOf(field, value);
      if (!parts?.every(([, part]) => isRecord(part))) return [];
      return parts.flatMap(([step, part]) =>
        below(field.fields ?? [], part as Members, step === undefined ? here : [...here, step]),
      );
    });
  };
  return [
    ...below(live, settings, []),
    ...Object.entries(routes).flatMap(([name, route]) => below(routeFields, route, ["routes", name])),
  ].map(formatPath);
}

function sliceYaml({ owner, settings, routes }: WrittenSlice): string {
  const slice = { version: 1, owner, ...(Object.keys(settings).length > 0 && { settings }), routes };
  return yamlText(slice);
}

function commented(notes: readonly string[], mark: string): string {
  // Names are untrusted: a line end in one would end the comment.
  return notes.map((note) => `${mark} ${visibleText(note)}\n`).join("");
}

/** @param hidden receives descriptions of what was omitted */
function withoutSecrets(name: string, route: Members, hidden: string[]): Members {
  const remaining = Object.fromEntries(Object.entries(route).filter(([member]) => !OMITTED.includes(member)));
  const left = OMITTED.filter((member) => Object.hasOwn(route, member));
  if (left.length > 0) hidden.push(`Omitted from "${name}", keep your own: ${left.join(", ")}.`);
  if (Object.hasOwn(route, "to")) hidden.push(`Set your own upstream in "to" of "${name}".`);
  let shown: unknown = { ...remaining, ...(Object.hasOwn(route, "to") && { to: "https://upstream.invalid" }) };
  for (const { path, form } of secretUses(routeFields, remaining)) {
    if (form !== "plain") continue;
    shown = renamed(shown, path, "env:PUT_YOURS_HERE");
    hidden.push(`Set your own reference in ${path.join(".")} of "${name}".`);
  }
  return isRecord(shown) ? shown : {};
}

/** Replaces a plain-text secret by a reference. */
function renamed(value: unknown, [step = "", ...rest]: ValuePath, reference: string): unknown {
  if (Array.isArray(value)) return value.map((each, at) => (at === step ? renamed(each, rest, reference) : each));
  const { [String(step)]: member, ...others } = isRecord(value) ? value : {};
  if (rest.length === 0) return { ...others, [secretNames(String(step))[1]]: reference };
  return { ...others, [String(step)]: renamed(member, rest, reference) };
}

function valueAt(value: unknown, path: ValuePath): Members {
  const found = path.reduce<unknown>((each, step) => {
    if (Array.isArray(each)) return each[Number(step)];
    return isRecord(each) ? each[step] : undefined;
  }, value);
  return isRecord(found) ? found : {};
}
