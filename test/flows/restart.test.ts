/** The proxy killed without warning and started again, on a real database: nobody has to sign in, register or consent anew. */
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { createSend } from "../support/browser.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { startEchoUpstream } from "../support/echo-upstream.ts";
import { startGatewayProcess } from "../support/run-gateway.ts";
import { clientProof, createPkce, REDIRECT_URI, signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.removeAllListeners("exit").once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

async function survives(storageUrl: string, directory: string): Promise<void> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const upstream = await startEchoUpstream();
  onTestFinished(() => upstream.close());
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] }],
  });
  onTestFinished(() => provider.close());
  const config = join(directory, "gateway.yaml");
  const settings = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    admin_token: "admin-token-of-the-tests",
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: storageUrl,
    authorize_log: join(directory, "authorize.log"),
    runtime_flags: { mcp: true },
    idp_provider_url: provider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "secret",
    routes: [
      {
        name: "tools",
        from: origin,
        prefix: "/tools",
        to: upstream.origin,
        mcp: { server: {} },
        policy: { allow: { and: [{ authenticated_user: true }] } },
      },
    ],
  };
  await writeFile(config, stringify(settings));

  const first = await startGatewayProcess(config, onTestFinished);
  const resource = `${origin}/tools`;
  const client = await signInClient({ resource, user: "alice@example.com" });
  const secret = await signInClient({
    resource,
    browser: client.oauth.browser,
    metadata: { token_endpoint_auth_method: "client_secret_basic" },
  });
  await killed(first);
  await startGatewayProcess(config, onTestFinished);

  const send = createSend();
  const call = await send({
    method: "POST",
    url: resource,
    headers: {
      authorization: `Bearer ${client.tokens.access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  });
  expect(["grant", call.status]).toEqual(["grant", 200]);
  const page = await client.oauth.browser.open(`${origin}/.gateway/user`);
  expect(["session", page.status]).toEqual(["session", 200]);
  for (const each of [client, secret]) {
    const answer = await each.oauth.sendToken({
      grant_type: "refresh_token",
      refresh_token: each.tokens.refresh_token ?? "",
      ...clientProof(each.registration),
    });
    expect(["client", answer.status]).toEqual(["client", 200]);
  }
  const again = await client.oauth.authorize({
    clientId: client.registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    decision: "look",
  });
  expect(["consent", again.at]).toEqual(["consent", "client"]);
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-restart-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test("killing and restarting the proxy on SQLite loses no session, client, grant or consent", async () => {
  const directory = await temporaryDirectory();
  await survives(`sqlite:${join(directory, "gateway.db")}`, directory);
}, 120_000);

const postgres = findPostgres();
test.skipIf("missing" in postgres)(
  "killing and restarting the proxy on PostgreSQL loses no session, client, grant or consent",
  async () => {
    if ("missing" in postgres) return;
    const server = await startPostgres(postgres.bin);
    onTestFinished(() => server.close());
    await survives(server.url, await temporaryDirectory());
  },
  120_000,
);
