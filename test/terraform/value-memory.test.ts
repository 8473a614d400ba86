import { describe, expect, test } from "vitest";

import { decodeValue, encodeValue } from "../../runtime/terraform/protocol/value-codec.ts";
import { createValueMemory } from "../../runtime/terraform/protocol/value-memory.ts";
import { Unknown, UNKNOWN, type Value, type ValueType } from "../../runtime/terraform/protocol/value.ts";

const type: ValueType = ["object", { name: "string", texts: ["list", "string"] }];
/** Large enough to be kept. */
const large = (name: Value): Value => ({ name, texts: Array.from({ length: 500 }, (_, index) => `text ${index}`) });
/** As another program writes the same bytes. */
const bytesOf = (value: Value): Buffer => Buffer.from(encodeValue(type, value));

describe("createValueMemory()", () => {
  test("gives the same value for the same bytes, and another one for others", () => {
    const memory = createValueMemory();
    const first = memory.decode(type, bytesOf(large("a")));
    expect(first).toEqual(large("a"));
    expect(memory.decode(type, bytesOf(large("a")))).toBe(first);
    expect(memory.decode(type, bytesOf(large("b")))).toEqual(large("b"));
  });

  test("decodes the same bytes of another type separately", () => {
    const other: ValueType = ["object", { name: "string" }];
    const memory = createValueMemory();
    memory.decode(type, bytesOf(large("a")));
    expect(memory.decode(other, bytesOf(large("a")))).toEqual({ name: "a" });
  });

  test("writes an equal value as the bytes that it came as, and any other as itself", () => {
    const memory = createValueMemory();
    const bytes = bytesOf(large("a"));
    memory.decode(type, bytes);
    expect(memory.encode(type, large("a"))).toBe(bytes);
    for (const other of [large("b"), large(null), large(UNKNOWN), null]) {
      expect(decodeValue(type, memory.encode(type, other))).toEqual(other);
    }
  });

  test("encodes an unknown value with its own refinement, not another's", () => {
    // { 1: false } and { 1: false, 2: "team-" }: not null, and not null with this beginning.
    const promises = [undefined, Buffer.from("8101c2", "hex"), Buffer.from("8201c202a57465616d2d", "hex")];
    for (const came of promises) {
      for (const goes of promises) {
        const memory = createValueMemory();
        memory.decode(type, bytesOf(large(new Unknown(came))));
        expect(memory.encode(type, large(new Unknown(goes)))).toEqual(bytesOf(large(new Unknown(goes))));
      }
    }
  });

  test("finds a value that it encoded", () => {
    const memory = createValueMemory();
    const value = large("a");
    const written = memory.encode(type, value);
    expect(memory.decode(type, Buffer.from(written))).toBe(value);
  });

  test("keeps three values at most", () => {
    const memory = createValueMemory();
    const first = memory.decode(type, bytesOf(large("a")));
    for (const name of ["b", "c", "d"]) memory.decode(type, bytesOf(large(name)));
    expect(memory.decode(type, bytesOf(large("a")))).not.toBe(first);
  });

  test("rejects bytes that are not a value of the type, each time", () => {
    const memory = createValueMemory();
    const bytes = encodeValue("string", "x".repeat(5000));
    for (let attempt = 0; attempt < 2; attempt++) expect(() => memory.decode(type, bytes)).toThrow("Cannot convert");
  });
});
