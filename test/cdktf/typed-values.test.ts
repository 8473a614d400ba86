import { TerraformStack, TerraformVariable, Testing } from "cdktf";
import { describe, expect, test } from "vitest";

import { Domain, Gateway, McpServerRoute, Secret, UpstreamOauth2 } from "../../cdktf/index.ts";

function token(): string {
  return new TerraformVariable(new TerraformStack(Testing.app(), "stack"), "value", {}).stringValue;
}

function gateway(): Gateway {
  return new Gateway(new TerraformStack(Testing.app(), "stack"), "gateway");
}

describe("Domain", () => {
  test("is a pattern in canonical form", () => {
    expect(Domain.exactly("Example.COM.").pattern).toBe("example.com");
    expect(Domain.subdomainsOf("example.com").pattern).toBe("*.example.com");
    expect(Domain.parse("*.example.com").pattern).toBe("*.example.com");
  });

  test.each([
    ["https://example.com", "must be a host name without scheme, port or path"],
    ["example.com:443", "must be a host name without scheme, port or path"],
    ["a.*.example.com", 'has a "*" that is not the leading label'],
    ["", "must be a host name"],
    ["a b", "must be a host name"],
  ])("refuses %j where it is made", (text, expected) => {
    expect(() => Domain.parse(text)).toThrow(`Cannot use domain "${text}": it ${expected}`);
  });

  test("exactly() refuses a wildcard, which would allow more than it says", () => {
    expect(() => Domain.exactly("*.example.com")).toThrow("write Domain.subdomainsOf(…)");
    expect(() => Domain.subdomainsOf("*.example.com")).toThrow("Cannot use domain");
  });

  test("leaves a value of another resource to the gateway", () => {
    const value = token();
    expect(Domain.parse(value).pattern).toBe(value);
  });

  test("is checked also where a prop takes a string", () => {
    const stack = new TerraformStack(Testing.app(), "stack");
    expect(() => new Gateway(stack, "gateway", { mcpAllowedClientIdDomains: ["https://x"] })).toThrow(
      'Cannot use domain "https://x"',
    );
  });
});

describe("Secret", () => {
  test.each([
    [Secret.fromEnvironment("NAME"), { client_secret_ref: "env:NAME" }],
    [Secret.fromFile("/run/secrets/x"), { client_secret_ref: "file:/run/secrets/x" }],
    [Secret.fromVault("kv/a/b", "c"), { client_secret_ref: "vault:kv/a/b#c" }],
    [Secret.fromVault("kv/a/b", "c", 2), { client_secret_ref: "vault:kv/a/b#c@2" }],
    [Secret.sealed("e30.e30.e30.e30.e30"), { client_secret_sealed: "e30.e30.e30.e30.e30" }],
    [Secret.plainText("hush"), { client_secret: "hush" }],
  ])("%# is written in one of its spellings", (clientSecret, written) => {
    const route = new McpServerRoute(gateway(), "a", {
      from: "https://a.example.com",
      to: "http://a:1",
      upstreamOauth2: UpstreamOauth2.credentials({ clientId: "c", clientSecret }),
    });
    expect(route.document.mcp?.server?.upstream_oauth2).toEqual({ client_id: "c", ...written });
  });
});

describe("setRequestHeadersSecret", () => {
  test("writes each secret under the header's name", () => {
    const route = new McpServerRoute(gateway(), "a", {
      from: "https://a.example.com",
      to: "http://a:1",
      setRequestHeadersSecret: {
        "X-Api-Key": Secret.fromEnvironment("KEY"),
        "X-Other": Secret.sealed("e30.e30.e30.e30.e30"),
      },
    });
    expect(route.document.set_request_headers_secret).toEqual({
      "X-Api-Key": { secret_ref: "env:KEY" },
      "X-Other": { secret_sealed: "e30.e30.e30.e30.e30" },
    });
  });
});

describe("UpstreamOauth2", () => {
  test("discover() needs nothing, and is not the same as no setting at all", () => {
    const of = (upstreamOauth2?: UpstreamOauth2) =>
      new McpServerRoute(gateway(), "a", {
        from: "https://a.example.com",
        to: "http://a:1",
        ...(upstreamOauth2 && { upstreamOauth2 }),
      }).document.mcp?.server;
    expect(of(UpstreamOauth2.discover())).toEqual({ upstream_oauth2: {} });
    expect(of(UpstreamOauth2.discover({ scopes: ["read"] }))).toEqual({ upstream_oauth2: { scopes: ["read"] } });
    expect(of()).toEqual({});
  });
});
