import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import { SCALAR_LIST_MATCH_SCHEMA, stringMatchSchema } from "../../../runtime/policy/match.ts";
import { ARGUMENT_MATCH_SCHEMA, scalarsOf } from "../../../runtime/policy/mcp/argument-match.ts";
import { policyJsonSchema } from "../../../runtime/policy/schema.ts";

describe("policyJsonSchema()", () => {
  test("every reference stands where it points", () => {
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

  test("takes one criterion, and of data that is an object no members but its own", () => {
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

test("stringMatchSchema() asks for lists where several texts are compared, and for one text elsewhere", () => {
  const schema = JSON.parse(JSON.stringify(stringMatchSchema(["is", "in"]))) as Readonly<Record<string, unknown>>;
  const forms = [schema, ...((schema["anyOf"] as (typeof schema)[] | undefined) ?? [])];
  const properties = forms.find((form) => form["properties"] !== undefined)?.["properties"];
  expect(properties).toMatchObject({ is: { type: "string" }, in: { type: "array" } });
});

test("an argument is compared with what is named, of a tool and at a place that are", () => {
  expect(ARGUMENT_MATCH_SCHEMA["required"]).toEqual(["tool", "argument"]);
  expect(scalarsOf({ is: "a", in: ["b", 1] })).toEqual(["a", "b", 1]);
});
