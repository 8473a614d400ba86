/**
 * Converts props to the document of a configuration file, driven by the Field tree: the same setting under the same name,
 * `preserveHostHeader` for `preserve_host_header`. Only values with a separate type are converted here; the loader of files
 * validates them.
 */
import type { Field } from "../../runtime/settings/field.ts";
import { nearest } from "../../runtime/shared/suggest.ts";
import { routeFields } from "../../runtime/config/route.ts";
import { type Domain, domainPatterns } from "../domains.ts";
import { Token } from "../framework.ts";
import { type HeaderValue, literal, requestHeaderValue } from "../header-value.ts";
import { Secret } from "../secret.ts";

/** A part of a configuration, as plain JSON; strings may contain tokens of the framework. */
export type Document = Readonly<Record<string, unknown>>;

/** "host_rewrite_header" → "hostRewriteHeader". */
export function propName(setting: string): string {
  return setting.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * @param fields the allowed settings
 * @param subject owner of the props, for messages
 * @throws Error for a prop that is not a setting (TypeScript also rejects it), for invalid typed values, and for plain
 * secrets if the Terraform resource does not accept them
 */
export function documentFrom(fields: readonly Field[], props: object, subject: string): Document {
  const byProp = new Map(fields.map((field) => [propName(field.name), field]));
  const document: Record<string, unknown> = {};
  for (const [prop, value] of Object.entries(props)) {
    if (value === undefined) continue;
    const field = byProp.get(prop);
    if (!field) throw unknownProp(prop, byProp.keys(), subject);
    if (value instanceof Secret) {
      if (value.suffix === "" && fields === routeFields) throw plainSecret(prop, subject);
      document[field.name + value.suffix] = value.value;
    } else document[field.name] = settingFrom(field, value, `${subject}, ${prop}`);
  }
  return document;
}

function settingFrom(field: Field, value: unknown, subject: string): unknown {
  // A whole list, map or flag of another resource: it contains nothing to convert yet.
  if (typeof value !== "string" && Token.isUnresolved(value)) return value;
  switch (field.kind) {
    case "block":
      return documentFrom(field.fields ?? [], value as object, subject);
    case "block-list":
      return (value as readonly object[]).map((item) =>
        documentFrom(blockFields(field), literalResponseValue(field, item), subject),
      );
    case "labelled":
      return mapValues(value, (_, item) => labelledFrom(field, item as object, subject));
    case "domain-pattern-list":
      return domainPatterns(value as readonly (Domain | string)[]);
    case "template-map":
      return mapValues(value, (name, text) => requestHeaderValue(name, text as HeaderValue | string).template);
    case "text-map":
      return field.name === "set_response_headers"
        ? mapValues(value, (_, text) => literal(text as string).template)
        : value;
    default:
      return value;
  }
}

/** A block under a name. For a block that contains only a secret, constructs accept the secret. */
function labelledFrom(field: Field, item: object, subject: string): Document {
  const [only] = field.fields ?? [];
  if (item instanceof Secret && only?.kind === "secret") return { [only.name + item.suffix]: item.value };
  return documentFrom(field.fields ?? [], item, subject);
}

function blockFields(field: Field): readonly Field[] {
  return field.fields ?? [];
}

/** In values of response headers "$$" also means "$", and constructs take literal text. */
function literalResponseValue(field: Field, item: object): object {
  if (field.name !== "rewrite_response_headers" || !("value" in item) || typeof item.value !== "string") return item;
  return { ...item, value: literal(item.value).template };
}

function mapValues(map: unknown, change: (name: string, value: unknown) => unknown): Document {
  return Object.fromEntries(Object.entries(map as object).map(([name, value]) => [name, change(name, value)]));
}

/** The resource has no plain secret among the flat settings of a route, see runtime/terraform/schema/field-schema.ts. */
function plainSecret(prop: string, subject: string): Error {
  return new Error(
    `Cannot make ${subject}: "${prop}" is given in plain text, must be Secret.fromFile(…), Secret.fromEnvironment(…), Secret.fromVault(…) or Secret.sealed(…)`,
  );
}

function unknownProp(prop: string, known: Iterable<string>, subject: string): Error {
  const near = nearest(prop, known);
  const suggestion = near === undefined ? "" : `, did you mean "${near}"?`;
  return new Error(`Cannot make ${subject}: "${prop}" is not a known setting${suggestion}`);
}
