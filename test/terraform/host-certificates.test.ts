/** `host_certificates`, a labeled block with a secret next to the routes, with the real Terraform. */
import { generateKeyPairSync } from "node:crypto";

import { expect, test } from "vitest";

import { makeTestCertificate } from "../support/certificates.ts";
import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

describeTerraform("host_certificates", (terraform) => {
  const certificate = makeTestCertificate({ name: "app", dns: ["app.example.com"] });
  const sealKey = JSON.stringify(
    generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }),
  );
  /** @param host its label @param pem an expression */
  const config = (host: string, pem: string): string =>
    bundleConfig(
      `
  owner    = "team"
  seal_key = ${JSON.stringify(sealKey)}
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  host_certificates "${host}" {
    certificate                = ${pem}
    certificate_key_wo         = file("key.pem")
    certificate_key_wo_version = 1
  }
  route "app" {
    from   = "https://app.example.com"
    to     = ["http://10.0.0.2:8080"]
    policy = jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])
  }`,
      'resource "terraform_data" "issued" {\n  input = file("cert.pem")\n}\n',
    );
  const write = (text: string): void => {
    terraform.workspace.write("main.tf", text);
    terraform.workspace.write("cert.pem", certificate.cert);
    terraform.workspace.write("key.pem", certificate.key);
  };

  test("take a certificate that is issued by the same apply, and seal its key; a second plan is empty", async () => {
    write(config("app.example.com", "terraform_data.issued.output"));

    await terraform.apply();

    const text = terraform.workspace.read("slices/team.json");
    expect(JSON.parse(text)).toMatchObject({
      settings: { host_certificates: { "app.example.com": { certificate: certificate.cert } } },
    });
    expect(text).toContain("certificate_key_sealed");
    const line = certificate.key.split("\n")[1] ?? "";
    expect(text + terraform.workspace.read("terraform.tfstate")).not.toContain(line);
    expect(await terraform.planCode()).toBe(0);
  });

  test("for another host are refused by name, before anything is published", async () => {
    write(config("www.example.com", 'file("cert.pem")'));

    const { code, stderr } = await terraform.workspace.run("validate");

    expect(code).toBe(1);
    expect(stderr.replaceAll(/[\s│]+/g, " ")).toContain(
      '"host_certificates["www.example.com"].certificate" is for app.example.com, must be for www.example.com',
    );
  });
});
