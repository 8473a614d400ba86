/** Identities of resources as messages: by what an object is known beside its state, from protocol 6.9 on. */
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

/** The member of an answer that says by what the state is known; {} where that is not known. */
export function identityMember({ identity }: TerraformResource, state: ValueMap | null): Message {
  const data = state && identity?.of(state);
  return identity && data ? { identity: wireIdentity(identity, data) } : {};
}

/** An identity that somebody wrote, for an import. */
export function readIdentity(identity: ResourceIdentity, message: unknown): ValueMap | null {
  const { data } = (message ?? {}) as { data?: unknown };
  return readDynamic(identityType(identity), data, decodeValue) as ValueMap | null;
}

/** A stored identity in the form of today: there has been one only. */
export function upgradeIdentity(identity: ResourceIdentity, raw: unknown): Message {
  const data = valueFromJson(identityType(identity), readRaw(raw)) as ValueMap | null;
  return data ? { identity: wireIdentity(identity, data) } : {};
}

function wireIdentity(identity: ResourceIdentity, data: ValueMap): Message {
  return { data: { msgpack: encodeValue(identityType(identity), data) } };
}

/** Members sorted as Terraform writes them. */
function identityType({ attributes }: ResourceIdentity): ValueType {
  const members = attributes.map(({ name, type }): [string, ValueType] => [name, type]);
  return ["object", Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))];
}
