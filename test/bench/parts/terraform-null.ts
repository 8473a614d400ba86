/**
 * A provider that does nothing: the attributes that the bench writes and no other, no checks, no publishing.
 *
 * What Terraform takes with it is Terraform's own time for so many routes; whatever our provider costs beyond is the
 * breadth of the schema and our work.
 */
import { servePlugin } from "../../../runtime/terraform/protocol/handshake.ts";
import type { Provider, TerraformResource } from "../../../runtime/terraform/protocol/provider.ts";
import type { SchemaBlock } from "../../../runtime/terraform/schema/schema-model.ts";
import { BUNDLE_TYPE, bundleSchema, providerBlock } from "../../../runtime/terraform/schema/schema.ts";

/** Paths of what `program()` in terraform.ts writes. */
const WRITTEN = new Set([
  "owner",
  "runtime_flags",
  "runtime_flags.mcp",
  "mcp_allowed_as_metadata_domains",
  "file",
  "file.directory",
  "routes",
  "route",
  "route.from",
  "route.to",
  "route.policy",
  "route.set_request_headers",
  "route.mcp",
  "route.mcp.server",
  "route.mcp.server.max_request_bytes",
]);

function narrow(block: SchemaBlock, path: string): SchemaBlock {
  const isWritten = ({ name }: { readonly name: string }): boolean => WRITTEN.has(`${path}${name}`);
  return {
    doc: block.doc,
    attributes: block.attributes.filter(isWritten),
    blocks: block.blocks.filter(isWritten).map((nested) => ({
      ...nested,
      block: narrow(nested.block, `${path}${nested.name}.`),
    })),
  };
}

const resource: TerraformResource = {
  schema: narrow(bundleSchema, ""),
  validate: () => [],
  plan: (_prior, config) => Promise.resolve({ state: config, requiresReplace: [], diagnostics: [] }),
  apply: (_prior, planned) => Promise.resolve({ state: planned, diagnostics: [] }),
  read: (state) => Promise.resolve({ state, diagnostics: [] }),
  importState: () => Promise.resolve({ state: null, diagnostics: [] }),
};

const provider: Provider = {
  schema: providerBlock,
  resources: new Map([[BUNDLE_TYPE, resource]]),
  functions: new Map(),
};

await servePlugin(provider, process);
