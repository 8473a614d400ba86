/**
 * Attribute paths and filters (RFC 7644 §3.4.2.2, §3.5.2), limited to what Okta and Entra send: `eq` and `and`.
 *
 * Untrusted input: the text. Promise: bounded in length and number of terms, and parsed once from left to right without
 * backtracking. Anything not understood is rejected, never skipped.
 */
import { isRecord } from "../../shared/is-record.ts";
import {
  type Attribute,
  type AttributeObject,
  type AttributeValue,
  findAttribute,
  isPassedOver,
  memberOf,
  type ScimShape,
} from "./attributes.ts";
import { ScimRefusal, type ScimType } from "./refusal.ts";

const MAX_CHARACTERS = 2048;
const MAX_TERMS = 8;

/** `emails[type eq "work"].value` */
export interface Path {
  /** The stored attribute; undefined: an ignored one. */
  readonly attribute: Attribute | undefined;
  /** Name as the client wrote it, without the schema. */
  readonly name: string;
  /** The attribute belongs to the extension. */
  readonly isExtension: boolean;
  /** Selects items of a list; absent: all. */
  readonly where?: readonly ItemTerm[];
  readonly sub?: Attribute;
}

/** Condition on one item: `type eq "work"`. */
export interface ItemTerm {
  readonly name: string;
  readonly value: FilterValue;
}

export type FilterValue = string | number | boolean | null;

/** `userName eq "a"` */
export interface Term {
  readonly path: Path;
  readonly value: FilterValue;
}

/** Pseudo-attribute for resources with members. */
export const MEMBERS: Attribute = {
  name: "members",
  type: "complex",
  isMany: true,
  sub: [
    { name: "value", type: "string" },
    { name: "display", type: "string" },
  ],
};
const OWN: readonly Attribute[] = [
  { name: "id", type: "string", isCaseExact: true },
  {
    name: "meta",
    type: "complex",
    sub: [
      { name: "resourceType", type: "string" },
      { name: "lastModified", type: "string" },
    ],
  },
];

const OF_GROUPS: readonly Attribute[] = [...OWN, MEMBERS];

function ownOf({ hasMembers }: ScimShape): readonly Attribute[] {
  return hasMembers === true ? OF_GROUPS : OWN;
}

/** @throws ScimRefusal `invalidPath` */
export function parsePath(shape: ScimShape, text: string): Path {
  const reader = createReader(text, "invalidPath");
  const path = readPath(reader, shape);
  if (!reader.isAtEnd()) throw reader.refusal();
  return path;
}

/** Terms, all of which must match. @throws ScimRefusal `invalidFilter` */
export function parseFilter(shape: ScimShape, text: string): readonly Term[] {
  const reader = createReader(text, "invalidFilter");
  reader.spaces();
  const terms: Term[] = [];
  for (;;) {
    if (terms.length === MAX_TERMS) throw reader.refusal("has too many terms");
    const path = readPath(reader, shape);
    terms.push({ path, value: readComparison(reader) });
    reader.spaces();
    if (reader.isAtEnd()) return terms;
    if (reader.word().toLowerCase() !== "and") throw reader.refusal();
    reader.spaces();
  }
}

function readPath(reader: Reader, shape: ScimShape): Path {
  const schema = reader.schema([shape.schema, ...(shape.extension ? [shape.extension.schema] : [])]);
  const isExtension = schema !== undefined && schema === shape.extension?.schema;
  const attributes = isExtension ? (shape.extension?.attributes ?? []) : shape.attributes;
  const name = reader.word();
  const attribute = findAttribute(attributes, name) ?? (isExtension ? undefined : findAttribute(ownOf(shape), name));
  if (name === "" || (attribute === undefined && (isExtension || !isPassedOver(name))))
    throw reader.refusal("names an attribute that is not stored");
  const where = reader.take("[") ? readItemTerms(reader) : undefined;
  const sub = reader.take(".") ? reader.word() : undefined;
  if (where && attribute && attribute.isMany !== true) throw reader.refusal();
  const found = sub !== undefined && attribute ? findAttribute(attribute.sub ?? [], sub) : undefined;
  if (sub !== undefined && attribute && !found) throw reader.refusal("names an attribute that is not stored");
  return { attribute, name, isExtension, ...(where && { where }), ...(found && { sub: found }) };
}

function readItemTerms(reader: Reader): readonly ItemTerm[] {
  const terms: ItemTerm[] = [];
  reader.spaces();
  while (terms.length < MAX_TERMS) {
    const name = reader.word();
    if (name === "") throw reader.refusal();
    terms.push({ name, value: readComparison(reader) });
    reader.spaces();
    if (reader.take("]")) return terms;
    if (reader.word().toLowerCase() !== "and") throw reader.refusal();
    reader.spaces();
  }
  throw reader.refusal("has too many terms");
}

function readComparison(reader: Reader): FilterValue {
  reader.spaces();
  if (reader.word().toLowerCase() !== "eq") throw reader.refusal('has an operator other than "eq"');
  reader.spaces();
  return reader.value();
}

interface Reader {
  isAtEnd(): boolean;
  spaces(): void;
  /** @returns "" when there is none */
  word(): string;
  take(character: string): boolean;
  /** Consumes and returns the schema at the current position, with its colon. */
  schema(schemas: readonly string[]): string | undefined;
  value(): FilterValue;
  refusal(problem?: string): ScimRefusal;
}

function createReader(text: string, scimType: ScimType): Reader {
  let at = 0;
  const refusal = (problem = "cannot be read"): ScimRefusal =>
    new ScimRefusal(400, `The ${scimType === "invalidPath" ? "path" : "filter"} ${problem}`, scimType);
  if (text.length > MAX_CHARACTERS) throw refusal("is too long");
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  };
  return {
    isAtEnd: () => at === text.length,
    spaces: () => void match(/ */y),
    word: () => match(/[$a-z][\w$-]*/iy),
    take(character) {
      if (text[at] !== character) return false;
      at += 1;
      return true;
    },
    schema(schemas) {
      for (const schema of schemas) {
        if (text.slice(at, at + schema.length + 1).toLowerCase() !== `${schema.toLowerCase()}:`) continue;
        at += schema.length + 1;
        return schema;
      }
      return undefined;
    },
    value() {
      const found = match(/"(?:[^"\\]|\\.)*"|[^\s\])]+/y);
      // Entra writes literals in any case: "True".
      const literal = found.startsWith('"') ? found : found.toLowerCase();
      try {
        const value: unknown = JSON.parse(literal);
        if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value as FilterValue;
      } catch {
        // Rejected below.
      }
      throw refusal();
    },
    refusal,
  };
}

/** Returns true if every term matches the resource, including its `id`. */
export function matches(resource: AttributeObject, terms: readonly Term[], shape: ScimShape): boolean {
  return terms.every(({ path, value }) => valuesAt(resource, path, shape).some((each) => isEqual(each, value, path)));
}

function valuesAt(resource: AttributeObject, path: Path, shape: ScimShape): readonly unknown[] {
  const { attribute, isExtension, where, sub } = path;
  if (!attribute) return [];
  const base = isExtension && shape.extension ? resource[shape.extension.schema] : resource;
  const value = isRecord(base) ? base[attribute.name] : undefined;
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [sub && isRecord(value) ? value[sub.name] : value];
  const items = value as readonly AttributeObject[];
  return items.filter((item) => !where || matchesItem(item, where)).map((item) => item[sub?.name ?? "value"]);
}

export function matchesItem(item: AttributeObject, where: readonly ItemTerm[]): boolean {
  return where.every(({ name, value }) => isAlike(memberOf(item, name) as AttributeValue | undefined, value));
}

function isEqual(stored: unknown, expected: FilterValue, { attribute, sub }: Path): boolean {
  if ((sub ?? attribute)?.isCaseExact === true) return stored === expected;
  return isAlike(stored as AttributeValue | undefined, expected);
}

/** Compares texts without case. Entra sends `primary eq "True"`. */
function isAlike(stored: AttributeValue | undefined, expected: FilterValue): boolean {
  if (stored === undefined) return expected === null;
  return typeof stored !== "object" && String(stored).toLowerCase() === String(expected).toLowerCase();
}
