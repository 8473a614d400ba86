/** Fields as Terraform attributes and blocks: the only place that names each kind of setting in a schema. */
import { describe, type Field } from "../../settings/field.ts";
import { isGroup } from "../../settings/groups.ts";
import { secretAttributeNames } from "../../settings/secret-forms.ts";
import type { SchemaAttribute, SchemaBlock, SchemaNested } from "./schema-model.ts";
import type { ValueType } from "../protocol/value.ts";

const NESTED: Partial<Record<Field["kind"], SchemaNested["nesting"]>> = {
  block: "single",
  "block-list": "list",
  labelled: "map",
};

const TYPES: Partial<Record<Field["kind"], ValueType>> = {
  text: "string",
  flag: "bool",
  count: "number",
  duration: "string",
  url: "string",
  choice: "string",
  "domain-pattern-list": ["list", "string"],
  "text-list": ["list", "string"],
  "url-list": ["list", "string"],
  "text-map": ["map", "string"],
  "template-map": ["map", "string"],
  "text-list-map": ["map", ["list", "string"]],
  policy: "string",
  criteria: "string",
};

/** @throws TypeError for a kind without a form here */
export function blockOf(fields: readonly Field[], doc: string, isRoute = false): SchemaBlock {
  const attributes: SchemaAttribute[] = [];
  const blocks: SchemaNested[] = [];
  for (const field of fields) {
    const nesting = NESTED[field.kind];
    if (nesting) {
      const block = blockOf(field.fields ?? [], docOf(field), isRoute && isGroup(field));
      blocks.push({ name: field.name, nesting, block });
    } else if (field.kind === "secret")
      attributes.push(...(isRoute ? referenceAttributes(field) : secretAttributes(field)));
    else attributes.push(attributeOf(field));
  }
  return { doc, attributes, blocks };
}

function attributeOf(field: Field): SchemaAttribute {
  const type = TYPES[field.kind];
  if (!type)
    throw new TypeError(`Cannot make the Terraform schema: setting "${field.name}" has the kind "${field.kind}"`);
  return { name: field.name, type, use: field.required ? "required" : "optional", doc: docOf(field) };
}

/**
 * A secret of a route itself, flat or in the block of a group: only by reference or sealed. Terraform traces each sensitive
 * and each write-only attribute of each route, set or not, through every other one: with three of them flat, 200 routes took
 * 20 s to plan, and 1,000 would take minutes. One setting of a group would bring them back.
 */
function referenceAttributes(field: Field): SchemaAttribute[] {
  const { reference, sealed } = secretAttributeNames(field.name);
  return secretAttributes(field).flatMap((attribute) => {
    if (attribute.name === reference) return [attribute];
    if (attribute.name !== sealed) return [];
    return [
      { ...attribute, use: "optional", doc: `\`${field.name}\`, encrypted to the gateway's public key (compact JWE).` },
    ];
  });
}

/** Four ways to set one secret, at most one of them; the loader validates that, and whether it is required. */
function secretAttributes({ name, doc }: Field): SchemaAttribute[] {
  const { reference, sealed, writeOnly, version } = secretAttributeNames(name);
  return [
    {
      name,
      type: "string",
      use: "optional",
      sensitive: true,
      doc: `${doc} Stored in plain text in Terraform state and bundle; prefer \`${reference}\`.`,
    },
    {
      name: reference,
      type: "string",
      use: "optional",
      doc: `Reference to \`${name}\`, read by the gateway: \`env:NAME\`, \`file:/path\` or \`vault:<mount>/<path>#<field>\`.`,
    },
    {
      name: sealed,
      type: "string",
      use: "optional-computed",
      doc: `\`${name}\`, encrypted to the gateway's public key (compact JWE). Computed from \`${writeOnly}\`.`,
    },
    {
      name: writeOnly,
      type: "string",
      use: "optional",
      sensitive: true,
      writeOnly: true,
      doc: `\`${name}\` as a write-only value, stored only encrypted to \`seal_key\`. Requires Terraform 1.11 and \`${version}\`.`,
    },
    {
      name: version,
      type: "number",
      use: "optional",
      doc: `Version of \`${writeOnly}\`. Increase it when the value changes, since Terraform cannot see that.`,
    },
  ];
}

function docOf(field: Field): string {
  const { kind, values } = field;
  const parts: string[] = [];
  if (values) parts.push(`One of ${values.map((value) => `\`${value}\``).join(", ")}.`);
  if (kind === "policy" || kind === "criteria") parts.push("JSON text; write it with `jsonencode(…)`.");
  return describe(field, ...parts);
}
