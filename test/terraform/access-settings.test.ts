/** Access keys and policies that say nothing, with the real Terraform. */
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

describe.skipIf(missing !== undefined)("access settings of a route", () => {
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

  const config = (settings: string, more = ""): string => `${bundleConfig(`
  owner = "team"
  file {
    directory = "${workspace.path("slices")}"
  }
  programmatic_redirect_domain_whitelist = ["localhost", "*.tools.example.com"]
  route "app" {
    from = "https://app.example.com"
    to   = ["http://10.0.0.2:8080"]
    ${settings}
  }`)}
${more}`;

  test("are published as they are written, lists of claims included, and a second plan is empty", async () => {
    workspace.write(
      "main.tf",
      config(
        `
    allowed_users      = ["alice@example.com"]
    allowed_domains    = ["example.com"]
    allowed_idp_claims = { department = ["sales", "support"], level = [terraform_data.level.output] }
    cors_allow_preflight = true
    bearer_token_format  = "idp_access_token"
    idp_access_token_allowed_audiences = ["https://app.example.com"]
    show_error_details = true`,
        'resource "terraform_data" "level" {\n  input = "3"\n}',
      ),
    );

    await workspace.succeed("apply", "-auto-approve");

    expect(JSON.parse(workspace.read("slices/team.json"))).toMatchObject({
      settings: { programmatic_redirect_domain_whitelist: ["localhost", "*.tools.example.com"] },
      routes: {
        app: {
          allowed_users: ["alice@example.com"],
          allowed_domains: ["example.com"],
          allowed_idp_claims: { department: ["sales", "support"], level: ["3"] },
          cors_allow_preflight: true,
          bearer_token_format: "idp_access_token",
          idp_access_token_allowed_audiences: ["https://app.example.com"],
          show_error_details: true,
        },
      },
    });
    expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(0);
  });

  test.each([
    [
      "a rule that can never match",
      'policy = jsonencode([{ allow = { and = [{ email = "a@example.com" }, { email = "b@example.com" }] } }])',
      "can never match",
    ],
    ["deny accept", "policy = jsonencode([{ deny = { and = [{ accept = true }] } }])", "nobody gets in"],
    ["an empty and", "policy = jsonencode([{ allow = { and = [] } }])", "is an empty list"],
    [
      "a list beside a public route",
      'allow_public_unauthenticated_access = true\n    allowed_users = ["a@example.com"]',
      "which lets everybody pass anyway",
    ],
  ])("%s is refused by validate, at its line", async (_, settings, message) => {
    workspace.write("main.tf", config(settings));

    const { code, stdout, stderr } = await workspace.run("validate");

    expect(code).toBe(1);
    expect((stdout + stderr).replaceAll(/[\s│]+/g, " ")).toContain(message);
    expect(stdout + stderr).toContain("main.tf line");
  });
});
