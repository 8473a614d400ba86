/** Tokens of a route, shared by all users: by a token of the gateway's platform, or as a separate client. */
import { generateKeyPairSync } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { jwtVerify, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createTestClock, type TestClock } from "../support/clock.ts";
import { startUpstreamGateway, STATIC_SECRET, type UpstreamGateway } from "../support/upstream-gateway.ts";
import { serverMetadata, startUpstreamService, type UpstreamService } from "../support/upstream-service.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
const CLIENT_KEY = key.privateKey.export({ type: "pkcs8", format: "pem" });

let clock: TestClock;
let service: UpstreamService;
let bench: UpstreamGateway;
let assertionFile = "";
/** Error of the token endpoint instead of a token. */
let refusal: { status: number; error: string } | undefined;
let seconds: number | undefined;

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  refusal = undefined;
  seconds = 600;
  service = await startUpstreamService();
  // A server without people: no page to sign in at, no codes.
  const {
    authorization_endpoint: _page,
    code_challenge_methods_supported: _pkce,
    ...metadata
  } = serverMetadata(service.origin, {
    grant_types_supported: [JWT_BEARER, "client_credentials"],
    response_types_supported: [],
  });
  service.switches.serverMetadata = metadata;
  service.switches.token = (form, response) => {
    const token = `route-sentinel-${service.tokenRequests.length}`;
    const { status = 200, error } = refusal ?? {};
    if (!refusal) {
      service.secrets.add(token);
      service.accessTokens.set(token, { clientId: "", scope: form.get("scope") ?? "", resource: "" });
    }
    const body = refusal ? { error } : { access_token: token, token_type: "Bearer", expires_in: seconds };
    return Boolean(response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)));
  };
  bench = await startUpstreamGateway({ clock, service });
  assertionFile = join(bench.gateway.directory, "token");
  await writeToken(await platformToken("first"));
});
afterEach(async () => {
  await bench?.close();
  await service?.close();
});

const writeToken = async (text: string): Promise<void> => {
  await writeFile(`${assertionFile}.new`, text);
  await rename(`${assertionFile}.new`, assertionFile);
};

const platformToken = (id: string): Promise<string> =>
  new SignJWT({ sub: "gateway", jti: id })
    .setProtectedHeader({ alg: "ES256" })
    .setAudience(service.origin)
    .sign(key.privateKey);

/** The route "found" with other words about OAuth. */
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

const workload = (): object => ({ scopes: ["read"], workload: { assertion_ref: `file:${assertionFile}` } });
const tokenOf = async (user: string): Promise<string> => (await bench.signIn("found", { user })).tokens.access_token;

describe("a token of the platform", () => {
  test("is presented once for all users, without a client, until the access token is about to end", async () => {
    const [first, second] = [await platformToken("1"), await platformToken("2")];
    await writeToken(first);
    await configure(workload());
    const [alice, dora] = [await tokenOf("alice@example.com"), await tokenOf("dora@example.com")];
    const calls = Array.from({ length: 8 }, (_, at) => bench.call("found", at % 2 === 0 ? alice : dora));
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(service.tokenRequests.map((form) => Object.fromEntries(form))).toEqual([
      { grant_type: JWT_BEARER, assertion: first, scope: "read", resource: service.url },
    ]);
    // The platform has renewed its token meanwhile.
    await bench.gateway.change(() => writeToken(second));
    expect((await bench.call("found", dora)).status).toBe(200);
    expect(service.tokenRequests).toHaveLength(1);
    clock.advance(601_000);
    expect((await bench.call("found", dora)).status).toBe(200);
    expect(service.tokenRequests.map((form) => form.get("assertion"))).toEqual([first, second]);
    const log = bench.gateway.log();
    for (const text of [first, second, "route-sentinel"]) expect(log).not.toContain(text);
  });

  test("no user has to connect anything", async () => {
    await configure(workload());
    const person = await bench.person();
    expect(await bench.list(person)).toMatchObject({ found: true });
  });

  test.each(["invalid_grant", "unauthorized_client", "invalid_scope", "invalid_target"])(
    "%s needs the operator: no new request for half a minute, and no fallback",
    async (error) => {
      await configure(workload());
      const token = await tokenOf("alice@example.com");
      refusal = { status: 400, error };
      for (let each = 0; each < 3; each += 1) {
        const answer = await bench.call("found", token);
        expect([answer.status, answer.text]).toEqual([502, expect.stringContaining("upstream.unauthorized")]);
        clock.advance(2_000);
      }
      expect(service.tokenRequests).toHaveLength(1);
      refusal = undefined;
      clock.advance(30_000);
      expect((await bench.call("found", token)).status).toBe(200);
    },
  );

  test("an unavailable server invalidates no token, and is requested again once none is valid", async () => {
    await configure(workload());
    const token = await tokenOf("alice@example.com");
    expect((await bench.call("found", token)).status).toBe(200);
    refusal = { status: 503, error: "temporarily_unavailable" };
    clock.advance(570_000);
    // The first call only reads the cache again; the next one renews.
    for (let each = 0; each < 2; each += 1) expect((await bench.call("found", token)).status).toBe(200);
    await expect.poll(() => service.tokenRequests.length).toBe(2);
    clock.advance(31_000);
    expect((await bench.call("found", token)).status).toBe(503);
    refusal = undefined;
    clock.advance(3_000);
    expect((await bench.call("found", token)).status).toBe(200);
  });

  test("a token that the upstream refuses is replaced once; a second refusal is the operator's matter", async () => {
    await configure(workload());
    const token = await tokenOf("alice@example.com");
    expect((await bench.call("found", token)).status).toBe(200);
    service.accessTokens.clear();
    expect((await bench.call("found", token)).status).toBe(200);
    expect(service.tokenRequests).toHaveLength(2);
    service.switches.refusesAll = true;
    expect((await bench.call("found", token)).status).toBe(502);
    expect((await bench.call("found", token)).status).toBe(502);
    expect(service.tokenRequests).toHaveLength(3);
    // No user can grant the missing scope.
    service.switches.refusesAll = false;
    service.switches.neededScopes = ["admin"];
    clock.advance(31_000);
    expect((await bench.call("found", token)).status).toBe(403);
    expect(service.tokenRequests).toHaveLength(3);
  });

  test("a request that the upstream refuses whatever its token keeps no other user's from passing", async () => {
    await configure(workload());
    const alice = await tokenOf("alice@example.com");
    const bob = await tokenOf("bob@example.com");
    service.switches.refusesAll = true;
    expect((await bench.call("found", alice)).status).toBe(502);
    service.switches.refusesAll = false;
    expect((await bench.call("found", bob)).status).toBe(200);
    expect((await bench.call("found", alice)).status).toBe(200);
  });

  test("a token without expiry is valid for five minutes", async () => {
    seconds = undefined;
    await configure(workload());
    const token = await tokenOf("alice@example.com");
    await bench.call("found", token);
    clock.advance(200_000);
    await bench.call("found", token);
    expect(service.tokenRequests).toHaveLength(1);
    clock.advance(101_000);
    expect((await bench.call("found", token)).status).toBe(200);
    expect(service.tokenRequests).toHaveLength(2);
  });
});

describe("a separate client", () => {
  test("with a secret", async () => {
    await configure({ client_id: "machine", client_secret: "machine-secret", client_credentials: true });
    expect((await bench.call("found", await tokenOf("alice@example.com"))).status).toBe(200);
    const basic = `Basic ${Buffer.from("machine:machine-secret").toString("base64")}`;
    expect(service.tokenRequests.map((form) => Object.fromEntries(form))).toEqual([
      { grant_type: "client_credentials", resource: service.url, authorization: basic },
    ]);
  });

  test("with a key, and the resource that is configured where endpoints are", async () => {
    const endpoint = { auth_url: `${service.origin}/authorize`, token_url: `${service.origin}/token` };
    const resource = "https://tools.internal.example/mcp";
    await configure({ client_id: "machine", client_key: CLIENT_KEY, client_credentials: true, endpoint, resource });
    expect((await bench.call("found", await tokenOf("alice@example.com"))).status).toBe(200);
    const [form] = service.tokenRequests;
    expect(form?.get("resource")).toBe(resource);
    const { payload, protectedHeader } = await jwtVerify(form?.get("client_assertion") ?? "", key.publicKey);
    expect(protectedHeader.alg).toBe("ES256");
    expect(payload).toMatchObject({ iss: "machine", sub: "machine", aud: service.origin });
    expect(bench.gateway.log()).not.toContain(form?.get("client_assertion"));
  });

  test("a server that does not support the grant gets no request", async () => {
    service.switches.serverMetadata = serverMetadata(service.origin);
    await configure({ client_id: "machine", client_secret: "machine-secret", client_credentials: true });
    expect((await bench.call("found", await tokenOf("alice@example.com"))).status).toBe(502);
    expect(service.tokenRequests).toHaveLength(0);
    expect(bench.gateway.log()).toContain("does not offer the grant");
  });

  test("an unlisted host gets no request", async () => {
    await configure({ client_id: "machine", client_secret: "machine-secret", client_credentials: true });
    const token = await tokenOf("alice@example.com");
    const before = service.seen.length;
    const yaml = bench.yaml((text) =>
      text
        .replace('["127.0.0.1"]', '["other.example"]')
        .replace(
          `upstream_oauth2: { client_id: static-client, client_secret: ${STATIC_SECRET} }`,
          "upstream_oauth2: { client_id: machine, client_secret: machine-secret, client_credentials: true }",
        ),
    );
    await bench.gateway.reconfigure(yaml);
    expect((await bench.call("found", token)).status).toBe(502);
    expect(service.seen.slice(before)).toEqual([]);
  });
});
