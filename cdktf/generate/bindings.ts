/**
 * The L1 bindings, from the provider's schema, by HashiCorp's own generator.
 *
 * The generator is used here and nowhere else, so that moving to its successor (`@cdktn/provider-generator`) stays small.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Terraform finds the provider, and its local name. */
const PROVIDER = { name: "gateway", source: "gateform/gateway" } as const;

/** A block of `terraform providers schema -json`, as far as it is read here. */
interface BlockSchema {
  attributes?: Record<string, object>;
  block_types?: Record<string, NestedBlockSchema>;
}

interface NestedBlockSchema {
  nesting_mode: string;
  block: BlockSchema;
  min_items?: number;
}

/** The output of `terraform providers schema -json`. */
export interface ProviderSchemaDocument {
  format_version: string;
  provider_schemas: Record<string, Record<string, unknown>>;
}

/**
 * Nested blocks as attributes with a nested type.
 *
 * This avoids two defects of the generator: it creates no property at all for a map of blocks, and it requires a single block
 * whose attributes are all required. In Terraform's JSON syntax, the only one we write, both forms look the same, so the
 * bindings match the real schema.
 */
export function blocksToAttributes(block: BlockSchema): BlockSchema {
  const attributes: Record<string, object> = { ...block.attributes };
  for (const [name, nested] of Object.entries(block.block_types ?? {})) {
    const { attributes: members = {}, ...about } = blocksToAttributes(nested.block);
    const description = "description" in about ? { description: about.description, description_kind: "markdown" } : {};
    attributes[name] = {
      nested_type: { attributes: members, nesting_mode: nested.nesting_mode },
      ...description,
      ...((nested.min_items ?? 0) > 0 ? { required: true } : { optional: true }),
    };
  }
  const { block_types: _, ...rest } = block;
  return { ...rest, attributes };
}

function withoutBlocks(document: ProviderSchemaDocument): ProviderSchemaDocument {
  const copy = structuredClone(document);
  for (const provider of Object.values(copy.provider_schemas)) {
    for (const kind of ["resource_schemas", "data_source_schemas"]) {
      for (const schema of Object.values((provider[kind] ?? {}) as Record<string, { block: BlockSchema }>)) {
        schema.block = blocksToAttributes(schema.block);
      }
    }
  }
  return copy;
}

/**
 * @param version Terraform version constraint of the bindings for the provider
 * @returns file name below generated/ → text
 */
export async function generateBindings(
  document: ProviderSchemaDocument,
  version: string,
): Promise<ReadonlyMap<string, string>> {
  const { CodeMaker } = await import("codemaker");
  const { ConstructsMakerTarget, Language, logger, TerraformProviderConstraint } = await loadCommons();
  logger.setLevel("off");
  // The package's main entry needs jsii, which it does not depend on.
  const { TerraformProviderGenerator } =
    await import("@cdktf/provider-generator/lib/get/generator/provider-generator.js");

  const constraint = new TerraformProviderConstraint({ ...PROVIDER, version });
  // The casts: the generator has its own copy of codemaker, and its schema types lack map nesting.
  const generator = new TerraformProviderGenerator(new CodeMaker() as never, withoutBlocks(document) as never);
  generator.generate(ConstructsMakerTarget.from(constraint, Language.TYPESCRIPT));
  const directory = await mkdtemp(join(tmpdir(), "gateform-bindings-"));
  try {
    await generator.save(directory);
    return await readBindings(join(directory, "providers", PROVIDER.name));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Loading this package runs `terraform version`, which must not query the network. */
async function loadCommons(): Promise<typeof import("@cdktf/commons")> {
  const before = process.env["CHECKPOINT_DISABLE"];
  process.env["CHECKPOINT_DISABLE"] = "1";
  try {
    return await import("@cdktf/commons");
  } finally {
    if (before === undefined) delete process.env["CHECKPOINT_DISABLE"];
    else process.env["CHECKPOINT_DISABLE"] = before;
  }
}

async function readBindings(directory: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const entry of (await readdir(directory, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    // The index files next to the folders assume CommonJS; each folder is imported by its own name instead.
    if (!entry.isDirectory()) continue;
    const text = await readFile(join(directory, entry.name, "index.ts"), "utf8");
    files.set(`${entry.name}.ts`, runnable(text));
  }
  return files;
}

/** Makes the generated text run under Node's type stripping and pass our compiler settings. */
function runnable(text: string): string {
  const edited = text
    // Parameter properties are not erasable, and the base class already keeps these two.
    .replaceAll(
      /(constructor\()((?:protected|private|public) [^)]*)(\))/g,
      (_, open: string, list: string, close: string) =>
        open + list.replaceAll(/\b(?:protected|private|public) (?:readonly )?/g, "") + close,
    )
    // Links to documentation pages of a registry that may not have the provider.
    .replaceAll(/^\/\/ https?:\/\/.*\n/gm, "")
    .replaceAll(/^ *\* Docs at Terraform Registry: .*\n/gm, "")
    .replaceAll(/\{@link https?:\/\/\S+ ([^}]*)\}/g, "$1")
    .replaceAll(/^ *\*\n(?= *\* Refer to)/gm, "");
  // Not our code, and it passes neither exactOptionalPropertyTypes nor noImplicitOverride.
  return `// @ts-nocheck\n// Made by generate.ts, do not edit.\n${edited}`;
}
