/**
 * The closed vocabulary of settings: the only file that calls zod constructors.
 *
 * Each kind returns a zod schema whose Field (name apart) is registered here; `fieldsOf` turns a shape of such schemas
 * into the Field tree and throws for one that has no Field. No kind uses default, transform or preprocess: parsing keeps
 * what was written, canonical.ts folds shorthands, compile.ts fills defaults.
 *
 * Issue messages are the predicate of `"<setting>" …`: state, then wish. They never quote a secret.
 */
import * as z from "zod";

import { judgePolicy } from "../../policy/validate-rules.ts";
import { parsePolicy, type PolicyDoc } from "../../policy/parse.ts";
import {
  type Check,
  checkReference,
  checkSealed,
  quotedWish,
  readable,
  wishOf,
  wrongType,
  wrongValue,
} from "./checks.ts";
import { parseDomainPattern } from "../domains.ts";
import type { Default, Field, Kind } from "../field.ts";
import type { FieldGroup } from "../groups.ts";
import { headerValueWish } from "../../shared/http/header-syntax.ts";
import { nearest } from "../nearest.ts";
import { quote } from "../problem.ts";
import { parseDuration, type Reading } from "../values.ts";

/** What every setting tells about itself. */
export interface About {
  readonly doc: string;
  readonly required?: true;
  /** What a gateway takes when the setting is left out; filled in by `withDefaults` and nowhere else. */
  readonly default?: Default;
  /** What is the case without it, where there is no value to name. */
  readonly unset?: string;
  readonly annotation?: string;
  readonly replaces?: true;
}

type Shape = Readonly<Record<string, z.ZodType>>;
type Made<S extends z.ZodType, A extends About> = (A extends { readonly required: true } ? S : z.ZodExactOptional<S>) &
  (A extends { readonly default: Default } ? HasDefault : unknown);

/** Only for the compiler: the setting has a default. */
interface HasDefault {
  readonly [HAS_DEFAULT]: true;
}
declare const HAS_DEFAULT: unique symbol;

/** Only for the compiler: the setting is a block of these. */
interface HasMembers<S extends Shape> {
  readonly [MEMBERS]: S;
}
declare const MEMBERS: unique symbol;

/** Settings with their defaults. */
export type WithDefaults<S extends Shape> = {
  readonly [K in keyof S]: S[K] extends HasDefault
    ? Exclude<z.infer<S[K]>, undefined>
    : S[K] extends HasMembers<infer M>
      ? WithDefaults<M> | undefined
      : z.infer<S[K]>;
};
type Entry = Omit<Field, "name" | "scope" | "fields"> & { readonly members?: Shape; readonly partOf?: string };

/** What each schema says about its setting. zod's own metadata is lost whenever a schema is wrapped. */
const registry = new WeakMap<z.ZodType, Entry>();

/** The Field tree of a shape. @throws TypeError for a schema that no kind made */
export function fieldsOf(shape: Shape, scope: Field["scope"]): readonly Field[] {
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
export function withDefaults<S extends Shape>(shape: S, written: Partial<ShapeDoc<S>>): WithDefaults<S> {
  const filled: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const value: unknown = written[name as keyof typeof written];
    const { default: fallback, kind, members } = registry.get(schema) ?? {};
    filled[name] =
      value === undefined ? fallback : kind === "block" && members ? withDefaults(members, value as object) : value;
  }
  return filled as WithDefaults<S>;
}

/** The same settings, which Terraform has in an optional block. @throws TypeError for one that a route must have */
export function grouped<S extends Shape>(group: FieldGroup, shape: S): S {
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

export function text<const A extends About & { readonly default?: string; readonly check?: Check }>(about: A): Made<z.ZodString, A> {
  return made(checked(str(), about.check), "text", about);
}

export function flag<const A extends About & { readonly default?: boolean }>(about: A): Made<z.ZodBoolean, A> {
  return made(z.boolean({ error: (issue) => wrongValue(issue.input, "true or false") }), "flag", about);
}

/** A whole number within bounds. */
export function count<const A extends About & { readonly default?: number; readonly min: number; readonly max: number }>(
  about: A,
): Made<z.ZodNumber, A> {
  const wish = `a whole number from ${about.min} to ${about.max}`;
  const schema = z.number({ error: (issue) => wrongValue(issue.input, wish) }).check(({ value, issues }) => {
    if (!Number.isInteger(value) || value < about.min || value > about.max) {
      issues.push(found(value, `is ${quote(value)}, must be ${wish}`));
    }
  });
  return made(schema, "count", about);
}

export function duration<const A extends About & { readonly default?: string; readonly minMs?: number }>(about: A): Made<z.ZodString, A> {
  const check: Check = (value) => {
    const parsed = parseDuration(value);
    if (!parsed.ok) return `is ${quote(value)}, ${parsed.wish}`;
    return parsed.value < (about.minMs ?? 0)
      ? `is ${quote(value)}, must be at least ${(about.minMs ?? 0) / 1000}s`
      : undefined;
  };
  return made(checked(str('a duration such as "30s"'), check), "duration", about);
}

export function url<const A extends About & { readonly read: (value: string) => Reading<unknown> }>(
  about: A,
): Made<z.ZodString, A> {
  return made(checked(str("a URL"), readable(about.read)), "url", about);
}

/** One URL, or a list of at least one. */
export function urlList<const A extends About & { readonly read: (value: string) => Reading<unknown> }>(
  about: A,
): Made<z.ZodUnion<readonly [z.ZodString, z.ZodArray<z.ZodString>]>, A> {
  return made(oneOrMany(readable(about.read), "a URL or a list of URLs"), "url-list", about);
}

export function choice<
  const V extends readonly [string, ...string[]],
  const A extends About & { readonly default?: V[number] },
>(
  values: V,
  about: A,
): Made<z.ZodEnum<{ [K in V[number]]: K }>, A> {
  const wish = values.map((value) => quote(value)).join(values.length === 2 ? " or " : ", ");
  const schema = z.enum(values, {
    error: ({ input }) => {
      const meant = values.find((value) => typeof input === "string" && value === input.toLowerCase());
      if (meant !== undefined) return `is ${quote(input)}, did you mean ${quote(meant)}?`;
      return wrongValue(input, `${values.length === 2 ? "" : "one of "}${wish}`);
    },
  });
  return made(schema, "choice", about, { values });
}

export function domainPatternList<const A extends About>(about: A): Made<z.ZodArray<z.ZodString>, A> {
  const check: Check = (value) =>
    quotedWish(
      value,
      wishOf(() => parseDomainPattern(value)),
    );
  return made(
    listOf(checked(str("a domain pattern"), check), "a list of domain patterns"),
    "domain-pattern-list",
    about,
  );
}

export function textList<const A extends About & { readonly default?: readonly string[]; readonly check?: Check; readonly itemValues?: readonly string[] }>(
  about: A,
): Made<z.ZodArray<z.ZodString>, A> {
  const { itemValues } = about;
  return made(listOf(checked(str(), about.check), "a list of texts"), "text-list", about, itemValues && { itemValues });
}

type Entries = z.ZodRecord<z.ZodString, z.ZodString>;

/** Names to texts. `checkName` and `checkValue` tell wishes; values are not quoted unless their own wish does. */
export function textMap<const A extends About & { readonly checkName?: Check; readonly checkValue?: Check }>(
  about: A,
): Made<Entries, A> {
  return made(mapOf(about.checkName, about.checkValue), "text-map", about);
}

/** Names to lists of texts. */
export function textListMap<const A extends About>(
  about: A,
): Made<z.ZodRecord<z.ZodString, z.ZodArray<z.ZodString>>, A> {
  const schema = z.record(z.string(), listOf(str(), "a list of texts"), {
    error: (issue) => wrongType(issue.input, "a block of names and lists of texts"),
  });
  return made(schema.check(names(undefined)), "text-list-map", about);
}

/** Header names to templates, each of which `parse` must take. */
export function templateMap<
  const A extends About & { readonly checkName: Check; readonly parse: (value: string) => unknown },
>(about: A): Made<Entries, A> {
  const checkValue: Check = (value) => headerValueWish(value) ?? wishOf(() => about.parse(value));
  return made(mapOf(about.checkName, checkValue), "template-map", about);
}

type SecretText<Many> = Many extends true ? z.ZodUnion<readonly [z.ZodString, z.ZodArray<z.ZodString>]> : z.ZodString;

/**
 * A secret in its three spellings, of which at most one may be written (secrets.ts judges that).
 * Spread into a shape: `{ ...secret("client_secret", { … }) }`.
 */
export function secret<const N extends string, const A extends About & { readonly many?: true }>(
  name: N,
  about: A,
): {
  [K in N | `${N}_ref` | `${N}_sealed`]: z.ZodExactOptional<SecretText<A extends { many: true } ? true : false>>;
} {
  const one = about.many === true ? oneOrMany : (check: Check): z.ZodString => checked(str(), check);
  const notEmpty: Check = (value) => (value === "" ? "is empty, must be a secret" : undefined);
  const many = about.many === true ? { many: true } : {};
  const entry: Entry = { kind: "secret", doc: about.doc, required: about.required ?? false, ...rest(about), ...many };
  const whole = one(notEmpty, "text or a list of texts").exactOptional();
  const reference = one(checkReference, "a reference or a list of references").exactOptional();
  const sealed = one(checkSealed, "a sealed text or a list of them").exactOptional();
  registry.set(whole, entry);
  registry.set(reference, { ...entry, partOf: name });
  registry.set(sealed, { ...entry, partOf: name });
  return { [name]: whole, [`${name}_ref`]: reference, [`${name}_sealed`]: sealed } as never;
}

/** Settings below one name. Unknown members are errors. */
export function block<S extends Shape, const A extends About>(
  shape: S,
  about: A,
): Made<z.ZodObject<Writeable<S>, z.core.$strict>, A> & HasMembers<S> {
  return made(strict(shape), "block", about, { members: shape }) as Made<z.ZodObject<Writeable<S>, z.core.$strict>, A> &
    HasMembers<S>;
}

export function blockList<S extends Shape, const A extends About>(
  shape: S,
  about: A,
): Made<z.ZodArray<z.ZodObject<Writeable<S>, z.core.$strict>>, A> {
  return made(listOf(strict(shape), "a list of blocks"), "block-list", about, { members: shape });
}

/** Named blocks: `owners: { team-a: { … } }`. */
export function labelled<S extends Shape, const A extends About & { readonly checkName?: Check }>(
  shape: S,
  about: A,
): Made<z.ZodRecord<z.ZodString, z.ZodObject<Writeable<S>, z.core.$strict>>, A> {
  const schema = z.record(z.string(), strict(shape), {
    error: (issue) => wrongType(issue.input, "a block of named blocks"),
  });
  return made(schema.check(names(about.checkName)), "labelled", about, { members: shape });
}

/** A route's policy; its language is policy/parse.ts. */
export function policy(about: About): z.ZodExactOptional<z.ZodType<PolicyDoc>> {
  const schema = z.unknown().check(({ value, issues }) => {
    const parsed = parsePolicy(value);
    // What cannot be read is not judged.
    for (const problem of parsed.ok ? judgePolicy(parsed.policy) : parsed.problems) {
      issues.push(found(value, problem.message, policyPath(problem.path)));
    }
  });
  // The check accepts exactly what parsePolicy does; zod cannot know the type, parsePolicy does.
  return made<z.ZodType<PolicyDoc>, { doc: string }>(schema as unknown as z.ZodType<PolicyDoc>, "policy", about);
}

/** A value as a schema accepts it. */
export type DocOf<S extends z.ZodType> = z.infer<S>;

/** What may be written with the settings of a shape. */
export type ShapeDoc<S extends Shape> = z.infer<z.ZodObject<Writeable<S>, z.core.$strict>>;

/** Judges values of one type, see judge.ts. */
export type Schema<T> = z.ZodType<T>;

/** The schema of a whole document part (all settings, one route): a block that is no setting itself. */
export function document<S extends Shape>(shape: S): z.ZodObject<Writeable<S>, z.core.$strict> {
  return strict(shape);
}

/** Unknown member → its problem text, with the nearest known name. */
export function unknownMember(name: string, known: Iterable<string>): string {
  const near = nearest(name, known);
  return near === undefined ? "is not a known setting" : `is not a known setting, did you mean "${near}"?`;
}

// Helpers below: small zod schemas with our messages.

type Writeable<S> = { -readonly [K in keyof S]: S[K] };

function made<S extends z.ZodType, const A extends About>(
  schema: S,
  kind: Kind,
  about: A,
  more: Pick<Entry, "values" | "itemValues" | "members"> = {},
): Made<S, A> {
  const whole = about.required === true ? schema : z.exactOptional(schema);
  registry.set(whole, { kind, doc: about.doc, required: about.required ?? false, ...rest(about), ...more });
  return whole as Made<S, A>;
}

function rest(about: About): Pick<Entry, "default" | "unset" | "annotation" | "replaces"> {
  return {
    ...(about.default === undefined ? {} : { default: about.default }),
    ...(about.unset === undefined ? {} : { unset: about.unset }),
    ...(about.annotation === undefined ? {} : { annotation: about.annotation }),
    ...(about.replaces === undefined ? {} : { replaces: about.replaces }),
  };
}

/** `continue` keeps the judging going: every problem is reported at once. */
function found(input: unknown, message: string, path: (string | number)[] = []): z.core.$ZodRawIssue {
  return { code: "custom", input, path, message, continue: true };
}

function str(wish = "text"): z.ZodString {
  return z.string({ error: (issue) => wrongType(issue.input, wish) });
}

function checked(schema: z.ZodString, check: Check | undefined): z.ZodString {
  if (!check) return schema;
  return schema.check(({ value, issues }) => {
    const message = check(value);
    if (message !== undefined) issues.push(found(value, message));
  });
}

function listOf<T extends z.ZodType>(item: T, wish: string): z.ZodArray<T> {
  return z.array(item, { error: (issue) => wrongType(issue.input, wish) });
}

/** One text or a non-empty list of texts. Judged in one check: a zod union would hide which branch was meant. */
function oneOrMany(check: Check, wish: string): z.ZodUnion<readonly [z.ZodString, z.ZodArray<z.ZodString>]> {
  const schema = z.unknown().check(({ value, issues }) => {
    const push = (message: string, path: number[] = []): void => {
      issues.push(found(value, message, path));
    };
    if (typeof value !== "string" && !Array.isArray(value)) return push(wrongType(value, wish));
    if (value.length === 0 && Array.isArray(value)) return push(`is an empty list, must be ${wish}`);
    const items: readonly unknown[] = typeof value === "string" ? [value] : value;
    for (const [index, item] of items.entries()) {
      const message = typeof item === "string" ? check(item) : wrongType(item, "text");
      if (message !== undefined) push(message, typeof value === "string" ? [] : [index]);
    }
    return undefined;
  });
  return schema as unknown as z.ZodUnion<readonly [z.ZodString, z.ZodArray<z.ZodString>]>;
}

/** Judged in one check, because zod stops before the names once a value has the wrong type. */
function mapOf(checkName: Check | undefined, checkValue: Check | undefined): Entries {
  const judgeNames = names(checkName);
  const schema = z.record(z.string(), z.unknown(), {
    error: (issue) => wrongType(issue.input, "a block of names and texts"),
  });
  const judged = schema.check(judgeNames, ({ value, issues }) => {
    for (const [name, each] of Object.entries(value)) {
      const message = typeof each === "string" ? checkValue?.(each) : wrongType(each, "text");
      if (message !== undefined) issues.push(found(each, message, [name]));
    }
  });
  return judged as unknown as Entries;
}

/** Judges the keys of a record; zod's own key schema would stop the values from being judged. */
function names(
  checkName: Check | undefined,
): (payload: z.core.ParsePayload<Readonly<Record<string, unknown>>>) => void {
  return ({ value, issues }) => {
    for (const name of Object.keys(value)) {
      const message = name === "" ? "has an empty name" : checkName?.(name);
      if (message !== undefined) issues.push(found(name, message, [name]));
    }
  };
}

function strict<S extends Shape>(shape: S): z.ZodObject<Writeable<S>, z.core.$strict> {
  const error = (issue: { readonly code?: string; readonly input?: unknown }): string =>
    issue.code === "unrecognized_keys" ? "has unknown settings" : wrongType(issue.input, "a block of settings");
  return z.strictObject(shape, { error });
}

/** "[0].allow.and[1]" (or a path already in parts) → parts. */
function policyPath(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)].map(([, index, quoted, name]) =>
    index === undefined ? (quoted ?? name ?? "") : Number(index),
  );
}
