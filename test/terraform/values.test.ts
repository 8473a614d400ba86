/** Plans with values of other resources, and with secrets that must not be stored, by the real Terraform. */
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

import { compactDecrypt } from "jose";
import { describe, expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";
import { unpacked } from "../support/plan-archive.ts";

const POLICY = "policy = jsonencode([{ allow = { and = [{ authenticated_user = true }] } }])";

describeTerraform("gateway_bundle", (terraform) => {
  const { slice } = terraform;

  describe("with values of another resource", () => {
    const config = (address: string): string =>
      bundleConfig(
        `  owner = "team"
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  route "known" {
    from = "https://known.example.com"
    to   = ["http://10.0.0.9:8080"]
    ${POLICY}
  }
  route "balanced" {
    from = "https://balanced.example.com"
    to   = [terraform_data.balancer.output, "http://10.0.0.2:8080"]
    ${POLICY}
    set_request_headers = { "X-Balancer" = "$\${gateway.jwt} at \${terraform_data.balancer.id}" }
  }
  dynamic "route" {
    for_each = { for name in ["one", "two"] : name => terraform_data.balancer.output }
    labels   = ["team-\${route.key}"]
    content {
      from = "https://\${route.key}.example.com"
      to   = [route.value]
      ${POLICY}
    }
  }`,
        `resource "terraform_data" "balancer" {\n  input            = "${address}"\n  triggers_replace = "${address}"\n}\n`,
      );

    test("plans them as known after apply, one by one, and publishes their actual values", async () => {
      terraform.workspace.write("main.tf", config("http://10.1.1.1:80"));
      const planned = await terraform.workspace.succeed("plan", "-out=plan");
      expect(planned).toContain('+ (known after apply),\n              + "http://10.0.0.2:8080"');
      expect(planned).toMatch(/sha256\s+= \(known after apply\)/);
      await terraform.workspace.succeed("apply", "plan");
      expect(slice().routes["balanced"]?.["to"]).toEqual(["http://10.1.1.1:80", "http://10.0.0.2:8080"]);
      expect(slice().routes["team-two"]?.["to"]).toEqual(["http://10.1.1.1:80"]);
      expect(await terraform.planCode()).toBe(0);

      terraform.workspace.write("main.tf", config("http://10.2.2.2:80"));
      const changed = await terraform.workspace.succeed("plan");
      expect(changed).toContain('~ "http://10.1.1.1:80" -> (known after apply)');
      expect(changed).not.toContain("10.0.0.9");
      await terraform.apply();
      expect(slice().routes["team-one"]?.["to"]).toEqual(["http://10.2.2.2:80"]);
    });

    test("plans several bundles whose owner's values differ only in refinements", async () => {
      const teams = ["red", "green", "blue"].map((name) => [name, `"${name}-\${terraform_data.some.id}"`]);
      const owners = [...teams, ["bare", "terraform_data.some.id"]].map(([name, owner]) => `${name} = ${owner}`);
      const hosts = Array.from({ length: 12 }, (_, index) => `h${index} = "https://h${index}.example.com"`);
      terraform.workspace.write(
        "main.tf",
        bundleConfig(
          `  for_each = {\n${owners.join("\n")}\n  }
  owner = each.value
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  dynamic "route" {
    for_each = {\n${hosts.join("\n")}\n    }
    labels = [route.key]
    content {
      from = route.value
      to   = ["http://10.0.0.1:8080"]
      ${POLICY}
    }
  }`,
          `resource "terraform_data" "some" {}\n`,
        ),
      );
      await terraform.apply();
      const published = readdirSync(terraform.workspace.path("slices"))
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.replace(/[0-9a-f]{8}(?:-[0-9a-f]+)+/, "*"));
      expect(published.sort()).toEqual(["*.json", "blue-*.json", "green-*.json", "red-*.json"]);
      expect(await terraform.planCode()).toBe(0);
    });

    test("rejects at apply values that turn out to be invalid, and publishes nothing", async () => {
      terraform.workspace.write("main.tf", config("http://10.1.1.1:80"));
      await terraform.apply();
      const before = terraform.workspace.read("slices/team.json");
      terraform.workspace.write("main.tf", config("not an address"));
      const { code, stderr } = await terraform.workspace.run("apply", "-auto-approve");
      expect(code).toBe(1);
      expect(stderr).toContain('At route["balanced"].to[0]');
      expect(terraform.workspace.read("slices/team.json")).toBe(before);
    });
  });

  describe("with secrets", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const sealKey = JSON.stringify(publicKey.export({ format: "jwk" })).replaceAll('"', '\\"');
    const SECRET = "correct-horse-battery-staple";

    const config = (secret: string, options: { key?: string; rest?: string } = {}): string =>
      bundleConfig(
        `  owner = "team"
  ${options.key ?? `seal_key = "${sealKey}"`}
  file {
    directory = "${terraform.workspace.path("slices")}"
  }
  runtime_flags {
    mcp = true
  }
  route "github" {
    from = "https://github.example.com"
    to   = ["http://10.0.0.1:8080"]
    ${POLICY}
    mcp {
      server {
        upstream_oauth2 {
          client_id = "client"
          ${secret}
          endpoint {
            auth_url  = "https://as.example.com/authorize"
            token_url = "https://as.example.com/token"
          }
        }
      }
    }
  }`,
        options.rest ?? 'variable "secret" {\n  type      = string\n  ephemeral = true\n}\n',
      );
    const WRITE_ONLY = (version: number): string =>
      `client_secret_wo = var.secret\n          client_secret_wo_version = ${version}`;

    const oauth = (): Record<string, string> => {
      const route = slice().routes["github"] as unknown as {
        mcp: { server: { upstream_oauth2: Record<string, string> } };
      };
      return route.mcp.server.upstream_oauth2;
    };
    const opened = async (): Promise<string> =>
      Buffer.from((await compactDecrypt(oauth()["client_secret_sealed"] ?? "", privateKey)).plaintext).toString();
    /** Files below the workspace that hold the text, plan archives unpacked. */
    const filesWith = (text: string): string[] =>
      readdirSync(terraform.workspace.directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => `${entry.parentPath}/${entry.name}`)
        .filter((path) => unpacked(readFileSync(path)).includes(text));

    test("a write-only secret reaches the bundle sealed, and is stored nowhere", async () => {
      terraform.workspace.write("main.tf", config(WRITE_ONLY(1)));
      const output = [
        await terraform.workspace.succeed("plan", "-out=plan", `-var=secret=${SECRET}`),
        await terraform.workspace.succeed("apply", `-var=secret=${SECRET}`, "plan"),
      ].join("");
      expect(output).not.toContain(SECRET);
      expect(filesWith(SECRET)).toEqual([]);
      // The search finds things in plans at all.
      expect(filesWith("client_secret_wo_version").map((path) => path.split("/").at(-1))).toContain("plan");
      expect(Object.keys(oauth())).toEqual(["client_id", "client_secret_sealed", "endpoint"]);
      expect(await opened()).toBe(SECRET);
    });

    test("a write-only secret of the settings is sealed as well", async () => {
      const settings = `idp_provider_url = "https://idp.example.com"
  idp_client_id = "client"
  idp_client_secret_wo = var.secret
  idp_client_secret_wo_version = 1`;
      terraform.workspace.write("main.tf", config(WRITE_ONLY(1), { key: `seal_key = "${sealKey}"\n  ${settings}` }));
      await terraform.workspace.succeed("apply", "-auto-approve", `-var=secret=${SECRET}`);
      const { idp_client_secret_sealed: sealed = "" } = (slice() as unknown as { settings: Record<string, string> })
        .settings;
      expect(Buffer.from((await compactDecrypt(sealed, privateKey)).plaintext).toString()).toBe(SECRET);
      expect((await terraform.workspace.run("plan", "-detailed-exitcode", `-var=secret=${SECRET}`)).code).toBe(0);
    });

    test("a seal is kept while the version stays, and made again when it increases", async () => {
      terraform.workspace.write("main.tf", config(WRITE_ONLY(1)));
      await terraform.workspace.succeed("apply", "-auto-approve", `-var=secret=${SECRET}`);
      const first = oauth()["client_secret_sealed"];
      expect((await terraform.workspace.run("plan", "-detailed-exitcode", "-var=secret=other-secret")).code).toBe(0);
      terraform.workspace.write("main.tf", config(WRITE_ONLY(2)));
      const planned = await terraform.workspace.succeed("plan", "-var=secret=other-secret");
      expect(planned).toMatch(/~ client_secret_sealed\s+= ".*" -> \(known after apply\)/);
      await terraform.workspace.succeed("apply", "-auto-approve", "-var=secret=other-secret");
      expect(oauth()["client_secret_sealed"]).not.toBe(first);
      expect(await opened()).toBe("other-secret");
    });

    test("a seal that was changed by hand is made again", async () => {
      terraform.workspace.write("main.tf", config(WRITE_ONLY(1)));
      await terraform.workspace.succeed("apply", "-auto-approve", `-var=secret=${SECRET}`);
      terraform.workspace.write(
        "slices/team.json",
        terraform.workspace
          .read("slices/team.json")
          .replace(oauth()["client_secret_sealed"] ?? "", "e30.e30.e30.e30.e30"),
      );
      expect((await terraform.workspace.run("plan", "-detailed-exitcode", `-var=secret=${SECRET}`)).code).toBe(2);
      await terraform.workspace.succeed("apply", "-auto-approve", `-var=secret=${SECRET}`);
      expect(await opened()).toBe(SECRET);
    });

    test("another key seals again", async () => {
      terraform.workspace.write("main.tf", config(WRITE_ONLY(1)));
      await terraform.workspace.succeed("apply", "-auto-approve", `-var=secret=${SECRET}`);
      const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const key = `seal_key = "${JSON.stringify(other.publicKey.export({ format: "jwk" })).replaceAll('"', '\\"')}"`;
      terraform.workspace.write("main.tf", config(WRITE_ONLY(1), { key }));
      await terraform.workspace.succeed("apply", "-auto-approve", `-var=secret=${SECRET}`);
      const { plaintext } = await compactDecrypt(oauth()["client_secret_sealed"] ?? "", other.privateKey);
      expect(Buffer.from(plaintext).toString()).toBe(SECRET);
    });

    test.each([
      ["without a key", { secret: WRITE_ONLY(1), key: "" }, "seal_key"],
      ["without a version", { secret: "client_secret_wo = var.secret" }, "client_secret_wo_version"],
      ["with a version alone", { secret: "client_secret_wo_version = 1" }, '"client_secret_wo" is not set'],
      ["beside the plain secret", { secret: `client_secret = "x"\n${WRITE_ONLY(1)}` }, "one form"],
      ["beside a reference", { secret: `client_secret_ref = "env:X"\n${WRITE_ONLY(1)}` }, "one form"],
      [
        "with a private key",
        {
          secret: WRITE_ONLY(1),
          key: `seal_key = ${JSON.stringify(JSON.stringify({ kty: "EC", crv: "P-256", d: "x" }))}`,
        },
        "public key",
      ],
      ["with something that is no key", { secret: WRITE_ONLY(1), key: 'seal_key = "key"' }, "JWK"],
    ])("a write-only secret %s is refused", async (_name, { secret, key }: { secret: string; key?: string }, text) => {
      terraform.workspace.write("main.tf", config(secret, key === undefined ? {} : { key }));
      const { code, stderr } = await terraform.workspace.run("plan", `-var=secret=${SECRET}`);
      expect(code).toBe(1);
      expect(stderr.replaceAll(/[\s│╷╵]+/g, " ")).toContain(text);
      expect(stderr).not.toContain(SECRET);
    });

    test("a reference is passed on and the secret never seen", async () => {
      terraform.workspace.write("main.tf", config('client_secret_ref = "env:GITHUB_SECRET"', { rest: "", key: "" }));
      await terraform.apply();
      expect(oauth()).toMatchObject({ client_secret_ref: "env:GITHUB_SECRET" });
      expect(await terraform.planCode()).toBe(0);
    });

    test("a plain secret is hidden in plans, bundle_json included", async () => {
      terraform.workspace.write("main.tf", config(`client_secret = "${SECRET}"`, { rest: "", key: "" }));
      const planned = await terraform.apply();
      expect(planned).not.toContain(SECRET);
      expect(oauth()).toMatchObject({ client_secret: SECRET });
      terraform.workspace.write("main.tf", config(`client_secret = "${SECRET}2"`, { rest: "", key: "" }));
      const changed = await terraform.workspace.succeed("plan");
      expect(changed).toMatch(/~ client_secret\s+= \(sensitive value\)/);
      expect(changed).not.toContain(SECRET);
    });
  });
});
