/** Routes as a value: the `routes` attribute of `gateway_bundle` with the real Terraform. */
import { mkdirSync, rmSync } from "node:fs";

import { expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const POLICY = 'jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])';
const SECRET = "hush-hush-hush";

/** A module over a variable as its authors write one. */
const MODULE = `
variable "apps" {
  type = map(object({
    from    = string
    to      = list(string)
    timeout = optional(string)
    headers = optional(map(string))
    users   = optional(list(string))
  }))
}
output "routes" {
  value = { for name, app in var.apps : name => {
    from                = app.from
    to                  = app.to
    timeout             = app.timeout
    policy              = ${POLICY}
    set_request_headers = app.headers
    access              = app.users == null ? null : { allowed_users = app.users }
  } }
}
`;

/** Every kind of member that a route can have. */
const ALL = `{
  rare = {
    from                = "https://rare.example.com"
    to                  = ["https://10.0.0.4:8443", "https://10.0.0.5:8443"]
    policy              = ${POLICY}
    timeout             = null
    preserve_host_header = "false"
    set_request_headers = { "X-Who" = provider::gateway::jwt() }
    routing             = { prefix_rewrite = "/base" }
    access              = { allowed_idp_claims = { groups = ["a", "b"] } }
    headers = {
      set_request_headers_secret = { "X-Key" = { secret_ref = "env:KEY" } }
      rewrite_response_headers   = [{ header = "Location", prefix = "http://a", value = "https://b" }]
    }
    upstream = {
      http2             = false
      health_checks     = [{ tcp_health_check = {} }]
      outlier_detection = { max_ejection_percent = "50" }
    }
  }
  client = { from = "https://c.example.com", to = ["http://10.0.0.6"], policy = ${POLICY}, mcp = { client = {} } }
}`;

describeTerraform("the routes attribute", (terraform) => {
  const { apply, planCode, slice } = terraform;
  const write = (routes: string, rest = "", blocks = ""): void => {
    const target = `file {\n directory = "${terraform.workspace.path("slices")}"\n }\n runtime_flags {\n mcp = true\n }`;
    const body = `owner = "team"\n${target}\n${routes === "" ? "" : `routes = ${routes}`}\n${blocks}`;
    terraform.workspace.write("main.tf", bundleConfig(body, rest));
  };
  const plan = async (): Promise<string> => {
    const { code, stdout, stderr } = await terraform.workspace.run("plan", "-detailed-exitcode");
    expect(code, stderr).toBe(2);
    return stdout;
  };
  const errors = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await terraform.workspace.run(...args);
    expect(code).toBe(1);
    return stderr.replaceAll(/[\s│╷╵]+/g, " ");
  };
  const edit = (change: (routes: Record<string, Record<string, unknown>>) => void): void => {
    const edited = structuredClone(slice()) as { routes: Record<string, Record<string, unknown>> };
    change(edited.routes);
    terraform.workspace.write("slices/team.json", JSON.stringify(edited));
  };

  test("publishes the same as blocks, and plans empty from its state, after a refresh and after an import", async () => {
    write(ALL);
    await apply();
    expect(slice().routes).toEqual({
      rare: {
        from: "https://rare.example.com",
        to: ["https://10.0.0.4:8443", "https://10.0.0.5:8443"],
        policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
        preserve_host_header: false,
        set_request_headers: { "X-Who": "${gateway.jwt}" },
        prefix_rewrite: "/base",
        allowed_idp_claims: { groups: ["a", "b"] },
        set_request_headers_secret: { "X-Key": { secret_ref: "env:KEY" } },
        rewrite_response_headers: [{ header: "Location", prefix: "http://a", value: "https://b" }],
        http2: false,
        health_checks: [{ tcp_health_check: {} }],
        outlier_detection: { max_ejection_percent: 50 },
      },
      client: {
        from: "https://c.example.com",
        to: ["http://10.0.0.6"],
        policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
        mcp: { client: {} },
      },
    });
    expect(await planCode()).toBe(0);
    rmSync(terraform.workspace.path("terraform.tfstate"));
    const id = `${terraform.workspace.path("slices/team.json")}#routes`;
    await terraform.workspace.succeed("import", "gateway_bundle.main", id);
    expect(await planCode()).toBe(0);
    // Terraform writes what is there and no null.
    rmSync(terraform.workspace.path("terraform.tfstate"));
    const head = bundleConfig("").split("\n\nresource")[0] ?? "";
    await terraform.generate(head, id);
    const [, routes = ""] = /\n {2}routes = (\{[^]*?\n {2}\})\n/.exec(terraform.workspace.read("taken.tf")) ?? [];
    expect(routes).toContain('prefix_rewrite = "/base"');
    expect(routes).not.toContain("null");
    await apply();
    expect(await planCode()).toBe(0);
  });

  test("accepts module outputs: typed variables, a merge, null for absent values", async () => {
    for (const name of ["shop", "wiki"]) {
      mkdirSync(terraform.workspace.path(name));
      terraform.workspace.write(`${name}/main.tf`, MODULE);
    }
    const root = (timeout: string): string => `
module "shop" {
  source = "./shop"
  apps   = { shop = { from = "https://shop.example.com", to = ["http://10.0.0.1"], timeout = ${timeout} } }
}
module "wiki" {
  source = "./wiki"
  apps = {
    wiki  = { from = "https://wiki.example.com", to = ["http://10.0.0.2"], headers = { "X-A" = "b" } }
    notes = { from = "https://notes.example.com", to = ["http://10.0.0.3"], users = ["a@example.com"] }
  }
}`;
    write("merge(module.shop.routes, module.wiki.routes)", root('"1s"'));
    await terraform.workspace.succeed("get");
    await apply();
    expect(Object.keys(slice().routes)).toEqual(["notes", "shop", "wiki"]);
    expect(slice().routes["notes"]).toEqual({
      from: "https://notes.example.com",
      to: ["http://10.0.0.3"],
      policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
      allowed_users: ["a@example.com"],
    });
    expect(await planCode()).toBe(0);

    write("merge(module.shop.routes, module.wiki.routes)", root('"2s"'));
    const changed = await plan();
    expect(changed).toMatch(/~ shop\s+= \{\s+~ timeout\s+= "1s" -> "2s"\s+# \(5 unchanged attributes hidden\)/);
    expect(changed).toContain("# (2 unchanged attributes hidden)\n        }");
    expect(changed).not.toMatch(/wiki|notes|10\.0\.0/);
    await apply();

    write("merge(module.shop.routes, module.wiki.routes)", root("null"));
    expect(await plan()).toMatch(/~ timeout\s+= "2s" -> null/);
  });

  test("is not a change with the same meaning: null or absent, another layout of a policy, a set for a list", async () => {
    const route = (members: string, policy = POLICY): string =>
      `{ a = { from = "https://a.example.com", policy = ${policy}, ${members} } }`;
    write(route('to = ["http://a"], access = { allowed_users = ["x"] }'));
    await apply();
    const before = terraform.workspace.read("slices/team.json");
    const policy = '"[ {\\"allow\\": {\\"and\\": [{\\"domain\\": \\"example.com\\"}]}} ]"';
    const users = 'access = { allowed_users = ["x"], allowed_domains = null }';
    write(route(`to = toset(["http://a"]), timeout = null, upstream = null, ${users}`, policy));
    expect(await planCode()).toBe(0);
    // Terraform knows by paths what is sensitive, and a path into a map is another one: so the form follows once.
    write(`tomap(${route('to = ["http://a"], access = { allowed_users = ["x"] }')})`);
    expect(await plan()).not.toContain("routes");
    await apply();
    expect(await planCode()).toBe(0);
    expect(terraform.workspace.read("slices/team.json")).toBe(before);
  });

  const route = (name: string, members = ""): string =>
    `${name} = { from = "https://${name}.example.com", to = ["http://10.0.0.1"], policy = ${POLICY} ${members} }`;
  const block = (name: string): string =>
    `route "${name}" {\n from = "https://${name}.example.com"\n to = ["http://10.0.0.1"]\n policy = ${POLICY}\n }\n`;

  test("can be combined with blocks of other names; moving a route between them changes no content", async () => {
    write(`{ ${route("a")} }`, "", block("b"));
    await apply();
    expect(Object.keys(slice().routes)).toEqual(["a", "b"]);
    expect(await planCode()).toBe(0);
    const before = terraform.workspace.read("slices/team.json");
    write("", "", block("a") + block("b"));
    const moved = await plan();
    expect(moved).toContain('+ route "a"');
    expect(moved).not.toMatch(/sha256|generation/);
    await apply();
    expect(terraform.workspace.read("slices/team.json")).toBe(before);

    write(`{ ${route("a")} }`, "", block("a"));
    expect(await errors("plan")).toContain('Route "a" is in "routes" and in a "route" block, must be in one of them.');
  });

  test("is known after apply as a whole, by route and by field, and is checked when it is known", async () => {
    const data = (input: string): string => `resource "terraform_data" "x" {\n input = ${input}\n}\n`;
    const value = "terraform_data.x.output";
    write(`{ ${route("a", `, timeout = ${value}`)}, ${route("b")} }`, data('"10s"'));
    const planned = await plan();
    expect(planned).toMatch(/\+ timeout\s+= \(known after apply\)/);
    expect(planned).toMatch(/sha256\s+= \(known after apply\)/);
    await apply();
    expect(slice().routes["a"]).toMatchObject({ timeout: "10s" });
    expect(await planCode()).toBe(0);

    write(`{ ${route("a", `, timeout = ${value}`)}, ${route("b")} }`, data('"20s"'));
    const changed = await plan();
    expect(changed).toMatch(/~ timeout\s+= "10s" -> \(known after apply\)/);
    expect(changed).not.toContain("b.example.com");

    write(`{ a = ${value}, ${route("b")} }`, data(`{ ${route("a")} }.a`));
    expect(await plan()).toMatch(/\} -> \(known after apply\)\s+# \(1 unchanged attribute hidden\)/);
    write(value, data(`{ ${route("a")} }`));
    expect(await plan()).toMatch(/\} -> \(known after apply\)\n {6}~ sha256/);
    await apply();
    expect(Object.keys(slice().routes)).toEqual(["a"]);
    expect(await planCode()).toBe(0);

    const before = terraform.workspace.read("slices/team.json");
    write(value, data(`{ ${route("a", ", colour = 1")} }`));
    expect(await errors("apply", "-auto-approve")).toContain('"colour" is not a known setting. At routes["a"].colour');
    expect(terraform.workspace.read("slices/team.json")).toBe(before);
  });

  test("drifts by field and by route, in the form that it has", async () => {
    const variable = `variable "apps" {
  type = map(object({ from = string, to = list(string), policy = string, timeout = optional(string) }))
  default = { ${route("a", ', timeout = "1s"')}, ${route("b")} }
}`.replaceAll(POLICY, '"[]"');
    for (const [routes, rest] of [
      [`{ ${route("a", ', timeout = "1s"')}, ${route("b")} }`, ""],
      ["var.apps", variable],
    ] as const) {
      write(routes, rest);
      await apply();
      edit((published) => {
        published["a"]!["timeout"] = "99s";
        delete published["b"];
        published["foreign"] = { from: "https://foreign.example.com", to: "http://10.9.9.9", policy: [] };
      });
      const drifted = await plan();
      expect(drifted).toMatch(/~ a\s+= \{\s+~ timeout\s+= "99s" -> "1s"\s+# \(3 unchanged attributes hidden\)/);
      expect(drifted).toMatch(/\+ b\s+= \{/);
      expect(drifted).toMatch(/- foreign\s+= \{/);
      await apply();
      expect(Object.keys(slice().routes)).toEqual(["a", "b"]);
      expect(await planCode()).toBe(0);
    }
  });

  test("hides sensitive values, also after drift, and rejects secrets that it would show", async () => {
    const variable = `variable "hush" {\n sensitive = true\n default = "${SECRET}"\n}\n`;
    const headers = 'set_request_headers = { "X-A" = var.hush, "X-B" = "b" }';
    write(`{ ${route("a", `, ${headers}`)} }`, variable);
    expect(await plan()).toMatch(/\+ X-A\s+= \(sensitive value\)\s+\+ X-B\s+= "b"/);
    await apply();
    write(`{ ${route("a", `, timeout = "1s", ${headers}`)} }`, variable);
    edit((routes) => (routes["a"]!["prefix"] = "/x"));
    const outputs = [await plan(), await apply(), await terraform.workspace.succeed("show")].join("");
    expect(outputs).not.toContain(SECRET);
    expect(slice().routes["a"]).toMatchObject({ set_request_headers: { "X-A": SECRET } });

    const oauth = (secret: string): string =>
      `, mcp = { server = { upstream_oauth2 = { client_id = "x", ${secret} } } }, timeout = "soon"`;
    for (const [secret, instead] of [
      [oauth(`client_secret = "${SECRET}"`), 'use "client_secret_ref" or "client_secret_sealed".'],
      [oauth(`client_secret_wo = "${SECRET}"`), '"client_secret_sealed", or a "route" block.'],
      [`, upstream = { tls_client_key = "${SECRET}" }, timeout = "soon"`, 'use "tls_client_key_ref"'],
    ] as const) {
      write(`merge({}, { ${route("a", secret)} })`);
      const said = await errors("validate");
      expect(said).toContain(instead);
      expect(said).toContain('At routes["a"].timeout');
      expect(said).not.toContain(SECRET);
    }
  });

  test("reports its problems with their location", async () => {
    const cases: [routes: string, text: string, place: string][] = [
      ['{ a = { frm = "x" } }', '"frm" is not a known setting, did you mean "from"?', 'routes["a"].frm'],
      [
        "{ a = { allowed_users = [] } }",
        '"allowed_users" must be in "access", as in a "route" block',
        'routes["a"].allowed_users',
      ],
      ['{ a = { to = "http://a" } }', '"to" is text, must be a list of texts', 'routes["a"].to'],
      ['{ a = { to = [["http://a"]] } }', '"to[0]" is a list, must be text', 'routes["a"].to[0]'],
      ["{ a = { policy = [] } }", '"policy" is a list, must be JSON text', 'routes["a"].policy'],
      [
        "{ a = { set_request_headers = { X-A = {} } } }",
        '"set_request_headers["X-A"]" is an object, must be text',
        'routes["a"].set_request_headers["X-A"]',
      ],
      [
        '{ a = { preserve_host_header = "maybe" } }',
        '"preserve_host_header" is text, must be true or false',
        'routes["a"].preserve_host_header',
      ],
      [
        '{ a = { mcp = { server = { max_request_bytes = "many" } } } }',
        "is text, must be a number",
        'routes["a"].mcp.server.max_request_bytes',
      ],
      ["{ a = { mcp = [] } }", '"mcp" is a list, must be an object', 'routes["a"].mcp'],
      [
        "{ a = { upstream = { health_checks = [1] } } }",
        '"upstream.health_checks[0]" is a number, must be an object',
        'routes["a"].upstream.health_checks[0]',
      ],
      ["{ a = null }", 'Route "a" is null: remove it from the map', 'routes["a"]'],
      ['{ a = "x" }', 'Route "a" is text, must be an object', 'routes["a"]'],
      ["[]", '"routes" is a list, must be a map of objects', "routes"],
      ['{ a = { from = "x" } }', '"from" is "x", must be an absolute URL', 'routes["a"].from'],
      ['{ "a/b" = { from = "https://a.example.com" } }', 'Route "a/b" has a name that', 'routes["a/b"]'],
    ];
    for (const [routes, text, place] of cases) {
      write(routes);
      const said = await errors("validate");
      expect(said).toContain(text);
      expect(said).toContain(`At ${place}`);
    }
    write(`{\n  ${route("good")}\n  ${route("bad", ', timeout = "soon"')}\n}`);
    expect(await errors("validate")).toMatch(/on main\.tf line \d+, .* \d+: bad = \{ from/);
  });
});
