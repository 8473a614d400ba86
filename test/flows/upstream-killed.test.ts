/**
 * The gateway's process is killed (SIGKILL) between the answer of an upstream's token endpoint and keeping it: a real process
 * on a real SQLite file, which a lock of the test keeps from being written, so that nothing of the answer can be stored.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { describe, expect, test, type TestContext } from "vitest";
import { stringify } from "yaml";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { type Answer, createSend } from "../support/browser.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { startGatewayProcess } from "../support/run-gateway.ts";
import { type SignedInClient, signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { startUpstreamService, type UpstreamService } from "../support/upstream-service.ts";
import { LONG_MS } from "../support/limits.ts";

const ALICE = "alice@example.com";
const send = createSend();

interface World {
  readonly service: UpstreamService;
  readonly origin: string;
  readonly resource: string;
  readonly database: string;
  gateway: ChildProcess;
  /** Starts it again, on the same port and file. */
  restart(): Promise<void>;
  signIn(more?: { readonly press?: string }): Promise<SignedInClient>;
  call(client: SignedInClient): Promise<Answer>;
  connected(client: SignedInClient): Promise<boolean>;
}

async function startWorld({ onTestFinished }: Pick<TestContext, "onTestFinished">): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-killed-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const service = await startUpstreamService();
  onTestFinished(() => service.close());
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] }],
  });
  onTestFinished(() => provider.close());
  const redirectUris = [`${origin}/.gateway/mcp/client/oauth/callback`];
  service.clients.set("client", { secret: "client-secret", redirectUris });
  const database = join(directory, "gateway.db");
  const config = join(directory, "gateway.yaml");
  const policy = [{ allow: { and: [{ authenticated_user: true }] } }];
  const endpoint = { auth_url: `${service.origin}/authorize`, token_url: `${service.origin}/token` };
  const upstreamOAuth = { client_id: "client", client_secret: "client-secret", endpoint };
  const settings = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    admin_token: "admin-token-of-the-tests",
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: `sqlite:${database}`,
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
        to: service.origin,
        mcp: { server: { path: "/mcp", upstream_oauth2: upstreamOAuth } },
        policy,
      },
      { name: "app", from: origin, prefix: "/app", to: service.origin, mcp: { client: {} }, policy },
    ],
  };
  await writeFile(config, stringify(settings), { mode: 0o600 });
  const start = (): Promise<ChildProcess> => startGatewayProcess(config, onTestFinished);
  const resource = `${origin}/tools/mcp`;
  const world: World = {
    service,
    origin,
    resource,
    database,
    gateway: await start(),
    async restart() {
      world.gateway = await start();
    },
    signIn: (more = {}) => signInClient({ resource, user: ALICE, ...more }),
    call: ({ tokens }) =>
      send({
        method: "POST",
        url: resource,
        headers: {
          authorization: `Bearer ${tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      }),
    async connected({ oauth }) {
      const cookie = oauth.browser.cookieHeader("localhost");
      const headers = { accept: "application/json", cookie };
      const answer = await send({ method: "GET", url: `${origin}/.gateway/mcp/routes`, headers });
      const { servers } = answer.json() as { servers: readonly { connected: boolean }[] };
      return servers[0]?.connected === true;
    },
  };
  return world;
}

/** The next response of the token endpoint is complete, cannot be stored, and is the last one that the gateway sees. */
function killAfterAnswer(world: World): Promise<void> {
  const { gateway, service } = world;
  return new Promise((resolve) => {
    service.switches.token = (_form, response: ServerResponse) => {
      service.switches.token = undefined;
      const lock = new DatabaseSync(world.database, { timeout: 5_000 });
      lock.exec("BEGIN IMMEDIATE");
      gateway.once("exit", () => {
        lock.exec("ROLLBACK");
        lock.close();
        resolve();
      });
      response.once("finish", () => gateway.kill("SIGKILL"));
      // The server works as usual: it rotates, and responds.
      return false;
    };
  });
}

describe.concurrent("the gateway killed between an upstream's answer and keeping it", { timeout: LONG_MS }, () => {
  test("where the upstream rotated: the old token is tried once, then connected is false and the challenge correct, without a loop or a 500", async (context) => {
    const world = await startWorld(context);
    const { service } = world;
    service.switches.accessTokenSeconds = 1;
    const client = await world.signIn();
    const issued = [...service.refreshTokens.keys()];
    await delay(1_100);
    const killed = killAfterAnswer(world);
    // The client's own request breaks off with the process.
    await expect(world.call(client)).rejects.toThrow();
    await killed;
    const before = service.tokenRequests.length;
    expect(service.tokenRequests.at(-1)?.get("refresh_token")).toBe(issued[0]);

    await world.restart();
    // It waits until the dead process's lease ends, and no longer.
    const answer = await world.call(client);
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer error="invalid_token", .*resource_metadata="http:/);
    for (let count = 0; count < 3; count += 1) expect((await world.call(client)).status).toBe(401);
    const tried = service.tokenRequests.slice(before).map((form) => form.get("refresh_token"));
    expect(tried).toEqual([issued[0]]);
    expect(await world.connected(client)).toBe(false);

    // The client's next login connects it again.
    service.switches.accessTokenSeconds = 600;
    const again = await signInClient({ resource: world.resource, browser: client.oauth.browser });
    expect((await world.call(again)).status).toBe(200);
    expect(await world.connected(client)).toBe(true);
  });

  test("if the upstream does not rotate refresh tokens: the next use refreshes, and no user has to connect again", async (context) => {
    const world = await startWorld(context);
    const { service } = world;
    service.switches.rotates = false;
    service.switches.accessTokenSeconds = 1;
    const client = await world.signIn();
    await delay(1_100);
    const killed = killAfterAnswer(world);
    await expect(world.call(client)).rejects.toThrow();
    await killed;
    service.switches.accessTokenSeconds = 600;
    await world.restart();
    const before = service.tokenRequests.length;
    expect((await world.call(client)).status).toBe(200);
    expect(service.tokenRequests.length).toBe(before + 1);
    expect(await world.connected(client)).toBe(true);
  });

  test("of a code: the connection is not made, and another login makes it", async (context) => {
    const world = await startWorld(context);
    const { service } = world;
    const killed = killAfterAnswer(world);
    await expect(world.signIn()).rejects.toThrow();
    await killed;
    await world.restart();
    expect(service.tokenRequests).toHaveLength(1);
    const client = await world.signIn();
    expect((await world.call(client)).status).toBe(200);
    expect(await world.connected(client)).toBe(true);
  });
});
