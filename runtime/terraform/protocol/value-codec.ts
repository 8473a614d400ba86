/**
 * The encoding of Terraform's values: MessagePack on the wire, JSON in stored states.
 *
 * Decoding and encoding are directed by the type, so decoded values are exactly of their type and encoded ones have every
 * attribute. Unknown values keep their refinement bytes: Terraform compares a planned value with the configured one including
 * refinements and reports a difference as a provider bug.
 */
import { decode, encode, ExtData, ExtensionCodec } from "@msgpack/msgpack";

import { formatPath, quote } from "../../settings/problem.ts";
import { parseNumbers } from "../../shared/canonical-json.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { Dynamic, isList, isMap, mapValues, own, Unknown, UNKNOWN, type Value, type ValueType } from "./value.ts";

const EXTENSION_UNKNOWN = 0;
const EXTENSION_REFINED = 12;

const extensionCodec = new ExtensionCodec();
extensionCodec.register({ type: EXTENSION_UNKNOWN, encode: () => null, decode: () => UNKNOWN });
extensionCodec.register({
  type: EXTENSION_REFINED,
  encode: () => null,
  decode: (bytes) => new Unknown(Uint8Array.from(bytes)),
});

/** @throws GatewayError `terraform.value` when the bytes are not a value of the type */
export function decodeValue(type: ValueType, msgpack: Uint8Array): Value {
  let raw: unknown;
  try {
    raw = decode(msgpack, { extensionCodec, useBigInt64: true });
  } catch (error) {
    throw new GatewayError("terraform.value", `Cannot read a value from Terraform: ${errorText(error)}`, {
      cause: error,
    });
  }
  return fromRaw(type, raw, []);
}

export function encodeValue(type: ValueType, value: Value): Buffer {
  return Buffer.from(encode(toRaw(type, value, []), { extensionCodec, useBigInt64: true }));
}

/**
 * A value from the JSON of a state file or an import, by its current type: attributes that the type does not have are
 * dropped, missing ones become null, values of another type become null.
 *
 * @throws GatewayError `terraform.value` when a dynamic value has no type
 */
export function valueFromJson(type: ValueType, json: unknown): Value {
  if (json === null || json === undefined) return null;
  if (type === "string") return typeof json === "string" ? json : null;
  if (type === "bool") return typeof json === "boolean" ? json : null;
  if (type === "number") return typeof json === "number" || typeof json === "bigint" ? numberValue(json) : null;
  if (type === "dynamic") {
    if (!isRecord(json)) return null;
    const inner = readType(own(json, "type"));
    return new Dynamic(inner, valueFromJson(inner, own(json, "value")));
  }
  switch (type[0]) {
    case "list":
    case "set":
      return Array.isArray(json) ? json.map((item) => valueFromJson(type[1], item)) : null;
    case "tuple":
      return Array.isArray(json) ? type[1].map((itemType, index) => valueFromJson(itemType, json[index])) : null;
    case "map":
      return isRecord(json) ? mapValues(json, (item) => valueFromJson(type[1], item)) : null;
    default:
      return isRecord(json) ? mapValues(type[1], (itemType, name) => valueFromJson(itemType, own(json, name))) : null;
  }
}

/** The encoded type of a dynamic value. @throws GatewayError `terraform.value` */
function readType(json: unknown): ValueType {
  if (json === "string" || json === "number" || json === "bool" || json === "dynamic") return json;
  const [kind, inner]: readonly unknown[] = Array.isArray(json) ? json : [];
  switch (kind) {
    case "list":
    case "set":
    case "map":
      return [kind, readType(inner)];
    case "tuple":
      if (Array.isArray(inner)) return [kind, inner.map(readType)];
      break;
    case "object":
      if (isRecord(inner)) return [kind, mapValues(inner, readType)];
      break;
  }
  throw new GatewayError("terraform.value", `Cannot read a Terraform value: its type is ${quote(json)}`);
}

/** @returns undefined when the bytes are not JSON */
function writtenType(bytes: unknown): unknown {
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}

/** Reads JSON without losing digits of big integers. */
export function parseJson(text: string): unknown {
  // Shorter numbers are safe, and a callback for every value takes longer than all the rest.
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown;
  return parseNumbers(text, (number) => {
    const value = Number(number);
    return Number.isSafeInteger(value) || !/^-?\d+$/.test(number) ? value : BigInt(number);
  });
}

/** Location of a conversion: names and indexes from the value's root. Converted to text only for an error. */
type Trail = (string | number)[];

function fromRaw(type: ValueType, raw: unknown, trail: Trail): Value {
  if (raw === null || raw === undefined) return null;
  if (raw instanceof Unknown) return raw;
  if (type === "string") return typeof raw === "string" ? raw : mismatch("text", trail);
  if (type === "bool") return typeof raw === "boolean" ? raw : mismatch("a boolean", trail);
  if (type === "number") {
    if (typeof raw === "number" || typeof raw === "bigint") return numberValue(raw);
    return typeof raw === "string" ? raw : mismatch("a number", trail);
  }
  if (type === "dynamic") {
    if (!Array.isArray(raw) || raw.length !== 2) return mismatch("a type and a value", trail);
    const inner = readType(writtenType(raw[0]) ?? mismatch("a type and a value", trail));
    return new Dynamic(inner, fromRaw(inner, raw[1], trail));
  }
  switch (type[0]) {
    case "list":
    case "set":
      return Array.isArray(raw)
        ? items(raw, trail, (item) => fromRaw(type[1], item, trail))
        : mismatch("a list", trail);
    case "tuple":
      if (!Array.isArray(raw) || raw.length !== type[1].length) return mismatch("a tuple", trail);
      return items(type[1], trail, (itemType, index) => fromRaw(itemType, raw[index], trail));
    case "map":
      if (!isRecord(raw)) return mismatch("a map", trail);
      return members(raw, trail, (item) => fromRaw(type[1], item, trail));
    default:
      if (!isRecord(raw)) return mismatch("an object", trail);
      return members(type[1], trail, (itemType, name) => fromRaw(itemType, own(raw, name), trail));
  }
}

function toRaw(type: ValueType, value: Value | undefined, trail: Trail): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof Unknown) {
    return value.refinement
      ? new ExtData(EXTENSION_REFINED, value.refinement)
      : new ExtData(EXTENSION_UNKNOWN, new Uint8Array(1));
  }
  if (type === "dynamic") {
    if (!(value instanceof Dynamic)) return mismatch("a dynamic value", trail);
    return [Buffer.from(JSON.stringify(value.type)), toRaw(value.type, value.value, trail)];
  }
  if (type === "string") return typeof value === "string" ? value : mismatch("text", trail);
  if (type === "bool") return typeof value === "boolean" ? value : mismatch("a boolean", trail);
  if (type === "number") return rawNumber(value, trail);
  switch (type[0]) {
    case "list":
    case "set":
      return isList(value) ? items(value, trail, (item) => toRaw(type[1], item, trail)) : mismatch("a list", trail);
    case "tuple":
      if (!isList(value)) return mismatch("a tuple", trail);
      return items(type[1], trail, (itemType, index) => toRaw(itemType, value[index], trail));
    case "map":
      if (!isMap(value)) return mismatch("a map", trail);
      return members(value, trail, (item) => toRaw(type[1], item, trail));
    default:
      if (!isMap(value)) return mismatch("an object", trail);
      return members(type[1], trail, (itemType, name) => toRaw(itemType, own(value, name) as Value, trail));
  }
}

/** Non-integers become text: as a binary float, 0.1 would not equal the 0.1 of the configuration. */
function numberValue(raw: number | bigint): number | bigint | string {
  if (typeof raw === "bigint") {
    return raw >= BigInt(Number.MIN_SAFE_INTEGER) && raw <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(raw) : raw;
  }
  return Number.isSafeInteger(raw) ? raw : decimalText(raw);
}

const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

function rawNumber(value: Value, trail: Trail): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : decimalText(value);
  if (typeof value === "bigint") return value >= INT64_MIN && value <= UINT64_MAX ? value : value.toString();
  return typeof value === "string" ? value : mismatch("a number", trail);
}

function decimalText(value: number): string {
  if (Number.isInteger(value)) return BigInt(value).toString();
  return String(value);
}

/** @throws GatewayError `terraform.value`; the value itself is not quoted, it may be a secret */
function mismatch(expected: string, trail: Trail): never {
  throw new GatewayError(
    "terraform.value",
    `Cannot convert a Terraform value: "${formatPath(trail)}" must be ${expected}`,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExtData);
}

function members<In, Out>(
  record: Readonly<Record<string, In>>,
  trail: Trail,
  change: (value: In, key: string) => Out,
): Record<string, Out> {
  return mapValues(record, (value, key) => {
    trail.push(key);
    const changed = change(value, key);
    trail.pop();
    return changed;
  });
}

function items<In, Out>(list: readonly In[], trail: Trail, change: (item: In, index: number) => Out): Out[] {
  return list.map((item, index) => {
    trail.push(index);
    const changed = change(item, index);
    trail.pop();
    return changed;
  });
}
