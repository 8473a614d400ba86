/**
 * The closed vocabulary of settings: this folder alone calls zod.
 *
 * Each setting type (scalar.ts, list.ts, map.ts, block.ts, secret.ts, policy.ts) returns a zod schema whose Field (name
 * apart) is registered here; `fieldsOf` turns a shape of such schemas into the Field tree and throws for one that has no
 * Field. None uses default, transform or preprocess: parsing keeps what was written, canonical.ts folds shorthands, and
 * `withDefaults` fills defaults when a configuration is compiled.
 *
 * Issue messages are the predicate of `"<setting>" …`: state, then what is expected. They never quote a secret.
 */
import * as z from "zod";

import type { Default, Field, Kind, FieldGroup } from "../field.ts";
import { maySuggest, nearest } from "../../shared/suggest.ts";
import { isRecord } from "../../shared/is-record.ts";

/** What every setting tells about itself. */
export interface About {
  readonly doc: string;
  readonly required?: true;
  /** What a gateway takes when the setting is left out; filled in by `withDefaults` and nowhere else. */
  readonly default?: Default;
  /** Without a default: "none", the words after "Default:", or "required …" with the condition. */
  readonly unset?: string;
  readonly annotation?: string;
  readonly replaces?: true;
}

export type SchemaShape = Readonly<Record<string, z.ZodType>>;
export type Made<S extends z.ZodType, A extends About> = (A extends { readonly required: true }
  ? S
  : z.ZodExactOptional<S>) &
  (A extends { readonly default: Default } ? HasDefault : unknown);

/** Only for the compiler: the setting has a default. */
export interface HasDefault {
  readonly [HAS_DEFAULT]: true;
}
export declare const HAS_DEFAULT: unique symbol;

/** Only for the compiler: the setting is a block of these. */
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

/** What each schema says about its setting. zod's own metadata is lost whenever a schema is wrapped. */
export const registry = new WeakMap<z.ZodType, RegistryEntry>();

/** The Field tree of a shape. @throws TypeError for a schema that no kind made */
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
 * Settings as written, each that was left out and has a default with it; those of blocks that were written, too.
 *
 * @param written a document that has at least the members of the shape; others are left behind
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

/** One setting as written, or its default. */
export function withDefault<S extends SchemaShape, N extends keyof S & string>(
  shape: S,
  name: N,
  written: Partial<ShapeDoc<S>>,
): WithDefaults<S>[N] {
  const value: unknown = written[name as keyof typeof written];
  const schema = shape[name] as z.ZodType;
  return (value === undefined ? registry.get(schema)?.default : value) as WithDefaults<S>[N];
}

/** The same settings, which Terraform has in an optional block. @throws TypeError for one that a route must have */
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
export type DocOf<S extends z.ZodType> = z.infer<S>;

/** What may be written with the settings of a shape. */
export type ShapeDoc<S extends SchemaShape> = z.infer<z.ZodObject<Writeable<S>, z.core.$strict>>;

/** Validates values of one type, see validate.ts. */
export type Schema<T> = z.ZodType<T>;

/** Unknown member → its problem text, with the nearest known name. */
export function unknownMember(name: string, known: Iterable<string>): string {
  const near = maySuggest() ? nearest(name, known) : undefined;
  return near === undefined ? "is not a known setting" : `is not a known setting, did you mean "${near}"?`;
}

/**
 * What a schema of a document makes of one that is sound; undefined when it is not, or may not be, which the schema itself
 * is to say. Its own way is to ask for each of a hundred settings, of which a route has ten; this asks for those that are there.
 *
 * @param recall of documents of this schema alone
 */
export function soundDocument<T extends object>(
  schema: Schema<T>,
  value: unknown,
  recall: MemberMemory = (_name, _written, read) => read(),
): T | undefined {
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return undefined;
  // What is asked of the whole only the schema knows.
  if ((schema.def.checks?.length ?? 0) > 0) return undefined;
  const { members, required } = membersOf(schema.shape);
  const written: Member[] = [];
  for (const name of Object.keys(value)) {
    const member = members.get(name);
    if (member === undefined) return undefined;
    written.push(member);
  }
  for (const name of required) if (!Object.hasOwn(value, name)) return undefined;
  const sound: Record<string, unknown> = {};
  // In the order of the schema, as it would give them.
  for (const { name, schema: own } of written.sort((a, b) => a.place - b.place)) {
    const member = value[name];
    const read =
      typeof member === "object" && member
        ? recall(name, member, () => own.safeParse(member).data)
        : own.safeParse(member).data;
    if (read === undefined) return undefined;
    sound[name] = read;
  }
  return sound as T;
}

/** What members were read as before. `read` is asked for what is not known, and gives undefined for what is not sound. */
export type MemberMemory = (name: string, written: object, read: () => unknown) => unknown;

interface Member {
  readonly name: string;
  readonly schema: z.ZodType;
  /** Among all of its shape. */
  readonly place: number;
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
    const members = new Map(entries.map(([name, schema], place) => [name, { name, schema, place }]));
    const required = entries.flatMap(([name, schema]) => (schema instanceof z.ZodExactOptional ? [] : [name]));
    shapeMembers.set(shape, (known = { members, required }));
  }
  return known;
}

// Helpers below: small zod schemas with our messages.

export type Writeable<S> = { -readonly [K in keyof S]: S[K] };

export function made<S extends z.ZodType, const A extends About>(
  schema: S,
  kind: Kind,
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

/** `continue` keeps the validating going: every problem is reported at once. */
export function found(input: unknown, message: string, path: (string | number)[] = []): z.core.$ZodRawIssue {
  return { code: "custom", input, path, message, continue: true };
}
