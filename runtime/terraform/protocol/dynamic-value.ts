/**
 * Known values of any type, part by part: checks whether the parts of two values are at the same paths, and converts a new
 * value to the form of an older one.
 */
import { Dynamic, isList, isMap, type Value, type ValueType } from "./value.ts";

/**
 * True when the paths to parts of one value lead to the same parts of the other, as far as that has them: Terraform stores by
 * path which values are sensitive, and a step into a map differs from one into an object. Items of a set have no path.
 */
export function hasPathsOf(value: Dynamic, other: Dynamic): boolean {
  const [one, two] = [value.value, other.value];
  if (one === null || two === null || other.type[0] === "set") return true;
  if (isMap(one) && isMap(two)) {
    const common = Object.keys(two).filter((name) => Object.hasOwn(one, name));
    return value.type[0] === other.type[0] && common.every((name) => hasPathsOf(part(value, name), part(other, name)));
  }
  if (isList(one) && isList(two)) {
    const common = two.slice(0, one.length);
    return value.type[0] !== "set" && common.every((_, index) => hasPathsOf(part(value, index), part(other, index)));
  }
  return isMap(one) === isMap(two) && isList(one) === isList(two);
}

/**
 * A value in the form of an older one, so that a plan shows only changes: maps and lists stay as long as the value fits their
 * type, and so do members that are null and still absent.
 */
export function inFormOf(before: Dynamic, value: Dynamic): Dynamic {
  const [old, now] = [before.value, value.value];
  const kept = (at: string | number): Dynamic => inFormOf(part(before, at), part(value, at));
  if (isMap(old) && isMap(now)) {
    const members = new Map<string, Dynamic>();
    for (const name of Object.keys({ ...old, ...now }).sort()) {
      if (!Object.hasOwn(old, name)) members.set(name, part(value, name));
      else if (Object.hasOwn(now, name)) members.set(name, kept(name));
      else if (old[name] === null) members.set(name, part(before, name));
    }
    return inTypeOf(before, objectOf(members));
  }
  if (isList(old) && isList(now)) {
    return inTypeOf(before, tupleOf(now.map((_, index) => (index < old.length ? kept(index) : part(value, index)))));
  }
  return inTypeOf(before, value);
}

export function objectOf(members: ReadonlyMap<string, Dynamic>): Dynamic {
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Dynamic(
    ["object", Object.fromEntries(sorted.map(([name, { type }]) => [name, type]))],
    Object.fromEntries(sorted.map(([name, { value }]) => [name, value])),
  );
}

export function tupleOf(items: readonly Dynamic[]): Dynamic {
  return new Dynamic(
    ["tuple", items.map(({ type }) => type)],
    items.map(({ value }) => value),
  );
}

/** The value as one of the other's type if that is a map, list or scalar that it fits, else unchanged. */
function inTypeOf(before: Dynamic, value: Dynamic): Dynamic {
  if (before.type[0] === "object" || before.type[0] === "tuple") return value;
  const cast = castTo(before.type, value.value);
  return cast === undefined ? value : new Dynamic(before.type, cast);
}

/** Undefined when the value does not fit, or when a part of it would be lost. */
function castTo(type: ValueType, value: Value): Value | undefined {
  if (value === null) return null;
  if (type === "string") return isScalar(value) ? String(value) : undefined;
  if (typeof type === "string") return typeof value === SCALARS[type] ? value : undefined;
  const [kind, inner] = type;
  if (kind === "object") {
    const names = Object.keys(inner);
    if (!isMap(value) || Object.keys(value).some((name) => !Object.hasOwn(inner, name))) return undefined;
    return castAll(names.map((name) => [name, castTo(inner[name] as ValueType, value[name] ?? null)]));
  }
  if (kind === "map") {
    return isMap(value)
      ? castAll(Object.entries(value).map(([name, member]) => [name, castTo(inner, member)]))
      : undefined;
  }
  if (!isList(value) || (kind === "tuple" && value.length !== inner.length)) return undefined;
  const items = value.map((item, index) => castTo(kind === "tuple" ? (inner[index] as ValueType) : inner, item));
  return items.every((item) => item !== undefined) ? items : undefined;
}

const SCALARS: Readonly<Record<string, string>> = { bool: "boolean", number: "number" };

function castAll(members: readonly (readonly [string, Value | undefined])[]): Value | undefined {
  if (members.some(([, value]) => value === undefined)) return undefined;
  return Object.fromEntries(members) as Value;
}

function isScalar(value: Value): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** A member or item with its type; null when it is absent. */
export function part({ type, value }: Dynamic, at: string | number): Dynamic {
  const parts = isMap(value) || isList(value) ? (value as Readonly<Record<string | number, Value>>) : {};
  return new Dynamic(typeOfPart(type, at), Object.hasOwn(parts, at) ? (parts[at] ?? null) : null);
}

function typeOfPart(type: ValueType, at: string | number): ValueType {
  if (typeof type === "string") return "dynamic";
  const [kind, inner] = type;
  if (kind !== "tuple" && kind !== "object") return inner;
  return Object.hasOwn(inner, at)
    ? ((inner as Readonly<Record<string | number, ValueType>>)[at] ?? "dynamic")
    : "dynamic";
}
