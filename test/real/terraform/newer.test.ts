/** Queries and actions, with Terraform 1.14 and later and a whole gateway. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { type AdminClient, createAdminClient } from "../../support/admin-client.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { bundleConfig } from "../../support/terraform.ts";
import { describeTerraform } from "../../support/terraform-suite.ts";

const TEAM_TOKEN = "publish-token-of-the-team";

describeTerraform("Terraform 1.14 and later", (terraform) => {
  let gateway: TestGateway;
  let admin: AdminClient;
  beforeAll(async () => {
    gateway = await startGateway({
      yaml: "routes: []\n",
      boot: {
        owners: {
          team: { allowed_from: ["*.example.com"], publish_token: TEAM_TOKEN },
          other: { allowed_from: ["*.example.org"] },
        },
      },
    });
    admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
    process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
    process.env["TEAM_TOKEN"] = TEAM_TOKEN;
  });
  afterAll(async () => {
    for (const name of ["GATEWAY_ADMIN_TOKEN", "TEAM_TOKEN"]) delete process.env[name];
    await gateway.close();
  });
  beforeEach(async () => {
    for (const owner of ["team", "other"]) await admin.remove(owner);
  });

  const publish = async (owner: string, host: string): Promise<void> => {
    const routes = { a: { from: `https://${host}`, to: ["http://10.0.0.1"], policy: [] } };
    const { status } = await admin.publish(owner, JSON.stringify({ version: 1, owner, routes }));
    expect(status).toBe(200);
  };
  const bundle = (more: string): string => `owner = "team"
    http {\n url = "${gateway.adminOrigin}"\n }
    route "a" {\n from = "https://a.example.com"\n to = ["http://10.0.0.1"]\n policy = jsonencode([])\n }
    ${more}`;
  const action = (type: string, name: string, values: string): string =>
    `action "${type}" "${name}" {\n config {\n url = "${gateway.adminOrigin}"\n ${values}\n }\n }\n`;
  const trigger = (events: string, actions: string): string =>
    `lifecycle {\n action_trigger {\n events = [${events}]\n actions = [${actions}]\n }\n }`;
  const blocks = async (): Promise<readonly unknown[]> =>
    (await admin.get("/api/v1/blocks")).body["items"] as unknown[];
  const joined = (text: string): string => text.replaceAll(/\s*[│╷╵]?\s+/g, " ");

  test("a query finds what is published, and the configuration that it writes plans nothing", async () => {
    const { workspace } = terraform;
    await publish("other", "a.example.org");
    await publish("team", "b.example.com");
    const config = `config {\n url = "${gateway.adminOrigin}"\n }`;
    const list = `list "gateway_bundle" "all" {\n provider = gateway\n include_resource = true\n ${config}\n }\n`;
    workspace.write("main.tf", bundleConfig("").replace(/resource[^]*/, ""));
    workspace.write("all.tfquery.hcl", list);
    expect(await workspace.succeed("query", "-no-color", "-generate-config-out=found.tf")).toMatch(
      /owner=other[^\n]* other\n[^\n]*owner=team[^\n]* team\n/,
    );
    const lines = await workspace.succeed("query", "-json");
    expect(lines).toContain('"from":"https://a.example.org"');
    expect(await workspace.succeed("plan")).toContain("Plan: 2 to import, 0 to add, 0 to change, 0 to destroy.");
    await terraform.apply();
    expect(await terraform.planCode()).toBe(0);
  });

  test("a query of a gateway that is not there fails with a reason", async () => {
    const { workspace } = terraform;
    workspace.write("main.tf", bundleConfig("").replace(/resource[^]*/, ""));
    const config = 'config {\n url = "http://127.0.0.1:1"\n }';
    workspace.write("all.tfquery.hcl", `list "gateway_bundle" "all" {\n provider = gateway\n ${config}\n }\n`);
    const { code, stdout, stderr } = await workspace.run("query", "-no-color");
    expect([code, joined(stdout + stderr)]).toEqual([1, expect.stringContaining("Cannot reach the gateway")]);
  });

  test("actions run before and after changes; the plan says what they will do", async () => {
    const { workspace } = terraform;
    const block = (name: string): string =>
      action("gateway_block", name, `kind = "tool"\n name = "${name}"\n until = "1h"\n reason = "a test"`);
    const triggers = [
      trigger("after_create", "action.gateway_block.made"),
      trigger("before_destroy", "action.gateway_block.gone"),
    ];
    const lifecycle = triggers.join("\n").replace("}\n }\nlifecycle {", "}");
    workspace.write("main.tf", bundleConfig(bundle(lifecycle), block("made") + block("gone")));
    const planned = joined(await workspace.succeed("plan"));
    expect(planned).toContain("Actions: 1 to invoke.");
    expect(planned).toContain('Warning: Action gateway_block: tool "made"');
    expect(planned).toContain('Blocks tool "made" in every process within 2 seconds, until "1h". Revokes nothing.');
    expect(await terraform.apply()).toContain("Blocked: tool made");
    expect(await blocks()).toMatchObject([{ kind: "tool", name: "made" }]);
    expect(await terraform.planCode()).toBe(0);
    expect(await workspace.succeed("destroy", "-auto-approve")).toContain("Blocked: tool gone");
    expect((await blocks()).length).toBe(2);
  });

  test("an action from the command line rolls back, revokes, and changes no resource", async () => {
    const { workspace } = terraform;
    const actions =
      action("gateway_rollback", "back", 'owner = "team"') +
      action("gateway_revoke_user", "leaver", 'user = "alice"\n reason = "a test"');
    workspace.write("main.tf", bundleConfig(bundle(""), actions));
    await terraform.apply();
    workspace.write("main.tf", bundleConfig(bundle("").replace("//a.", "//b."), actions));
    await terraform.apply();
    const invoke = (address: string): Promise<string> =>
      workspace.succeed("apply", "-auto-approve", "-no-color", `-invoke=action.${address}`);
    expect(await invoke("gateway_rollback.back")).toMatch(/Restored: generation \d+, active in every process/);
    expect((await admin.get("/config/slices/team")).text).toContain("a.example.com");
    // The configuration still says what was rolled back.
    expect(await terraform.planCode()).toBe(2);
    const revoked = joined(await invoke("gateway_revoke_user.leaver"));
    expect(revoked).toContain("Ended: 0 sessions");
    expect(revoked).toContain("Warning: Nothing to revoke");
  });

  test.each([
    ["the token of a team", 'token_ref = "env:TEAM_TOKEN"', 'only valid for the slice of owner "team"'],
    ["a wrong token", 'token_ref = "env:PATH"', "it answered 401 (wrong token)"],
  ])("an action that the gateway rejects fails the run, and says why: %s", async (_name, token, text) => {
    const { workspace } = terraform;
    await publish("other", "c.example.org");
    const before = (await admin.get("/config/slices/other")).text;
    workspace.write("main.tf", bundleConfig(bundle(""), action("gateway_rollback", "x", `owner = "other"\n ${token}`)));
    const { code, stdout, stderr } = await workspace.run("apply", "-auto-approve", "-invoke=action.gateway_rollback.x");
    expect([code, joined(stdout + stderr)]).toEqual([1, expect.stringContaining(text)]);
    expect(stdout + stderr).not.toContain(TEAM_TOKEN);
    expect((await admin.get("/config/slices/other")).text).toBe(before);
  });

  test("wrong arguments are found by validation, with their line", async () => {
    const { workspace } = terraform;
    const wrong = action("gateway_block", "x", 'kind = "planet"\n name = "x"\n reason = "r"');
    workspace.write("main.tf", bundleConfig(bundle(""), wrong));
    const { code, stdout, stderr } = await workspace.run("validate");
    const text = joined(stdout + stderr);
    expect([code, text]).toEqual([1, expect.stringContaining('"kind" is "planet", must be one of user, client')]);
    expect(text).toContain('kind = "planet"');
  });
});
