import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import { SCALAR_LIST_MATCH_SCHEMA, stringMatchSchema } from "../../../runtime/policy/match.ts";
import { ARGUMENT_MATCH_SCHEMA, scalarsOf } from "../../../runtime/policy/mcp/argument-match.ts";
import { policyJsonSchema } from "../../../runtime/policy/schema.ts";

describe("policyJsonSchema()", () => {
  test("every reference has a target", () => {
    const definitions = policyJsonSchema("#/definitions/");
    const references = [...JSON.stringify(definitions).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]);
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references) {
      expect(reference).toMatch(/^#\/definitions\//);
      expect(definitions).toHaveProperty([reference?.slice("#/definitions/".length) ?? ""]);
    }
  });

  test("knows every criterion, with its sentence", () => {
    const { criterion } = policyJsonSchema() as { criterion: Record<string, Record<string, object>> };
    for (const { name, takesPath, doc } of CRITERIA) {
      const found = takesPath ? criterion["patternProperties"]?.[`^${name}/.`] : criterion["properties"]?.[name];
      expect(found).toMatchObject({ description: doc });
    }
  });

  test("accepts one criterion, and for data that is an object only its own members", () => {
    const { criterion } = policyJsonSchema() as { criterion: Record<string, unknown> };
    expect(criterion).toMatchObject({ minProperties: 1, maxProperties: 1, additionalProperties: false });
    for (const { name, schema } of CRITERIA) {
      const forms = [schema, ...((schema["anyOf"] as (typeof schema)[] | undefined) ?? [])];
      for (const { properties, ...form } of forms.filter((each) => each["properties"] !== undefined)) {
        expect(properties, name).not.toEqual({});
        expect(form, name).toMatchObject({ type: "object", additionalProperties: false });
      }
    }
    expect(SCALAR_LIST_MATCH_SCHEMA["anyOf"]).toContainEqual({ type: ["string", "number", "boolean"] });
  });
});

test("stringMatchSchema() requires lists for several texts, and one text elsewhere", () => {
  const schema = JSON.parse(JSON.stringify(stringMatchSchema(["is", "in"]))) as Readonly<Record<string, unknown>>;
  const forms = [schema, ...((schema["anyOf"] as (typeof schema)[] | undefined) ?? [])];
  const properties = forms.find((form) => form["properties"] !== undefined)?.["properties"];
  expect(properties).toMatchObject({ is: { type: "string" }, in: { type: "array" } });
});

test("an argument requires a comparison, a tool and a location", () => {
  expect(ARGUMENT_MATCH_SCHEMA["required"]).toEqual(["tool", "argument"]);
  expect(scalarsOf({ is: "a", in: ["b", 1] })).toEqual(["a", "b", 1]);
});
