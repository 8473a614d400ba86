/** What Terraform 1.11 cannot do, and Terraform 1.12 and OpenTofu 1.12 can: imports by identity. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createAdminClient } from "../../support/admin-client.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { bundleConfig } from "../../support/terraform.ts";
import { describeTerraform } from "../../support/terraform-suite.ts";

describeTerraform("an import by identity", (terraform) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({
      yaml: "routes: []\n",
      boot: { owners: { team: { allowed_from: ["*.example.com"] } } },
    });
    process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
  });
  afterAll(async () => {
    delete process.env["GATEWAY_ADMIN_TOKEN"];
    await gateway.close();
  });

  const configOf = (place: string): string =>
    bundleConfig(
      `owner = "team"\n${place}\nroute "a" {\n from = "https://a.example.com"\n to = ["http://10.0.0.1"]\n policy = jsonencode([])\n }`,
    );
  const slice = JSON.stringify({
    version: 1,
    owner: "team",
    routes: { a: { from: "https://a.example.com", to: ["http://10.0.0.1"], policy: [] } },
  });

  test.each(["directory", "url"])("takes over what is published, and plans nothing: %s", async (kind) => {
    const { workspace } = terraform;
    const directory = workspace.path("slices");
    if (kind === "url") {
      expect((await createAdminClient(gateway.adminOrigin, gateway.adminToken).publish("team", slice)).status).toBe(
        200,
      );
    } else {
      workspace.write("main.tf", configOf(`file {\n directory = "${directory}"\n }`));
      await terraform.apply();
      await workspace.succeed("state", "rm", "gateway_bundle.main");
    }
    const place = kind === "url" ? gateway.adminOrigin : directory;
    const block = kind === "url" ? `http {\n url = "${place}"\n }` : `file {\n directory = "${place}"\n }`;
    const identity = `{ owner = "team", ${kind} = "${place}" }`;
    workspace.write(
      "main.tf",
      `${configOf(block)}\nimport {\n to = gateway_bundle.main\n identity = ${identity}\n }\n`,
    );
    expect(await workspace.succeed("plan")).toContain("Plan: 1 to import, 0 to add, 0 to change, 0 to destroy.");
    await terraform.apply();
    expect(await terraform.planCode()).toBe(0);
    const { resources } = JSON.parse(workspace.read("terraform.tfstate")) as { resources: { instances: object[] }[] };
    expect(resources[0]?.instances).toMatchObject([{ identity: { owner: "team", [kind]: place } }]);
  });

  test("of nothing is refused with a reason", async () => {
    const { workspace } = terraform;
    const identity = '{ owner = "../team", directory = "/x" }';
    const block = 'file {\n directory = "/x"\n }';
    workspace.write(
      "main.tf",
      `${configOf(block)}\nimport {\n to = gateway_bundle.main\n identity = ${identity}\n }\n`,
    );
    const { code, stderr } = await workspace.run("plan");
    expect([code, stderr.replaceAll(/\s*[│╷╵]?\s+/g, " ")]).toEqual([
      1,
      expect.stringContaining('"owner" must be at most 127'),
    ]);
  });
});
