/**
 * The text of one annotation → the setting's value, by the setting's kind.
 *
 * Texts are used unchanged; flags, numbers, lists, maps and blocks are YAML (which includes JSON). The value itself is
 * validated later, with the whole route, by the schema of configuration files.
 *
 * @see test/requirements.ts, "Header settings (per route)": "Map and list values are written as YAML text"
 */
import type { AnnotationField } from "../../../config/surfaces/annotations.ts";
import type { Field, FieldKind } from "../../../settings/field.ts";
import { describe, quote } from "../../../settings/problem.ts";
import { secretUses } from "../../../settings/secret-forms.ts";
import { readSource } from "../../../settings/source.ts";

export type AnnotationValue =
  | { readonly kind: "value"; readonly value: unknown }
  /** The block is present, or (`false`) absent. */
  | { readonly kind: "marker"; readonly present: boolean }
  | { readonly kind: "refused"; readonly message: string };

/** YAML would change these texts: `30s`, `"\1"` and `^/(.+)$` are meant literally. */
const VERBATIM: ReadonlySet<FieldKind> = new Set<FieldKind>(["text", "url", "duration", "choice"]);

/** Values in Ingresses of other gateways. */
const CHOICE_ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  mcp_server_upstream_oauth2_auth_style: { in_header: "header", in_params: "params" },
};
/** Lists that may also be comma-separated, since their items contain no commas. */
const COMMA_LISTS: ReadonlySet<string> = new Set(["mcp_server_upstream_oauth2_scopes"]);

export function readAnnotation({ name, field }: AnnotationField, text: unknown): AnnotationValue {
  if (typeof text !== "string") {
    return refuse(`is ${describe(text)}, must be text: write it in quotes, as all values of annotations`);
  }
  if (field.kind === "secret") return refuse("is a secret, which no annotation may hold, must come from a Secret");
  if (isMarker(field)) return readMarker(text);
  if (VERBATIM.has(field.kind)) {
    // A block scalar (`|`) ends with an unintended line break.
    const value = text.replace(/\r?\n$/, "");
    return { kind: "value", value: CHOICE_ALIASES[name]?.[value] ?? inOurCase(field, value) };
  }
  const read = readYaml(text);
  if (read.kind !== "value") return read;
  const value =
    COMMA_LISTS.has(name) && typeof read.value === "string"
      ? read.value.split(",").map((item) => item.trim())
      : read.value;
  const [secret] = secretUses([{ ...field, name: "value" }], { value }).filter(({ form }) => form === "plain");
  if (secret) return refuse(`holds the secret "${secret.name}", which no annotation may, must come from a Secret`);
  return { kind: "value", value };
}

/** Other gateways' choices are in capitals: `LEAST_REQUEST`. */
function inOurCase({ values = [] }: Field, value: string): string {
  return values.find((each) => each === value.toLowerCase()) ?? value;
}

/** Parses "true" or "false", as in flags of our own annotations; undefined for anything else. */
export function readFlag(text: unknown): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

/** True for a block that other annotations fill, or that is always empty. */
function isMarker({ kind, fields = [] }: Field): boolean {
  const isNamed = (field: Field): boolean =>
    field.annotation !== undefined || (field.kind === "block" && (field.fields ?? []).some(isNamed));
  return kind === "block" && (fields.length === 0 || fields.some(isNamed));
}

function readMarker(text: string): AnnotationValue {
  const value = text.trim();
  if (value === "" || value === "true" || value === "{}") return { kind: "marker", present: true };
  if (value === "false") return { kind: "marker", present: false };
  return refuse(`is ${quote(text)}, must be "true" or empty; its settings have annotations of their own`);
}

function readYaml(text: string): AnnotationValue {
  const { value, problems } = readSource("annotation", text);
  const [problem] = problems;
  if (!problem) return { kind: "value", value };
  const isLong = text.trimEnd().includes("\n");
  return refuse(isLong && problem.line !== undefined ? `${problem.message} (line ${problem.line})` : problem.message);
}

function refuse(message: string): AnnotationValue {
  return { kind: "refused", message };
}
