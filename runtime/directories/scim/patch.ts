/**
 * PATCH of a resource (RFC 7644 §3.5.2) as Okta and Entra send it: operations in any case, values without path whose
 * names are paths themselves, flags as text, and filters that match nothing yet.
 *
 * Untrusted input: the body. Promise: all operations apply or none. A path that is not understood is rejected.
 */
import { isRecord } from "../../shared/is-record.ts";
import {
  type Attribute,
  type AttributeObject,
  type AttributeValue,
  checkedResource,
  findAttribute,
  isPassedOver,
  MAX_NAMES,
  memberOf,
  namesOf,
  readFlag,
  readItem,
  readValue,
  type ScimShape,
  withContent,
} from "./attributes.ts";
import { type ItemTerm, matchesItem, parsePath, type Path } from "./path.ts";
import { ScimRefusal } from "./refusal.ts";

const MAX_OPERATIONS = 1000;

export interface PatchOperation {
  readonly op: "add" | "replace" | "remove";
  /** Absent: the value's members name the attributes. */
  readonly path?: string;
  readonly value: unknown;
}

/** One path and its change. */
export interface AttributeChange {
  readonly op: PatchOperation["op"];
  readonly path: Path;
  readonly value: unknown;
}

/** @throws ScimRefusal */
export function readOperations(body: unknown): readonly PatchOperation[] {
  const operations = isRecord(body) ? memberOf(body, "Operations") : undefined;
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimRefusal(400, '"Operations" must be a list of operations', "invalidSyntax");
  if (operations.length > MAX_OPERATIONS)
    throw new ScimRefusal(400, `More than ${MAX_OPERATIONS} operations`, "invalidSyntax");
  return operations.map((each: unknown) => {
    if (!isRecord(each)) throw new ScimRefusal(400, "An operation is not an object", "invalidSyntax");
    const named = memberOf(each, "op");
    const op = typeof named === "string" ? named.toLowerCase() : undefined;
    if (op !== "add" && op !== "replace" && op !== "remove")
      throw new ScimRefusal(400, '"op" must be add, replace or remove', "invalidSyntax");
    const path = memberOf(each, "path") ?? "";
    if (typeof path !== "string") throw new ScimRefusal(400, '"path" must be text', "invalidPath");
    return { op, ...(path === "" ? {} : { path }), value: memberOf(each, "value") };
  });
}

/** Changes of the operations, in order. Skips ignored attributes. @throws ScimRefusal */
export function* changesOf(shape: ScimShape, operations: readonly PatchOperation[]): Iterable<AttributeChange> {
  let names = 0;
  for (const { op, path, value } of operations) {
    if (path !== undefined) {
      // The whole extension, by its schema name.
      if (path.toLowerCase() === shape.extension?.schema.toLowerCase()) yield* extensionChanges(shape, op, value);
      else yield { op, path: parsePath(shape, path), value };
      continue;
    }
    if (op === "remove") throw new ScimRefusal(400, "A remove must have a path", "noTarget");
    if (!isRecord(value)) throw new ScimRefusal(400, "A value without path must be an object", "invalidValue");
    const entries = namesOf(value);
    names += entries.length;
    if (names > MAX_NAMES) throw new ScimRefusal(400, "Too many attributes", "invalidValue");
    for (const name of entries) {
      if (isPassedOver(name)) continue;
      const each = value[name];
      if (name.toLowerCase() === shape.extension?.schema.toLowerCase()) yield* extensionChanges(shape, op, each);
      else if (isKept(shape, name)) yield { op, path: parsePath(shape, name), value: each };
    }
  }
}

function* extensionChanges(shape: ScimShape, op: PatchOperation["op"], value: unknown): Iterable<AttributeChange> {
  const { extension } = shape;
  if (!extension) return;
  const pathOf = (name: string): Path => parsePath(shape, `${extension.schema}:${name}`);
  if (op === "remove") {
    for (const { name } of extension.attributes) yield { op, path: pathOf(name), value: undefined };
    return;
  }
  if (!isRecord(value)) throw new ScimRefusal(400, "The extension's value must be an object", "invalidValue");
  for (const name of namesOf(value))
    if (findAttribute(extension.attributes, name)) yield { op, path: pathOf(name), value: value[name] };
}

/** Without a path, unknown attributes are ignored, as in a whole resource. With a path they are rejected. */
function isKept(shape: ScimShape, name: string): boolean {
  try {
    return parsePath(shape, name).attribute !== undefined;
  } catch {
    return false;
  }
}

/** @throws ScimRefusal */
export function patchResource(
  shape: ScimShape,
  resource: AttributeObject,
  changes: Iterable<AttributeChange>,
): AttributeObject {
  let patched = resource;
  for (const change of changes) patched = withChange(shape, patched, change);
  return checkedResource(shape, patched);
}

function withChange(shape: ScimShape, resource: AttributeObject, change: AttributeChange): AttributeObject {
  const { attribute, isExtension } = change.path;
  if (!attribute || isOurs(attribute)) return resource;
  const { extension } = shape;
  if (!isExtension || !extension) return withMember(resource, attribute.name, changed(attribute, resource, change));
  const earlier = (resource[extension.schema] ?? {}) as AttributeObject;
  const extended = withMember(earlier, attribute.name, changed(attribute, earlier, change));
  return withMember(resource, extension.schema, Object.keys(extended).length === 0 ? undefined : extended);
}

/** `id` and `meta`, which clients send back. */
function isOurs({ name }: Attribute): boolean {
  return name === "id" || name === "meta";
}

function withMember(
  { ...members }: Record<string, AttributeValue>,
  name: string,
  value: AttributeValue | undefined,
): AttributeObject {
  delete members[name];
  return value === undefined ? members : { ...members, [name]: value };
}

function changed(attribute: Attribute, holder: AttributeObject, change: AttributeChange): AttributeValue | undefined {
  const earlier = holder[attribute.name];
  if (attribute.isMany === true) return changedItems(attribute, (earlier ?? []) as readonly AttributeObject[], change);
  const { op, path, value } = change;
  if (path.sub) {
    const members = withMember(
      (earlier ?? {}) as AttributeObject,
      path.sub.name,
      op === "remove" ? undefined : readValue(path.sub, value),
    );
    return Object.keys(members).length === 0 ? undefined : members;
  }
  if (op === "remove") return undefined;
  const read = readValue(attribute, value);
  // Sub-attributes that are not named stay unchanged (RFC 7644 §3.5.2.3).
  if (attribute.type === "complex" && read !== undefined) return { ...(earlier as object), ...(read as object) };
  return read;
}

function changedItems(
  attribute: Attribute,
  items: readonly AttributeObject[],
  change: AttributeChange,
): readonly AttributeObject[] | undefined {
  const { where, sub } = change.path;
  const changedOnes =
    where || sub
      ? itemsWhere(attribute, items, change, where ?? [])
      : change.op === "remove"
        ? itemsWithout(attribute, items, change.value)
        : itemsWith(attribute, change.op === "add" ? items : [], change.value);
  return readValue(attribute, changedOnes) as readonly AttributeObject[] | undefined;
}

/** A remove with values removes these only (Entra); without values, all. */
function itemsWithout(attribute: Attribute, items: readonly AttributeObject[], value: unknown) {
  const gone = readValue(attribute, value) as readonly AttributeObject[] | undefined;
  if (value === undefined || value === null) return [];
  return items.filter((item) => !gone?.some((each) => each["value"] === item["value"]));
}

function itemsWith(attribute: Attribute, items: readonly AttributeObject[], value: unknown) {
  const added = (readValue(attribute, value) ?? []) as readonly AttributeObject[];
  const isSame = (one: AttributeObject, other: AttributeObject): boolean =>
    one["value"] === other["value"] && one["type"] === other["type"] && one["value"] !== undefined;
  const isPrimary = added.some((item) => item["primary"] === true);
  const others = items
    .filter((item) => !added.some((each) => isSame(item, each)))
    // "The primary attribute value "true" MUST appear no more than once" (RFC 7643 §2.4).
    .map((item) => (isPrimary && item["primary"] === true ? { ...item, primary: false } : item));
  return [...others, ...added];
}

function itemsWhere(
  attribute: Attribute,
  items: readonly AttributeObject[],
  { op, path: { sub }, value }: AttributeChange,
  where: readonly ItemTerm[],
): readonly AttributeObject[] {
  const isSelected = (item: AttributeObject): boolean => matchesItem(item, where);
  const change = (item: AttributeObject): AttributeObject | undefined => {
    if (sub) return withMember(item, sub.name, op === "remove" ? undefined : readValue(sub, value));
    return op === "remove" ? undefined : { ...item, ...readItem(attribute, value) };
  };
  const apply = (item: AttributeObject): readonly AttributeObject[] => {
    const made = withContent(change(item));
    return made ? [made] : [];
  };
  if (items.some(isSelected)) return items.flatMap((item) => (isSelected(item) ? apply(item) : [item]));
  // Removing an item that does not exist succeeds. Other operations create the item, as Entra expects for a first address.
  return op === "remove" ? items : [...items, ...apply(itemOf(attribute, where))];
}

/** The smallest item that matches the terms. */
function itemOf({ sub = [] }: Attribute, where: readonly ItemTerm[]): AttributeObject {
  const made: Record<string, AttributeValue> = {};
  for (const { name, value } of where) {
    const attribute = findAttribute(sub, name);
    if (!attribute || value === null) continue;
    made[attribute.name] = attribute.type === "boolean" ? readFlag(name, value) : String(value);
  }
  return made;
}
