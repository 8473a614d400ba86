/** Identities of resources as messages, since protocol 6.9: they identify an object in addition to its state. */
import { readDynamic, readRaw } from "./messages.ts";
import type { TerraformResource, ResourceIdentity } from "./provider.ts";
import { decodeValue, encodeValue, valueFromJson } from "./value-codec.ts";
import type { ValueMap, ValueType } from "./value.ts";
import type { Message } from "./wire.ts";

export function wireIdentitySchema({ version, attributes }: ResourceIdentity): Message {
  return {
    version,
    attributes: attributes.map(({ name, type, doc, use }) => ({
      name,
      type: Buffer.from(JSON.stringify(type)),
      description: doc,
      ...(use === "required" ? { required: true } : { optional: true }),
    })),
  };
}

/** The identity member of a response; {} if the state's identity is not known. */
export function identityMember({ identity }: TerraformResource, state: ValueMap | null): Message {
  const data = state && identity?.of(state);
  return identity && data ? { identity: wireIdentity(identity, data) } : {};
}

/** Reads an identity from a user's import. */
export function readIdentity(identity: ResourceIdentity, message: unknown): ValueMap | null {
  const { data } = (message ?? {}) as { data?: unknown };
  return readDynamic(identityType(identity), data, decodeValue) as ValueMap | null;
}

/** Converts a stored identity to the current form: so far there is only one. */
export function upgradeIdentity(identity: ResourceIdentity, raw: unknown): Message {
  const data = valueFromJson(identityType(identity), readRaw(raw)) as ValueMap | null;
  return data ? { identity: wireIdentity(identity, data) } : {};
}

export function wireIdentity(identity: ResourceIdentity, data: ValueMap): Message {
  return { data: { msgpack: encodeValue(identityType(identity), data) } };
}

/** Members sorted, as Terraform writes them. */
function identityType({ attributes }: ResourceIdentity): ValueType {
  const members = attributes.map(({ name, type }): [string, ValueType] => [name, type]);
  return ["object", Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))];
}
