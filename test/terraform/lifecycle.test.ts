/** A bundle's life with the real Terraform: plan, apply, drift, import, destroy. */
import { existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import {
  bundleConfig,
  createWorkspace,
  type InProcessProvider,
  serveInProcess,
  terraformMissing,
  type Workspace,
} from "../support/terraform.ts";

const missing = terraformMissing();
if (missing) console.log(`skipped: ${missing}`);

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
    rewrite_response_headers {
      header = "Location"
      prefix = "http://a"
      value  = "https://b"
    }
    mcp {
      client {}
    }
  }
  ${options.extra ?? ""}`);
}

describe.skipIf(missing !== undefined)("gateway_bundle", () => {
  let provider: InProcessProvider;
  let workspace: Workspace;

  beforeAll(async () => {
    provider = await serveInProcess();
  });
  afterAll(() => {
    provider.close();
  });
  beforeEach(() => {
    workspace = createWorkspace(provider.env);
  });
  afterEach(() => {
    workspace.close();
  });

  const configured = (options?: Parameters<typeof config>[1]): string => config(workspace.path("slices"), options);
  const slice = (owner = "team"): Record<string, unknown> =>
    JSON.parse(workspace.read(`slices/${owner}.json`)) as Record<string, unknown>;
  const apply = (): Promise<string> => workspace.succeed("apply", "-auto-approve");
  /** 0 nothing to do, 2 changes. */
  const plan = async (): Promise<{ code: number | null; stdout: string }> =>
    workspace.run("plan", "-detailed-exitcode");

  test("apply publishes exactly what was written, and a second plan is empty", async () => {
    workspace.write("main.tf", configured());
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
    expect(readdirSync(workspace.path("slices"))).toEqual(["team.json"]);
    expect((await plan()).code).toBe(0);
  });

  test("a plan shows the changed field of one route and hides the other", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("main.tf", configured({ timeout: "20s" }));
    const { code, stdout } = await plan();
    expect(code).toBe(2);
    expect(stdout).toMatch(/~ timeout\s+= "10s" -> "20s"/);
    expect(stdout).toMatch(/~ generation\s+= 1 -> 2/);
    expect(stdout).toContain("3 unchanged blocks hidden");
    expect(stdout).not.toContain("app.example.com");
    expect(stdout).not.toContain("10.0.0.1");
  });

  test("a policy written differently but meaning the same is no change", async () => {
    workspace.write("main.tf", configured());
    await apply();
    const policy = '"[ {\\"allow\\" : {\\"and\\": [ {\\"domain\\":  {\\"is\\": \\"example.com\\"}} ]}} ]"';
    workspace.write("main.tf", configured({ policy }));
    expect((await plan()).code).toBe(0);
  });

  test("a policy that means something else is a change of that route", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("main.tf", configured({ policy: POLICY.replace("example.com", "example.org") }));
    const { stdout } = await plan();
    expect(stdout).toContain('"example.com" -> "example.org"');
  });

  test("drift by hand is shown per route and field, and repaired", async () => {
    workspace.write("main.tf", configured());
    await apply();
    const edited = slice() as { routes: Record<string, Record<string, unknown>> };
    edited.routes["github"]!["timeout"] = "99s";
    delete edited.routes["app"];
    edited.routes["foreign"] = { from: "https://foreign.example.com", to: "http://10.9.9.9", policy: [] };
    workspace.write("slices/team.json", JSON.stringify(edited));
    const { code, stdout } = await plan();
    expect(code).toBe(2);
    expect(stdout).toMatch(/~ timeout\s+= "99s" -> "10s"/);
    expect(stdout).toContain('+ route "app"');
    expect(stdout).toContain('- route "foreign"');
    await apply();
    expect(Object.keys(slice()["routes"] as object)).toEqual(["app", "github"]);
    expect((await plan()).code).toBe(0);
  });

  test("drift that no field can show is still repaired", async () => {
    workspace.write("main.tf", configured());
    await apply();
    const before = workspace.read("slices/team.json");
    workspace.write("slices/team.json", JSON.stringify({ ...slice(), surprise: 1 }));
    expect((await plan()).code).toBe(2);
    await apply();
    expect(workspace.read("slices/team.json")).toBe(before);
  });

  test("a damaged file is said and repaired", async () => {
    workspace.write("main.tf", configured());
    await apply();
    const before = workspace.read("slices/team.json");
    workspace.write("slices/team.json", before.slice(0, 40));
    const { code, stdout } = await plan();
    expect(code).toBe(2);
    expect(stdout).toContain("Published slice is damaged");
    await apply();
    expect(workspace.read("slices/team.json")).toBe(before);
  });

  test("a removed file is planned as a creation", async () => {
    workspace.write("main.tf", configured());
    await apply();
    rmSync(workspace.path("slices/team.json"));
    const { stdout } = await plan();
    expect(stdout).toContain("will be created");
    await apply();
    expect(existsSync(workspace.path("slices/team.json"))).toBe(true);
  });

  test("import followed by plan is empty", async () => {
    workspace.write("main.tf", configured());
    await apply();
    rmSync(workspace.path("terraform.tfstate"));
    await workspace.succeed("import", "gateway_bundle.main", workspace.path("slices/team.json"));
    const { code, stdout } = await plan();
    expect(stdout).toContain("No changes");
    expect(code).toBe(0);
  });

  test("import writes a configuration that plans empty", async () => {
    workspace.write("main.tf", configured());
    await apply();
    rmSync(workspace.path("terraform.tfstate"));
    const head = configured().split("\n\nresource")[0] ?? "";
    workspace.write(
      "main.tf",
      `${head}\nimport {\n  to = gateway_bundle.taken\n  id = "${workspace.path("slices/team.json")}"\n}\n`,
    );
    const planned = await workspace.succeed("plan", "-generate-config-out=taken.tf");
    expect(planned).toContain("1 to import, 0 to add, 0 to change, 0 to destroy");
    expect(workspace.read("taken.tf")).toContain('route "github"');
  });

  test("import refuses what is no slice of that owner", async () => {
    workspace.write("main.tf", configured());
    for (const [id, reason] of [
      [workspace.path("slices/nobody.json"), "there is no such file"],
      [workspace.path("slices"), "must be the path of a slice"],
    ] as const) {
      const { code, stderr } = await workspace.run("import", "gateway_bundle.main", id);
      expect(code).toBe(1);
      expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain(reason);
    }
  });

  test("destroy removes the owner's slice and no other", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("slices/other.json", '{"version":1,"owner":"other","routes":{}}');
    await workspace.succeed("destroy", "-auto-approve");
    expect(readdirSync(workspace.path("slices"))).toEqual(["other.json"]);
  });

  test("a slice of another owner in our place is neither overwritten nor removed", async () => {
    workspace.write("main.tf", configured());
    await apply();
    const foreign = '{"version":1,"owner":"other","routes":{}}';
    workspace.write("slices/team.json", foreign);
    for (const args of [
      ["apply", "-auto-approve"],
      ["destroy", "-auto-approve"],
    ]) {
      const { code, stderr } = await workspace.run(...args);
      expect(code).toBe(1);
      expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain('holds the slice of owner "other"');
    }
    expect(workspace.read("slices/team.json")).toBe(foreign);
  });

  test("an existing slice is not taken over by a creation", async () => {
    workspace.write("main.tf", configured());
    await apply();
    rmSync(workspace.path("terraform.tfstate"));
    const before = workspace.read("slices/team.json");
    workspace.write("main.tf", configured({ timeout: "20s" }));
    const { code, stderr } = await workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain("terraform import <address>");
    expect(workspace.read("slices/team.json")).toBe(before);
  });

  test("an apply whose state was lost finds its own content and goes on", async () => {
    workspace.write("main.tf", configured());
    await apply();
    rmSync(workspace.path("terraform.tfstate"));
    await apply();
    expect((await plan()).code).toBe(0);
  });

  test("a change made after the plan is not overwritten", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("main.tf", configured({ timeout: "20s" }));
    await workspace.succeed("plan", "-out=plan");
    const changed = workspace.read("slices/team.json").replace("10.0.0.1", "10.0.0.77");
    workspace.write("slices/team.json", changed);
    const { code, stderr } = await workspace.run("apply", "plan");
    expect(code).toBe(1);
    expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain("was changed outside Terraform after this plan was made");
    expect(workspace.read("slices/team.json")).toBe(changed);
  });

  test("a new owner replaces the resource", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("main.tf", configured({ owner: "crew" }));
    const { stdout } = await plan();
    expect(stdout).toContain("# forces replacement");
    await apply();
    expect(readdirSync(workspace.path("slices"))).toEqual(["crew.json"]);
  });

  test("a new directory moves the slice", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("main.tf", config(workspace.path("elsewhere")));
    const { stdout } = await plan();
    expect(stdout).toMatch(/~ directory = ".*slices" -> ".*elsewhere"/);
    await apply();
    expect(readdirSync(workspace.path("slices"))).toEqual([]);
    expect(readdirSync(workspace.path("elsewhere"))).toEqual(["team.json"]);
  });

  test("another name of the same directory moves nothing", async () => {
    workspace.write("main.tf", configured());
    await apply();
    symlinkSync(workspace.path("slices"), workspace.path("alias"));
    workspace.write("main.tf", config(workspace.path("alias"), { timeout: "20s" }));
    await apply();
    expect(readdirSync(workspace.path("slices"))).toEqual(["team.json"]);
    expect(workspace.read("slices/team.json")).toContain('"timeout": "20s"');
  });

  test("taking the target away removes the slice", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("main.tf", configured().replace(/file \{[^}]*\}/, ""));
    await apply();
    expect(readdirSync(workspace.path("slices"))).toEqual([]);
  });

  test("a failed apply says why, and the next plan still shows the change", async () => {
    workspace.write("main.tf", configured());
    await apply();
    workspace.write("occupied", "a file where a directory is wanted");
    workspace.write("main.tf", config(workspace.path("occupied"), { timeout: "20s" }));
    const { code, stderr } = await workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    expect(stderr).toContain("occupied");
    expect(workspace.read("slices/team.json")).toContain('"timeout": "10s"');
    workspace.write("main.tf", configured());
    expect((await plan()).code).toBe(0);
  });

  test("without a target the bundle is rendered and nothing is written", async () => {
    const text = configured().replace(/file \{[^}]*\}/, "");
    workspace.write(
      "main.tf",
      `${text}\noutput "bundle" {\n  value = nonsensitive(gateway_bundle.main.bundle_json)\n}\n`,
    );
    await apply();
    const bundle = JSON.parse(JSON.parse(await workspace.succeed("output", "-json", "bundle")) as string) as object;
    expect(bundle).toMatchObject({ version: 1, owner: "team" });
    expect(existsSync(workspace.path("slices"))).toBe(false);
    expect((await plan()).code).toBe(0);
  });
});
