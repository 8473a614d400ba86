/**
 * Provider functions: the substitutions of header values, and a check of policies.
 *
 * In HCL `${…}` is Terraform's own; `provider::gateway::jwt()` needs no escaping, and a misspelling is an error.
 * @see test/requirements.ts, "Header behavior on proxied requests" 2 and 3
 */
import { errorText } from "../../shared/errors.ts";
import { validatePolicy } from "../../policy/validate-rules.ts";
import { parsePolicy } from "../../policy/parse.ts";
import { FunctionError, type ProviderFunction } from "../protocol/provider.ts";
import type { SchemaFunction } from "./schema-model.ts";
import type { Value } from "../protocol/value.ts";

/** RFC 9110 §5.6.2 token, as in the template language. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const functions: readonly ProviderFunction[] = [
  constant("access_token", "The OAuth access token of the signed-in user at the identity provider."),
  constant("id_token", "The OIDC ID token of the signed-in user."),
  constant("client_cert_fingerprint", "Short-form SHA-256 fingerprint of the presented client certificate."),
  constant("jwt", "The gateway's signed identity assertion."),
  {
    schema: {
      name: "request_header",
      summary: "Value of an incoming request header",
      doc: "For `set_request_headers`: is replaced by the value of the named header of the incoming request.",
      parameters: [{ name: "name", type: "string", doc: "Header name." }],
      returns: "string",
    },
    call: ([argument]) => {
      const name = textOf(argument);
      if (!HEADER_NAME.test(name)) throw new FunctionError(0, `"${name}" is no header name`);
      return `\${gateway.request.headers["${name}"]}`;
    },
  },
  {
    schema: {
      name: "literal",
      summary: "Text without substitutions",
      doc: "For `set_request_headers`: the text exactly as it is, every `$` doubled.",
      parameters: [{ name: "text", type: "string", doc: "Any text." }],
      returns: "string",
    },
    call: ([text]) => textOf(text).replaceAll("$", "$$$$"),
  },
  {
    schema: {
      name: "check_policy",
      summary: "Problems of a policy",
      doc: "Checks a policy, given as JSON text like the argument `policy` (`jsonencode(…)`), and returns what is wrong with it, one sentence each; an empty list when nothing is. For `terraform test` and validations of modules.",
      parameters: [{ name: "policy", type: "string", doc: "JSON text, as `jsonencode(…)` makes it." }],
      returns: ["list", "string"],
    },
    call: ([policy]) => checkPolicy(textOf(policy)),
  },
];

export const functionSchemas: readonly SchemaFunction[] = functions.map(({ schema }) => schema);

export const functionsByName: ReadonlyMap<string, ProviderFunction> = new Map(
  functions.map((fn) => [fn.schema.name, fn]),
);

function constant(name: string, meaning: string): ProviderFunction {
  return {
    schema: {
      name,
      summary: meaning.replace(/\.$/, ""),
      doc: `For \`set_request_headers\`: is replaced by this value of the request. ${meaning}`,
      parameters: [],
      returns: "string",
    },
    call: () => `\${gateway.${name}}`,
  };
}

/** Terraform converts arguments to their parameter's type and passes neither null nor unknown. */
function textOf(argument: Value | undefined): string {
  if (typeof argument !== "string") throw new FunctionError(0, "must be text");
  return argument;
}

function checkPolicy(text: string): Value {
  let policy: unknown;
  try {
    policy = JSON.parse(text);
  } catch (error) {
    return [`is not JSON: ${errorText(error)}`];
  }
  const parsed = parsePolicy(policy);
  const problems = parsed.ok ? validatePolicy(parsed.policy) : parsed.problems;
  return problems.map(({ path, message }) => (path === "" ? message : `${path} ${message}`));
}
