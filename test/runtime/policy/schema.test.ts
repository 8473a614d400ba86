import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import { policyJsonSchema } from "../../../runtime/policy/schema.ts";

describe("policyJsonSchema()", () => {
  test("every reference stands where it points", () => {
    const { schema, $defs } = policyJsonSchema("#/definitions/");
    const references = [...JSON.stringify({ schema, $defs }).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]);
    expect(references.length).toBeGreaterThan(5);
    for (const reference of references) {
      expect(reference).toMatch(/^#\/definitions\//);
      expect(Object.keys($defs)).toContain(reference?.slice("#/definitions/".length));
    }
  });

  test("knows every criterion, with its sentence", () => {
    const text = JSON.stringify(policyJsonSchema());
    for (const criterion of CRITERIA) {
      expect(text).toContain(JSON.stringify(criterion.doc));
      expect(text).toContain(criterion.takesPath ? `"^${criterion.name}/.+"` : `"${criterion.name}":`);
    }
  });
});
