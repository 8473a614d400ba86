/** A pipeline without a stored secret, in the real Terraform: the job's token of its platform becomes a publish token. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { createSend } from "../support/browser.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startPlatform, type Platform } from "../support/platform.ts";
import { createWorkspace, terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const missing = terraformMissing();
if (missing) console.log(`skipped: ${missing}`);

const AUDIENCE = "https://gateway.example/publish";
const REQUEST_TOKEN = "request-token-of-the-job";

describe.skipIf(missing !== undefined)("gateway_publish_token with a platform's token", { timeout: LONG_MS }, () => {
  const root = mkdtempSync(join(tmpdir(), "gw-workload-"));
  let cliConfigFile: string;
  let platform: Platform;
  let gateway: TestGateway;
  /** Requests to the address that GitHub gives its jobs. */
  const asked: { readonly url: string; readonly authorization: string | undefined }[] = [];

  beforeAll(async () => {
    ({ cliConfigFile } = await writeDevMirror(root));
    platform = await startPlatform((self) => (request, response) => {
      const url = new URL(request.url ?? "", self.issuer);
      asked.push({ url: url.pathname + url.search, authorization: request.headers.authorization });
      if (request.headers.authorization !== `Bearer ${REQUEST_TOKEN}`) return response.writeHead(401).end();
      void self.token(url.searchParams.get("audience") ?? "").then((value) => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ count: 1, value }));
      });
      return response;
    });
    gateway = await startGateway({
      yaml: "routes: []\n",
      boot: {
        owners: {
          team: {
            allowed_from: ["*.example.com"],
            allow_local_upstreams: true,
            publish_workloads: {
              deploy: { issuer: platform.issuer, audience: AUDIENCE, claims: { repository_id: ["42"] } },
            },
          },
        },
      },
    });
  });
  afterAll(async () => {
    await gateway.close();
    await platform.close();
    rmSync(root, { recursive: true });
  });

  const config = (tokenRef: string, answer: string): string => `
terraform {
  required_providers {
    gateway = { source = "gateform/gateway" }
  }
}
provider "gateway" {
  alias = "job"
}
ephemeral "gateway_publish_token" "run" {
  provider  = gateway.job
  url       = "${gateway.adminOrigin}"
  owner     = "team"
  token_ref = "${tokenRef}"
}
provider "gateway" {
  admin_token = ephemeral.gateway_publish_token.run.token
}
resource "gateway_bundle" "main" {
  owner = "team"
  http {
    url = "${gateway.adminOrigin}"
  }
  route "app" {
    from   = "http://app.example.com"
    routing {
      response {
        status = 200
        body   = "${answer}"
      }
    }
    policy = jsonencode([{ allow = { or = [{ accept = true }] } }])
  }
}
`;

  let state = "";
  const run = async (tokenRef: string, answer: string, env: Readonly<Record<string, string>> = {}) => {
    const workspace = createWorkspace({ TF_CLI_CONFIG_FILE: cliConfigFile, ...env });
    try {
      workspace.write("main.tf", config(tokenRef, answer));
      if (state !== "") workspace.write("terraform.tfstate", state);
      const said = [await workspace.succeed("init"), await workspace.succeed("apply", "-auto-approve")].join("");
      state = workspace.read("terraform.tfstate");
      return said;
    } finally {
      workspace.close();
    }
  };

  const expectLive = async (answer: string): Promise<void> => {
    const send = createSend({ via: gateway.port });
    const visited = await send({ method: "GET", url: "http://app.example.com/" });
    expect([visited.status, visited.text]).toEqual([200, answer]);
  };

  test("of GitHub Actions is requested at the job's address, again for each request", async () => {
    const before = platform.issued.length;
    const said = await run(`github:${AUDIENCE}`, "by github", {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${platform.issuer}/request?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
    });
    await expectLive("by github");
    expect(new Set(asked.map(({ url }) => url))).toEqual(
      new Set([`/request?api-version=2.0&audience=${encodeURIComponent(AUDIENCE)}`]),
    );
    // Minted and ended.
    expect(platform.issued.length - before).toBeGreaterThanOrEqual(2);
    for (const secret of [...platform.issued, REQUEST_TOKEN, "gateway-publish-"]) {
      expect(said + state).not.toContain(secret);
    }
    expect(gateway.log()).toContain("publish token revoked");
  });

  test("of others is read from a file or the environment", async () => {
    const file = join(root, "token");
    writeFileSync(file, `${await platform.token(AUDIENCE)}\n`);
    await run(`file:${file}`, "by file");
    await expectLive("by file");
    await run("env:GATEWAY_ID_TOKEN", "by variable", { GATEWAY_ID_TOKEN: await platform.token(AUDIENCE) });
    await expectLive("by variable");
  });

  test.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ["outside of a job", {}, /this is not a job of GitHub\s+Actions, or it lacks/],
    [
      "whose request is refused",
      { ACTIONS_ID_TOKEN_REQUEST_URL: "{issuer}/request", ACTIONS_ID_TOKEN_REQUEST_TOKEN: "stolen" },
      /it answered 401 without a\s+token/,
    ],
  ])("is not there %s, and Terraform says so without a secret", async (_, env, text) => {
    const values = Object.entries(env).map(([name, value]) => [name, value.replace("{issuer}", platform.issuer)]);
    const failed = run(`github:${AUDIENCE}`, "never", Object.fromEntries(values) as Record<string, string>);
    await expect(failed).rejects.toThrow(text);
    await expect(failed).rejects.not.toThrow(/stolen/);
    await expectLive("by variable");
  });
});
