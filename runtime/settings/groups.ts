/**
 * Settings of a route that most routes do not have, and that Terraform therefore has in blocks.
 *
 * Only the Terraform surface: files, annotations and constructs write each of them on the route itself. Terraform goes
 * through every member of every route many times a plan, written or not, but never into a block that is not there. The
 * blocks follow from what registry.ts registers with `grouped`; nothing here names a setting.
 */
import type { Field, FieldGroup } from "./field.ts";
import { attributeNames } from "./secret-spellings.ts";

export const ROUTING: FieldGroup = {
  name: "routing",
  doc: "Less common request matching, path rewriting, and responses without an upstream.",
};

export const ACCESS: FieldGroup = {
  name: "access",
  doc: "Access besides the policy: users, tokens, CORS, shadow policy and rate limits.",
};

export const HEADERS: FieldGroup = {
  name: "headers",
  doc: "Less common header rules: Host from the request, secret values, rewritten response headers.",
};

export const UPSTREAM: FieldGroup = {
  name: "upstream",
  doc: "Upstream connections: protocol, TLS, idle timeout, balancing, ejection and limits.",
};

/** A block that only Terraform has. */
export interface GroupField extends Field {
  readonly isGroup: true;
  /** Its members; in the block they have no group. */
  readonly fields: readonly Field[];
}

/** The fields as Terraform nests them: those of a group in one block, where the first of them was. */
export function nestFields(fields: readonly Field[]): readonly (Field | GroupField)[] {
  const nested: (Field | GroupField)[] = [];
  const groups = new Set<string>();
  for (const field of fields) {
    if (field.group === undefined) nested.push(field);
    else if (!groups.has(field.group.name)) {
      groups.add(field.group.name);
      nested.push(groupField(field.group, fields));
    }
  }
  return nested;
}

function groupField({ name, doc }: FieldGroup, fields: readonly Field[]): GroupField {
  const members = fields.filter(({ group }) => group?.name === name).map((field) => withoutGroup(field));
  return { name, kind: "block", doc, required: false, scope: "route", fields: members, isGroup: true };
}

function withoutGroup(field: Field): Field {
  const { group: _group, ...rest } = field;
  return rest;
}

export function isGroup(field: Field): field is GroupField {
  return "isGroup" in field;
}

/** Members of a document's route, or of one in an old state, as Terraform nests them. What no field knows stays. */
export function nestMembers(
  fields: readonly Field[],
  members: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const nested: Record<string, unknown> = { ...members };
  for (const field of fields) {
    if (field.group === undefined) continue;
    for (const name of attributeNames(field)) {
      const value = members[name];
      delete nested[name];
      if (isAbsent(field, value)) continue;
      nested[field.group.name] = { ...(nested[field.group.name] as object | null | undefined), [name]: value };
    }
  }
  return nested;
}

/** Terraform has empty lists and maps for blocks that are not there. */
export function isAbsent({ kind }: Field, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return (kind === "block-list" || kind === "labelled") && Object.keys(value).length === 0;
}
