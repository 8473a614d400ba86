import { describe, expect, test } from "vitest";

import type { Field } from "../../../runtime/settings/field.ts";
import { eachField, mapParts, partsOf } from "../../../runtime/settings/shapes.ts";
import { UNKNOWN } from "../../../runtime/terraform/protocol/value.ts";

const inner: Field = { name: "inner", kind: "text", doc: "", required: false, scope: "route" };
const field = (kind: Field["kind"]): Field => ({ ...inner, name: "outer", kind });

describe("partsOf()", () => {
  test.each([
    ["text", "a", undefined],
    ["policy", [{ allow: {} }], undefined],
    [
      "text-list",
      ["a", "b"],
      [
        [0, "a"],
        [1, "b"],
      ],
    ],
    ["url-list", "a", undefined],
    ["text-map", { x: "a" }, [["x", "a"]]],
    ["text-list-map", { x: ["a"] }, [["x", ["a"]]]],
    ["block", { x: 1 }, [[undefined, { x: 1 }]]],
    ["block", [], undefined],
    ["block-list", [{ x: 1 }], [[0, { x: 1 }]]],
    ["block-list", { x: 1 }, undefined],
    ["labelled", { a: { x: 1 } }, [["a", { x: 1 }]]],
    ["labelled", null, undefined],
    ["labelled", UNKNOWN, undefined],
  ] as const)("of %s %j", (kind, value, parts) => {
    expect(partsOf<unknown>(field(kind), value)).toEqual(parts);
  });
});

test.each([
  ["block", { x: 1 }, "undefined"],
  ["block-list", ["a", "b"], ["0", "1"]],
  ["labelled", { a: 1, b: 2 }, { a: "a", b: "b" }],
] as const)("mapParts() keeps the shape of %s", (kind, value, mapped) => {
  expect(mapParts<unknown, string>(field(kind), value, (_, step) => String(step))).toEqual(mapped);
});

test("eachField() goes from outer to inner and names the steps into lists and maps", () => {
  const kinds = ["block", "block-list", "labelled"] as const;
  const fields = kinds.map((kind) => ({ ...field(kind), name: kind, fields: [inner] }));
  expect([...eachField(fields)].map(({ path }) => path.join(" "))).toEqual([
    "block",
    "block inner",
    "block-list",
    "block-list [] inner",
    "labelled",
    "labelled <name> inner",
  ]);
});
