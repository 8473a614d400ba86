import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decodeMessage, encodeMessage } from "../../runtime/terraform/wire.ts";

describe("encodeMessage()", () => {
  test.each([
    ["a plain field", "DynamicValue", { msgpack: Buffer.from([1, 2]) }, "0a020102"],
    ["a nested message", "Diagnostic", { severity: 1, summary: "s" }, "0801120173"],
    ["field numbers above 15 bits of a tag byte", "Attribute", { name: "a", writeOnly: true }, "0a01615801"],
    // A list index of 0 is a value, not an absent field: the path would end early otherwise.
    ["index 0 of a path step", "PathStep", { keyNumber: 0 }, "1800"],
    ["a map", "FunctionsResponse", { functions: { f: { summary: "s" } } }, "0a080a01661203220173"],
  ])("writes %s as protocol 6 has it", (_name, message, fields, hex) => {
    expect(encodeMessage(message, fields).toString("hex")).toBe(hex);
  });

  test("refuses a message that is not in the table", () => {
    expect(() => encodeMessage("Nonsense", {})).toThrow('No message "Nonsense"');
  });
});

describe("decodeMessage()", () => {
  test("gives back what encodeMessage() was given", () => {
    const diagnostic = fc.record({
      severity: fc.constantFrom(1, 2),
      summary: fc.string({ minLength: 1 }),
      detail: fc.string({ minLength: 1 }),
      path: fc.record({
        steps: fc.array(
          fc.oneof(
            fc.record({ attribute: fc.string() }),
            fc.record({ keyText: fc.string() }),
            fc.record({ keyNumber: fc.nat() }),
          ),
        ),
      }),
    });
    fc.assert(
      fc.property(fc.array(diagnostic), fc.uint8Array({ minLength: 1 }), (diagnostics, bytes) => {
        const message = { planned: { msgpack: Buffer.from(bytes) }, requiresReplace: [], diagnostics };
        const decoded = decodeMessage("PlanResponse", encodeMessage("PlanResponse", message));
        expect(decoded).toEqual(message);
      }),
    );
  });

  test("passes over fields it does not know, as newer versions of Terraform send them", () => {
    const unknownField = Buffer.from([0xfa, 0x07, 0x01, 0x78]);
    const bytes = Buffer.concat([encodeMessage("ImportRequest", { typeName: "t", id: "i" }), unknownField]);
    expect(decodeMessage("ImportRequest", bytes)).toEqual({ typeName: "t", id: "i" });
  });
});
