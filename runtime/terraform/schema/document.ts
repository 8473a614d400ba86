/**
 * Terraform values ↔ the slice document, both directions along the Field tree.
 *
 * Null means "not written": the document contains what the user wrote and no defaults, so that a plan shows the content of a
 * file.
 */
import { isRecord } from "../../shared/is-record.ts";
import type { Field } from "../../settings/field.ts";
import { formatPath, type ValuePath } from "../../settings/problem.ts";
import { attributeNames, memberNames, secretAttributeNames } from "../../settings/secret-forms.ts";
import { type GroupField, isAbsent, isGroup } from "../../settings/groups.ts";
import { mapParts, shapeOf } from "../../settings/shapes.ts";
import { policyText, readPolicy } from "./policy-text.ts";
import { isList, isMap, mapValues, own, Unknown, type Value, type ValueMap } from "../protocol/value.ts";

export type Doc = Record<string, unknown>;

/**
 * Replacement in the document for a value that is not known yet; undefined omits the setting. `item`: the value is a member
 * of a list or map, where an omission would move the others.
 */
export type StandIn = (field: Field, path: ValuePath, item: boolean) => unknown;

/** A value that cannot be put into a document: invalid JSON text. */
export interface DocumentProblem {
  readonly path: ValuePath;
  readonly message: string;
}

export interface ToDocument {
  readonly standIn: StandIn;
  readonly problems: DocumentProblem[];
}

/** @throws TypeError when a value is unknown; for values that were checked to be known */
export const noStandIn: StandIn = (_field, path) => {
  throw new TypeError(`Cannot render "${formatPath(path)}": its value is not known yet`);
};

/**
 * Values of a block → members of the document, in the order of the fields.
 *
 * @param fields as in documents; values of those with a group are in the block of that name
 */
export function toDocument(fields: readonly Field[], value: ValueMap, path: ValuePath, options: ToDocument): Doc {
  const doc: Doc = {};
  for (const field of fields) {
    const holder = field.group === undefined ? value : (value[field.group.name] ?? null);
    if (holder === null) continue;
    for (const name of memberNames(field)) {
      const member =
        holder instanceof Unknown
          ? // The block may turn out to be absent: its members are omitted like a block.
            options.standIn({ ...field, kind: "block" }, [...path, name], false)
          : toMember(field, (holder as ValueMap)[name] ?? null, path, name, options);
      if (member !== undefined) doc[name] = member;
    }
  }
  return doc;
}

/** @param above path of the enclosing block: most of the thousands of members are absent */
function toMember(field: Field, value: Value, above: ValuePath, name: string, options: ToDocument): unknown {
  if (value === null) return undefined;
  const path = [...above, name];
  if (value instanceof Unknown) return options.standIn(field, path, false);
  if (field.kind === "policy" || field.kind === "criteria") return policyMember(value as string, path, options);
  if (field.kind === "count") return countMember(Number(value), path, options);
  if (shapeOf(field) === "scalar") return value;
  // Terraform sends empty block lists and maps for absent ones; a document omits them.
  if (isAbsent(field, value)) return undefined;
  return mapParts(field, value, (part, step) =>
    partMember(field, part, step === undefined ? path : [...path, step], options),
  );
}

/** Terraform's numbers have no limits; JSON's do. Numbers that JSON would round are detected when the document is read. */
function countMember(value: number, path: ValuePath, { problems }: ToDocument): number | undefined {
  if (Number.isFinite(value)) return value;
  problems.push({ path, message: "is a number that JSON cannot carry, must be smaller" });
  return undefined;
}

/** A block, or a text of a list or map. */
function partMember(field: Field, part: Value, path: ValuePath, options: ToDocument): unknown {
  if (field.kind === "text-list-map") return textsMember(field, part, path, options);
  if (part instanceof Unknown) return options.standIn(field, path, true);
  return field.fields ? toDocument(field.fields, part as ValueMap, path, options) : part;
}

function textsMember(field: Field, list: Value, path: ValuePath, { standIn }: ToDocument): unknown {
  if (list instanceof Unknown) return [standIn(field, path, true)];
  // Not omitted: the loader reports what is missing.
  if (list === null) return null;
  return (list as readonly Value[]).map((item, index) =>
    item instanceof Unknown ? standIn(field, [...path, index], true) : item,
  );
}

function policyMember(text: string, path: ValuePath, { problems }: ToDocument): unknown {
  const reading = readPolicy(text);
  if (reading.ok) return reading.policy;
  problems.push({ path, message: reading.problem });
  // Not omitted: otherwise the policy would also be reported as missing.
  return [];
}

/**
 * Members of a document → values of a block; a value of another kind becomes null and shows as drift.
 *
 * @param fields nested as in Terraform, see groups.ts
 */
export function fromDocument(fields: readonly Field[], doc: unknown, prior: Value): ValueMap {
  const members = isRecord(doc) ? doc : {};
  const before = isMap(prior) ? prior : {};
  const value: Record<string, Value> = {};
  for (const field of fields) {
    if (isGroup(field)) value[field.name] = groupValue(field, members, before[field.name] ?? null);
    else if (field.kind === "secret") Object.assign(value, secretValues(field, members, before));
    else value[field.name] = fromMember(field, own(members, field.name), before[field.name] ?? null);
  }
  return value;
}

/** A block without content has no meaning, but its author would see it disappear. */
function groupValue(group: GroupField, members: Doc, prior: Value): Value {
  const value = fromDocument(group.fields, members, prior);
  const isWritten = group.fields.some((field) => attributeNames(field).some((name) => !isAbsent(field, value[name])));
  return isWritten || isMap(prior) ? value : null;
}

function fromMember(field: Field, member: unknown, prior: Value): Value {
  switch (field.kind) {
    case "block":
      return isRecord(member) ? fromDocument(field.fields ?? [], member, prior) : null;
    case "block-list": {
      const items: readonly unknown[] = Array.isArray(member) ? member : [];
      return items.map((item, index) =>
        fromDocument(field.fields ?? [], item, isList(prior) ? (prior[index] ?? null) : null),
      );
    }
    case "labelled":
      return mapValues(isRecord(member) ? member : {}, (item, label) =>
        fromDocument(field.fields ?? [], item, isMap(prior) ? (prior[label] ?? null) : null),
      );
    case "url-list":
      // A single URL may be written without a list.
      return textList(typeof member === "string" ? [member] : member);
    case "domain-pattern-list":
    case "text-list":
      return textList(member);
    case "text-map":
    case "template-map":
      return isRecord(member) ? mapValues(member, textOrNull) : null;
    case "text-list-map":
      return isRecord(member) ? mapValues(member, textList) : null;
    case "policy":
    case "criteria":
      return policyText(member, prior);
    case "flag":
      return typeof member === "boolean" ? member : null;
    case "count":
      return typeof member === "number" && Number.isSafeInteger(member) ? member : null;
    default:
      return textOrNull(member);
  }
}

function secretValues(field: Field, members: Doc, before: ValueMap): Record<string, Value> {
  const { plain, reference, sealed, writeOnly, version } = secretAttributeNames(field.name);
  const sealedNow = textOrNull(own(members, sealed));
  return {
    [plain]: textOrNull(own(members, plain)),
    [reference]: textOrNull(own(members, reference)),
    [sealed]: sealedNow,
    [writeOnly]: null,
    // Another sealed text than ours: dropping the version makes the plan seal the secret again.
    [version]: sealedNow === (before[sealed] ?? null) ? (before[version] ?? null) : null,
  };
}

function textList(member: unknown): Value {
  return Array.isArray(member) ? member.map(textOrNull) : null;
}

function textOrNull(member: unknown): string | null {
  return typeof member === "string" ? member : null;
}
