import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
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
});
