import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  parseStaticValue,
  parseTemplate,
  renderTemplate,
  type TemplateValues,
} from "../../../../runtime/features/headers/template.ts";

const VALUES: TemplateValues = {
  accessToken: "access",
  idToken: "id",
  clientCertFingerprint: "fp",
  jwt: () => "jwt",
  requestHeader: (name) => `<${name}>`,
};

describe("parseTemplate()", () => {
  test.each([
    ["plain", "plain"],
    ["", ""],
    ["$$", "$"],
    ["$$$$", "$$"],
    ["$${gateway.jwt}", "${gateway.jwt}"],
    ["Bearer ${gateway.access_token}", "Bearer access"],
    ["${gateway.id_token}${gateway.client_cert_fingerprint}", "idfp"],
    ["a ${gateway.jwt} b", "a jwt b"],
    ['${gateway.request.headers["X-Name"]}', "<x-name>"],
    ["$$${gateway.jwt}$$", "$jwt$"],
  ])("renders %j as %j", (source, rendered) => {
    expect(renderTemplate(parseTemplate(source), VALUES)).toBe(rendered);
  });

  test.each([
    "$",
    "costs $5",
    "$$$",
    "${",
    "${}",
    "${gateway}",
    "${gateway.}",
    "${gateway.refresh_token}",
    "${ gateway.jwt }",
    "${gateway.jwt",
    "${pomerium.jwt}",
    "${gateway.request.headers[X]}",
    '${gateway.request.headers["X Y"]}',
    '${gateway.request.headers[""]}',
    '${gateway.request.headers["X"].y}',
    "$gateway.jwt",
  ])("refuses %j", (source) => {
    expect(() => parseTemplate(source)).toThrow(TypeError);
  });

  test.each([
    ["${ gateway.jwt }", /blank.*"\$\{gateway\.jwt\}"/],
    ["${gateway.jwt }", /blank/],
    ["${\tgateway.jwt}", /blank/],
    ["${ gateway.refresh_token }", /blank/],
    ['${ gateway.request.headers["X-Name"] }', /blank.*"\$\{gateway\.request\.headers\["X-Name"\]\}"/],
    ["${pomerium.jwt}", /"pomerium\.", must be "\$\{gateway\.jwt\}"/],
    ["${pomerium.access_token}", /must be "\$\{gateway\.access_token\}"/],
    ['${pomerium.request.headers["X-Name"]}', /must be "\$\{gateway\.request\.headers\["X-Name"\]\}"/],
    ["${pomerium.unheard_of}", /must be "\$\{gateway\.…\}"/],
    ["${other.jwt}", /does not start with "gateway\."/],
  ])("says of %j what is wrong with it and how it is written", (source, message) => {
    expect(() => parseTemplate(source)).toThrow(message);
  });

  test("does not expand substituted values", () => {
    const values = { ...VALUES, requestHeader: () => "${gateway.access_token} $$ $" };

    const rendered = renderTemplate(parseTemplate('${gateway.request.headers["X"]}'), values);

    expect(rendered).toBe("${gateway.access_token} $$ $");
  });

  test("states which sources it needs, and uses no other", () => {
    const refuse = (): never => {
      throw new Error("asked for what the template does not use");
    };
    const template = parseTemplate("Bearer ${gateway.access_token}");

    expect([...template.needs]).toEqual(["access_token"]);
    expect(renderTemplate(template, { ...VALUES, jwt: refuse, requestHeader: refuse })).toBe("Bearer access");
  });

  test("does not repeat the text in an error, since it may contain a secret", () => {
    expect(() => parseTemplate("Basic hunter2 $")).toThrow(expect.not.stringContaining("hunter2") as Error);
  });

  test("property: text without dollar renders as itself; every dollar doubled renders as itself", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(renderTemplate(parseTemplate(text.replaceAll("$", "$$$$")), VALUES)).toBe(text);
      }),
    );
  });
});

describe("parseStaticValue()", () => {
  test.each([
    ["costs $5", "costs $5"],
    ["$$5", "$5"],
    ["$${x}", "${x}"],
    ["$$$$", "$$"],
  ])("reads %j as %j", (source, value) => {
    expect(parseStaticValue(source)).toBe(value);
  });

  test.each(["${gateway.jwt}", "${", "a ${x} b", "$$${x}"])("refuses %j", (source) => {
    expect(() => parseStaticValue(source)).toThrow(TypeError);
  });
});
