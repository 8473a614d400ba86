/**
 * The provider's schema, made from the Field tree: there is no second list of settings.
 *
 * `gateway_bundle` has the dynamic settings at its top and the routes as labeled blocks. Blocks, not nested attributes,
 * because Terraform silently drops misspelled keys of nested attributes, and rejects misspelled blocks. The attribute
 * `routes` does what blocks cannot (their labels must be known before any variable), see routes-attribute.ts.
 */
import type { Field } from "../../settings/field.ts";
import { routeFields } from "../../config/route.ts";
import { settingsFields } from "../../config/settings.ts";
import { actionSchemas } from "../actions/actions.ts";
import { GATEWAY_URL, TOKEN_REF } from "../publish/ask-admin.ts";
import { functionSchemas } from "./functions.ts";
import { PROVIDER_TLS } from "../publish/gateway-tls.ts";
import { blockOf } from "./field-schema.ts";
import { isGroup, nestFields } from "../../settings/groups.ts";
import { mapValues } from "../protocol/value.ts";
import { jsonFunction, jsonSchema, type SchemaAttribute, type SchemaBlock, type SchemaNested } from "./schema-model.ts";
import { PUBLISH_TOKEN_TYPE, publishTokenSchema } from "../resource/publish-token.ts";
import { STATUS_TYPE, statusSchema } from "../resource/status-data-source.ts";

export const PROVIDER_SOURCE = "gateform/gateway";
/** The source's full address in Terraform. */
export const PROVIDER_ADDRESS = `registry.terraform.io/${PROVIDER_SOURCE}`;
/** The source's full address in OpenTofu. */
export const OPENTOFU_ADDRESS = `registry.opentofu.org/${PROVIDER_SOURCE}`;
export const BUNDLE_TYPE = "gateway_bundle";
/** Increases when states of an older schema cannot be read unchanged; see state.ts. */
export const BUNDLE_VERSION = 1;
export const ROUTE_BLOCK = "route";
export const ROUTES_ATTRIBUTE = "routes";

/** Settings that a bundle may contain; the others belong to the file of `gateway run`. */
export const bundleFields: readonly Field[] = settingsFields.filter(({ scope }) => scope !== "boot");

/** Settings of a route in Terraform's nesting. */
export const routeBlockFields: readonly Field[] = nestFields(routeFields);

/** Names at the top of the resource that are about publishing and not about the gateway. */
export const PUBLISHING_NAMES = [
  "owner",
  "seal_key",
  "sha256",
  "generation",
  "bundle_json",
  "file",
  "http",
  ROUTE_BLOCK,
  ROUTES_ATTRIBUTE,
];

/** Names that Terraform reserves in every resource. */
const RESERVED_NAMES = ["count", "for_each", "depends_on", "provider", "lifecycle", "connection", "provisioner"];

const publishingAttributes: readonly SchemaAttribute[] = [
  {
    name: "owner",
    type: "string",
    use: "required",
    doc: "Name of the slice that this bundle publishes, one per team or state. At most 127 lower-case letters, digits, dashes, underscores and dots. A change replaces the resource.",
  },
  {
    name: "seal_key",
    type: "string",
    use: "optional",
    doc: "Public key of the gateway as JWK JSON. Required for `_wo` settings, whose values are encrypted to it.",
  },
  {
    name: ROUTES_ATTRIBUTE,
    // Not a map of objects: Terraform drops members that its type does not have, including misspelled ones.
    type: "dynamic",
    use: "optional",
    doc: "Routes by name, for modules: each an object with the settings of a `route` block, and its blocks as objects. Can be combined with `route` blocks. Secrets by reference or sealed only.",
  },
  {
    name: "sha256",
    type: "string",
    use: "computed",
    doc: "SHA-256 (hex) of the canonical JSON of the slice.",
  },
  {
    name: "generation",
    type: "number",
    use: "computed",
    doc: "Increases by one with each change of the published content.",
  },
  {
    name: "bundle_json",
    type: "string",
    use: "computed",
    // It repeats everything above, so a plan would show each change twice, and plain secrets in plain text.
    sensitive: true,
    doc: "The slice as JSON, to publish it by other means (a ConfigMap, a bucket). Sensitive, since the other arguments already show every change.",
  },
];

const fileTarget: SchemaNested = {
  name: "file",
  nesting: "single",
  block: {
    doc: "Publishes to a directory that a gateway watches, as `<owner>.json`, replaced atomically. Without `file` or `http` the bundle is only validated and rendered.",
    attributes: [
      { name: "directory", type: "string", use: "required", doc: "Directory, created if it does not exist." },
      {
        name: "mode",
        type: "string",
        use: "optional",
        doc: 'Permission bits in octal, such as "0640". Default: `0644`.',
      },
    ],
    blocks: [],
  },
};

const httpTarget: SchemaNested = {
  name: "http",
  nesting: "single",
  block: {
    doc: "Publishes to a running gateway. It validates the bundle with all other slices, and responds when every process serves it.",
    attributes: [
      {
        name: "url",
        type: "string",
        use: "required",
        doc: "URL of the admin listener (`admin_address`), such as `http://127.0.0.1:9901`, or of a proxy in front of it.",
      },
      TOKEN_REF,
    ],
    blocks: [],
  },
};

const ROUTE_DOC =
  "A route. The label is its name, unique within the owner. Less common settings are in blocks, which keeps plans of many routes fast.";

/** Schema of `gateway_bundle`. @throws TypeError when a setting uses a reserved name */
export const bundleSchema: SchemaBlock = makeBundleSchema(bundleFields, routeBlockFields);

export const bundleListSchema: SchemaBlock = {
  doc: "Published slices of one gateway or directory. Set `url` or `directory`. The provider block has the admin token, or a publish token, which lists the slices of its owners.",
  attributes: [
    { ...GATEWAY_URL, use: "optional" },
    { name: "directory", type: "string", use: "optional", doc: "Directory with slices (`<owner>.json`)." },
  ],
  blocks: [],
};

export const providerBlock: SchemaBlock = {
  doc: "Publishes routes, policies and settings of a gateway as one bundle.",
  attributes: [
    {
      name: "admin_token",
      type: "string",
      use: "optional",
      sensitive: true,
      doc: "Admin token of the gateway, or the publish token of the owner (`owners.<name>.publish_token`), for publishing with `http`. Not stored in state or plan; can be ephemeral.",
    },
    ...PROVIDER_TLS,
  ],
  blocks: [],
};

/** @param route nested, see groups.ts */
export function makeBundleSchema(settings: readonly Field[], route: readonly Field[]): SchemaBlock {
  for (const { name } of settings) {
    if ([...PUBLISHING_NAMES, ...RESERVED_NAMES].includes(name)) {
      throw new TypeError(`Cannot make the Terraform schema: the name "${name}" is not free for a setting`);
    }
  }
  // In a document the members of a group are next to the others, so names must be unique across groups.
  const inDocument = route.flatMap((field) => (isGroup(field) ? [field, ...field.fields] : [field]));
  for (const { name } of inDocument.filter(
    (field, at) => inDocument.findIndex((each) => each.name === field.name) !== at,
  )) {
    throw new TypeError(`Cannot make the Terraform schema: a route has "${name}" twice`);
  }
  const top = blockOf(settings, "");
  const routes: SchemaNested = {
    name: ROUTE_BLOCK,
    nesting: "map",
    block: blockOf(route, ROUTE_DOC, true),
  };
  return {
    version: BUNDLE_VERSION,
    doc: "Settings and routes of one owner, validated and published together.",
    attributes: [...publishingAttributes, ...top.attributes],
    blocks: [fileTarget, httpTarget, ...top.blocks, routes],
  };
}

/**
 * The schema exactly as `terraform providers schema -json` prints it since 1.14, but for identities; generators read it
 * without Terraform.
 */
export function providerSchemaJson(): unknown {
  return {
    format_version: "1.0",
    provider_schemas: {
      [PROVIDER_ADDRESS]: {
        provider: jsonSchema(providerBlock),
        resource_schemas: { [BUNDLE_TYPE]: jsonSchema(bundleSchema) },
        data_source_schemas: { [STATUS_TYPE]: jsonSchema(statusSchema) },
        ephemeral_resource_schemas: { [PUBLISH_TOKEN_TYPE]: jsonSchema(publishTokenSchema) },
        list_resource_schemas: { [BUNDLE_TYPE]: jsonSchema(bundleListSchema) },
        action_schemas: mapValues(actionSchemas, (schema) => ({ block: jsonSchema(schema).block })),
        functions: Object.fromEntries(functionSchemas.map((fn) => [fn.name, jsonFunction(fn)])),
      },
    },
  };
}
