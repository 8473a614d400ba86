/** The real Terraform against an admin address that has a name, TLS, and asks for client certificates. */
import dns from "node:dns";
import { readFileSync } from "node:fs";

import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const NAME = "gateway.internal.example.com";
const PUBLISH_TOKEN = "publish-token-of-the-team";

const authority = makeTestCertificate({ name: "authority", isAuthority: true });
const server = makeTestCertificate({ name: "server", dns: [NAME], by: authority });
const client = makeTestCertificate({ name: "pipeline", by: authority });

describeTerraform("an admin address with a name and TLS", (terraform) => {
  let gateway: TestGateway;
  let folder: CertificateFolder;
  let url: string;

  beforeAll(async () => {
    folder = await openCertificateFolder();
    const { certificateFile: certificate_file, keyFile: certificate_key_file } = await folder.write("server", server);
    const client_ca_file = (await folder.write("authority", authority)).certificateFile;
    const admin_tls = { certificate_file, certificate_key_file, client_ca_file };
    await folder.write("client", client);
    const owners = { team: { publish_token: PUBLISH_TOKEN }, other: {} };
    gateway = await startGateway({ yaml: "routes: []\n", boot: { admin_hosts: [NAME], admin_tls, owners } });
    url = `https://${NAME}:${new URL(gateway.adminOrigin).port}`;
    // The provider is in this process: the name leads here, as a Service's would.
    const lookup = dns.lookup.bind(dns) as (...of: readonly unknown[]) => void;
    vi.spyOn(dns, "lookup").mockImplementation((name: string, ...rest: readonly unknown[]) =>
      lookup(name === NAME ? "127.0.0.1" : name, ...rest),
    );
    process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
    process.env["CLIENT_KEY"] = client.key;
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    delete process.env["GATEWAY_ADMIN_TOKEN"];
    delete process.env["CLIENT_KEY"];
    await gateway.close();
    await folder.close();
  });
  beforeEach(() => {
    for (const name of ["authority.crt", "client.crt", "client.key"]) {
      terraform.workspace.write(name, readFileSync(`${folder.path}/${name}`, "utf8"));
    }
  });

  const FULL = 'ca = file("authority.crt")\n client_cert = file("client.crt")\n client_key = file("client.key")';
  const provider = (settings: string): string => `provider "gateway" {\n ${settings}\n}\n`;
  const status = (settings = ""): string =>
    `data "gateway_status" "live" {\n url = "${url}"\n ${settings}\n depends_on = [gateway_bundle.main]\n}
output "store_ok" { value = data.gateway_status.live.store_ok }\n`;
  const write = (rest: string, owner = "team"): void => {
    const body = `  owner = "${owner}"\n  http {\n    url = "${url}"\n  }\n`;
    terraform.workspace.write("main.tf", bundleConfig(body, rest));
  };
  const failing = async (rest: string, owner?: string): Promise<string> => {
    write(rest, owner);
    const { code, stdout, stderr } = await terraform.workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    const said = `${stdout}${stderr}`.replaceAll(/[\s│]+/g, " ");
    expect(said).not.toContain("PRIVATE KEY");
    return said;
  };

  test("publishes, reads and imports by name; the key gets into no state, plan or output", async () => {
    write(provider(FULL) + status());
    const planned = await terraform.workspace.succeed("plan", "-out=plan");
    const applied = await terraform.workspace.succeed("apply", "plan");
    expect(await terraform.workspace.succeed("output", "store_ok")).toContain("true");
    expect(await terraform.planCode()).toBe(0);
    const shown = await terraform.workspace.succeed("show", "-json", "plan");
    for (const text of [planned, applied, shown, terraform.workspace.read("terraform.tfstate"), gateway.log()]) {
      expect(text).not.toContain("PRIVATE KEY");
      expect(text).not.toContain(gateway.adminToken);
    }
    await terraform.workspace.succeed("state", "rm", "gateway_bundle.main");
    await terraform.workspace.succeed("import", "gateway_bundle.main", `${url}/config/slices/team`);
    expect(await terraform.planCode()).toBe(0);
    await terraform.workspace.succeed("destroy", "-auto-approve");
  });

  test("the data source has options of its own, its key by reference", async () => {
    const own = 'ca = file("authority.crt")\n client_cert = file("client.crt")\n client_key_ref = "env:CLIENT_KEY"';
    write(provider(FULL) + status(own));
    await terraform.apply();
    expect(await terraform.workspace.succeed("output", "store_ok")).toContain("true");
    expect(terraform.workspace.read("terraform.tfstate")).not.toContain("PRIVATE KEY");
    const wrong = 'client_cert = file("client.crt")\n client_key_ref = "env:NOT_THERE"';
    expect(await failing(provider(FULL) + status(wrong))).toContain(
      'the client key ("client_key_ref") from "env:NOT_THERE"',
    );
    write(provider(FULL));
    await terraform.workspace.succeed("destroy", "-auto-approve");
  });

  test("an owner's token does for its bundle and the data source, and for no other owner", async () => {
    const scoped = provider(`${FULL}\n admin_token = "${PUBLISH_TOKEN}"`);
    write(scoped + status());
    const applied = await terraform.apply();
    expect(await terraform.planCode()).toBe(0);
    const shown = await terraform.workspace.succeed("show", "-json");
    for (const text of [applied, shown, gateway.log()]) expect(text).not.toContain(PUBLISH_TOKEN);
    expect(JSON.parse(shown)).toMatchObject({ values: { outputs: { store_ok: { value: true } } } });
    await terraform.workspace.succeed("destroy", "-auto-approve");
    expect(await failing(scoped, "other")).toContain('this token is only valid for the slice of owner "team"');
  });

  test("missing and invalid values are reported", async () => {
    expect(await failing("")).toContain("its certificate is not signed by a trusted CA");
    expect(await failing(provider('ca = file("authority.crt")'))).toContain(
      "a client certificate that this gateway trusts is required",
    );
    expect(await failing(provider('ca = "authority.crt"'))).toContain("must be PEM texts that fit together");
    const swapped = 'client_cert = file("authority.crt")\n client_key = file("client.key")';
    expect(await failing(provider(swapped))).toContain("must be PEM texts that fit together");
    expect(await failing(provider('client_key = file("client.key")'))).toContain("are given together or not at all");
  });
});
