/** Trusted issuers, whole, with the real Terraform: what is written is published and taken back by no plan. */
import { generateKeyPairSync } from "node:crypto";

import { expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const JWKS = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "ES256" }] });

const SEAL_KEY = JSON.stringify(generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }));

describeTerraform("identity_issuers", (terraform) => {
  const config = (blocks: string): string =>
    bundleConfig(`
  owner = "team"
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  ${blocks}`);

  const everything = (maxLife = "5m"): string => `
  identity_issuers "company" {
    issuer               = "https://acme.okta.example.com"
    uses                 = ["id_jag"]
    jwks_url             = "https://acme.okta.example.com/oauth2/v1/keys"
    algorithms           = ["RS256"]
    hosts                = ["mcp.example.com"]
    allowed_clients      = ["gwc_one", terraform_data.client.output]
    allow_public_clients = true
    max_assertion_age    = "2m"
    max_token_lifetime   = "${maxLife}"
    email_domains        = ["example.com"]
  }
  identity_issuers "partner" {
    issuer = "https://partner.example.net/"
    uses   = ["id_jag"]
    jwks   = jsonencode(${JSON.stringify(JSON.parse(JWKS)).replaceAll('":', '"=')})
  }
  identity_issuers "ci" {
    issuer    = "https://token.actions.githubusercontent.com"
    uses      = ["workload"]
    audiences = ["https://mcp.example.com"]
    replay    = "allowed"
    max_token_lifetime = "${maxLife}"
    workload_rules "deploy" {
      claims    = { repository_id = ["42"], environment = [terraform_data.client.id == "" ? "" : "production", "staging"] }
      resources = ["https://mcp.example.com/tools/mcp"]
      groups    = ["ci"]
    }
  }`;
  const people = (version: number): string => `
  seal_key = ${JSON.stringify(SEAL_KEY)}
  identity_issuers "contractors" {
    issuer        = "https://login.contractors.example.net"
    uses          = ["sign_in"]
    email_domains = ["contractors.example.net"]
    sign_in {
      client_id                = "gateway"
      client_secret_wo         = "sentinel-of-the-client-${version}"
      client_secret_wo_version = ${version}
      label                    = "Contractors"
      required_claims          = { tid = "tenant" }
    }
  }`;
  const directories = (version: number): string => `
  directories "staff" {
    provider          = "contractors"
    token_wo          = "sentinel-token-of-staff-${version}"
    token_wo_version  = ${version}
    subject_attribute = "userName"
    groups            = "both"
    unlisted_users    = "refused"
  }`;
  const CLIENT =
    '\nresource "terraform_data" "client" {\n  input = "https://client.example.com/oauth/client.json"\n}\n';

  test("are published as they are written, and a second plan is empty", async () => {
    terraform.workspace.write("main.tf", config(everything()) + CLIENT);
    await terraform.apply();
    const published = JSON.parse(terraform.workspace.read("slices/team.json")) as Published;
    expect(published.settings.identity_issuers["company"]).toEqual({
      issuer: "https://acme.okta.example.com",
      uses: ["id_jag"],
      jwks_url: "https://acme.okta.example.com/oauth2/v1/keys",
      algorithms: ["RS256"],
      hosts: ["mcp.example.com"],
      allowed_clients: ["gwc_one", "https://client.example.com/oauth/client.json"],
      allow_public_clients: true,
      max_assertion_age: "2m",
      max_token_lifetime: "5m",
      email_domains: ["example.com"],
    });
    const { jwks, ...partner } = published.settings.identity_issuers["partner"] ?? {};
    expect(partner).toEqual({ issuer: "https://partner.example.net/", uses: ["id_jag"] });
    expect(JSON.parse(String(jwks))).toEqual(JSON.parse(JWKS));
    expect(published.settings.identity_issuers["ci"]).toEqual({
      issuer: "https://token.actions.githubusercontent.com",
      uses: ["workload"],
      audiences: ["https://mcp.example.com"],
      replay: "allowed",
      workload_rules: {
        deploy: {
          claims: { environment: ["production", "staging"], repository_id: ["42"] },
          resources: ["https://mcp.example.com/tools/mcp"],
          groups: ["ci"],
        },
      },
      max_token_lifetime: "5m",
    });
    expect(await terraform.planCode()).toBe(0);
  });

  test("a change is one plan, and a removed one is gone", async () => {
    terraform.workspace.write("main.tf", config(everything("10m")) + CLIENT);
    expect(await terraform.planCode()).toBe(2);
    await terraform.apply();
    expect(terraform.workspace.read("slices/team.json")).toContain('"max_token_lifetime": "10m"');
    expect(await terraform.planCode()).toBe(0);
    terraform.workspace.write("main.tf", config("") + CLIENT);
    await terraform.apply();
    expect(terraform.workspace.read("slices/team.json")).not.toContain("identity_issuers");
    expect(await terraform.planCode()).toBe(0);
  });

  test("people's sign-in and directory are published with their secrets sealed, and change with a secret's version", async () => {
    terraform.workspace.write("main.tf", config(people(1) + directories(1)));
    await terraform.apply();
    const text = terraform.workspace.read("slices/team.json");
    const { sign_in: signIn } = (JSON.parse(text) as Published).settings.identity_issuers["contractors"] ?? {};
    expect(signIn).toMatchObject({ client_id: "gateway", label: "Contractors", required_claims: { tid: "tenant" } });
    expect(text).not.toContain("sentinel-");
    const { token_sealed: token, ...staff } = directoryOf(text);
    expect(token).toEqual(expect.any(String));
    const written = {
      provider: "contractors",
      subject_attribute: "userName",
      groups: "both",
      unlisted_users: "refused",
    };
    expect(staff).toEqual(written);
    expect(await terraform.planCode()).toBe(0);
    terraform.workspace.write("main.tf", config(people(2) + directories(2)));
    expect(await terraform.planCode()).toBe(2);
    await terraform.apply();
    const changed = terraform.workspace.read("slices/team.json");
    expect(changed).not.toBe(text);
    expect(directoryOf(changed)["token_sealed"]).not.toBe(token);
    expect(await terraform.planCode()).toBe(0);
  });

  test.each([
    ["a use that is unknown", 'uses = ["idjag"]', "must be a use"],
    ["a life that is too short", 'uses = ["id_jag"]\n max_token_lifetime = "10s"', "must be at least 60s"],
    [
      "a private key",
      `uses = ["id_jag"]\n jwks = "{\\"keys\\":[{\\"kty\\":\\"oct\\",\\"k\\":\\"AAAA\\"}]}"`,
      "must be kept secret",
    ],
    ["an issuer without TLS", 'uses = ["id_jag"]\n jwks_url = "http://keys.example.com/"', "https"],
  ])("%s is refused by validate, at its line", async (_, members, message) => {
    const block = `identity_issuers "company" {\n issuer = "https://idp.example.com"\n ${members}\n }`;
    terraform.workspace.write("main.tf", config(block));
    const { code, stdout, stderr } = await terraform.workspace.run("validate");
    expect(code).toBe(1);
    expect((stdout + stderr).replaceAll(/[\s│]+/g, " ")).toContain(message);
    expect(stdout + stderr).toContain("main.tf line");
  });
});

function directoryOf(text: string): Readonly<Record<string, unknown>> {
  return (JSON.parse(text) as Published).settings.directories["staff"] ?? {};
}

type Blocks = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface Published {
  readonly settings: { readonly identity_issuers: Blocks; readonly directories: Blocks };
}
