/**
 * Registered devices across processes: administrators' commands with two gateways on one store, and programs and MCP
 * clients under policies that require a device.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { createSend, type Answer } from "../support/browser.ts";
import { createDeviceVisitor, type DeviceVisitor } from "../support/device-visitor.ts";
import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { createPkce, REDIRECT_URI, signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { runCommand, type CommandOutcome } from "../support/run-command.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { makeSoftKey } from "../support/soft-authenticator.ts";

/** Time until every process applies a revocation, by the requirements. */

let directory: string;
let upstream: EchoUpstream;
let world: SignInGateway;
let replica: TestGateway;

const routes = (tools: string): string => `
routes:
  - name: wiki
    from: "{origin}"
    prefix: /wiki
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ device: { approved: true } }] } }]
  - name: mine
    from: "{origin}"
    prefix: /mine
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ device: { type: any } }] } }]
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${upstream.origin}
    mcp: { server: { path: /mcp } }
    policy: ${tools}
`;
const OPEN = "[{ allow: { and: [{ domain: example.com }] } }]";
const GUARDED = "[{ allow: { and: [{ domain: example.com }, { device: { type: any } }] } }]";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-devices-"));
  const boot = { storage_url: `sqlite:${join(directory, "gateway.db")}` };
  upstream = await startEchoUpstream();
  world = await startSignInGateway({ boot, yaml: routes(OPEN) });
  const { issuer } = world.identityProvider;
  const provider = `idp_provider_url: ${issuer}\nidp_client_id: gateway\nidp_client_secret: secret\n`;
  const yaml = `runtime_flags: { mcp: true }\n${provider}${routes(OPEN).replaceAll("{origin}", world.gateway.origin)}`;
  replica = await startGateway({ boot, yaml });
});
afterAll(async () => {
  await replica?.close();
  await world?.close();
  await upstream?.close();
  await rm(directory, { recursive: true, force: true });
});

function run(...args: readonly string[]): Promise<CommandOutcome> {
  return runCommand(...args, "--config", world.gateway.configFile);
}

/** Requests a URL of a route from one of the two processes, like a script in a page. */
function ask(visitor: DeviceVisitor, path: string, port = world.gateway.port): Promise<Answer> {
  const headers = { accept: "application/json", cookie: visitor.browser.cookieHeader("localhost") };
  return createSend({ via: port })({ method: "GET", url: world.gateway.origin + path, headers });
}

const statuses = async (visitor: DeviceVisitor, path: string): Promise<readonly number[]> =>
  Promise.all([world.gateway.port, replica.port].map(async (port) => (await ask(visitor, path, port)).status));

/** Signed in, with a device of this name that is proven. */
async function withDevice(name: string, user = "alice@example.com"): Promise<{ visitor: DeviceVisitor; id: string }> {
  const visitor = createDeviceVisitor(world.gateway.origin, user);
  const page = await visitor.register(makeSoftKey(), { name });
  return { visitor, id: new URL(page.url).searchParams.get("device") ?? "" };
}

describe("gateway devices", () => {
  test("list shows a device and its user, approve opens access, and withdrawing closes it within 2 s everywhere", async () => {
    const { visitor, id } = await withDevice("Alice's laptop");
    // The other process also knows the proof immediately, and that the device is not approved.
    expect(await statuses(visitor, "/mine/")).toEqual([200, 200]);
    expect(await statuses(visitor, "/wiki/")).toEqual([450, 450]);
    expect((await ask(visitor, "/wiki/")).json()).toMatchObject({
      error: "device.unauthorized",
      details: { Device: id },
    });

    const listed = JSON.parse((await run("devices", "list", "--user", "alice@example.com", "--json")).out) as object[];
    expect(listed).toEqual([
      expect.objectContaining({
        id,
        email: "alice@example.com",
        name: "Alice's laptop",
        type: "enclave_only",
        synced: "no",
        approved: "no",
        host: "localhost",
      }),
    ]);

    expect(await run("devices", "approve", id)).toMatchObject({ code: 0, out: `device ${id} approved\n` });
    expect(await statuses(visitor, "/wiki/")).toEqual([200, 200]);
    expect((await run("devices", "approve", id)).out).toBe(`device ${id} was approved already\n`);

    expect(await run("devices", "approve", "--withdraw", id)).toMatchObject({ code: 0 });
    await expect.poll(within2s(() => statuses(visitor, "/wiki/"))).toEqual([450, 450]);
    expect(await statuses(visitor, "/mine/")).toEqual([200, 200]);

    // Approved again, it is not affected by the earlier withdrawal.
    expect((await run("devices", "approve", id)).code).toBe(0);
    expect(await statuses(visitor, "/wiki/")).toEqual([200, 200]);
  });

  test("revoke removes a device within 2 s everywhere, and the session continues", async () => {
    const { visitor, id } = await withDevice("Lost", "bob@example.com");
    const kept = await withDevice("Kept");
    expect(await statuses(visitor, "/mine/")).toEqual([200, 200]);
    expect(await run("devices", "revoke", id)).toMatchObject({ code: 0, out: `device ${id} removed\n` });
    await expect.poll(within2s(() => statuses(visitor, "/mine/"))).toEqual([450, 450]);
    expect((await ask(visitor, "/.gateway/user")).status).toBe(200);
    expect(await statuses(kept.visitor, "/mine/")).toEqual([200, 200]);
  });

  test("of one user are removed together, and a missing filter removes nothing", async () => {
    const { visitor } = await withDevice("One", "bob@example.com");
    await visitor.register(makeSoftKey(), { as: "another", name: "Two" });
    expect((await run("devices", "revoke")).code).toBe(2);
    expect((await run("devices", "revoke", "dev_x", "--user", "bob@example.com")).code).toBe(2);
    expect(await run("devices", "revoke", "dev_x")).toMatchObject({ code: 1, err: 'There is no device "dev_x"\n' });
    expect((await run("devices", "approve", "dev_x")).code).toBe(1);
    const { code, out } = await run("devices", "revoke", "--user", "bob@example.com");
    expect([code, out.split("\n").filter((line) => line.endsWith(" removed")).length]).toEqual([0, 2]);
    expect((await run("devices", "list", "--user", "bob@example.com")).out).toBe("no device is registered\n");
  });
});

describe("programs and MCP clients", () => {
  test("cannot prove a device, and get an error", async () => {
    const token = (await run("service-account", "create", "--name", "ci", "--email", "ci@example.com")).out.trim();
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    const url = `${world.gateway.origin}/mine/`;
    const answer = await createSend()({ method: "GET", url, headers });
    expect([answer.status, answer.json()["error"]]).toEqual([450, "device.unauthenticated"]);
    expect(answer.text).toContain("API clients cannot use this address");
    // Also where they look like browsers: a program is never led to a page.
    const asBrowser = { ...headers, accept: "text/html", "sec-fetch-mode": "navigate" };
    expect((await createSend()({ method: "GET", url, headers: asBrowser })).status).toBe(450);
  });

  test("a program that acts for a session has none of its devices", async () => {
    const { visitor } = await withDevice("With a program");
    const ask = `${world.gateway.origin}/.gateway/api/v1/login?gateway_redirect_uri=http://localhost:1/`;
    const { text } = await createSend()({ method: "GET", url: ask });
    const page = await visitor.open(text.trim());
    const request = /name="request" value="([^"]*)"/.exec(page.text)?.[1] ?? "";
    const csrf = /name="csrf" value="([^"]*)"/.exec(page.text)?.[1] ?? "";
    const form = { action: "/.gateway/api/v1/approve", method: "POST", fields: { request, csrf } };
    const left = await visitor.browser.submit(page, form, { decision: "approve" }, "http://localhost:1/");
    const token = new URL(left.url).searchParams.get("gateway_jwt") ?? "";
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    const answer = await createSend()({ method: "GET", url: `${world.gateway.origin}/mine/`, headers });
    expect([answer.status, answer.json()["error"]]).toEqual([450, "device.unauthenticated"]);
  });

  describe("of an MCP server that requires one", () => {
    let client: SignedInClient;
    beforeAll(async () => {
      client = await signInClient({ resource: `${world.gateway.origin}/tools/mcp`, user: "alice@example.com" });
      await world.reconfigure(routes(GUARDED));
    });
    afterAll(() => world.reconfigure(routes(OPEN)));

    const call = (method: string, params: object): Promise<Answer> =>
      createSend()({
        method: "POST",
        url: `${world.gateway.origin}/tools/mcp`,
        headers: {
          authorization: `Bearer ${client.tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
      });

    test("are answered in their protocol, with the reason", async () => {
      const before = upstream.seen.length;
      const tool = await call("tools/call", { name: "search", arguments: {} });
      expect(tool.status).toBe(200);
      expect(tool.json()).toMatchObject({
        id: 7,
        error: {
          message: expect.stringContaining("requires a registered device, which MCP clients cannot verify"),
          data: { reason: "device-unauthenticated" },
        },
      });
      const other = await call("tools/list", {});
      expect([other.status, other.json()["error"]]).toMatchObject([
        450,
        { data: { reason: "device-unauthenticated" } },
      ]);
      expect(upstream.seen).toHaveLength(before);
    });

    test("get no access through a user, who sees an error", async () => {
      const metadata = { client_name: "Other", redirect_uris: [REDIRECT_URI] };
      const outcome = await client.oauth.authorize({
        clientId: (await client.oauth.register(metadata)).client_id,
        redirectUri: REDIRECT_URI,
        challenge: createPkce().challenge,
        decision: "look",
      });
      expect(outcome).toMatchObject({ at: "page", page: { text: expect.stringMatching(/no access/i) } });
    });
  });
});
