/** Generated parts of runtime/terraform/README.md and of the page of arguments, from the provider's schema. */
import { readFileSync } from "node:fs";

import { readSecretName, secretOfAttribute } from "../../settings/secret-forms.ts";
import {
  anchor,
  providerSchema,
  typeText,
  type DocumentedAttribute,
  type DocumentedBlock,
  type DocumentedFunction,
  type ProviderSchema,
} from "../docs.ts";
import { code, table } from "./parts.ts";

const EXAMPLE = new URL("../../../examples/terraform/one-file/main.tf", import.meta.url);

export function terraformParts(): Readonly<Record<string, string>> {
  const schema = providerSchema();
  return {
    example: `\`\`\`hcl\n${readFileSync(EXAMPLE, "utf8").trim()}\n\`\`\``,
    provider: attributeTable(schema.provider.block),
    functions: functionTable(schema.functions ?? {}),
    status: attributeTable(only(schema.data_source_schemas)),
    "publish-token": attributeTable(only(schema.ephemeral_resource_schemas)),
    list: attributeTable(only(schema.list_resource_schemas)),
    actions: actionsTable(schema),
  };
}

/** Parts of runtime/reference/terraform-arguments.md. */
export function argumentParts(): Readonly<Record<string, string>> {
  return { bundle: blockText(only(providerSchema().resource_schemas), "") };
}

function only(schemas: Readonly<Record<string, { readonly block: DocumentedBlock }>> = {}): DocumentedBlock {
  const [first, ...others] = Object.values(schemas);
  if (!first || others.length > 0) throw new Error("Cannot make the page: it is about one of each kind");
  return first.block;
}

/** The block's attributes and blocks, then a section for each block within it. */
function blockText(block: DocumentedBlock, path: string): string {
  const nested = Object.entries(block.block_types ?? {});
  const [own, settings] = splitAttributes(block.attributes ?? {}, path);
  const isBare = Object.keys(own).length > 0 || nested.length > 0;
  const parts = [
    Object.keys(own).length > 0 ? attributeTable({ attributes: own }) : "",
    Object.keys(settings).length > 0 || !isBare ? attributeTable({ attributes: settings }, false) : "",
  ];
  if (nested.length > 0) {
    const rows = nested.map(([name, { nesting_mode, block: inner }]) => [
      `[${code(name)}](#${anchor([path, name])})`,
      nesting_mode === "map" ? "any number, each with a label" : nesting_mode === "list" ? "any number" : "at most one",
      firstSentence(inner.description ?? ""),
    ]);
    parts.push(table(["Block", "Number", "Description"], rows));
  }
  for (const [name, { block: inner }] of nested) {
    const below = path === "" ? name : `${path}.${name}`;
    parts.push(`<a id="${anchor([below])}"></a>\n\n### Block ${code(below)}`);
    parts.push(blockText(inner, below));
  }
  return parts.filter(Boolean).join("\n\n");
}

type Attributes = NonNullable<DocumentedBlock["attributes"]>;

function splitAttributes(attributes: Attributes, path: string): readonly [own: Attributes, settings: Attributes] {
  const all = Object.entries(attributes);
  return [
    Object.fromEntries(all.filter(([name]) => isOwn(path, name))),
    Object.fromEntries(all.filter(([name]) => !isOwn(path, name))),
  ];
}

/** @param isDescribed false: settings, which the reference describes under the same names */
function attributeTable({ attributes = {} }: DocumentedBlock, isDescribed = true): string {
  const all = Object.entries(attributes);
  if (all.length === 0) return "An empty block: its presence takes effect.";
  // The forms of a secret are one row; it may be sealed, unlike other attributes with these endings.
  const secrets = new Set(
    all.map(([name]) => readSecretName(name)).flatMap((each) => (each.form === "sealed" ? each.name : [])),
  );
  const rowOf = (name: string): string => (secrets.has(secretOfAttribute(name)) ? secretOfAttribute(name) : name);
  const rows = [...Map.groupBy(all, ([name]) => rowOf(name)).values()].map((spellings) => {
    const [[, attribute] = ["", {}]] = spellings;
    const names = spellings.map(([name]) => code(name)).join(", ");
    const row = [names, typeOf(attribute), needOf(attribute)];
    return isDescribed ? [...row, attribute.description ?? ""] : row;
  });
  return table(["Argument", "Type", "Use", ...(isDescribed ? ["Description"] : [])], rows);
}

/** Arguments and blocks of the resource itself; all others are settings, which the reference documents. */
function isOwn(path: string, name: string): boolean {
  return path === ""
    ? /^(?:owner|seal_key|routes|sha256|generation|bundle_json|file|http)$/.test(name)
    : /^(?:file|http)$/.test(path);
}

/** Without the arguments that the data source has too. */
function actionsTable({ data_source_schemas, action_schemas }: ProviderSchema): string {
  const common = new Set(Object.keys(only(data_source_schemas).attributes ?? {}));
  const parts = Object.entries(action_schemas ?? {}).map(([name, { block }]) => {
    const own = Object.entries(block.attributes ?? {}).filter(([each]) => !common.has(each));
    const table = attributeTable({ attributes: Object.fromEntries(own) });
    return `### ${code(name)}\n\n${block.description ?? ""}\n\n${table}`;
  });
  return parts.join("\n\n");
}

function firstSentence(text: string): string {
  return /^(?:`[^`]*`|[^`])*?\.(?= |$)/.exec(text.replaceAll("\n", " "))?.[0] ?? text;
}

function typeOf({ type }: DocumentedAttribute): string {
  return typeText(type).replace("bool", "boolean");
}

function needOf({ required, optional, sensitive, write_only }: DocumentedAttribute): string {
  const need = required === true ? "required" : optional === true ? "optional" : "read-only";
  return [need, ...(sensitive === true ? ["sensitive"] : []), ...(write_only === true ? ["write-only"] : [])].join(
    ", ",
  );
}

function functionTable(functions: Readonly<Record<string, DocumentedFunction>>): string {
  const rows = Object.entries(functions).map(([name, { summary, description, parameters = [], return_type }]) => [
    code(`provider::gateway::${name}(${parameters.map((each) => each.name).join(", ")})`),
    typeText(return_type),
    description ?? summary ?? "",
  ]);
  return table(["Function", "Result", "Description"], rows);
}
