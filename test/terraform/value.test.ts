import { decode, encode, ExtData } from "@msgpack/msgpack";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decodeValue, encodeValue, parseJson, valueFromJson } from "../../runtime/terraform/protocol/value-codec.ts";
import {
  Dynamic,
  equalValues,
  isWhollyKnown,
  Unknown,
  UNKNOWN,
  type Value,
  type ValueType,
} from "../../runtime/terraform/protocol/value.ts";

const NOT_NULL = Uint8Array.from([0x81, 0x01, 0xc2]);

const scalars: Record<string, fc.Arbitrary<Value>> = {
  string: fc.string({ unit: "grapheme" }),
  bool: fc.boolean(),
  number: fc.oneof(
    fc.maxSafeInteger(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.constantFrom("0.1", "-12.5", "123456789012345678901234567890.5"),
  ),
};
const special = fc.constantFrom<Value>(null, UNKNOWN, new Unknown(NOT_NULL));

/** A type together with a value of it. */
const typed: fc.Arbitrary<{ type: ValueType; value: Value }> = fc.letrec<{ node: { type: ValueType; value: Value } }>(
  (tie) => ({
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      ...(["string", "bool", "number"] as const).map((type) =>
        fc.oneof(scalars[type]!, special).map((value): { type: ValueType; value: Value } => ({ type, value })),
      ),
      // Elements share the type, so one value is repeated.
      fc.tuple(tie("node"), fc.nat({ max: 3 })).map(([{ type, value }, length]): { type: ValueType; value: Value } => ({
        type: ["list", type],
        value: Array.from({ length }, () => value),
      })),
      fc
        .tuple(tie("node"), fc.uniqueArray(fc.string(), { maxLength: 3 }))
        .map(([{ type, value }, keys]): { type: ValueType; value: Value } => ({
          type: ["map", type],
          value: Object.fromEntries(keys.filter((key) => key !== "__proto__").map((key) => [key, value])),
        })),
      fc
        .dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie("node"), { maxKeys: 4, noNullPrototype: true })
        .map((members): { type: ValueType; value: Value } => ({
          type: ["object", Object.fromEntries(Object.entries(members).map(([key, { type }]) => [key, type]))],
          value: Object.fromEntries(Object.entries(members).map(([key, { value }]) => [key, value])),
        })),
      tie("node").map(({ type, value }): { type: ValueType; value: Value } => ({
        type: "dynamic",
        value: value instanceof Unknown || value === null ? value : new Dynamic(type, value),
      })),
    ),
  }),
).node;

describe("encodeValue() and decodeValue()", () => {
  test("give back every value of every type", () => {
    fc.assert(
      fc.property(typed, ({ type, value }) => {
        expect(decodeValue(type, encodeValue(type, value))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  test("fill missing attributes of an object with null", () => {
    const type: ValueType = ["object", { a: "string", b: ["list", "string"] }];
    expect(decode(encodeValue(type, { a: "x" }))).toEqual({ a: "x", b: null });
  });

  test("send an unknown value as extension 0, a refined one as the bytes it came with", () => {
    expect([...encodeValue("string", UNKNOWN)]).toEqual([0xd4, 0, 0]);
    const refined = decodeValue("string", encode(new ExtData(12, NOT_NULL)));
    expect(refined).toBeInstanceOf(Unknown);
    expect((refined as Unknown).notNull).toBe(true);
    expect([...encodeValue("string", refined)]).toEqual([0xc7, 3, 12, ...NOT_NULL]);
  });

  test("keep big integers and decimals exactly", () => {
    expect(decodeValue("number", encode(2n ** 60n, { useBigInt64: true }))).toBe(2n ** 60n);
    expect(decodeValue("number", encode("123456789012345678901234567890"))).toBe("123456789012345678901234567890");
    expect(decodeValue("number", encode(0.5))).toBe("0.5");
    expect(decode(encodeValue("number", "0.1"))).toBe("0.1");
    expect(decodeValue("number", encode(42))).toBe(42);
  });

  test.each<[string, ValueType, unknown]>([
    ["text where a boolean belongs", "bool", "true"],
    ["a number where text belongs", "string", 1],
    ["a map where a list belongs", ["list", "string"], {}],
    ["a list where an object belongs", ["object", {}], []],
    ["an unregistered extension", "string", new ExtData(99, Uint8Array.from([1]))],
    ["a dynamic value without a type", "dynamic", "x"],
    ["a dynamic value whose type is no JSON", "dynamic", [Buffer.from("a"), "x"]],
    ["a dynamic value whose type is text", "dynamic", ['"string"', "x"]],
  ])("refuse %s", (_name, type, raw) => {
    expect(() => decodeValue(type, encode(raw))).toThrow(/Cannot convert a Terraform value/);
  });

  test("do not quote the value they refuse", () => {
    expect(() => decodeValue(["object", { secret: "bool" }], encode({ secret: "hunter2" }))).toThrow(
      expect.not.stringContaining("hunter2") as string,
    );
  });

  test("reject bytes that are not MessagePack, and the key __proto__", () => {
    expect(() => decodeValue("string", Uint8Array.from([0xc1]))).toThrow(/^Cannot read a value from Terraform/);
    // fixmap of one entry: "__proto__" → "x"
    const bytes = Buffer.concat([Buffer.from([0x81, 0xa9]), Buffer.from("__proto__"), Buffer.from([0xa1, 0x78])]);
    expect(() => decodeValue(["map", "string"], bytes)).toThrow(/__proto__/);
  });
});

describe("valueFromJson()", () => {
  const type: ValueType = [
    "object",
    { name: "string", size: "number", tags: ["list", "string"], on: "bool", inner: ["object", { a: "string" }] },
  ];

  test("drops members that the type does not have and fills missing ones", () => {
    expect(valueFromJson(type, { name: "x", gone: 1, inner: { a: "b", c: "d" } })).toEqual({
      name: "x",
      size: null,
      tags: null,
      on: null,
      inner: { a: "b" },
    });
  });

  test("converts a value of another type to null", () => {
    expect(valueFromJson(type, { name: 1, size: "2", tags: {}, on: "yes", inner: [] })).toEqual({
      name: null,
      size: null,
      tags: null,
      on: null,
      inner: null,
    });
  });

  test("reads a value of any type in the form of states, and rejects an invalid type", () => {
    const json = { type: ["object", { a: ["tuple", ["string", "dynamic"]] }], value: { a: ["x", null] } };
    expect(valueFromJson("dynamic", json)).toEqual(new Dynamic(json.type as unknown as ValueType, json.value));
    expect(valueFromJson("dynamic", null)).toBeNull();
    for (const broken of [{ value: "x" }, { type: ["list"], value: [] }, { type: ["object", []], value: {} }]) {
      expect(() => valueFromJson("dynamic", broken)).toThrow("Cannot read a Terraform value: its type is");
    }
  });

  test("keeps big integers when the text is read by parseJson()", () => {
    expect(valueFromJson("number", parseJson("9007199254740993"))).toBe(9007199254740993n);
    expect(valueFromJson("number", parseJson("1.5"))).toBe("1.5");
  });
});

describe("equalValues()", () => {
  test("is equality of content, with unknown equal to unknown", () => {
    expect(equalValues({ a: [UNKNOWN, "x"], b: { c: 1 } }, { b: { c: 1 }, a: [UNKNOWN, "x"] })).toBe(true);
    expect(equalValues({ a: 1 }, { a: 1, b: null })).toBe(false);
    expect(equalValues([1], [1, 2])).toBe(false);
    expect(equalValues(UNKNOWN, null)).toBe(false);
  });
});

test("isWhollyKnown() finds an unknown value at any depth", () => {
  expect(isWhollyKnown({ a: [{ b: "x" }, null] })).toBe(true);
  expect(isWhollyKnown({ a: [{ b: UNKNOWN }] })).toBe(false);
});
