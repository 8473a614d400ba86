import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decodeMessage, encodeMessage } from "../../runtime/terraform/protocol/wire.ts";

const bytes = Buffer.from([1]);
const identity = { data: { msgpack: bytes } };

describe("encodeMessage()", () => {
  test.each([
    ["a plain field", "DynamicValue", { msgpack: Buffer.from([1, 2]) }, "0a020102"],
    ["a nested message", "Diagnostic", { severity: 1, summary: "s" }, "0801120173"],
    ["field numbers above 15 bits of a tag byte", "Attribute", { name: "a", writeOnly: true }, "0a01615801"],
    // A list index of 0 is a value, not an absent field: the path would end early otherwise.
    ["index 0 of a path step", "PathStep", { keyNumber: 0 }, "1800"],
    ["a map", "FunctionsResponse", { functions: { f: { summary: "s" } } }, "0a080a01661203220173"],
    ["the schema of an identity", "IdentitySchemasResponse", { schemas: { a: { version: 1 } } }, "0a070a016112020801"],
    ["an attribute of one", "IdentitySchema", { attributes: [{ name: "a", required: true }] }, "12050a01611801"],
    ["an identity that is read", "ReadRequest", { identity }, "32050a030a0101"],
    ["an identity that was read", "ReadResponse", { identity }, "2a050a030a0101"],
    ["an identity before a change", "PlanRequest", { identity }, "42050a030a0101"],
    ["a planned identity", "PlanResponse", { identity }, "3a050a030a0101"],
    ["an identity to apply", "ApplyRequest", { identity }, "3a050a030a0101"],
    ["an applied identity", "ApplyResponse", { identity }, "2a050a030a0101"],
    ["an identity to import", "ImportRequest", { identity }, "22050a030a0101"],
    ["an imported identity", "Imported", { identity }, "22050a030a0101"],
    ["a stored identity", "UpgradeIdentityRequest", { version: 1, identity: { json: bytes } }, "10011a030a0101"],
    ["an upgraded identity", "UpgradeIdentityResponse", { identity }, "0a050a030a0101"],
    ["a state to move", "MoveRequest", { sourceState: { json: bytes }, typeName: "a" }, "22030a01012a0161"],
    ["what moves with it", "MoveRequest", { private: bytes, sourceIdentityVersion: 1 }, "3201014001"],
    [
      "a moved state",
      "MoveResponse",
      { state: { msgpack: bytes }, private: bytes, identity },
      `0a030a01011a010122050a030a0101`,
    ],
    ["what is opened", "OpenResponse", { renewAt: { seconds: 1 }, private: bytes }, "12020801220101"],
    ["the value of what is opened", "OpenResponse", { result: { msgpack: bytes } }, "1a030a0101"],
    ["what is renewed", "RenewRequest", { typeName: "a", private: bytes }, "0a0161120101"],
    ["when to renew again", "RenewResponse", { renewAt: { nanos: 1 }, private: bytes }, "120210011a0101"],
    ["what is closed", "CloseRequest", { typeName: "a", private: bytes }, "0a0161120101"],
    ["a schema of what is opened", "SchemaResponse", { ephemerals: { a: { version: 1 } } }, "42070a016112020801"],
    ["names of what is opened", "MetadataResponse", { ephemerals: [{ name: "a" }] }, "32030a0161"],
  ])("writes %s as protocol 6 has it", (_name, message, fields, hex) => {
    expect(encodeMessage(message, fields).toString("hex")).toBe(hex);
  });

  test("refuses a message that is not in the table", () => {
    expect(() => encodeMessage("Nonsense", {})).toThrow('No message "Nonsense"');
  });
});

describe("decodeMessage()", () => {
  test("returns the input of encodeMessage()", () => {
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
