/** `set_request_headers_secret`, the one labelled block inside a route, with the real Terraform. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

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

describe.skipIf(missing !== undefined)("set_request_headers_secret", () => {
  let provider: InProcessProvider;
  let workspace: Workspace;

  beforeAll(async () => {
    provider = await serveInProcess();
    workspace = createWorkspace(provider.env);
  });
  afterAll(() => {
    workspace.close();
    provider.close();
  });

  const config = (secrets: string): string =>
    bundleConfig(`
  owner = "team"
  file {
    directory = "${workspace.path("slices")}"
  }
  route "app" {
    from = "https://app.example.com"
    to   = ["http://10.0.0.2:8080"]
    policy = jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])
    ${secrets}
  }`);

  test("is written by header name, and a second plan is empty", async () => {
    workspace.write("main.tf", config('set_request_headers_secret "X-Api-Key" {\n secret_ref = "env:API_KEY"\n }'));

    await workspace.succeed("apply", "-auto-approve");

    expect(JSON.parse(workspace.read("slices/team.json"))).toMatchObject({
      routes: { app: { set_request_headers_secret: { "X-Api-Key": { secret_ref: "env:API_KEY" } } } },
    });
    expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(0);
  });

  test("a header that nobody may set is refused, and no line with a secret is shown", async () => {
    workspace.write("main.tf", config('set_request_headers_secret "Host" {\n secret = "hunter2"\n }'));

    const { code, stdout, stderr } = await workspace.run("validate");

    expect(code).toBe(1);
    expect(stdout + stderr).toContain("cannot be changed here");
    expect(stdout + stderr).not.toContain("hunter2");
  });
});
