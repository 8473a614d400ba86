/** JSON Schema of configuration files, for editors: completion, hovers, error marks. Derived from the Field tree. */
import { policyJsonSchema } from "../../policy/schema.ts";
import { describe, type Field, type FieldKind } from "../../settings/field.ts";
import { routeFields } from "../route.ts";
import { settingsFields } from "../settings.ts";
import { secretNames } from "../../settings/secret-forms.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

const TEXT: JsonSchema = { type: "string" };
const TEXTS: JsonSchema = { type: "array", items: TEXT };
const ENTRIES: JsonSchema = { type: "object", additionalProperties: TEXT };
const ONE_OR_MANY: JsonSchema = { anyOf: [TEXT, { ...TEXTS, minItems: 1 }] };

/** Schemas of the kinds without members. The loader validates more than a schema can express. */
const FORMS: Readonly<
  Record<Exclude<FieldKind, "block" | "block-list" | "labelled" | "secret" | "choice" | "text-list">, JsonSchema>
> = {
  text: TEXT,
  flag: { type: "boolean" },
  count: { type: "integer", minimum: 0 },
  duration: { type: "string", pattern: "^([0-9]+(ms|s|m|h|d))+$", examples: ["30s", "5m", "1h30m", "90d"] },
  url: { type: "string", pattern: "^https?://" },
  "domain-pattern-list": TEXTS,
  "url-list": ONE_OR_MANY,
  "text-map": ENTRIES,
  "template-map": ENTRIES,
  "text-list-map": { type: "object", additionalProperties: TEXTS },
  policy: { $ref: "#/$defs/policy" },
  criteria: { $ref: "#/$defs/criteria" },
};

/** A file is either settings with a `routes` list, or a slice of one owner. */
export function configJsonSchema(): JsonSchema {
  const live = settingsFields.filter(({ scope }) => scope === "live");
  const route = { $ref: "#/$defs/route" };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Gateway configuration",
    type: "object",
    // Not "anyOf": editors complete from the matching branch, and only an owner makes a slice.
    if: { anyOf: [{ required: ["owner"] }, { required: ["version"] }] },
    // oxlint-disable-next-line unicorn/no-thenable -- the keyword's name
    then: { $ref: "#/$defs/slice" },
    else: { $ref: "#/$defs/file" },
    $defs: {
      file: withMembers(membersOf(settingsFields), {
        routes: { type: "array", items: route, description: "The routes, in any order." },
      }),
      slice: {
        type: "object",
        additionalProperties: false,
        required: ["version", "owner"],
        properties: {
          version: { const: 1, description: "Format of the slice." },
          owner: { type: "string", description: "Owner that publishes the slice, part of the keys of its routes." },
          settings: { ...membersOf(live), description: "Settings of the whole gateway." },
          routes: { type: "object", additionalProperties: route, description: "Routes by name." },
        },
      },
      route: membersOf(routeFields),
      ...policyJsonSchema(),
    },
  };
}

function withMembers(schema: JsonSchema, more: JsonSchema): JsonSchema {
  return { ...schema, properties: { ...(schema["properties"] as JsonSchema), ...more } };
}

function membersOf(fields: readonly Field[]): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (const field of fields) Object.assign(properties, propertiesOf(field));
  // A required secret can have another form, which only the loader can determine.
  const required = fields.filter((field) => field.required && field.kind !== "secret").map(({ name }) => name);
  return {
    type: "object",
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
    properties,
  };
}

/** One property, or one for each form of a secret. */
function propertiesOf(field: Field): JsonSchema {
  const about = { description: describe(field) };
  if (field.kind !== "secret") return { [field.name]: { ...formOf(field), ...about } };
  const form = field.many === true ? ONE_OR_MANY : TEXT;
  const [plain, reference, sealed] = secretNames(field.name);
  return {
    [plain]: { ...form, ...about },
    [reference]: {
      ...form,
      description: `Reference to \`${field.name}\`: \`env:NAME\`, \`file:/path\` or \`vault:<mount>/<path>#<field>\`.`,
    },
    [sealed]: { ...form, description: `\`${field.name}\`, sealed to the gateway's public key.` },
  };
}

function formOf(field: Field): JsonSchema {
  switch (field.kind) {
    case "block":
      return membersOf(field.fields ?? []);
    case "block-list":
      return { type: "array", items: membersOf(field.fields ?? []) };
    case "labelled":
      return { type: "object", additionalProperties: membersOf(field.fields ?? []) };
    case "choice":
      return { enum: field.values ?? [] };
    case "text-list":
      return field.itemValues === undefined ? TEXTS : { type: "array", items: { ...TEXT, enum: field.itemValues } };
    case "secret":
      return TEXT;
    default:
      return FORMS[field.kind];
  }
}
