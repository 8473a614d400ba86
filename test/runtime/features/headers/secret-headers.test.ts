/** Request headers whose values are secrets. */
import { describe, expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";
import { renderTemplate } from "../../../../runtime/features/headers/template.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";

const values = { accessToken: "", idToken: "", clientCertFingerprint: "", jwt: () => "", requestHeader: () => "" };

function yaml(route: string): string {
  return `
idp_provider_url: https://login.example.com
idp_client_id: gateway
idp_client_secret: x
routes:
  - name: app
    from: https://app.example.com
    to: http://app.internal
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
    ${route}
`;
}

function problemsOf(route: string): readonly string[] {
  return loadSlices([{ file: "a.yaml", text: yaml(route), boot: true }])
    .problems.filter(({ severity }) => severity === "error")
    .map(formatProblem);
}

describe("set_request_headers_secret", () => {
  test("sends the secret unchanged, together with set_request_headers; a $ in it is literal", () => {
    const route =
      "{ set_request_headers: { X-A: one }, set_request_headers_secret: { X-Key: { secret_ref: env:KEY } } }";
    const text = yaml(route.slice(2, -2).replace(", set_request_headers_secret", "\n    set_request_headers_secret"));
    const { set } = routeNamed(
      snapshotFrom(text, { secrets: { "env:KEY": "p$1${gateway.jwt}" } }),
      "app",
    ).requestHeaders;

    expect(set.map(({ name, value }) => [name, renderTemplate(value, values)])).toEqual([
      ["X-A", "one"],
      ["X-Key", "p$1${gateway.jwt}"],
    ]);
  });

  test("rejects a secret that no header can carry, without repeating it", () => {
    const text = yaml("set_request_headers_secret: { X-Key: { secret_ref: env:KEY } }");

    expect(() => snapshotFrom(text, { secrets: { "env:KEY": "hunter2\r\nX-Evil: 1" } })).toThrow(
      /header "X-Key".*line break/,
    );
    expect(() => snapshotFrom(text, { secrets: { "env:KEY": "hunter2\r\nX-Evil: 1" } })).not.toThrow(/hunter2/);
  });

  test.each([
    ["{ Host: { secret_ref: env:K } }", /cannot be changed here/],
    ["{ X-Gateway-Assertion: { secret_ref: env:K } }", /only the gateway may set it/],
    ["{ X-Key: {} }", /must have "secret_ref" or "secret_sealed"/],
    ["{ X-Key: hunter2 }", /must be a block/],
    ["{ X-Key: { secret_ref: env:K }, x-key: { secret_ref: env:K } }", /must be written once/],
    ["{ X-Key: { secret_ref: env:K, secret: hunter2 } }", /must be written in one form/],
    ["{ X-Key: { secret_ref: env:K } }\n    set_request_headers: { x-key: b }", /must be in one of them/],
    ["{ Authorization: { secret_ref: env:K } }\n    mcp: { client: {} }", /External Token/],
  ])("refuses %s", (written, expected) => {
    const found = problemsOf(`set_request_headers_secret: ${written}`);

    expect(found.join("\n")).toMatch(expected);
    expect(found.join("\n")).not.toContain("hunter2");
  });
});
