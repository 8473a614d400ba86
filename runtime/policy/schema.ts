/** The policy language as JSON Schema (draft 2020-12), for editors and for the schema of the whole configuration. */
import { CRITERIA } from "./criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "./match.ts";
import { OPERATORS } from "./parse.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

const OPERATOR_DOCS: Readonly<Record<(typeof OPERATORS)[number], string>> = {
  and: "True when all criteria are true.",
  or: "True when at least one criterion is true.",
  not: "True when all criteria are false.",
  nor: "True when at least one criterion is false.",
};

/**
 * @param defs where the schema's `$defs` will stand in the document it is put into, with a trailing slash
 * @returns the schema of one policy and the definitions it refers to; put `$defs` at `defs`
 */
export function policyJsonSchema(defs = "#/$defs/"): { readonly schema: JsonSchema; readonly $defs: JsonSchema } {
  const ref = (name: string): JsonSchema => ({ $ref: `${defs}${name}` });
  const criteria = CRITERIA.map((criterion) => {
    const data = { description: criterion.doc, ...relocate(criterion.schema, ref) };
    return criterion.takesPath
      ? { patternProperties: { [`^${criterion.name}/.+`]: data } }
      : { properties: { [criterion.name]: data } };
  });
  const criterion = {
    type: "object",
    description: "One criterion.",
    minProperties: 1,
    maxProperties: 1,
    additionalProperties: false,
    properties: Object.assign({}, ...criteria.map((each) => each.properties ?? {})) as JsonSchema,
    patternProperties: Object.assign({}, ...criteria.map((each) => each.patternProperties ?? {})) as JsonSchema,
  };
  const action = closedObject(
    OPERATORS.map((name) => [name, { type: "array", items: ref("policyCriterion"), description: OPERATOR_DOCS[name] }]),
  );
  const rules = closedObject([
    ["allow", { ...ref("policyAction"), description: "At least one allow rule must match." }],
    ["deny", { ...ref("policyAction"), description: "A deny rule that matches wins over every allow rule." }],
  ]);
  const $defs = {
    stringMatch: stringMatch(),
    listMatch: listMatch(),
    policyCriterion: criterion,
    policyAction: action,
    policyRules: rules,
  };
  return { schema: { anyOf: [ref("policyRules"), { type: "array", items: ref("policyRules") }] }, $defs };
}

function stringMatch(): JsonSchema {
  const operands = STRING_OPERATORS.map((operator) => {
    if (operator === "in" || operator === "not_in")
      return [operator, { type: "array", items: { type: "string" } }] as const;
    const isWhole = operator === "is" || operator === "not";
    return [operator, isWhole ? { type: "string" } : { type: "string", minLength: 1 }] as const;
  });
  return {
    description: "A bare text means `is`; several operators must all hold.",
    anyOf: [{ type: "string" }, { ...closedObject(operands), minProperties: 1 }],
  };
}

function listMatch(): JsonSchema {
  const operands = LIST_OPERATORS.map((operator) => [operator, { type: "string" }] as const);
  return {
    description: "A bare text means `has`; several operators must all hold.",
    anyOf: [{ type: "string" }, { ...closedObject(operands), minProperties: 1 }],
  };
}

function closedObject(properties: readonly (readonly [string, JsonSchema])[]): JsonSchema {
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** Criteria name their matcher as "#/$defs/<name>"; the document may keep definitions elsewhere. */
function relocate(schema: JsonSchema, ref: (name: string) => JsonSchema): JsonSchema {
  const target = schema["$ref"];
  return typeof target === "string" ? ref(target.slice("#/$defs/".length)) : schema;
}
