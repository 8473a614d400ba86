/**
 * Stored attributes of users and groups, and how a client's values are converted (RFC 7643 §4).
 *
 * Untrusted input: every value. Promises: names are compared without case and stored in one form. Unlisted attributes,
 * above all passwords, are never stored. Texts, lists and the whole resource are bounded. null and an empty text mean
 * "no value".
 */
import { isRecord } from "../../shared/is-record.ts";
import { ScimRefusal } from "./refusal.ts";

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

export type AttributeValue = string | boolean | AttributeObject | readonly AttributeObject[];
export interface AttributeObject {
  readonly [name: string]: AttributeValue;
}

export interface Attribute {
  readonly name: string;
  readonly type: "string" | "boolean" | "complex";
  /** A list of complex values, each with at least `value`, or with the members of `sub`. */
  readonly isMany?: true;
  /** Maximum items of a list. Default: `MAX_ITEMS`. */
  readonly most?: number;
  readonly sub?: readonly Attribute[];
  readonly isRequired?: true;
  readonly isUnique?: true;
  readonly isCaseExact?: true;
}

/** Attributes of one resource type. Extension attributes are nested under the schema's name. */
export interface ScimShape {
  readonly schema: string;
  readonly attributes: readonly Attribute[];
  readonly extension?: { readonly schema: string; readonly attributes: readonly Attribute[] };
  /** Members are stored separately from the attributes. */
  readonly hasMembers?: true;
}

const text = (name: string, more: Partial<Attribute> = {}): Attribute => ({ name, type: "string", ...more });
const flag = (name: string): Attribute => ({ name, type: "boolean" });
const ITEM = [text("value"), text("display"), text("type"), flag("primary")];
const list = (name: string, sub: readonly Attribute[] = ITEM): Attribute => ({
  name,
  type: "complex",
  isMany: true,
  sub,
});

const EXTERNAL_ID = text("externalId", { isCaseExact: true, isUnique: true });

export const USER_SHAPE: ScimShape = {
  schema: USER_SCHEMA,
  attributes: [
    text("userName", { isRequired: true, isUnique: true }),
    EXTERNAL_ID,
    {
      name: "name",
      type: "complex",
      sub: [
        text("formatted"),
        text("familyName"),
        text("givenName"),
        text("middleName"),
        text("honorificPrefix"),
        text("honorificSuffix"),
      ],
    },
    text("displayName"),
    text("nickName"),
    text("profileUrl"),
    text("title"),
    text("userType"),
    text("preferredLanguage"),
    text("locale"),
    text("timezone"),
    flag("active"),
    // Each address is a tag of the user's record, and the store allows no more tags.
    { ...list("emails"), most: 32 },
    list("phoneNumbers"),
    list("addresses", [
      text("formatted"),
      text("streetAddress"),
      text("locality"),
      text("region"),
      text("postalCode"),
      text("country"),
      text("type"),
      flag("primary"),
    ]),
    list("entitlements"),
    list("roles"),
  ],
  extension: {
    schema: ENTERPRISE_SCHEMA,
    attributes: [
      text("employeeNumber"),
      text("costCenter"),
      text("organization"),
      text("division"),
      text("department"),
      { name: "manager", type: "complex", sub: [text("value"), text("$ref"), text("displayName")] },
    ],
  },
};

export const GROUP_SHAPE: ScimShape = {
  schema: GROUP_SCHEMA,
  attributes: [text("displayName", { isRequired: true, isUnique: true }), EXTERNAL_ID],
  hasMembers: true,
};

/** Ignored when clients send them: set by the gateway, never stored, or derived from groups. */
const PASSED_OVER = new Set(["schemas", "id", "meta", "groups", "password", "ims", "photos", "x509certificates"]);

export function isPassedOver(name: string): boolean {
  return PASSED_OVER.has(name.toLowerCase());
}

const MAX_TEXT = 2048;
const MAX_ITEMS = 64;
const MAX_RESOURCE = 32_768;
/** Maximum names in one object. In a PATCH: of all values without path, since each name is parsed as a path. */
export const MAX_NAMES = 2000;

export function findAttribute(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const lower = name.toLowerCase();
  return attributes.find((each) => each.name.toLowerCase() === lower);
}

/** Returns the value of `name`, ignoring case. */
export function memberOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(record, name)) return record[name];
  const lower = name.toLowerCase();
  for (const key of namesOf(record)) if (key.toLowerCase() === lower) return record[key];
  return undefined;
}

/** All names of a record. Rejects very many, which would be slow to search. @throws ScimRefusal */
export function namesOf(record: Readonly<Record<string, unknown>>): readonly string[] {
  const names = Object.keys(record);
  if (names.length > MAX_NAMES) throw new ScimRefusal(400, "Too many attributes", "invalidValue");
  return names;
}

/** Parses a whole resource. @throws ScimRefusal */
export function readResource(shape: ScimShape, body: unknown): AttributeObject {
  if (!isRecord(body)) throw new ScimRefusal(400, "The body must be a JSON object", "invalidSyntax");
  const made: Record<string, AttributeValue> = {};
  for (const attribute of shape.attributes) {
    const value = readValue(attribute, memberOf(body, attribute.name));
    if (value !== undefined) made[attribute.name] = value;
  }
  const { extension } = shape;
  const extended = extension && memberOf(body, extension.schema);
  if (extension && isRecord(extended)) {
    const value = readMembers(extension.attributes, extended);
    if (value !== undefined) made[extension.schema] = value;
  }
  return checkedResource(shape, made);
}

/** Checks that apply to a resource after every change. @throws ScimRefusal */
export function checkedResource(shape: ScimShape, resource: AttributeObject): AttributeObject {
  for (const { name, isRequired } of shape.attributes)
    if (isRequired && resource[name] === undefined) throw new ScimRefusal(400, `"${name}" is required`, "invalidValue");
  if (JSON.stringify(resource).length > MAX_RESOURCE)
    throw new ScimRefusal(400, "The resource is too large", "invalidValue");
  return resource;
}

/** @returns undefined if the value means "no value" @throws ScimRefusal */
export function readValue(attribute: Attribute, value: unknown): AttributeValue | undefined {
  if (attribute.isMany !== true) return readOne(attribute, value);
  if (value === undefined || value === null || value === "") return undefined;
  // A single item is treated as a list of one.
  const items = Array.isArray(value) ? value : [value];
  const { name, most = MAX_ITEMS } = attribute;
  if (items.length > most) throw new ScimRefusal(400, `"${name}" has more than ${most} values`, "invalidValue");
  const read = items.map((item) => readItem(attribute, item)).filter((item) => item !== undefined);
  return read.length === 0 ? undefined : read;
}

/** Parses one item of a list. A plain text is the item's `value`. @throws ScimRefusal */
export function readItem(attribute: Attribute, item: unknown): AttributeObject | undefined {
  if (item === undefined || item === null || item === "") return undefined;
  const members = typeof item === "string" ? { value: item } : item;
  if (!isRecord(members))
    throw new ScimRefusal(400, `"${attribute.name}" has an item that is not an object`, "invalidValue");
  return withContent(readMembers(attribute.sub ?? [], members));
}

/** Drops an item that has only a type or a `primary` flag. */
export function withContent(item: AttributeObject | undefined): AttributeObject | undefined {
  return item && Object.keys(item).some((name) => name !== "type" && name !== "primary") ? item : undefined;
}

function readOne(attribute: Attribute, value: unknown): AttributeValue | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (attribute.type === "string") return readText(attribute.name, value);
  if (attribute.type === "boolean") return readFlag(attribute.name, value);
  // Entra sends `manager` as a plain id.
  if (typeof value === "string" && findAttribute(attribute.sub ?? [], "value"))
    return { value: readText(attribute.name, value) };
  if (!isRecord(value)) throw new ScimRefusal(400, `"${attribute.name}" must be an object`, "invalidValue");
  return readMembers(attribute.sub ?? [], value);
}

function readMembers(attributes: readonly Attribute[], members: Readonly<Record<string, unknown>>) {
  const made: Record<string, AttributeValue> = {};
  for (const attribute of attributes) {
    const value = readOne(attribute, memberOf(members, attribute.name));
    if (value !== undefined) made[attribute.name] = value;
  }
  return Object.keys(made).length === 0 ? undefined : made;
}

function readText(name: string, value: unknown): string {
  // Some clients send employee numbers and postal codes as numbers.
  const read = typeof value === "number" && Number.isFinite(value) ? String(value) : value;
  if (typeof read !== "string") throw new ScimRefusal(400, `"${name}" must be text`, "invalidValue");
  if (read.length > MAX_TEXT) throw new ScimRefusal(400, `"${name}" is too long`, "invalidValue");
  if (!read.isWellFormed() || read.includes("\0"))
    throw new ScimRefusal(400, `"${name}" is not valid Unicode text`, "invalidValue");
  return read;
}

/** Entra sends "True" and "False" as text by default. */
export function readFlag(name: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  const lower = typeof value === "string" ? value.toLowerCase() : undefined;
  if (lower === "true") return true;
  if (lower === "false") return false;
  throw new ScimRefusal(400, `"${name}" must be true or false`, "invalidValue");
}
