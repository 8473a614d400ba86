/** Messages of the real Terraform about invalid configurations, and their locations. */
import { describe, expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

interface Found {
  readonly severity: string;
  readonly summary: string;
  readonly detail: string;
  /** Text of the line that Terraform points at. */
  readonly code: string;
}

const POLICY = "policy = jsonencode([{ allow = { and = [{ authenticated_user = true }] } }])";

/** A valid route with an additional part. */
function route(name: string, body: string, from = `https://${name}.example.com`): string {
  return `
  route "${name}" {
    from = "${from}"
    to   = ["http://10.0.0.1:8080"]
    ${POLICY}
    ${body}
  }`;
}

describeTerraform("terraform validate", (terraform) => {
  async function validate(body: string, rest = ""): Promise<readonly Found[]> {
    terraform.workspace.write("main.tf", bundleConfig(body, rest));
    const { stdout } = await terraform.workspace.run("validate", "-json");
    const { diagnostics } = JSON.parse(stdout) as {
      diagnostics: { severity: string; summary: string; detail: string; snippet?: { code: string } }[];
    };
    return diagnostics.map(({ severity, summary, detail, snippet }) => ({
      severity,
      summary,
      detail,
      code: snippet?.code.trim() ?? "",
    }));
  }

  test("a sound bundle has no findings", async () => {
    expect(await validate(`owner = "team"\n${route("app", "")}`)).toEqual([]);
  });

  test.each<[string, string, string, string, string]>([
    [
      "a bad value of a route",
      route("app", 'timeout = "soon"'),
      'timeout = "soon"',
      '"timeout" is "soon", must be a duration',
      'At route["app"].timeout',
    ],
    [
      "an item of a list",
      route("app", 'remove_request_headers = ["X-Ok", "not a header"]'),
      'remove_request_headers = ["X-Ok", "not a header"]',
      '"remove_request_headers[1]"',
      'At route["app"].remove_request_headers[1]',
    ],
    [
      "a value of a map",
      route("app", 'set_request_headers = { "X-A" = "costs $5" }'),
      'set_request_headers = { "X-A" = "costs $5" }',
      "$$",
      'At route["app"].set_request_headers["X-A"]',
    ],
    [
      "a deeply nested value",
      route("app", 'mcp {\n server {\n authorization_server_url = "http://as.example.com"\n }\n }'),
      'authorization_server_url = "http://as.example.com"',
      "must start with https://",
      'At route["app"].mcp.server.authorization_server_url',
    ],
    [
      "a list of a map that is null",
      route("app", "access {\n allowed_idp_claims = { groups = null }\n }"),
      "allowed_idp_claims = { groups = null }",
      '"allowed_idp_claims.groups" is empty, must be',
      'At route["app"].access.allowed_idp_claims["groups"]',
    ],
    [
      "a block in a list of blocks",
      route(
        "app",
        'headers {\n rewrite_response_headers {\n header = "Location"\n prefix = "a"\n value = "b"\n }\n rewrite_response_headers {\n header = "no header"\n prefix = ""\n value = ""\n }\n }',
      ),
      'header = "no header"',
      '"rewrite_response_headers[1].header"',
      'At route["app"].headers.rewrite_response_headers[1].header',
    ],
    [
      "a value in a block of Terraform's alone",
      route("app", 'upstream {\n idle_timeout = "soon"\n }'),
      'idle_timeout = "soon"',
      '"idle_timeout" is "soon", must be a duration',
      'At route["app"].upstream.idle_timeout',
    ],
    [
      "a block in one",
      route("app", "routing {\n response {\n status = 99\n }\n }").replace(/to {3}= .*/, ""),
      "status = 99",
      '"response.status" is 99',
      'At route["app"].routing.response.status',
    ],
    [
      "something inside a policy",
      route("app", "").replace(
        POLICY,
        'policy = jsonencode([{ allow = { and = [{ mcp_tool = { begins_with = "x" } }] } }])',
      ),
      "policy = jsonencode",
      '"policy[0].allow.and[0].mcp_tool',
      'At route["app"].policy',
    ],
    [
      "a policy that is no JSON",
      route("app", "").replace(POLICY, 'policy = "allow: all"'),
      'policy = "allow: all"',
      '"policy" is not JSON',
      'At route["app"].policy',
    ],
    [
      "a setting beside the routes",
      'cookie_expiration = "1 day"',
      'cookie_expiration = "1 day"',
      '"cookie_expiration" is "1 day"',
      "At cookie_expiration",
    ],
    ["a choice", 'cookie_same_site = "always"', 'cookie_same_site = "always"', '"lax"', "At cookie_same_site"],
    [
      "two settings that exclude each other",
      route("app", 'host_rewrite = "a.example.com"\n headers {\n host_rewrite_header = "X-Host"\n }'),
      "host_rewrite_header",
      "at most one setting may choose the Host header",
      'At route["app"].headers.host_rewrite_header',
    ],
    [
      "a route name",
      route("a/b", "", "https://a.example.com"),
      'from = "https://a.example.com"',
      'Route "a/b" has a name that',
      'At route["a/b"]',
    ],
    ["the mode of the file", 'file {\n directory = "x"\n mode = "0999"\n }', 'mode = "0999"', "octal", "At file.mode"],
    [
      "a mode that locks its owner out",
      'file {\n directory = "x"\n mode = "0444"\n }',
      'mode = "0444"',
      "octal",
      "At file.mode",
    ],
    [
      "a number beyond JSON",
      route("app", "mcp {\n server {\n max_request_bytes = 9007199254740993\n }\n }"),
      "max_request_bytes",
      '"mcp.server.max_request_bytes" is a number that JSON cannot carry',
      'At route["app"].mcp.server.max_request_bytes',
    ],
    [
      "a number beyond all",
      "max_streams_per_user = 1e400",
      "max_streams_per_user",
      "cannot carry",
      "At max_streams_per_user",
    ],
    [
      "a number beyond JSON in a policy",
      route("app", "").replace(
        POLICY,
        'policy = jsonencode([{ allow = { and = [{ "claim/x" = { has = 9007199254740993 } }] } }])',
      ),
      "policy",
      '"policy" at [0].allow.and[0]["claim/x"].has is a number that JSON cannot carry',
      'At route["app"].policy',
    ],
    ["an owner that every gateway refuses", 'owner = "default"', 'owner = "default"', 'such as "main"', "At owner"],
  ])("%s", async (_name, body, code, text, path) => {
    const owner = body.startsWith("owner") ? "" : 'owner = "team"\n';
    const found = (await validate(`${owner}${body}`)).filter(({ severity }) => severity === "error");
    expect(found).toHaveLength(1);
    expect(found[0]?.code).toContain(code);
    expect(found[0]?.detail).toContain(text);
    expect(found[0]?.detail).toContain(path);
  });

  test("an MCP route where only the gateway's own file may have turned MCP on", async () => {
    const found = await validate(`owner = "team"\n${route("app", "mcp {\n server {}\n }")}`);
    expect(found.map(({ detail }) => detail).join("\n")).toContain(
      "the MCP route answers 503 unless the gateway's own file sets it to true",
    );
  });

  test("a bad owner", async () => {
    const [found] = await validate('owner = "../team"');
    expect(found).toMatchObject({ severity: "error", code: 'owner = "../team"' });
  });

  test("an owner whose file a gateway would read as its main configuration file", async () => {
    const [found] = await validate('owner = "gateway"\nfile {\n directory = "x"\n }');
    expect(found).toMatchObject({ severity: "error", code: 'owner = "gateway"' });
    expect(found?.detail).toContain("main configuration file");
  });

  test("misspelt blocks and attributes are refused with the nearest name", async () => {
    const [found] = await validate(`owner = "team"\n${route("app", "mcp {\n clinet {}\n }")}`);
    expect(found?.detail).toContain('Did you mean "client"?');
    const [other] = await validate(`owner = "team"\n${route("app", 'timeuot = "1s"')}`);
    expect(other?.detail).toContain('Did you mean "timeout"?');
  });

  test("a reference that is none, and a good one to a server that only the gateway's boot file names", async () => {
    const ca = (name: string, ref: string): string =>
      route(name, `upstream {\n tls_custom_ca_ref = "${ref}"\n }`, `https://${name}.example.com`);
    const [found, ...more] = await validate(
      `owner = "team"\n${ca("a", "vault:kv/app#ca")}${ca("b", "vault:kv/../app#ca")}`,
    );
    expect(more).toEqual([]);
    expect(found).toMatchObject({ severity: "error" });
    expect(found?.detail).toContain('must be like "vault:<mount>/<path>#<field>"');
  });

  test("two routes that take the same requests", async () => {
    const found = await validate(
      `owner = "team"\n${route("a", "", "https://x.example.com")}${route("b", "", "https://x.example.com")}`,
    );
    expect(found.filter(({ severity }) => severity === "error").length).toBeGreaterThan(0);
  });

  test("all problems are reported together", async () => {
    const found = await validate(
      `owner = "team"\ncookie_expiration = "x"\n${route("a", 'timeout = "x"')}${route("b", 'prefix = "x"')}`,
    );
    expect(found.filter(({ severity }) => severity === "error")).toHaveLength(3);
  });

  test("a secret in plain text is a warning that wishes a reference and does not repeat it", async () => {
    const body =
      'mcp {\n server {\n upstream_oauth2 {\n client_id = "id"\n client_secret = "hunter2hunter2"\n endpoint {\n auth_url = "https://a.example.com/a"\n token_url = "https://a.example.com/t"\n }\n }\n }\n }';
    const found = await validate(`owner = "team"\nruntime_flags {\n mcp = true\n }\n${route("app", body)}`);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ severity: "warning" });
    expect(found[0]?.detail).toContain("client_secret_ref");
    expect(JSON.stringify(found)).not.toContain("hunter2");
  });

  test("a secret next to the owner is reported with its attribute, at the start of its resource", async () => {
    const body = 'owner = "team"\nidp_provider_url = "https://i.example.com"\nidp_client_id = "x"\n';
    const found = await validate(`${body}idp_client_secret = "hunter2hunter2"`);
    expect(found).toMatchObject([{ severity: "warning", code: 'resource "gateway_bundle" "main" {' }]);
    expect(found[0]?.detail).toContain("At idp_client_secret");
    expect(JSON.stringify(found)).not.toContain("hunter2");
    const [unsealed] = await validate('owner = "team"\nidp_client_secret_wo = "hunter2hunter2"');
    expect(unsealed).toMatchObject({ severity: "error", code: 'resource "gateway_bundle" "main" {' });
  });

  test("an unusable sealing key is reported before anything is applied", async () => {
    const key = JSON.stringify({ kty: "EC", crv: "P-256", x: "AAAA", y: "AAAA" });
    const [found] = await validate(`owner = "team"\nseal_key = ${JSON.stringify(key)}`);
    expect(found?.detail).toMatch(/"seal_key" is a JWK whose coordinates[^]*At seal_key/);
  });

  describe("of values that are not known yet", () => {
    const unknown = '\nresource "terraform_data" "x" {\n  input = "x"\n}\nvariable "v" {\n  type = string\n}\n';
    const value = "terraform_data.x.output";

    test("finds nothing wrong with any of them", async () => {
      const body = `
  owner = var.v
  authorize_log_fields = [var.v]
  idp_provider_url = ${value}
  idp_client_id = var.v
  set_response_headers = { "X-A" = ${value} }
  cookie_expiration = ${value}
  cookie_same_site = ${value}
  jwt_claims_headers = { "X-Claim" = var.v }
  runtime_flags {
    mcp = ${value}
  }
  route "a" {
    from = ${value}
    to = [${value}, var.v]
    policy = ${value}
    prefix = var.v
    timeout = var.v
    preserve_host_header = ${value}
    host_rewrite = var.v
    set_request_headers = ${value}
    remove_request_headers = [${value}]
    mcp {
      server {
        path = ${value}
        max_request_bytes = ${value}
        upstream_oauth2 {
          client_id = ${value}
          client_secret_ref = ${value}
        }
      }
    }
  }
  route "b" {
    from = var.v
    to = [var.v]
    policy = var.v
  }`;
      expect((await validate(body, unknown)).filter(({ severity }) => severity === "error")).toEqual([]);
    });

    test("still reports problems that exist for any value", async () => {
      const found = await validate(
        `owner = "team"\n${route("a", `timeout = "soon"\n host_rewrite = ${value}`)}`,
        unknown,
      );
      expect(found.map(({ detail }) => detail)).toEqual([expect.stringContaining('"timeout" is "soon"')]);
    });

    test("finds nothing wrong with a block that may turn out not to be there", async () => {
      const body = `prefix = "/a"
    dynamic "routing" {
      for_each = ${value} == "x" ? [1] : []
      content {
        regex = "^/b$"
      }
    }
    dynamic "upstream" {
      for_each = ${value} == "x" ? [1] : []
      content {
        tls_skip_verify = true
        idle_timeout    = "soon"
      }
    }`;
      expect(await validate(`owner = "team"\n${route("a", body)}`, unknown)).toEqual([]);
    });

    test.each<[string, string]>([
      [
        "an answer of its own",
        `route "a" {
           from = "https://a.example.com"
           dynamic "routing" {
             for_each = ${value} == "x" ? [1] : []
             content {
               redirect {
                 host_redirect = "b.example.com"
               }
             }
           }
           ${POLICY}
         }`,
      ],
      [
        "a kind of check",
        route(
          "a",
          `upstream {
             health_checks {
               dynamic "tcp_health_check" {
                 for_each = ${value} == "x" ? [1] : []
                 content {}
               }
             }
           }`,
        ),
      ],
      [
        "what tells two routes apart",
        `${route("a", "", "https://same.example.com")}
         ${route(
           "b",
           `dynamic "routing" {
              for_each = ${value} == "x" ? [1] : []
              content {
                regex = "^/b$"
              }
            }`,
           "https://same.example.com",
         )}
         ${route("c", `prefix = ${value}`, "https://same.example.com")}
         ${route("d", `path = ${value}`, "https://same.example.com")}`,
      ],
    ])("finds nothing missing that a block may turn out to have: %s", async (_, body) => {
      expect(await validate(`owner = "team"\n${body}`, unknown)).toEqual([]);
    });

    test("still reports two routes for the same requests next to one that may differ", async () => {
      const same = ["a", "b"].map((name) => route(name, "", "https://same.example.com")).join("\n");
      const body = `${same}\n${route("c", `prefix = ${value}`, "https://same.example.com")}`;
      const found = await validate(`owner = "team"\n${body}`, unknown);
      expect(found.map(({ detail }) => detail)).toEqual([expect.stringContaining('as "routes.a" in bundle')]);
    });

    test("says nothing that only holds if a value is not null", async () => {
      const body = route("a", `host_rewrite = ${value}\n headers {\n host_rewrite_header = "X-Host"\n }`);
      expect(await validate(`owner = "team"\n${body}`, unknown)).toEqual([]);
    });
  });
});
