/**
 * A route as a value of any type → its values in the form of a `route` block.
 *
 * Terraform validates and converts blocks by the schema. The `routes` attribute comes unchanged, so the same is done here:
 * the same names in the same nesting, the same conversions, null for absent members. Invalid values are reported and become
 * unknown, so that no other problem is reported for them.
 */
import type { Field, FieldKind } from "../../settings/field.ts";
import { type Shape, shapeOf } from "../../settings/shapes.ts";
import { isGroup } from "../../settings/groups.ts";
import { attributeNames, secretNames } from "../../settings/secret-forms.ts";
import { unknownMember } from "../../settings/types/registry.ts";
import type { AttributePath } from "../protocol/diagnostics.ts";
import { isList, isMap, Unknown, UNKNOWN, type Value, type ValueMap } from "../protocol/value.ts";

/** @param message the rest of the sentence after the location: `is a list, must be text` */
export type ValueReport = (path: AttributePath, message: string) => void;

/** Becomes a path only for a problem: there are thousands of members. */
type Place = () => AttributePath;

/** @param fields nested as in Terraform, see groups.ts */
export function valuesOfObject(
  fields: readonly Field[],
  object: ValueMap,
  path: AttributePath,
  report: ValueReport,
): ValueMap {
  const values: Record<string, Value> = {};
  for (const field of fields) {
    for (const name of namesInRoutes(field)) {
      const written = Object.hasOwn(object, name) ? (object[name] ?? null) : null;
      values[name] = valueOf(field, written, () => [...path, { attribute: name }], report);
    }
  }
  for (const name of Object.keys(object)) {
    if (!Object.hasOwn(values, name)) report([...path, { attribute: name }], unknownFieldMessage(name, fields));
  }
  return values;
}

/** For a secret only the forms that may be shown and stored: Terraform does both with the whole attribute. */
export function namesInRoutes({ kind, name }: Field): readonly string[] {
  return kind === "secret" ? secretNames(name).slice(1) : [name];
}

function unknownFieldMessage(name: string, fields: readonly Field[]): string {
  const secret = fields.find((field) => field.kind === "secret" && attributeNames(field).includes(name));
  if (secret) {
    const [reference, sealed] = namesInRoutes(secret);
    const instead = name === secret.name ? "" : `, or a "route" block`;
    return `is not allowed in "routes", which Terraform shows in plans and stores: use "${reference}" or "${sealed}"${instead}`;
  }
  const group = fields.find(
    (field) => isGroup(field) && field.fields.some((member) => namesInRoutes(member).includes(name)),
  );
  if (group) return `must be in "${group.name}", as in a "route" block`;
  return unknownMember(name, fields.flatMap(namesInRoutes));
}

const TEXT = "text";
const EXPECTED: Partial<Record<FieldKind | Shape, string>> = {
  flag: "true or false",
  count: "a number",
  "text-list-map": "a map of lists of texts",
  policy: "JSON text as `jsonencode(…)` makes it",
  criteria: "JSON text as `jsonencode(…)` makes it",
  list: "a list of texts",
  map: "a map of texts",
  block: "an object",
  blocks: "a list of objects",
  labelled: "a map of objects",
};

function valueOf(field: Field, value: Value, place: Place, report: ValueReport): Value {
  // Like Terraform's values for absent blocks.
  if (value === null && field.kind === "block-list") return [];
  if (value === null && field.kind === "labelled") return {};
  const expected = EXPECTED[field.kind] ?? EXPECTED[shapeOf(field)] ?? TEXT;
  const misfit = (misplaced: Value, where: Place, required: string): Value => {
    report(where(), `is ${describeValue(misplaced)}, must be ${required}`);
    return UNKNOWN;
  };
  const leaf = (item: Value, where: Place, convert: Convert, required = TEXT): Value =>
    item === null || item instanceof Unknown ? item : (convert(item) ?? misfit(item, where, required));
  const list = (items: Value, where: Place, each: Each, required = expected): Value => {
    if (items === null || items instanceof Unknown) return items;
    if (!isList(items)) return misfit(items, where, required);
    return items.map((item, index) => each(item, () => [...where(), { index }]));
  };
  const map = (items: Value, each: Each): Value => {
    if (items === null || items instanceof Unknown) return items;
    if (!isMap(items)) return misfit(items, place, expected);
    return Object.fromEntries(
      Object.entries(items).map(([key, item]) => [key, each(item, () => [...place(), { key }])]),
    );
  };
  const text: Each = (item, where) => leaf(item, where, textOf);
  const object: Each = (item, where) => {
    if (item instanceof Unknown) return item;
    return isMap(item) ? valuesOfObject(field.fields ?? [], item, where(), report) : misfit(item, where, "an object");
  };
  switch (shapeOf(field)) {
    case "block":
      return value === null ? null : object(value, place);
    case "blocks":
      return list(value, place, object);
    case "labelled":
      return map(value, object);
    case "list":
      return list(value, place, text);
    case "map":
      if (field.kind !== "text-list-map") return map(value, text);
      return map(value, (item, where) => list(item, where, text, EXPECTED.list));
    default:
      return leaf(value, place, CONVERT[field.kind] ?? textOf, expected);
  }
}

/** Kind of a written value, for messages; the value itself may be a secret. */
export function describeValue(value: Value): string {
  if (value === null) return "null";
  if (isList(value)) return "a list";
  if (isMap(value)) return "an object";
  return typeof value === "string" ? "text" : typeof value === "boolean" ? "a boolean" : "a number";
}

type Each = (item: Value, place: Place) => Value;

/** Converts a value to the type of an attribute like Terraform; undefined if it does not convert. */
type Convert = (value: Value) => Value | undefined;

function textOf(value: Value): Value | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

function flagOf(value: Value): Value | undefined {
  if (typeof value === "boolean") return value;
  if (value === "true" || value === "1") return true;
  return value === "false" || value === "0" ? false : undefined;
}

const CONVERT: Partial<Record<FieldKind, Convert>> = { flag: flagOf, count: numberOf };

function numberOf(value: Value): Value | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  return typeof value === "string" && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(value) ? Number(value) : undefined;
}
