/** Random values for `gateway_bundle`, as Terraform sends them. */
import * as fc from "fast-check";

import type { Field } from "../../runtime/settings/field.ts";
import { objectOf, tupleOf } from "../../runtime/terraform/protocol/dynamic-value.ts";
import type { SchemaAttribute, SchemaBlock } from "../../runtime/terraform/schema/schema-model.ts";
import { bundleFields, bundleSchema, routeBlockFields } from "../../runtime/terraform/schema/schema.ts";
import { decodeValue, encodeValue } from "../../runtime/terraform/protocol/value-codec.ts";
import { Dynamic, type Value, type ValueMap, type ValueType } from "../../runtime/terraform/protocol/value.ts";

const texts = fc.constantFrom("", "a", "null", "é\u2028", "${x}", "0", "true", "x".repeat(200));
const labels = fc.constantFrom("a", "b", "10", "9", "a b", "constructor", "é");
const policies = fc.constantFrom(
  '[{"allow":{"and":[{"domain":{"is":"example.com"}}]}}]',
  '[ { "allow": { "and": [ { "domain": { "is": "example.com" } } ] } } ]',
  '[{"deny":{"or":[{"email":{"is":"a@example.com"}}]}}]',
  "[]",
);

/** In Terraform's form: members of maps sorted. */
const mapOf = (value: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc
    .dictionary(labels, value, { maxKeys: 3, noNullPrototype: true })
    .map((record) => Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))));

function valueOf(of: ValueType): fc.Arbitrary<Value> {
  if (of === "string") return texts;
  if (of === "bool") return fc.boolean();
  if (of === "number") return fc.oneof(fc.nat(), fc.constantFrom(0, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER));
  if (typeof of === "string" || of[0] === "tuple" || of[0] === "object") throw new TypeError("not in this schema");
  return of[0] === "map" ? mapOf(valueOf(of[1])) : fc.array(valueOf(of[1]), { maxLength: 3 });
}

/** Values that a user may write, absent settings more often than not. */
function written(block: SchemaBlock, fields: readonly Field[]): fc.Arbitrary<ValueMap> {
  const members: Record<string, fc.Arbitrary<Value>> = {};
  for (const { name, type: of, use, writeOnly } of block.attributes) {
    if (of === "dynamic") continue;
    const isPolicy = fields.some(({ name: each, kind }) => each === name && (kind === "policy" || kind === "criteria"));
    const some = isPolicy ? policies : valueOf(of);
    if (use === "computed" || writeOnly === true || name.endsWith("_wo_version")) members[name] = fc.constant(null);
    else members[name] = use === "required" ? some : fc.option(some, { freq: 2 });
  }
  for (const { name, nesting, block: inner } of block.blocks) {
    const below = name === "route" ? routeBlockFields : (fields.find((field) => field.name === name)?.fields ?? []);
    const item = written(inner, below);
    if (nesting === "single") members[name] = fc.option(item, { freq: 2 });
    else members[name] = nesting === "list" ? fc.array(item, { maxLength: 2 }) : mapOf(item);
  }
  return fc.record(members, { noNullPrototype: true });
}

/** Whole bundles whose routes are blocks. */
export const blockBundles = written(bundleSchema, bundleFields).map((value): ValueMap => ({
  ...value,
  owner: "team",
  file: null,
  http: null,
  seal_key: null,
}));
const routeBlock = bundleSchema.blocks.find(({ name }) => name === "route")!.block;

/** Attributes that `routes` does not have. */
const isSecret = ({ name, sensitive, writeOnly }: SchemaAttribute): boolean =>
  sensitive === true || writeOnly === true || name.endsWith("_wo_version");

/** Values of a block as a written object: absent members are omitted, lists are tuples, maps are objects. */
function literal(block: SchemaBlock, value: ValueMap): Dynamic {
  const members = new Map<string, Dynamic>();
  for (const attribute of block.attributes) {
    const member = value[attribute.name] ?? null;
    if (!isSecret(attribute) && member !== null) members.set(attribute.name, plain(member));
  }
  for (const { name, nesting, block: inner } of block.blocks) {
    const member = value[name] ?? null;
    const object = (item: Value): Dynamic => literal(inner, item as ValueMap);
    if (member === null) continue;
    if (nesting === "single") members.set(name, object(member));
    else if (nesting === "list") members.set(name, tupleOf((member as readonly Value[]).map(object)));
    else
      members.set(name, objectOf(new Map(Object.entries(member).map(([key, item]) => [key, object(item as Value)]))));
  }
  return objectOf(members);
}

function plain(value: Value): Dynamic {
  if (Array.isArray(value)) return tupleOf((value as readonly Value[]).map(plain));
  if (typeof value === "boolean") return new Dynamic("bool", value);
  if (typeof value === "string") return new Dynamic("string", value);
  if (typeof value === "number") return new Dynamic("number", value);
  return objectOf(new Map(Object.entries(value as ValueMap).map(([key, item]) => [key, plain(item)])));
}

/** Values of a block as a variable with optional() has them: every member is there, null where nothing is said. */
function optional(block: SchemaBlock): ValueType {
  const attributes = block.attributes
    .filter((attribute) => !isSecret(attribute))
    .map(({ name, type: of }) => [name, of]);
  const inner = block.blocks.map(({ name, nesting, block: below }) => [
    name,
    nesting === "single" ? optional(below) : [nesting, optional(below)],
  ]);
  const members = [...attributes, ...inner].sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1));
  return ["object", Object.fromEntries(members) as Record<string, ValueType>];
}

const asOptional: ValueType = ["map", optional(routeBlock)];

/** `optional`: as a variable with optional() gives them; `empty` besides routes that are all blocks. */
export type RoutesForm = "no" | "literal" | "optional" | "empty";
export const forms = fc.constantFrom<RoutesForm>("no", "literal", "optional", "empty");

/** The bundle with its routes in the attribute, except for `stay` that remain blocks. */
export function withRoutes(bundle: ValueMap, form: RoutesForm, stay: number): ValueMap {
  if (form === "no") return { ...bundle, routes: null };
  if (form === "empty") return { ...bundle, routes: objectOf(new Map()) };
  const entries = Object.entries(bundle["route"] as Readonly<Record<string, ValueMap>>);
  const [blockPart, moved] = [Object.fromEntries(entries.slice(0, stay)), entries.slice(stay)];
  const routes =
    form === "optional"
      ? new Dynamic(asOptional, decodeValue(asOptional, encodeValue(asOptional, Object.fromEntries(moved))))
      : objectOf(new Map(moved.map(([name, route]) => [name, literal(routeBlock, route)])));
  return { ...bundle, route: blockPart, routes };
}

/** Whole bundles. */
export const bundles = fc
  .tuple(blockBundles, forms, fc.nat(2))
  .map(([bundle, form, stay]): ValueMap => withRoutes(bundle, form, stay));
