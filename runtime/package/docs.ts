/** The provider's documentation in a registry's layout, generated from the schema and so from the Field tree. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { PROVIDER_SOURCE, providerSchemaJson } from "../terraform/schema/schema.ts";

export interface DocumentedAttribute {
  readonly type?: unknown;
  readonly description?: string;
  readonly required?: boolean;
  readonly optional?: boolean;
  readonly computed?: boolean;
  readonly sensitive?: boolean;
  readonly write_only?: boolean;
}

export interface DocumentedBlock {
  readonly attributes?: Readonly<Record<string, DocumentedAttribute>>;
  readonly block_types?: Readonly<Record<string, { readonly nesting_mode: string; readonly block: DocumentedBlock }>>;
  readonly description?: string;
}

export interface DocumentedFunction {
  readonly summary?: string;
  readonly description?: string;
  readonly return_type: unknown;
  readonly parameters?: readonly { readonly name: string; readonly type: unknown; readonly description?: string }[];
}

/** By type name. */
type BlockSchemas = Readonly<Record<string, { readonly block: DocumentedBlock }>>;

export interface ProviderSchema {
  readonly provider: { readonly block: DocumentedBlock };
  readonly resource_schemas?: BlockSchemas;
  readonly data_source_schemas?: BlockSchemas;
  readonly ephemeral_resource_schemas?: BlockSchemas;
  readonly list_resource_schemas?: BlockSchemas;
  readonly action_schemas?: BlockSchemas;
  readonly functions?: Readonly<Record<string, DocumentedFunction>>;
}

/** @returns path below docs/ → Markdown */
export function providerDocs(version: string): ReadonlyMap<string, string> {
  const schema = providerSchema();
  const pages = new Map([["index.md", indexPage(schema, version)]]);
  const kinds = [
    ["resources", "Resource", schema.resource_schemas],
    ["data-sources", "Data Source", schema.data_source_schemas],
    ["ephemeral-resources", "Ephemeral Resource", schema.ephemeral_resource_schemas],
    ["list-resources", "List Resource", schema.list_resource_schemas],
    ["actions", "Action", schema.action_schemas],
  ] as const;
  for (const [folder, title, schemas] of kinds)
    for (const [name, { block }] of Object.entries(schemas ?? {}))
      pages.set(`${folder}/${shortName(name)}.md`, blockPage(name, title, block));
  for (const [name, about] of Object.entries(schema.functions ?? {})) {
    pages.set(`functions/${name}.md`, functionPage(name, about));
  }
  return pages;
}

export function providerSchema(): ProviderSchema {
  const document = providerSchemaJson() as { provider_schemas: Record<string, ProviderSchema> };
  const [schema] = Object.values(document.provider_schemas);
  if (!schema) throw new Error("Cannot write the documentation: the schema has no provider");
  return schema;
}

export async function writeDocs(directory: string, version: string): Promise<void> {
  for (const [name, text] of providerDocs(version)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
}

function shortName(name: string): string {
  return name.replace(/^gateway_/, "");
}

function indexPage({ provider }: ProviderSchema, version: string): string {
  return page("gateway Provider", provider.block.description ?? "", [
    "# gateway Provider",
    provider.block.description ?? "",
    `\`\`\`terraform
terraform {
  required_providers {
    gateway = {
      source  = "${PROVIDER_SOURCE}"
      version = "~> ${version}"
    }
  }
}

resource "gateway_bundle" "main" {
  owner = "my-team"

  route "wiki" {
    from   = "https://wiki.example.com"
    to     = ["http://wiki.internal:8080"]
    policy = jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])
  }

  file {
    directory = "/etc/gateway/slices"
  }
}
\`\`\``,
    ...members(provider.block, "", []),
  ]);
}

function blockPage(name: string, kind: string, block: DocumentedBlock): string {
  const about = block.description ?? "";
  return page(`${name} ${kind} - gateway`, about, [`# ${name} (${kind})`, about, ...members(block, "", [])]);
}

/** One section for the block itself, then one for each block within it. */
function members(block: DocumentedBlock, path: string, sections: string[]): string[] {
  const attributes = Object.entries(block.attributes ?? {}).map(([name, attribute]) => attributeLine(name, attribute));
  const nested = Object.entries(block.block_types ?? {});
  const blocks = nested.map(([name, { nesting_mode, block: inner }]) => {
    const label =
      nesting_mode === "map" ? " (block, once per label)" : nesting_mode === "list" ? " (blocks)" : " (block)";
    return `- \`${name}\`${label} ${inner.description ?? ""} See [below](#${anchor([path, name])}).`;
  });
  const lines = [...attributes, ...blocks].join("\n");
  sections.push(path === "" ? "## Schema" : `<a id="${anchor([path])}"></a>\n### ${path}`);
  sections.push(lines === "" ? "Nothing can be set here; the block is significant by being there." : lines);
  for (const [name, { block: inner }] of nested) members(inner, path === "" ? name : `${path}.${name}`, sections);
  return sections;
}

export function anchor(path: readonly string[]): string {
  return `nested-${path.filter(Boolean).join(".").replaceAll(/[._]/g, "-")}`;
}

function attributeLine(name: string, attribute: DocumentedAttribute): string {
  const facts = [
    typeText(attribute.type),
    attribute.required ? "required" : attribute.optional ? "optional" : "read-only",
    ...(attribute.sensitive ? ["sensitive"] : []),
    ...(attribute.write_only ? ["write-only"] : []),
  ];
  return `- \`${name}\` (${facts.join(", ")}) ${(attribute.description ?? "").replaceAll("\n", " ")}`;
}

function functionPage(
  name: string,
  { summary, description, parameters = [], return_type }: DocumentedFunction,
): string {
  const signature = `${name}(${parameters.map((each) => `${each.name} ${typeText(each.type)}`).join(", ")})`;
  return page(`${name} function - gateway`, summary ?? "", [
    `# function: ${name}`,
    description ?? summary ?? "",
    "## Signature",
    `\`\`\`text\nprovider::gateway::${signature} ${typeText(return_type)}\n\`\`\``,
    "## Arguments",
    parameters
      .map((each, at) => `${at + 1}. \`${each.name}\` (${typeText(each.type)}) ${each.description ?? ""}`)
      .join("\n"),
  ]);
}

function page(title: string, about: string, parts: readonly string[]): string {
  const text = JSON.stringify(about);
  return `---\npage_title: ${JSON.stringify(title)}\ndescription: ${text}\n---\n\n${parts.join("\n\n")}\n`;
}

/** `["map","string"]` → "map of string". */
export function typeText(type: unknown): string {
  if (typeof type === "string") return type;
  if (!Array.isArray(type)) return "any";
  const [kind, inner] = type as readonly unknown[];
  return kind === "object" ? "object" : `${String(kind)} of ${typeText(inner)}`;
}
