/** Terraform's values (cty): the form of types, the representation of values here, and comparison. */
import { decode } from "@msgpack/msgpack";

export type ValueType =
  | "string"
  | "number"
  | "bool"
  | "dynamic"
  | readonly ["list" | "set" | "map", ValueType]
  | readonly ["tuple", readonly ValueType[]]
  | readonly ["object", Readonly<Record<string, ValueType>>];

/** A value that Terraform does not know yet. */
export class Unknown {
  /** MessagePack of the refinement (extension type 12), passed on unchanged. */
  readonly refinement: Uint8Array | undefined;

  constructor(refinement?: Uint8Array) {
    this.refinement = refinement;
  }

  /** True when Terraform promises that the value will not be null. */
  get notNull(): boolean {
    if (!this.refinement) return false;
    const refined = decode(this.refinement, { mapKeyConverter: (key) => String(key) }) as Record<string, unknown>;
    return refined[REFINEMENT_NULLNESS] === false;
  }
}

/** Numbers: integers as number or bigint, anything else as decimal text, because Terraform's numbers are not binary. */
export type Value = null | string | number | bigint | boolean | Unknown | Dynamic | readonly Value[] | ValueMap;
export interface ValueMap {
  readonly [key: string]: Value;
}

/** A value of type `dynamic` together with its actual type. */
export class Dynamic {
  readonly type: ValueType;
  readonly value: Value;

  constructor(type: ValueType, value: Value) {
    this.type = type;
    this.value = value;
  }
}

export const UNKNOWN = new Unknown();

/** The MessagePack key under which a refinement says whether the value can be null. */
const REFINEMENT_NULLNESS = "1";

export function isUnknown(value: Value | undefined): value is Unknown {
  return value instanceof Unknown;
}

/** True when no part of the value is unknown. */
export function isWhollyKnown(value: Value): boolean {
  if (value instanceof Unknown) return false;
  if (value instanceof Dynamic) return isWhollyKnown(value.value);
  if (Array.isArray(value)) return value.every(isWhollyKnown);
  if (isMap(value)) return Object.values(value).every(isWhollyKnown);
  return true;
}

export function isMap(value: Value | undefined): value is ValueMap {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Unknown) &&
    !(value instanceof Dynamic)
  );
}

export function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value);
}

/** Deep equality of two values of one type. Unknown values are equal if their refinements are. */
export function equalValues(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (left instanceof Unknown) return right instanceof Unknown && samePromise(left, right);
  if (left instanceof Dynamic) {
    return right instanceof Dynamic && equalTypes(left.type, right.type) && equalValues(left.value, right.value);
  }
  if (isList(left)) {
    return (
      isList(right) &&
      left.length === right.length &&
      left.every((item, index) => equalValues(item, right[index] ?? null))
    );
  }
  if (!isMap(left) || !isMap(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && equalValues(left[key] ?? null, right[key] ?? null))
  );
}

/** Types in the form of Terraform and of this program: members of objects sorted. */
export function equalTypes(left: ValueType, right: ValueType): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

function samePromise({ refinement: left }: Unknown, { refinement: right }: Unknown): boolean {
  return left && right ? Buffer.compare(left, right) === 0 : left === right;
}

/** Reads an own member, not an inherited one. */
export function own(record: object, name: string): unknown {
  return Object.hasOwn(record, name) ? (record as Record<string, unknown>)[name] : undefined;
}

/** The record with each of its values changed. */
export function mapValues<In, Out>(
  record: Readonly<Record<string, In>>,
  change: (value: In, key: string) => Out,
): Record<string, Out> {
  const result: Record<string, Out> = {};
  for (const key of Object.keys(record)) setOwn(result, key, change(record[key] as In, key));
  return result;
}

/** A key named "__proto__" stays a key. */
function setOwn<T>(record: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__")
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
  else record[key] = value;
}
