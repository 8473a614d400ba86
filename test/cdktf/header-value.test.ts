import { Token, TerraformStack, TerraformVariable, Testing } from "cdktf";
import { describe, expect, test } from "vitest";

import { gatewayToken, headerValue, literal, requestHeader, requestHeaderValue } from "../../cdktf/header-value.ts";
import { escapeForTerraform, hasUnresolved, jsonForTerraform } from "../../cdktf/synth/terraform-text.ts";
import { parseTemplate, renderTemplate, type TemplateValues } from "../../runtime/features/headers/template.ts";

const values: TemplateValues = {
  accessToken: "AT",
  idToken: "IT",
  clientCertFingerprint: "FP",
  jwt: () => "JWT",
  requestHeader: (name) => `<${name}>`,
};

/** Value that the proxy would send. */
function sent(value: { readonly template: string }): string {
  return renderTemplate(parseTemplate(value.template), values);
}

function token(): string {
  const stack = new TerraformStack(Testing.app(), "stack");
  return new TerraformVariable(stack, "value", {}).stringValue;
}

describe("headerValue", () => {
  test("puts substitutions between literal text", () => {
    expect(headerValue`Bearer ${gatewayToken.accessToken}`.template).toBe("Bearer ${gateway.access_token}");
    expect(sent(headerValue`a ${gatewayToken.idToken} b ${gatewayToken.jwt}`)).toBe("a IT b JWT");
    expect(sent(headerValue`${requestHeader("X-Foo")}/${gatewayToken.clientCertFingerprint}`)).toBe("<x-foo>/FP");
  });

  test.each(["$", "$$", "$5", "a$b$$c", "${gateway.jwt}", "$${x}", "100%{if}", 'say "hi" \\ there', ""])(
    "literal text %j reaches the upstream as it is",
    (text) => {
      expect(sent(literal(text))).toBe(text);
      expect(sent(headerValue`<${text}>`)).toBe(`<${text}>`);
    },
  );

  test.each(["a\r\nb", "a\nb", "a\0b"])("refuses %j, which no header may carry", (text) => {
    expect(() => literal(text)).toThrow("has a line break or NUL in it");
    expect(() => headerValue`x${text}`).toThrow("has a line break or NUL in it");
  });

  test.each(["", "a b", 'x"]}${gateway.jwt}', "ä", "a:b"])("requestHeader() refuses the name %j", (name) => {
    expect(() => requestHeader(name)).toThrow(`"${name}" is not a header name`);
  });

  test("requestHeaderValue() rejects a substitution written as a string and says what to write instead", () => {
    expect(() => requestHeaderValue("X-A", "Bearer ${gateway.jwt}")).toThrow(
      /Cannot set request header "X-A": .* write headerValue`…` with gatewayToken/,
    );
    expect(requestHeaderValue("X-A", literal("${x}")).template).toBe("$${x}");
    expect(requestHeaderValue("X-A", "price: $5").template).toBe("price: $$5");
  });

  test("leaves a token to Terraform, which doubles the dollars of its value", () => {
    const value = headerValue`<${token()}>`;
    expect(hasUnresolved(value.template)).toBe(true);
    const resolved = Testing.synthScope(
      (scope) => new TerraformVariable(scope, "out", { default: escapeForTerraform(value.template) }),
    );
    expect(JSON.parse(resolved)).toMatchObject({
      variable: { out: { default: '<${replace(var.value, "$", "$$")}>' } },
    });
  });
});

describe("escapeForTerraform", () => {
  test.each([
    ["plain", "plain"],
    ["${gateway.jwt}", "$${gateway.jwt}"],
    ["$${x}", "$$${x}"],
    ["%{if}", "%%{if}"],
    ["$5 100%", "$5 100%"],
  ])("%j becomes %j", (text, escaped) => {
    expect(escapeForTerraform(text)).toBe(escaped);
  });

  test("next to a token uses only balanced braces", () => {
    const mark = Token.asString({ resolve: () => "x", creationStack: [] });
    expect(escapeForTerraform(mark)).toBe(mark);
    expect(escapeForTerraform(`$${mark}`)).toBe(`\${"$"}${mark}`);
    expect(escapeForTerraform(`$\${a} %{b} ${mark} }`)).toBe(`\${"$$"}{a} %%{b} ${mark} }`);
  });
});

describe("jsonForTerraform", () => {
  test("is the JSON text where nothing is unknown", () => {
    expect(jsonForTerraform([{ a: 'x"y', b: "${z}" }])).toBe('[{"a":"x\\"y","b":"$${z}"}]');
  });

  test("encodes the value of a token as JSON when Terraform learns it", () => {
    expect(hasUnresolved(jsonForTerraform({ a: `x${token()}` }))).toBe(true);
  });
});
