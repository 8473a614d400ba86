/** Administrators' commands as separate processes with a running gateway, on one SQLite store. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { assertionClaims, makeSigningKey, signAssertion } from "../support/client-assertion.ts";
import { createSend } from "../support/browser.ts";
import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { runCommand, type CommandOutcome } from "../support/run-command.ts";

/** Time until every process applies a revocation, by the requirements. */

let directory = "";
let world: McpGateway;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-commands-"));
  world = await startMcpGateway({ boot: { storage_url: `sqlite:${join(directory, "gateway.db")}` } });
});
afterAll(async () => {
  await world?.close();
  await rm(directory, { recursive: true, force: true });
});

function run(...args: readonly string[]): Promise<CommandOutcome> {
  return runCommand(...args, "--config", world.gateway.configFile);
}

async function rows(...args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const { code, out, err } = await run(...args, "--json");
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Record<string, unknown>[];
}

const send = createSend();

function call(token: string, tool?: string, url = world.resource) {
  const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const message = tool
    ? { method: "tools/call", params: { name: tool, arguments: {} } }
    : { method: "initialize", params: initialize };
  return send({
    method: "POST",
    url,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
}

/** Repeats the call until the token is rejected; fails if that takes longer than promised. */
async function refusedInTime(token: string): Promise<void> {
  await expect.poll(within2s(async () => (await call(token)).status)).toBe(401);
}

describe("gateway grants", () => {
  test("list shows users' grants to clients, and revoke applies in the running gateway within 2 s", async () => {
    const client = await world.signIn({ metadata: { client_name: "Desk client" } });
    expect((await call(client.tokens.access_token)).status).toBe(200);
    const listed = await rows("grants", "list", "--user", "alice@example.com");
    const mine = listed.find((row) => row["client_id"] === client.registration.client_id);
    expect(mine).toMatchObject({ client: "Desk client", email: "alice@example.com", server: world.resource });
    const revoked = await run("grants", "revoke", String(mine?.["id"]));
    expect([revoked.code, revoked.out]).toEqual([0, "1 grant ended\n"]);
    await refusedInTime(client.tokens.access_token);
    await expect(client.refresh()).rejects.toThrow("invalid_grant");
    // The consent is also deleted: the next authorization asks again.
    const asked = await client.oauth.authorize({
      clientId: client.registration.client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "look",
    });
    expect(asked.at).toBe("page");
  });

  test("of one user are revoked without affecting others, and a missing filter revokes nothing", async () => {
    const alice = await world.signIn();
    const bob = await world.signIn({ user: "bob@example.com", registration: alice.registration });
    expect((await run("grants", "revoke")).code).toBe(2);
    expect((await run("grants", "revoke", "unknown")).code).toBe(1);
    expect((await run("grants", "revoke", "--user", "bob@example.com")).code).toBe(0);
    await refusedInTime(bob.tokens.access_token);
    expect((await call(alice.tokens.access_token)).status).toBe(200);
  });
});

describe("gateway sessions", () => {
  test("list shows signed-in users, and revoke signs out within 2 s", async () => {
    const client = await world.signIn({ user: "bob@example.com" });
    const page = (): Promise<number> =>
      client.oauth.browser.open(`${world.gateway.origin}/.gateway/user`).then(({ status }) => status);
    expect(await page()).toBe(200);
    const listed = await rows("sessions", "list", "--user", "bob@example.com");
    expect(listed.length).toBeGreaterThan(0);
    expect(listed[0]).toMatchObject({ email: "bob@example.com", ends: expect.stringMatching(/Z$/) });
    expect((await run("sessions", "revoke", "--user", "bob@example.com")).code).toBe(0);
    await expect.poll(within2s(page)).toBe(401);
    expect(await rows("sessions", "list", "--user", "bob@example.com")).toEqual([]);
    // A client's grant does not hang on the browser's session.
    expect((await call(client.tokens.access_token)).status).toBe(200);
  });
});

describe("gateway service-account", () => {
  test("create prints a token under which policy and records see a named user; revoke ends it within 2 s", async () => {
    const made = await run("service-account", "create", "--name", "ci", "--email", "ci@example.com", "--expires", "1h");
    const token = made.out.trim();
    expect(token).toMatch(/^gwt_/);
    expect((await call(token)).status).toBe(200);
    // The same policy as for people: deny rules about tools, and routes for other groups.
    expect((await call(token, "delete_everything")).text).toContain("mcp-tool-unauthorized");
    expect((await call(token, undefined, world.otherResource)).status).toBe(403);
    const records = await world.gateway.records();
    expect(records.filter((record) => record["user"] === "service-account:ci")).toMatchObject([
      { allow: true, email: "ci@example.com", "mcp-method": "initialize" },
      { allow: false, email: "ci@example.com", "mcp-tool": "delete_everything" },
      { allow: false, email: "ci@example.com" },
    ]);
    expect(await rows("service-account", "list")).toMatchObject([{ name: "ci", good_for: "every server" }]);
    expect((await run("service-account", "create", "--name", "ci")).code).toBe(1);
    expect((await run("service-account", "revoke", "ci")).code).toBe(0);
    await refusedInTime(token);
    expect(await rows("service-account", "list")).toEqual([]);
    expect((await run("service-account", "revoke", "ci")).code).toBe(1);
    expect(world.gateway.log()).not.toContain(token.slice(4));
  });

  test("a token for one server is invalid at another, and at pages and lists", async () => {
    const args = ["--name", "notes", "--groups", "engineering", "--email", "n@example.com"];
    const made = await run("service-account", "create", ...args, "--resource", `${world.otherResource}/`);
    const token = made.out.trim();
    expect((await call(token, undefined, world.otherResource)).status).toBe(200);
    expect((await call(token)).status).toBe(401);
    for (const path of ["/.gateway/user", "/.gateway/mcp/routes"]) {
      const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
      const answer = await send({ method: "GET", url: world.gateway.origin + path, headers });
      expect([path, answer.status]).not.toEqual([path, 200]);
    }
  });
});

describe("gateway client", () => {
  test("create makes a service account that gets tokens by client credentials, until revoke", async () => {
    const made = await run("client", "create", "--name", "nightly", "--machine", "--email", "nightly@example.com");
    const { client_id, client_secret } = JSON.parse(made.out) as Record<string, string>;
    const form = { grant_type: "client_credentials", resource: world.resource };
    const ask = () =>
      send({
        method: "POST",
        url: `${world.gateway.origin}/.gateway/mcp/token`,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}`,
        },
        body: new URLSearchParams(form).toString(),
      });
    const answer = await ask();
    expect(answer.status).toBe(200);
    const token = String(answer.json()["access_token"]);
    expect((await call(token)).status).toBe(200);
    expect((await call(token, undefined, world.otherResource)).status).toBe(401);
    expect(await rows("client", "list")).toContainEqual(
      expect.objectContaining({ client_id, name: "nightly", made_by: "administrator", ends: "" }),
    );
    expect((await run("client", "revoke", client_id ?? "")).code).toBe(0);
    await refusedInTime(token);
    expect((await ask()).json()["error"]).toBe("invalid_client");
  });

  test("create takes public keys instead of a secret", async () => {
    const key = await makeSigningKey("ES256");
    const file = join(directory, "keys.json");
    await writeFile(file, JSON.stringify({ keys: [key.jwk] }));
    const made = await run(
      "client",
      "create",
      "--name",
      "signer",
      "--machine",
      "--email",
      "s@example.com",
      "--jwks",
      file,
    );
    const written = JSON.parse(made.out) as Record<string, string>;
    expect(written).not.toHaveProperty("client_secret");
    const clientId = written["client_id"] ?? "";
    const claims = assertionClaims(clientId, Date.now(), { aud: world.gateway.origin });
    const client_assertion = await signAssertion(claims, key);
    const answer = await send({
      method: "POST",
      url: `${world.gateway.origin}/.gateway/mcp/token`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion,
      }).toString(),
    });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("gwt_")]);
  });

  test("create reports invalid arguments", async () => {
    const outcome = await run("client", "create", "--name", "x", "--redirect-uri", "http://app.example.com/cb");
    expect([outcome.code, outcome.err]).toEqual([1, expect.stringContaining("redirect URI")]);
    expect((await run("client", "create", "--name", "x")).err).toContain("must be a machine");
    // One that comes with assertions alone has no page to go back to.
    const asserting = await run("client", "create", "--name", "assistant", "--id-jag");
    expect([asserting.code, asserting.err]).toEqual([0, ""]);
    const made = JSON.parse(asserting.out) as Record<string, string>;
    expect(made["client_secret"]).toMatch(/./);
    expect((await rows("client", "list")).find((row) => row["client_id"] === made["client_id"])).toMatchObject({
      name: "assistant",
      grants: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    });
  });
});
