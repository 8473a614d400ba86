/**
 * The closed vocabulary of settings: only this folder calls zod.
 *
 * Each setting type (scalar.ts, list.ts, map.ts, block.ts, secret.ts, policy.ts) returns a zod schema whose Field (name
 * apart) is registered here. `fieldsOf` turns a shape of such schemas into the Field tree and throws for a schema
 * without a Field. None uses default, transform or preprocess: parsing preserves the document, canonical.ts replaces
 * shorthands, and `withDefaults` fills defaults at compilation.
 *
 * Issue messages are the predicate of `"<setting>" …`: actual state, then expectation. They never quote a secret.
 */
import * as z from "zod/mini";

import type { Default, Field, FieldKind, FieldGroup } from "../field.ts";
import { maySuggest, nearest } from "../../shared/suggest.ts";
import { isRecord } from "../../shared/is-record.ts";

/** Description of a setting. */
export interface About {
  readonly doc: string;
  readonly required?: true;
  /** Value that applies if the setting is omitted; filled in only by `withDefaults`. */
  readonly default?: Default;
  /** Without a default: "none", the text after "Default:", or "required …" with the condition. */
  readonly unset?: string;
  readonly annotation?: string;
  readonly replaces?: true;
}

export type SchemaShape = Readonly<Record<string, z.ZodMiniType>>;
export type Made<S extends z.ZodMiniType, A extends About> = (A extends { readonly required: true }
  ? S
  : z.ZodMiniExactOptional<S>) &
  (A extends { readonly default: Default } ? HasDefault : unknown);

/** For the type checker only: the setting has a default. */
export interface HasDefault {
  readonly [HAS_DEFAULT]: true;
}
export declare const HAS_DEFAULT: unique symbol;

/** For the type checker only: the setting is a block of these. */
export interface HasMembers<S extends SchemaShape> {
  readonly [MEMBERS]: S;
}
export declare const MEMBERS: unique symbol;

/** Settings with their defaults. */
export type WithDefaults<S extends SchemaShape> = {
  readonly [K in keyof S]: S[K] extends HasDefault
    ? Exclude<z.infer<S[K]>, undefined>
    : S[K] extends HasMembers<infer M>
      ? WithDefaults<M> | undefined
      : z.infer<S[K]>;
};

export type RegistryEntry = Omit<Field, "name" | "scope" | "fields"> & {
  readonly members?: SchemaShape;
  readonly partOf?: string;
};

/** Description of each schema. zod's own metadata is lost whenever a schema is wrapped. */
export const registry = new WeakMap<z.ZodMiniType, RegistryEntry>();

/** The Field tree of a shape. @throws TypeError for a schema that no setting type made */
export function fieldsOf(shape: SchemaShape, scope: Field["scope"]): readonly Field[] {
  const fields: Field[] = [];
  for (const [name, schema] of Object.entries(shape)) {
    const entry = registry.get(schema);
    if (!entry) throw new TypeError(`Cannot describe setting "${name}": its schema has no Field, make it with a kind`);
    const { members, partOf, ...about } = entry;
    if (partOf !== undefined) continue;
    fields.push({ name, scope, ...about, ...(members ? { fields: fieldsOf(members, scope) } : {}) });
  }
  return fields;
}

/**
 * Settings with defaults for omitted ones, also within present blocks.
 *
 * @param written a document with at least the members of the shape; other members are dropped
 */
export function withDefaults<S extends SchemaShape>(shape: S, written: Partial<ShapeDoc<S>>): WithDefaults<S> {
  const filled: Record<string, unknown> = {};
  for (const [name, { schema }] of membersOf(shape).members) {
    const value: unknown = written[name as keyof typeof written];
    const { default: fallback, kind, members } = registry.get(schema) ?? {};
    filled[name] =
      value === undefined ? fallback : kind === "block" && members ? withDefaults(members, value as object) : value;
  }
  return filled as WithDefaults<S>;
}

/** One setting's value, or its default. */
export function withDefault<S extends SchemaShape, N extends keyof S & string>(
  shape: S,
  name: N,
  written: Partial<ShapeDoc<S>>,
): WithDefaults<S>[N] {
  const value: unknown = written[name as keyof typeof written];
  const schema = shape[name] as z.ZodMiniType;
  return (value === undefined ? registry.get(schema)?.default : value) as WithDefaults<S>[N];
}

/** The same settings, in an optional block of Terraform. @throws TypeError for a required setting */
export function grouped<S extends SchemaShape>(group: FieldGroup, shape: S): S {
  for (const [name, schema] of Object.entries(shape)) {
    const entry = registry.get(schema);
    if (!entry || entry.required)
      throw new TypeError(
        `Cannot put setting "${name}" into the block "${group.name}": it must be an optional setting`,
      );
    registry.set(schema, { ...entry, group });
  }
  return shape;
}

/** A value as a schema accepts it. */
export type DocOf<S extends z.ZodMiniType> = z.infer<S>;

/** A document with the settings of a shape. */
export type ShapeDoc<S extends SchemaShape> = z.infer<z.ZodMiniObject<Writeable<S>, z.core.$strict>>;

/** Schema for values of one type, see validate.ts. */
export type Schema<T> = z.ZodMiniType<T>;

/** Problem of an unknown member, with the nearest known name. */
export function unknownMember(name: string, known: Iterable<string>): string {
  const near = maySuggest() ? nearest(name, known) : undefined;
  return near === undefined ? "is not a known setting" : `is not a known setting, did you mean "${near}"?`;
}

/**
 * The schema's result for a valid document; undefined if it is invalid or may be, which only the schema can decide. The
 * schema checks each of a hundred settings, of which a route has ten; this checks only those present.
 *
 * @param recall for documents of this schema only
 */
export function validDocument<T extends object>(
  schema: Schema<T>,
  value: unknown,
  recall: MemberMemory = (_name, _written, read) => read(),
): T | undefined {
  if (!(schema instanceof z.ZodMiniObject) || !isRecord(value)) return undefined;
  // Only the schema knows checks of the whole document.
  if ((schema.def.checks?.length ?? 0) > 0) return undefined;
  const { members, required } = membersOf(schema.shape as SchemaShape);
  const written: Member[] = [];
  for (const name of Object.keys(value)) {
    const member = members.get(name);
    if (member === undefined) return undefined;
    written.push(member);
  }
  for (const name of required) if (!Object.hasOwn(value, name)) return undefined;
  const valid: Record<string, unknown> = {};
  // In the order of the schema, as in its own result.
  for (const { name, schema: own } of written.sort((a, b) => a.index - b.index)) {
    const member = value[name];
    const read =
      typeof member === "object" && member
        ? recall(name, member, () => own.safeParse(member).data)
        : own.safeParse(member).data;
    if (read === undefined) return undefined;
    valid[name] = read;
  }
  return valid as T;
}

/** Cache of parsed members. `read` is called for unknown values, and returns undefined for invalid ones. */
export type MemberMemory = (name: string, written: object, read: () => unknown) => unknown;

interface Member {
  readonly name: string;
  readonly schema: z.ZodMiniType;
  /** Position among the members of its shape. */
  readonly index: number;
}

interface Members {
  readonly members: ReadonlyMap<string, Member>;
  readonly required: readonly string[];
}

const shapeMembers = new WeakMap<SchemaShape, Members>();

function membersOf(shape: SchemaShape): Members {
  let known = shapeMembers.get(shape);
  if (!known) {
    const entries = Object.entries(shape);
    const members = new Map(entries.map(([name, schema], index) => [name, { name, schema, index }]));
    const required = entries.flatMap(([name, schema]) => (schema instanceof z.ZodMiniExactOptional ? [] : [name]));
    shapeMembers.set(shape, (known = { members, required }));
  }
  return known;
}

// Helpers: small zod schemas with our messages.

export type Writeable<S> = { -readonly [K in keyof S]: S[K] };

export function made<S extends z.ZodMiniType, const A extends About>(
  schema: S,
  kind: FieldKind,
  about: A,
  more: Pick<RegistryEntry, "values" | "itemValues" | "members" | "readsFile"> = {},
): Made<S, A> {
  const whole = about.required === true ? schema : z.exactOptional(schema);
  registry.set(whole, { kind, doc: about.doc, required: about.required ?? false, ...rest(about), ...more });
  return whole as Made<S, A>;
}

export function rest(about: About): Pick<RegistryEntry, "default" | "unset" | "annotation" | "replaces"> {
  return {
    ...(about.default === undefined ? {} : { default: about.default }),
    ...(about.unset === undefined ? {} : { unset: about.unset }),
    ...(about.annotation === undefined ? {} : { annotation: about.annotation }),
    ...(about.replaces === undefined ? {} : { replaces: about.replaces }),
  };
}

/** `continue` keeps validation going, so that every problem is reported. */
export function found(input: unknown, message: string, path: (string | number)[] = []): z.core.$ZodRawIssue {
  return { code: "custom", input, path, message, continue: true };
}
