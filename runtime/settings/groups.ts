/**
 * Rare settings of a route, which Terraform therefore has in blocks.
 *
 * Only for Terraform: files, annotations and constructs have each of them directly on the route. Terraform visits every
 * member of every route many times per plan, set or not, but never enters an absent block. The blocks are derived from
 * settings registered with `grouped` in registry.ts; no setting is named here.
 */
import type { Field, FieldGroup } from "./field.ts";
import { attributeNames } from "./secret-forms.ts";

export const ROUTING: FieldGroup = {
  name: "routing",
  doc: "Description for users and the catalog; less common request matching, path rewriting, and responses without an upstream.",
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
  /** Members of the block, without a group. */
  readonly fields: readonly Field[];
}

/** The fields as Terraform nests them: each group in one block, at the position of its first member. */
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

/** Members of a document's route, or of a route in an old state, as Terraform nests them. Unknown members stay. */
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

/** Terraform represents absent blocks as empty lists and maps. */
export function isAbsent({ kind }: Field, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return (kind === "block-list" || kind === "labelled") && Object.keys(value).length === 0;
}
