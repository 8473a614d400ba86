/** JSON Schema (draft 2020-12) of the policy language, for the configuration schema that editors use. */
import { CRITERIA } from "./criteria.ts";
import type { PolicySchema } from "./match.ts";
import { type PolicyAction, ACTIONS, type Operator, OPERATORS } from "./parse.ts";

const OPERATOR_DOCS: Readonly<Record<Operator, string>> = {
  and: "True when all criteria are true.",
  or: "True when at least one criterion is true.",
  not: "True when all criteria are false.",
  nor: "True when at least one criterion is false.",
};

const ACTION_DOCS: Readonly<Record<PolicyAction, string>> = {
  allow: "At least one allow rule must match.",
  deny: "A matching deny rule takes precedence over all allow rules.",
  approve: "A matching tool call that is otherwise allowed requires approval. False for other requests.",
};

const APPROVERS_DOC = "Groups whose members, other than the caller, can approve. By default the caller confirms.";
const SHADOW_DOC = "These rules are evaluated and recorded, and never enforced.";

/**
 * @param defs location of the result in the enclosing document, with a trailing slash
 * @returns definitions: refer to `policy`, which refers to the others
 */
export function policyJsonSchema(defs = "#/$defs/"): {
  readonly policy: PolicySchema;
  readonly criteria: PolicySchema;
  readonly criterion: PolicySchema;
} {
  const criteria = { type: "array", items: { $ref: `${defs}criterion` } };
  const action = closedObject(OPERATORS.map((name) => [name, { ...criteria, description: OPERATOR_DOCS[name] }]));
  const rules = closedObject([
    ...ACTIONS.map((name) => [name, { ...action, description: ACTION_DOCS[name] }] as const),
    ["shadow", { type: "boolean", description: SHADOW_DOC }],
    ["approvers", { type: "array", items: { type: "string", minLength: 1 }, minItems: 1, description: APPROVERS_DOC }],
  ]);
  return {
    criteria: action,
    policy: { anyOf: [rules, { type: "array", items: rules }] },
    criterion: {
      ...closedObject(CRITERIA.filter(({ takesPath }) => !takesPath).map((each) => [each.name, dataSchema(each)])),
      patternProperties: Object.fromEntries(
        CRITERIA.filter(({ takesPath }) => takesPath).map((each) => [`^${each.name}/.`, dataSchema(each)]),
      ),
      minProperties: 1,
      maxProperties: 1,
    },
  };
}

function dataSchema({ schema, doc }: (typeof CRITERIA)[number]): PolicySchema {
  return { ...schema, description: doc };
}

function closedObject(properties: readonly (readonly [string, PolicySchema])[]): PolicySchema {
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}
