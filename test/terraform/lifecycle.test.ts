/** A bundle's life with the real Terraform: plan, apply, drift, import, destroy. */
import { existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";

import { expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const POLICY = 'jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])';

/** Absolute: the provider of these tests runs in this process and in its working directory. */
function config(
  slices: string,
  options: { timeout?: string; policy?: string; owner?: string; extra?: string } = {},
): string {
  return bundleConfig(`
  owner = "${options.owner ?? "team"}"
  file {
    directory = "${slices}"
  }
  runtime_flags {
    mcp = true
  }
  authorize_log_fields = ["user", "mcp-tool"]
  route "github" {
    from    = "https://github.example.com"
    to      = ["http://10.0.0.1:8080"]
    timeout = "${options.timeout ?? "10s"}"
    policy  = ${options.policy ?? POLICY}
    set_request_headers = { "X-Who" = provider::gateway::jwt() }
  }
  route "app" {
    from   = "https://app.example.com"
    to     = ["http://10.0.0.2:8080", "http://10.0.0.3:8080"]
    policy = ${POLICY}
    headers {
      rewrite_response_headers {
        header = "Location"
        prefix = "http://a"
        value  = "https://b"
      }
    }
    mcp {
      client {}
    }
  }
  ${options.extra ?? ""}`);
}

describeTerraform("gateway_bundle", (terraform) => {
  const configured = (options?: Parameters<typeof config>[1]): string =>
    config(terraform.workspace.path("slices"), options);
  const { apply, planCode, slice } = terraform;
  const plan = () => terraform.workspace.run("plan", "-detailed-exitcode");

  test("apply publishes exactly what was written, and a second plan is empty", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    expect(slice()).toEqual({
      version: 1,
      owner: "team",
      settings: { runtime_flags: { mcp: true }, authorize_log_fields: ["user", "mcp-tool"] },
      routes: {
        app: {
          from: "https://app.example.com",
          to: ["http://10.0.0.2:8080", "http://10.0.0.3:8080"],
          policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
          rewrite_response_headers: [{ header: "Location", prefix: "http://a", value: "https://b" }],
          mcp: { client: {} },
        },
        github: {
          from: "https://github.example.com",
          to: ["http://10.0.0.1:8080"],
          timeout: "10s",
          policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
          set_request_headers: { "X-Who": "${gateway.jwt}" },
        },
      },
    });
    expect(readdirSync(terraform.workspace.path("slices"))).toEqual(["team.json", "team.json.claim"]);
    expect(await planCode()).toBe(0);
  });

  test("a plan shows the changed field of one route and hides the other", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("main.tf", configured({ timeout: "20s" }));
    const { code, stdout } = await plan();
    expect(code).toBe(2);
    expect(stdout).toMatch(/~ timeout\s+= "10s" -> "20s"/);
    expect(stdout).toMatch(/~ generation\s+= 1 -> 2/);
    expect(stdout).toContain("3 unchanged blocks hidden");
    expect(stdout).not.toContain("app.example.com");
    expect(stdout).not.toContain("10.0.0.1");
  });

  test("a change of one member of a federated route leaves the route and the other members out of the plan", async () => {
    const member = (name: string, timeout: string): string => `
  route "${name}" {
    from    = "https://${name}.example.com"
    to      = ["http://10.0.0.4:8080"]
    timeout = "${timeout}"
    policy  = ${POLICY}
    mcp {
      server {}
    }
  }`;
    const all = `
  route "all" {
    from   = "https://all.example.com"
    policy = ${POLICY}
    mcp {
      server {
        members           = { one = "one", two = "two" }
        resource_prefixes = { "file:///one/" = "one" }
      }
    }
  }`;
    const of = (timeout: string): string => configured({ extra: all + member("one", timeout) + member("two", "30s") });
    terraform.workspace.write("main.tf", of("30s"));
    await apply();
    expect((slice() as { routes: { all: object } }).routes.all).toMatchObject({
      mcp: { server: { members: { one: "one", two: "two" }, resource_prefixes: { "file:///one/": "one" } } },
    });
    terraform.workspace.write("main.tf", of("40s"));
    // Warnings follow.
    const [changes = ""] = (await plan()).stdout.split("Plan: 0 to add, 1 to change");
    expect(changes).toMatch(/~ route "one" \{\s+~ timeout += "30s" -> "40s"/);
    expect(changes).toContain("6 unchanged blocks hidden");
    expect(changes.match(/~ route/g)).toHaveLength(1);
  });

  test("a policy in another form with the same meaning is not a change", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    const policy = '"[ {\\"allow\\" : {\\"and\\": [ {\\"domain\\":  {\\"is\\": \\"example.com\\"}} ]}} ]"';
    terraform.workspace.write("main.tf", configured({ policy }));
    expect(await planCode()).toBe(0);
  });

  test("a policy that means something else is a change of that route", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("main.tf", configured({ policy: POLICY.replace("example.com", "example.org") }));
    const { stdout } = await plan();
    expect(stdout).toContain('"example.com" -> "example.org"');
  });

  test("drift by hand is shown per route and field, and repaired", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    const edited = slice() as { routes: Record<string, Record<string, unknown>> };
    edited.routes["github"]!["timeout"] = "99s";
    delete edited.routes["app"];
    edited.routes["foreign"] = { from: "https://foreign.example.com", to: "http://10.9.9.9", policy: [] };
    terraform.workspace.write("slices/team.json", JSON.stringify(edited));
    const { code, stdout } = await plan();
    expect(code).toBe(2);
    expect(stdout).toMatch(/~ timeout\s+= "99s" -> "10s"/);
    expect(stdout).toContain('+ route "app"');
    expect(stdout).toContain('- route "foreign"');
    await apply();
    expect(Object.keys(slice()["routes"] as object)).toEqual(["app", "github"]);
    expect(await planCode()).toBe(0);
  });

  test("drift that no field can show is still repaired", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    const before = terraform.workspace.read("slices/team.json");
    terraform.workspace.write("slices/team.json", JSON.stringify({ ...slice(), surprise: 1 }));
    expect(await planCode()).toBe(2);
    await apply();
    expect(terraform.workspace.read("slices/team.json")).toBe(before);
  });

  test("a damaged file is said and repaired", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    const before = terraform.workspace.read("slices/team.json");
    terraform.workspace.write("slices/team.json", before.slice(0, 40));
    const { code, stdout } = await plan();
    expect(code).toBe(2);
    expect(stdout).toContain("Published slice is damaged");
    await apply();
    expect(terraform.workspace.read("slices/team.json")).toBe(before);
  });

  test("a removed file is planned as a creation", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    rmSync(terraform.workspace.path("slices/team.json"));
    const { stdout } = await plan();
    expect(stdout).toContain("will be created");
    await apply();
    expect(existsSync(terraform.workspace.path("slices/team.json"))).toBe(true);
  });

  test("import followed by plan is empty", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    rmSync(terraform.workspace.path("terraform.tfstate"));
    await terraform.workspace.succeed("import", "gateway_bundle.main", terraform.workspace.path("slices/team.json"));
    const { code, stdout } = await plan();
    expect(stdout).toContain("No changes");
    expect(code).toBe(0);
  });

  test("import writes a configuration that plans empty", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    rmSync(terraform.workspace.path("terraform.tfstate"));
    const head = configured().split("\n\nresource")[0] ?? "";
    const planned = await terraform.generate(head, terraform.workspace.path("slices/team.json"));
    expect(planned).toContain("1 to import, 0 to add, 0 to change, 0 to destroy");
    expect(terraform.workspace.read("taken.tf")).toContain('route "github"');
  });

  test("import rejects anything but a slice of that owner", async () => {
    terraform.workspace.write("main.tf", configured());
    for (const [id, reason] of [
      [terraform.workspace.path("slices/nobody.json"), "there is no such file"],
      [terraform.workspace.path("slices"), "must be the path of a slice"],
    ] as const) {
      const { code, stderr } = await terraform.workspace.run("import", "gateway_bundle.main", id);
      expect(code).toBe(1);
      expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain(reason);
    }
  });

  test("destroy removes the owner's slice and no other", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("slices/other.json", '{"version":1,"owner":"other","routes":{}}');
    await terraform.workspace.succeed("destroy", "-auto-approve");
    expect(readdirSync(terraform.workspace.path("slices"))).toEqual(["other.json"]);
  });

  test("a slice of another owner in our place is neither overwritten nor removed", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    const foreign = '{"version":1,"owner":"other","routes":{}}';
    terraform.workspace.write("slices/team.json", foreign);
    for (const args of [
      ["apply", "-auto-approve"],
      ["destroy", "-auto-approve"],
    ]) {
      const { code, stderr } = await terraform.workspace.run(...args);
      expect(code).toBe(1);
      expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain('holds the slice of owner "other"');
    }
    expect(terraform.workspace.read("slices/team.json")).toBe(foreign);
  });

  test("an existing slice is not taken over by a creation", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    rmSync(terraform.workspace.path("terraform.tfstate"));
    const before = terraform.workspace.read("slices/team.json");
    terraform.workspace.write("main.tf", configured({ timeout: "20s" }));
    const { code, stderr } = await terraform.workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain("terraform import <address>");
    expect(terraform.workspace.read("slices/team.json")).toBe(before);
  });

  test("an apply whose state was lost finds its own content and continues", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    rmSync(terraform.workspace.path("terraform.tfstate"));
    await apply();
    expect(await planCode()).toBe(0);
  });

  test("a change made after the plan is not overwritten", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("main.tf", configured({ timeout: "20s" }));
    await terraform.workspace.succeed("plan", "-out=plan");
    const changed = terraform.workspace.read("slices/team.json").replace("10.0.0.1", "10.0.0.77");
    terraform.workspace.write("slices/team.json", changed);
    const { code, stderr } = await terraform.workspace.run("apply", "plan");
    expect(code).toBe(1);
    expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain("was changed outside Terraform after this plan was made");
    expect(terraform.workspace.read("slices/team.json")).toBe(changed);
  });

  test("a new owner replaces the resource", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("main.tf", configured({ owner: "crew" }));
    const { stdout } = await plan();
    expect(stdout).toContain("# forces replacement");
    await apply();
    expect(readdirSync(terraform.workspace.path("slices"))).toEqual(["crew.json", "crew.json.claim"]);
  });

  test("a new directory moves the slice", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("main.tf", config(terraform.workspace.path("elsewhere")));
    const { stdout } = await plan();
    expect(stdout).toMatch(/~ directory = ".*slices" -> ".*elsewhere"/);
    await apply();
    expect(readdirSync(terraform.workspace.path("slices"))).toEqual([]);
    expect(readdirSync(terraform.workspace.path("elsewhere"))).toEqual(["team.json", "team.json.claim"]);
  });

  test("another name of the same directory moves nothing", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    symlinkSync(terraform.workspace.path("slices"), terraform.workspace.path("alias"));
    terraform.workspace.write("main.tf", config(terraform.workspace.path("alias"), { timeout: "20s" }));
    await apply();
    expect(readdirSync(terraform.workspace.path("slices"))).toEqual(["team.json", "team.json.claim"]);
    expect(terraform.workspace.read("slices/team.json")).toContain('"timeout": "20s"');
  });

  test("removing the target removes the slice", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("main.tf", configured().replace(/file \{[^}]*\}/, ""));
    await apply();
    expect(readdirSync(terraform.workspace.path("slices"))).toEqual([]);
  });

  test("a failed apply says why, and the next plan still shows the change", async () => {
    terraform.workspace.write("main.tf", configured());
    await apply();
    terraform.workspace.write("occupied", "a file where a directory is wanted");
    terraform.workspace.write("main.tf", config(terraform.workspace.path("occupied"), { timeout: "20s" }));
    const { code, stderr } = await terraform.workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    expect(stderr).toContain("occupied");
    expect(terraform.workspace.read("slices/team.json")).toContain('"timeout": "10s"');
    terraform.workspace.write("main.tf", configured());
    expect(await planCode()).toBe(0);
  });

  test("without a target the bundle is rendered and nothing is written", async () => {
    const text = configured().replace(/file \{[^}]*\}/, "");
    terraform.workspace.write(
      "main.tf",
      `${text}\noutput "bundle" {\n  value = nonsensitive(gateway_bundle.main.bundle_json)\n}\n`,
    );
    await apply();
    const bundle = JSON.parse(
      JSON.parse(await terraform.workspace.succeed("output", "-json", "bundle")) as string,
    ) as object;
    expect(bundle).toMatchObject({ version: 1, owner: "team" });
    expect(existsSync(terraform.workspace.path("slices"))).toBe(false);
    expect(await planCode()).toBe(0);
  });
});
