/** Access keys and policies that say nothing, with the real Terraform. */
import { expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

describeTerraform("access settings of a route", (terraform) => {
  const config = (settings: string, more = ""): string => `${bundleConfig(`
  owner = "team"
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  programmatic_redirect_domain_whitelist = ["localhost", "*.tools.example.com"]
  route "app" {
    from = "https://app.example.com"
    to   = ["http://10.0.0.2:8080"]
    ${settings}
  }`)}
${more}`;

  test("are published as they are written, lists of claims included, and a second plan is empty", async () => {
    terraform.workspace.write(
      "main.tf",
      config(
        `
    access {
      allowed_users      = ["alice@example.com"]
      allowed_domains    = ["example.com"]
      allowed_idp_claims = { department = ["sales", "support"], level = [terraform_data.level.output] }
      cors_allow_preflight = true
      bearer_token_format  = "idp_access_token"
      idp_access_token_allowed_audiences = ["https://app.example.com"]
      show_error_details = true
    }`,
        'resource "terraform_data" "level" {\n  input = "3"\n}',
      ),
    );

    await terraform.apply();

    expect(JSON.parse(terraform.workspace.read("slices/team.json"))).toMatchObject({
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
    expect(await terraform.planCode()).toBe(0);
  });

  test("a candidate policy and rules in shadow are published as they are written, and a second plan is empty", async () => {
    const settings = (email: string): string => `
    policy        = jsonencode([{ allow = { and = [{ domain = "example.com" }] } }, { shadow = true, deny = { or = [{ email = "${email}" }] } }])
    access {
      shadow_policy = jsonencode({ allow = { and = [{ groups = "staff" }] } })
    }`;
    terraform.workspace.write("main.tf", config(settings("eve@example.com")));

    await terraform.apply();

    expect(JSON.parse(terraform.workspace.read("slices/team.json"))).toMatchObject({
      routes: {
        app: {
          policy: [
            { allow: { and: [{ domain: "example.com" }] } },
            { shadow: true, deny: { or: [{ email: "eve@example.com" }] } },
          ],
          shadow_policy: { allow: { and: [{ groups: "staff" }] } },
        },
      },
    });
    expect(await terraform.planCode()).toBe(0);
    // The mark is a difference, the spelling of a matcher is none.
    terraform.workspace.write(
      "main.tf",
      config(settings("eve@example.com").replace("shadow = true", "shadow = false")),
    );
    expect(await terraform.planCode()).toBe(2);
    terraform.workspace.write(
      "main.tf",
      config(settings("eve@example.com").replace('= "staff"', '= { has = "staff" }')),
    );
    expect(await terraform.planCode()).toBe(0);
  });

  test("a plan reports who gains or loses access, and nothing without a change", async () => {
    const plan = async (settings: string, more = ""): Promise<string> => {
      terraform.workspace.write(
        "main.tf",
        config(settings, `variable "key" {\n  sensitive = true\n  default = "s3cret"\n}\n${more}`),
      );
      const { code, stdout, stderr } = await terraform.workspace.run("plan", "-no-color");
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).not.toContain("s3cret");
      return stdout;
    };
    const staff = 'policy = jsonencode([{ allow = { and = [{ groups = "staff" }] } }])';
    const header = 'set_request_headers = { "X-Key" = var.key }';
    expect(await plan(staff)).toContain('\n+ app: group "staff" gains everything\n');
    await terraform.apply();

    const widened = await plan(`allow_any_authenticated_user = true\n${header}`);
    expect(widened).toContain("Warning: Access changes\n");
    expect(widened).toContain('\n+ app: any signed-in user gains everything (could already: group "staff")\n');
    expect(await plan(`${staff}\n${header}`)).not.toContain("Warning");
    const unknown = await plan(
      "policy = jsonencode([{ allow = { and = [{ groups = terraform_data.group.output }] } }])",
      'resource "terraform_data" "group" {\n  input = "team"\n}',
    );
    expect(unknown).toContain("\napp: who may use it is not known before apply\n");
    // Planned twice by Terraform, as a change and as a creation.
    terraform.workspace.write("main.tf", config(staff).replace('owner = "team"', 'owner = "other"'));
    expect((await terraform.workspace.run("plan", "-no-color")).stdout).not.toContain("Access changes");
  });

  test.each([
    [
      "a rule that can never match",
      'policy = jsonencode([{ allow = { and = [{ email = "a@example.com" }, { email = "b@example.com" }] } }])',
      "can never match",
    ],
    ["deny accept", "policy = jsonencode([{ deny = { and = [{ accept = true }] } }])", "so all are denied"],
    [
      "a mark that is none",
      'policy = jsonencode([{ shadow = "yes", allow = { and = [{ user = "a" }] } }])',
      "true or false",
    ],
    [
      "a mark in a candidate",
      'access {\n    shadow_policy = jsonencode([{ shadow = true, allow = { and = [{ user = "a" }] } }])\n    }',
      "in shadow as a whole",
    ],
    ["an empty and", "policy = jsonencode([{ allow = { and = [] } }])", "is an empty list"],
    [
      "a list beside a public route",
      'allow_public_unauthenticated_access = true\n    access {\n    allowed_users = ["a@example.com"]\n    }',
      "which allows these users anyway",
    ],
  ])("%s is refused by validate, at its line", async (_, settings, message) => {
    terraform.workspace.write("main.tf", config(settings));

    const { code, stdout, stderr } = await terraform.workspace.run("validate");

    expect(code).toBe(1);
    expect((stdout + stderr).replaceAll(/[\s│]+/g, " ")).toContain(message);
    expect(stdout + stderr).toContain("main.tf line");
  });
});
