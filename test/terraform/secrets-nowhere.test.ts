/** Where secrets must not be found: state, plan, published slice, Terraform's and the gateway's logs, everything. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { createAdminClient } from "../support/admin-client.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { visit } from "../support/marked-upstream.ts";
import { unpacked } from "../support/plan-archive.ts";
import { bundleConfig, createWorkspace, terraformMissing, type Workspace } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const missing = terraformMissing();
if (missing) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("a secret", { timeout: LONG_MS }, () => {
  const secret = `hush-${randomBytes(12).toString("hex")}`;
  const root = mkdtempSync(join(tmpdir(), "gw-secrets-"));
  let cliConfigFile: string;
  const keysSeen: unknown[] = [];
  const upstream = createServer((request, response) => {
    keysSeen.push(request.headers["x-upstream-key"]);
    response.end("ok");
  });
  let upstreamOrigin: string;
  let gateway: TestGateway;
  let workspace: Workspace;

  beforeAll(async () => {
    ({ cliConfigFile } = await writeDevMirror(root));
    await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    upstreamOrigin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    // Where the gateway reads references.
    process.env["SECRET_OF_THE_TEST"] = secret;
  });
  afterAll(async () => {
    delete process.env["SECRET_OF_THE_TEST"];
    await new Promise((resolve) => upstream.close(resolve));
    rmSync(root, { recursive: true });
  });
  beforeEach(async () => {
    gateway = await startGateway({
      yaml: "routes: []\n",
      boot: {
        owners: {
          team: { allowed_from: ["*.example.com"], allowed_refs: ["env:SECRET_*"], allow_local_upstreams: true },
          other: { allowed_from: ["*.example.com"] },
        },
      },
    });
    workspace = createWorkspace({
      TF_CLI_CONFIG_FILE: cliConfigFile,
      GATEWAY_ADMIN_TOKEN: gateway.adminToken,
      // Not on the command line, which Terraform logs.
      TF_VAR_secret: secret,
      TF_LOG: "trace",
      TF_LOG_PATH: "terraform.log",
    });
  });
  afterEach(async () => {
    workspace.close();
    await gateway.close();
  });

  const config = (given: string): string =>
    bundleConfig(
      `  owner    = "team"
  seal_key = data.gateway_status.now.seal_key
  http {
    url = "${gateway.adminOrigin}"
  }
  route "app" {
    from   = "http://app.example.com"
    to     = ["${upstreamOrigin}"]
    policy = jsonencode([{ allow = { or = [{ accept = true }] } }])
    headers {
      set_request_headers_secret "X-Upstream-Key" {
        ${given}
      }
    }
  }
`,
      `variable "secret" {
  type      = string
  ephemeral = true
}
data "gateway_status" "now" {
  url = "${gateway.adminOrigin}"
}
`,
    );

  /** Everything that a run left behind or said, plans unpacked, by its name. */
  async function traces(output: string): Promise<ReadonlyMap<string, string>> {
    const published = await createAdminClient(gateway.adminOrigin, gateway.adminToken).get("/config/slices/team");
    const files = readdirSync(workspace.directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return new Map([
      ["output", output],
      ["slice", published.text],
      ["log of the gateway", gateway.log()],
      ["authorization log", await gateway.recordText()],
      ...files.map((path): [string, string] => [
        path.slice(workspace.directory.length + 1),
        unpacked(readFileSync(path)),
      ]),
    ]);
  }

  test.each([
    ["by reference", 'secret_ref = "env:SECRET_OF_THE_TEST"', "env:SECRET_OF_THE_TEST"],
    [
      "as a write-only value from an ephemeral variable",
      "secret_wo = var.secret\n      secret_wo_version = 1",
      "secret_sealed",
    ],
  ])("given %s reaches the upstream and is in no state, plan, slice or log", async (_name, given, mark) => {
    workspace.write("main.tf", config(given));
    const output = [
      await workspace.succeed("init"),
      await workspace.succeed("plan", "-out=plan"),
      await workspace.succeed("apply", "plan"),
      await workspace.succeed("show", "-json"),
      await workspace.succeed("plan", "-detailed-exitcode"),
    ].join("");
    expect((await visit(gateway.origin, "app.example.com")).status).toBe(200);
    expect(keysSeen.splice(0)).toEqual([secret]);

    const all = await traces(output);
    expect([...all].filter(([, text]) => text.includes(secret)).map(([name]) => name)).toEqual([]);
    // The search looks where things are.
    const found = [...all].filter(([, text]) => text.includes(mark)).map(([name]) => name);
    expect(found).toEqual(expect.arrayContaining(["slice", "terraform.tfstate", "plan"]));
    expect(all.get("terraform.log")).toContain("method=ApplyResourceChange");
  });

  test("reference that the owner may not use is refused by the gateway, and nothing is published", async () => {
    workspace.write("main.tf", config('secret_ref = "env:HOME"'));
    await workspace.succeed("init");
    const { code, stderr } = await workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    const said = stderr.replaceAll(/[\s│]+/g, " ");
    expect(said).toContain("Refused by the gateway");
    expect(said).toContain('is "env:HOME", must be allowed by "owners.team.allowed_refs"');
    // The plan has failed already: there may be no state at all.
    expect((await workspace.run("state", "list")).stdout).not.toContain("gateway_bundle");
    const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
    expect((await admin.get("/config/slices/team")).status).toBe(404);
  });

  test("sealed for one owner is rejected in a slice of another, who could send it anywhere", async () => {
    workspace.write("main.tf", config("secret_wo = var.secret\n      secret_wo_version = 1"));
    await workspace.succeed("init");
    await workspace.succeed("apply", "-auto-approve");
    const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
    const { text } = await admin.get("/config/slices/team");
    const copied = text.replace('"owner": "team"', '"owner": "other"').replace("app.example", "thief.example");
    const answer = await admin.publish("other", copied);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('was sealed for owner \\"team\\", must be sealed for \\"other\\"');
    expect((await admin.get("/config/slices/other")).status).toBe(404);
  });

  test("sealed to another gateway is refused by this one, and nothing is published", async () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const key = JSON.stringify(JSON.stringify(publicKey.export({ format: "jwk" })));
    const text = config("secret_wo = var.secret\n      secret_wo_version = 1");
    workspace.write("main.tf", text.replace(/seal_key = .*/, `seal_key = ${key}`));
    await workspace.succeed("init");
    const { code, stderr } = await workspace.run("apply", "-auto-approve");
    expect(code).toBe(1);
    expect(stderr.replaceAll(/[\s│]+/g, " ")).toMatch(/Refused by the gateway.*cannot be read by the gateway/);
    expect(stderr).not.toContain(secret);
    expect(await workspace.succeed("state", "list")).not.toContain("gateway_bundle");
  });

  test("that the gateway mints for a run publishes, is renewed, ends with it, and is nowhere", async () => {
    const output = join(root, "token");
    // Answers when the token has been renewed.
    const renewals = createServer((_request, response) => {
      const timer = setInterval(() => {
        if (!gateway.log().includes("publish token renewed")) return;
        clearInterval(timer);
        response.end("ok");
      }, 20);
    });
    await new Promise<void>((resolve) => renewals.listen(0, "127.0.0.1", resolve));
    const wait = `http://127.0.0.1:${(renewals.address() as AddressInfo).port}`;
    workspace.close();
    workspace = createWorkspace({
      TF_CLI_CONFIG_FILE: cliConfigFile,
      TF_VAR_operator: gateway.adminToken,
      TF_LOG: "trace",
      TF_LOG_PATH: "terraform.log",
    });
    const script = join(root, "long.mjs");
    const source = [
      'import { writeFileSync } from "node:fs";',
      `await fetch("${wait}");`,
      `writeFileSync("${output}", process.env.TOKEN);`,
    ];
    writeFileSync(script, source.join("\n"));
    workspace.write(
      "main.tf",
      `terraform {
  required_providers {
    gateway = { source = "gateform/gateway" }
  }
}
variable "operator" {
  type      = string
  ephemeral = true
}
provider "gateway" {
  alias       = "operator"
  admin_token = var.operator
}
ephemeral "gateway_publish_token" "run" {
  provider = gateway.operator
  url      = "${gateway.adminOrigin}"
  owner    = "team"
  lifetime = "8s"
}
provider "gateway" {
  admin_token = ephemeral.gateway_publish_token.run.token
}
resource "terraform_data" "long" {
  provisioner "local-exec" {
    command     = "'${process.execPath}' '${script}'"
    environment = { TOKEN = ephemeral.gateway_publish_token.run.token }
  }
}
resource "gateway_bundle" "main" {
  owner      = "team"
  depends_on = [terraform_data.long]
  http {
    url = "${gateway.adminOrigin}"
  }
  route "app" {
    from   = "http://app.example.com"
    to     = ["${upstreamOrigin}"]
    policy = jsonencode([{ allow = { or = [{ accept = true }] } }])
  }
}
`,
    );
    try {
      const said = [
        await workspace.succeed("init"),
        await workspace.succeed("plan", "-out=plan"),
        await workspace.succeed("apply", "plan"),
        await workspace.succeed("show", "-json"),
        await workspace.succeed("plan", "-detailed-exitcode"),
      ].join("");
      const token = readFileSync(output, "utf8");
      expect(token).toMatch(/^gateway-publish-[A-Za-z0-9_-]{43}$/);
      expect((await visit(gateway.origin, "app.example.com")).status).toBe(200);
      expect((await createAdminClient(gateway.adminOrigin, token).get("/status")).status).toBe(401);
      // Each run had one of its own.
      const [issued, revoked] = ["issued", "revoked"].map(
        (word) => gateway.log().split(`publish token ${word}`).length - 1,
      );
      expect([issued, revoked]).toEqual([3, 3]);
      const all = await traces(said);
      expect([...all].filter(([, text]) => text.includes("gateway-publish-")).map(([name]) => name)).toEqual([]);
      expect([...all].filter(([, text]) => text.includes(gateway.adminToken)).map(([name]) => name)).toEqual([]);
      expect(all.get("terraform.log")).toContain("method=RenewEphemeralResource");
      expect(all.get("terraform.tfstate")).toContain("app.example.com");
    } finally {
      renewals.closeAllConnections();
      await new Promise((resolve) => renewals.close(resolve));
    }
  });
});
