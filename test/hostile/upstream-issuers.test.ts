/** An MCP server that names another authorization server than the one that a route's configured secrets are for. */
import { generateKeyPairSync } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { jwtVerify, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createTestClock, type TestClock } from "../support/clock.ts";
import { startUpstreamGateway, STATIC_SECRET, type UpstreamGateway } from "../support/upstream-gateway.ts";
import { serverMetadata, startUpstreamService, type UpstreamService } from "../support/upstream-service.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CODE = "upstream.issuer-changed";
const key = generateKeyPairSync("ec", { namedCurve: "P-256" });

let clock: TestClock;
/** The MCP server, and an authorization server as soon as it names itself. */
let server: UpstreamService;
/** The authorization server that the configured clients are registered at. */
let honest: UpstreamService;
let bench: UpstreamGateway;
let assertionFile = "";

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  server = await startUpstreamService();
  honest = await startUpstreamService();
  bench = await startUpstreamGateway({ clock, service: server });
  honest.clients.set("static-client", { secret: STATIC_SECRET, redirectUris: [bench.callback] });
  for (const each of [server, honest]) {
    each.switches.serverMetadata = serverMetadata(each.origin, {
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials", JWT_BEARER],
    });
  }
  names(honest);
  assertionFile = join(bench.gateway.directory, "token");
});
afterEach(async () => {
  await bench?.close();
  await Promise.all([server?.close(), honest?.close()]);
});

function names(as: UpstreamService): void {
  server.switches.resourceMetadata = { resource: server.url, authorization_servers: [as.origin] };
}

async function configure(oauth: object): Promise<void> {
  await bench.gateway.reconfigure(
    bench.yaml((yaml) =>
      yaml.replace(
        `upstream_oauth2: { client_id: static-client, client_secret: ${STATIC_SECRET} }`,
        `upstream_oauth2: ${JSON.stringify(oauth)}`,
      ),
    ),
  );
}

/** Issues tokens for every request, which the MCP server accepts. */
function grantAll(): void {
  for (const each of [server, honest]) {
    each.switches.token = (form, response) => {
      const token = `granted-${each.tokenRequests.length}`;
      server.accessTokens.set(token, { clientId: "", scope: form.get("scope") ?? "", resource: "" });
      const body = { access_token: token, token_type: "Bearer", expires_in: 600 };
      return Boolean(response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body)));
    };
  }
}

async function writeToken(audience: string | string[] | undefined): Promise<void> {
  const token = new SignJWT({ sub: "gateway" }).setProtectedHeader({ alg: "ES256" });
  if (audience !== undefined) token.setAudience(audience);
  await writeFile(`${assertionFile}.new`, await token.sign(key.privateKey));
  await rename(`${assertionFile}.new`, assertionFile);
}

const workload = (): object => ({ workload: { assertion_ref: `file:${assertionFile}` } });
const credentials = {
  "a client secret": { client_id: "machine", client_secret: "machine-secret", client_credentials: true },
  "a client key": {
    client_id: "machine",
    client_key: key.privateKey.export({ type: "pkcs8", format: "pem" }),
    client_credentials: true,
  },
};
const tokenOf = async (user: string): Promise<string> => (await bench.signIn("found", { user })).tokens.access_token;

describe("the issuer of a configured client", () => {
  test("is the one that was used first: another one gets neither the user nor the client secret", async () => {
    expect(await bench.connect(await bench.person(), "found")).toMatchObject({ left: true, url: bench.application });
    expect(honest.tokenRequests).toHaveLength(1);
    expect(bench.gateway.log()).toContain("bound to the first issuer that its upstream named");

    names(server);
    const bob = await bench.person("bob@example.com");
    const page = await bench.connect(bob, "found");
    expect(page.url).toBe(`${bench.application}?connect_error=issuer-changed`);
    expect([server.authorizations, server.tokenRequests]).toEqual([[], []]);
    expect(bench.gateway.log()).toContain(honest.origin);
    const problem = bench.gateway
      .log()
      .split("\n")
      .find((line) => line.includes('"issuer-changed"'));
    expect(problem).toContain(server.origin);

    names(honest);
    expect(await bench.connect(bob, "found")).toMatchObject({ left: true, url: bench.application });
    expect(bench.gateway.log()).not.toContain(STATIC_SECRET);
  });

  test("a refresh goes to the server that issued the token, whatever the MCP server states now", async () => {
    honest.switches.accessTokenSeconds = 60;
    const alice = await bench.person();
    await bench.connect(alice, "found");
    const client = await bench.signIn("found", { browser: alice });
    names(server);
    clock.advance(61_000);
    await bench.call("found", client.tokens.access_token);
    expect(honest.tokenRequests.map((form) => form.get("grant_type"))).toContain("refresh_token");
    expect(server.tokenRequests).toEqual([]);
  });

  test.each(Object.entries(credentials))("%s of the route itself goes nowhere else either", async (_, oauth) => {
    grantAll();
    await configure(oauth);
    const token = await tokenOf("alice@example.com");
    expect((await bench.call("found", token)).status).toBe(200);
    names(server);
    clock.advance(601_000);
    const answer = await bench.call("found", token);
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining(CODE)]);
    expect([honest.tokenRequests.length, server.tokenRequests.length]).toEqual([1, 0]);
  });

  test("nor does a token of the platform", async () => {
    grantAll();
    await writeToken(honest.origin);
    await configure(workload());
    const token = await tokenOf("alice@example.com");
    expect((await bench.call("found", token)).status).toBe(200);
    names(server);
    clock.advance(601_000);
    const answer = await bench.call("found", token);
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining(CODE)]);
    expect([honest.tokenRequests.length, server.tokenRequests.length]).toEqual([1, 0]);
  });
});

describe("assertions are for the server that receives them", () => {
  test.each([
    ["another server", () => honest.origin],
    ["a server below it", () => `${server.origin}/other`],
    ["nobody", () => undefined],
  ])("a token of the platform for %s is not sent at first use", async (_, audience) => {
    grantAll();
    names(server);
    await writeToken(audience());
    await configure(workload());
    const answer = await bench.call("found", await tokenOf("alice@example.com"));
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining("upstream.unauthorized")]);
    expect(server.tokenRequests).toEqual([]);
    expect(bench.gateway.log()).toContain("the assertion is not for");
  });

  test("anything but a JWT is not sent", async () => {
    grantAll();
    await writeFile(assertionFile, "opaque-sentinel");
    await configure(workload());
    expect((await bench.call("found", await tokenOf("alice@example.com"))).status).toBe(502);
    expect(honest.tokenRequests).toEqual([]);
    expect(bench.gateway.log()).not.toContain("opaque-sentinel");
  });

  test.each([
    ["its issuer", () => [honest.origin]],
    ["its token endpoint", () => ["https://other.example", `${honest.origin}/token`]],
  ])("one for %s is", async (_, audience) => {
    grantAll();
    await writeToken(audience());
    await configure(workload());
    expect((await bench.call("found", await tokenOf("alice@example.com"))).status).toBe(200);
    expect(honest.tokenRequests).toHaveLength(1);
  });

  test("the gateway's own assertions name the issuer", async () => {
    grantAll();
    await configure(credentials["a client key"]);
    await bench.call("found", await tokenOf("alice@example.com"));
    const assertion = honest.tokenRequests[0]?.get("client_assertion") ?? "";
    expect((await jwtVerify(assertion, key.publicKey)).payload.aud).toBe(honest.origin);
  });
});
