/** `set_request_headers_secret`, the one labelled block in a block of a route, with the real Terraform. */
import { expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

describeTerraform("set_request_headers_secret", (terraform) => {
  const config = (secrets: string): string =>
    bundleConfig(`
  owner = "team"
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  route "app" {
    from = "https://app.example.com"
    to   = ["http://10.0.0.2:8080"]
    policy = jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])
    headers {
      ${secrets}
    }
  }`);

  test("is written by header name, and a second plan is empty", async () => {
    terraform.workspace.write(
      "main.tf",
      config('set_request_headers_secret "X-Api-Key" {\n secret_ref = "env:API_KEY"\n }'),
    );

    await terraform.apply();

    expect(JSON.parse(terraform.workspace.read("slices/team.json"))).toMatchObject({
      routes: { app: { set_request_headers_secret: { "X-Api-Key": { secret_ref: "env:API_KEY" } } } },
    });
    expect(await terraform.planCode()).toBe(0);
  });

  test("a header that cannot be set is rejected, and no line with a secret is shown", async () => {
    terraform.workspace.write("main.tf", config('set_request_headers_secret "Host" {\n secret = "hunter2"\n }'));

    const { code, stdout, stderr } = await terraform.workspace.run("validate");

    expect(code).toBe(1);
    expect(stdout + stderr).toContain("cannot be changed here");
    expect(stdout + stderr).not.toContain("hunter2");
  });
});
