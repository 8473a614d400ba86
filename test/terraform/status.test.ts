/** The data source that tells what a running gateway serves, with the real binary and a whole gateway. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { startGateway, type TestGateway } from "../support/gateway.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

describeTerraform("gateway_status", (terraform) => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startGateway({ yaml: 'routes: [{ name: app, from: "{origin}", to: "http://127.0.0.1:9" }]' });
  });

  afterAll(async () => {
    await gateway?.close();
  });

  /** Output of a run that must fail, its wrapped lines joined. */
  const failing = async (...args: string[]): Promise<string> => {
    const result = await terraform.workspace.run(...args);
    expect(result.code).not.toBe(0);
    return (result.stdout + result.stderr).replaceAll(/\s*[│╷╵]?\s+/g, " ");
  };

  const program = (body: string) => `
terraform {
  required_providers {
    gateway = { source = "gateform/gateway" }
  }
}
data "gateway_status" "live" {
${body}
}
output "status" { value = data.gateway_status.live }
`;

  test("returns digest, generation, slices and the sealing key", async () => {
    // In this process the provider reads our environment, not Terraform's.
    process.env["STATUS_TOKEN"] = gateway.adminToken;
    terraform.workspace.write("main.tf", program(`  url = "${gateway.adminOrigin}"\n  token_ref = "env:STATUS_TOKEN"`));
    await terraform.workspace.succeed("apply", "-auto-approve", "-no-color");
    const status = JSON.parse(await terraform.workspace.succeed("output", "-json", "status")) as Record<
      string,
      unknown
    >;
    expect(status).toMatchObject({
      digest: gateway.runtime.current().digest,
      generation: gateway.runtime.current().generation,
      store_ok: true,
      problems: [],
    });
    expect(status["slices"]).toMatchObject([{ owner: "default", ok: true }]);
    expect(JSON.parse(String(status["seal_key"]))).toMatchObject({ kty: "OKP" });
    expect(await terraform.workspace.succeed("show", "-json")).not.toContain(gateway.adminToken);
    delete process.env["STATUS_TOKEN"];
  });

  test("reports a wrong token, a missing one and an unreachable address", async () => {
    process.env["STATUS_TOKEN"] = "wrong";
    terraform.workspace.write("main.tf", program(`  url = "${gateway.adminOrigin}"\n  token_ref = "env:STATUS_TOKEN"`));
    expect(await failing("plan", "-no-color")).toContain("it answered 401");
    delete process.env["STATUS_TOKEN"];
    expect(await failing("plan", "-no-color")).toContain("environment variable is not set");
    terraform.workspace.write("main.tf", program(`  url = "${gateway.adminOrigin}"\n  token_ref = "hush-hush"`));
    const refused = await failing("plan", "-no-color");
    expect(refused).toContain('must be "env:NAME" or "file:/path"');
    expect(refused).not.toContain("hush");
    terraform.workspace.write("main.tf", program('  url = "http://127.0.0.1:1"\n  token_ref = "env:PATH"'));
    expect(await failing("plan", "-no-color")).toContain("Cannot reach the gateway");
    terraform.workspace.write("main.tf", program('  url = "gateway.example.com"'));
    expect(await failing("validate", "-no-color")).toContain("must begin with http");
  });
});
