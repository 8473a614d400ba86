import { describe, expect, test } from "vitest";

import { parseTemplate, renderTemplate } from "../../runtime/features/headers/template.ts";
import { functionsByName } from "../../runtime/terraform/schema/functions.ts";
import { FunctionError } from "../../runtime/terraform/protocol/provider.ts";
import type { Value } from "../../runtime/terraform/protocol/value.ts";

const call = (name: string, ...args: Value[]): Value => {
  const fn = functionsByName.get(name);
  if (!fn) throw new Error(`no function ${name}`);
  return fn.call(args);
};

const values = {
  accessToken: "access",
  idToken: "id",
  clientCertFingerprint: "fingerprint",
  jwt: () => "jwt",
  requestHeader: (name: string) => `header ${name}`,
};

describe("header substitutions", () => {
  test.each([
    ["access_token", [], "access"],
    ["id_token", [], "id"],
    ["client_cert_fingerprint", [], "fingerprint"],
    ["jwt", [], "jwt"],
    ["request_header", ["X-Foo"], "header x-foo"],
    ["literal", ["costs $5, ${gateway.jwt} $$"], "costs $5, ${gateway.jwt} $$"],
  ])("%s() returns the template that the gateway renders", (name, args, rendered) => {
    expect(renderTemplate(parseTemplate(call(name, ...args) as string), values)).toBe(rendered);
  });

  test.each(["", "X Foo", 'X"]}', "X\nY"])("request_header() refuses the name %j", (name) => {
    expect(() => call("request_header", name)).toThrow(FunctionError);
  });
});

describe("check_policy()", () => {
  test("finds nothing in a sound policy", () => {
    expect(call("check_policy", JSON.stringify([{ allow: { and: [{ domain: { is: "example.com" } }] } }]))).toEqual([]);
  });

  test("reports every problem with its location", () => {
    const problems = call(
      "check_policy",
      JSON.stringify([{ allow: { and: [{ dommain: {} }, { email: { is: 1 } }] } }]),
    ) as string[];
    expect(problems).toHaveLength(2);
    expect(problems[0]).toContain("[0].allow.and[0]");
  });

  test("reports text that is not JSON", () => {
    expect(call("check_policy", "allow")).toEqual([expect.stringContaining("is not JSON")]);
  });
});
