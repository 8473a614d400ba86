/** Discovery documents of the SCIM server: ServiceProviderConfig, ResourceTypes and Schemas (RFC 7643 §5 to §7). */
import {
  type Attribute,
  ENTERPRISE_SCHEMA,
  GROUP_SCHEMA,
  GROUP_SHAPE,
  type ScimShape,
  USER_SCHEMA,
  USER_SHAPE,
} from "./attributes.ts";
import { MAX_COUNT } from "./list-query.ts";
import { MEMBERS } from "./path.ts";

const CONFIG_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";
const TYPE_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
const SCHEMA_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema";

/** @param base URL under which the resources are served */
export function serviceProviderConfig(base: string): object {
  const no = { supported: false };
  return {
    schemas: [CONFIG_SCHEMA],
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_COUNT },
    changePassword: no,
    sort: no,
    etag: no,
    authenticationSchemes: [
      { type: "oauthbearertoken", name: "Bearer token", description: "The token of this directory", primary: true },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

/** By id. */
export function resourceTypes(base: string): ReadonlyMap<string, object> {
  const type = (id: string, endpoint: string, schema: string, more: object): [string, object] => [
    id,
    {
      schemas: [TYPE_SCHEMA],
      id,
      name: id,
      endpoint,
      schema,
      ...more,
      meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${id}` },
    },
  ];
  return new Map([
    type("User", "/Users", USER_SCHEMA, { schemaExtensions: [{ schema: ENTERPRISE_SCHEMA, required: false }] }),
    type("Group", "/Groups", GROUP_SCHEMA, {}),
  ]);
}

/** By id. */
export function schemas(base: string): ReadonlyMap<string, object> {
  const schema = (id: string, name: string, attributes: readonly Attribute[]): [string, object] => [
    id,
    {
      schemas: [SCHEMA_SCHEMA],
      id,
      name,
      attributes: attributes.map(described),
      meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
    },
  ];
  const extended = (shape: ScimShape): readonly Attribute[] => shape.extension?.attributes ?? [];
  return new Map([
    schema(USER_SCHEMA, "User", USER_SHAPE.attributes),
    schema(GROUP_SCHEMA, "Group", [...GROUP_SHAPE.attributes, MEMBERS]),
    schema(ENTERPRISE_SCHEMA, "EnterpriseUser", extended(USER_SHAPE)),
  ]);
}

function described(attribute: Attribute): object {
  const { name, type, isMany = false, isRequired = false, isCaseExact = false, isUnique, sub } = attribute;
  return {
    name,
    type,
    multiValued: isMany,
    required: isRequired,
    caseExact: isCaseExact,
    mutability: "readWrite",
    returned: "default",
    uniqueness: isUnique === true ? "server" : "none",
    ...(sub && { subAttributes: sub.map(described) }),
  };
}
