/** Tokens of the identity provider and of service accounts on ordinary routes. Whole gateway, real oidc-provider. */
import { createHmac } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type IdentityProvider, startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { createExternalTokens, EVERY_SERVER, type ExternalTokenClaims } from "../../runtime/identity/external-token.ts";
import {
  createServiceAccount,
  listServiceAccounts,
  mintServiceAccountToken,
} from "../../runtime/identity/tokens/service-accounts.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { createBrowser } from "../support/scripted-browser.ts";
import { revokeAt, signInAt, TOOL } from "../support/provider-tokens.ts";
import { OWN_TOKEN } from "../support/tamper.ts";
import { userId } from "../support/users.ts";

const API = "https://api.example.com";
const FOREIGN_API = "https://payroll.example.com";
const ALICE = "alice@example.com";

let provider: IdentityProvider;
let upstream: EchoUpstream;
let gateway: TestGateway;
let clock: TestClock;
let directory: string;
let store: Store;

beforeAll(async () => {
  const port = await freePort();
  clock = createTestClock(Date.now());
  upstream = await startEchoUpstream();
  provider = await startIdentityProvider({
    resources: [API, FOREIGN_API],
    clients: [
      {
        client_id: "gateway",
        client_secret: "secret",
        redirect_uris: [`http://localhost:${port}/.gateway/callback`, "http://127.0.0.1:9/own"],
      },
      TOOL,
      { ...TOOL, client_id: "stranger" },
    ],
  });
  const route = (name: string, more: string): string =>
    `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: "${upstream.origin}", ${more} }\n`;
  const people = "allowed_domains: [example.com]";
  directory = await mkdtemp(join(tmpdir(), "gateway-bearer-"));
  const storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  gateway = await startGateway({
    port,
    clock,
    boot: { storage_url: storageUrl },
    yaml: `runtime_flags: { mcp: true }
idp_provider_url: ${provider.issuer}
idp_client_id: gateway
idp_client_secret: secret
idp_access_token_allowed_audiences: [${API}, tool]
jwt_claims_headers: { X-Mail: email }
routes:
${route("web", people)}${route("access", `${people}, bearer_token_format: idp_access_token, set_request_headers: { X-Token: "\${gateway.access_token}" }`)}${route("id", `${people}, bearer_token_format: idp_identity_token`)}${route("public", "allow_public_unauthenticated_access: true")}${route("machines", 'allowed_users: ["service-account:ci"], show_error_details: true')}${route("mcp", `${people}, mcp: { server: {} }`)}`,
  });
  store = await openRecords(storageUrl, { clock, log: silentLog() });
});
afterAll(async () => {
  await store?.close();
  await gateway?.close();
  await rm(directory, { recursive: true, force: true });
  await provider?.close();
  await upstream?.close();
});

const ask = (path: string, token?: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(gateway.origin + path, {
    redirect: "manual",
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
  });
const lastRecord = async () => (await gateway.records()).at(-1);
const own = { client_id: "gateway", client_secret: "secret", redirect_uris: ["http://127.0.0.1:9/own"] };

const minting = () => createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock });
const inAnHour = (): number => Math.floor(clock.now() / 1000) + 3600;

/** As the administrator's command does it. */
async function createAccount(name: string, audience = EVERY_SERVER): Promise<string> {
  const account = { name, email: "", groups: [], expiresAt: inAnHour(), audience };
  const made = await createServiceAccount({ store, clock }, account);
  if (!made.ok) throw new Error(made.reason);
  return mintServiceAccountToken(minting(), made, audience, inAnHour());
}

const part = (token: string, index: number): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString()) as Record<string, unknown>;
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const tampered = (token: string): string =>
  [token.split(".")[0], encode({ ...part(token, 1), sub: "u-bob" }), token.split(".")[2]].join(".");
const unsigned = (token: string): string => `${encode({ ...part(token, 0), alg: "none" })}.${token.split(".")[1]}.AAAA`;

function signedWith(secret: string, token: string): string {
  const text = `${encode({ ...part(token, 0), alg: "HS256" })}.${token.split(".")[1]}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

async function revoked(): Promise<string> {
  const { access_token: token } = await signInAt(provider, TOOL, ALICE);
  await revokeAt(provider, TOOL, token);
  return token;
}

describe("bearer_token_format: idp_access_token", () => {
  test.each([
    ["a JWT for an allowed audience", API],
    ["an opaque token of an allowed client", undefined],
  ])("accepts the user of %s, and removes the token from the request", async (_, resource) => {
    const { access_token: token } = await signInAt(provider, TOOL, ALICE, resource);

    const answer = await ask("/access/x", token, { "x-mail": "forged@example.com" });

    expect(answer.status).toBe(200);
    const seen = upstream.seen.at(-1);
    expect(seen?.headers.authorization).toBeUndefined();
    expect(seen?.headers["x-mail"]).toBe(ALICE);
    expect(seen?.headers["x-gateway-assertion"]).toMatch(/^ey/);
    // Forwarded only if the route is configured so.
    expect(seen?.headers["x-token"]).toBe(token);
    expect(await lastRecord()).toMatchObject({ allow: true, user: "u-alice", email: ALICE });
  });

  test("evaluates the route's policy for its user", async () => {
    const { access_token: token } = await signInAt(provider, TOOL, "carol@other.example", API);

    expect((await ask("/access/x", token)).status).toBe(403);
  });

  test.each<readonly [string, () => Promise<string>, string]>([
    [
      "a JWT for another audience",
      async () => (await signInAt(provider, TOOL, ALICE, FOREIGN_API)).access_token,
      "wrong-audience",
    ],
    [
      "an opaque token of a client that is not allowed",
      async () => (await signInAt(provider, { ...TOOL, client_id: "stranger" }, ALICE)).access_token,
      "wrong-audience",
    ],
    ["an ID token", async () => (await signInAt(provider, TOOL, ALICE)).id_token, "wrong-kind"],
    [
      "a JWT that was changed",
      async () => tampered((await signInAt(provider, TOOL, ALICE, API)).access_token),
      "malformed",
    ],
    [
      "a JWT without signature",
      async () => unsigned((await signInAt(provider, TOOL, ALICE, API)).access_token),
      "malformed",
    ],
    [
      "a JWT signed with the client's secret",
      async () => signedWith("secret", (await signInAt(provider, TOOL, ALICE, API)).access_token),
      "malformed",
    ],
    ["an opaque token that was revoked", async () => revoked(), "revoked"],
    ["an invented token", () => Promise.resolve("a".repeat(43)), "revoked"],
  ])("refuses %s with 401, and no redirect", async (_, token, reason) => {
    const before = upstream.seen.length;
    const answer = await ask("/access/x", await token(), { accept: "text/html" });

    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(upstream.seen.length).toBe(before);
    expect(await lastRecord()).toMatchObject({ allow: false, "allow-why-false": [`credential-${reason}`] });
  });

  test("notices a revocation within a minute, and an expiry immediately", async () => {
    const { access_token: token } = await signInAt(provider, TOOL, ALICE);
    expect((await ask("/access/x", token)).status).toBe(200);
    await revokeAt(provider, TOOL, token);
    clock.advance(61_000);
    expect((await ask("/access/x", token)).status).toBe(401);

    const { access_token: jwt } = await signInAt(provider, TOOL, ALICE, API);
    expect((await ask("/access/x", jwt)).status).toBe(200);
    clock.advance(2 * 3_600_000);
    expect((await ask("/access/x", jwt)).status).toBe(401);
    clock.advance(-2 * 3_600_000);
  });

  test("users without a token sign in as usual, and a bad token is rejected even with a valid cookie", async () => {
    const browser = createBrowser();
    const page = await browser.signIn(`${gateway.origin}/access/x`, ALICE);
    expect(page.status).toBe(200);
    const bad = await browser.open(`${gateway.origin}/access/x`, { headers: { authorization: "Bearer invented" } });
    expect(bad.status).toBe(401);
  });

  test("responds with 503 while the provider is unavailable, accepts no cached result, and logs no token", async () => {
    const { access_token: token } = await signInAt(provider, TOOL, ALICE);
    expect((await ask("/access/x", token)).status).toBe(200);
    clock.advance(61_000);
    provider.pause();
    try {
      expect((await ask("/access/x", token)).status).toBe(503);
    } finally {
      provider.resume();
    }
    expect((await ask("/access/x", token)).status).toBe(200);
    expect(gateway.log()).not.toContain(token);
    expect(await gateway.recordText()).not.toContain(token);
  });
});

describe("bearer_token_format: idp_identity_token", () => {
  test("lets in the user of an ID token for the gateway's own client", async () => {
    const { id_token: token } = await signInAt(provider, own, ALICE);

    expect((await ask("/id/x", token)).status).toBe(200);
    expect(upstream.seen.at(-1)?.headers["x-mail"]).toBe(ALICE);
  });

  test.each<readonly [string, () => Promise<string>, string]>([
    [
      "an ID token for another application",
      async () => (await signInAt(provider, TOOL, ALICE)).id_token,
      "wrong-audience",
    ],
    ["a JWT access token", async () => (await signInAt(provider, TOOL, ALICE, API)).access_token, "wrong-audience"],
    ["an opaque access token", async () => (await signInAt(provider, own, ALICE)).access_token, "malformed"],
    [
      "an ID token without signature",
      async () => unsigned((await signInAt(provider, own, ALICE)).id_token),
      "malformed",
    ],
  ])("refuses %s", async (_, token, reason) => {
    expect((await ask("/id/x", await token())).status).toBe(401);
    expect(await lastRecord()).toMatchObject({ "allow-why-false": [`credential-${reason}`] });
  });
});

describe("tokens of the provider elsewhere", () => {
  test("are forwarded if nothing is configured, and authenticate no user", async () => {
    const { access_token: token } = await signInAt(provider, TOOL, ALICE, API);

    expect((await ask("/public/x", token)).status).toBe(200);
    expect(upstream.seen.at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
    expect(upstream.seen.at(-1)?.headers["x-mail"]).toBe("");
    expect((await ask("/web/x", token)).status).toBe(401);
  });

  test("open no MCP server route", async () => {
    const { access_token: token, id_token: id } = await signInAt(provider, TOOL, ALICE, API);
    for (const each of [token, id]) expect((await ask("/mcp", each)).status).toBe(401);
  });
});

describe("service accounts on ordinary routes", () => {
  test("the token of an account that the policy lets in passes, in either header, and never reaches the upstream", async () => {
    const account = await createAccount("ci");
    for (const headers of [{ authorization: `Bearer ${account}` }, { "x-gateway-authorization": account }]) {
      const answer = await fetch(`${gateway.origin}/machines/x`, { headers, redirect: "manual" });
      expect(answer.status).toBe(200);
      expect(JSON.stringify(upstream.seen.at(-1)?.headers)).not.toMatch(OWN_TOKEN);
    }
    expect(await lastRecord()).toMatchObject({ allow: true, user: "service-account:ci" });
    // Its last use is on the account, for administrators.
    const used = async () => (await listServiceAccounts(store)).find(({ value }) => value.name === "ci")?.value.usedAt;
    await expect.poll(used).toBeGreaterThan(Date.now() / 1000 - 60);
  });

  test("another account is denied, and sees the deciding rule but not its required values", async () => {
    const answer = await ask("/machines/x", await createAccount("other"));

    expect(answer.status).toBe(403);
    const { details } = (await answer.json()) as { details: Record<string, string> };
    expect(details["Reasons"]).toBe("user-unauthorized");
    expect(details["Allow rule 1"]).toContain('user "service-account:other" → false');
    expect(JSON.stringify(details)).not.toContain("service-account:ci");
  });

  test("a token for one MCP server is invalid on ordinary routes, one for the host is valid", async () => {
    expect((await ask("/machines/x", await createAccount("one", `${gateway.origin}/mcp`))).status).toBe(401);
    const forHost = await createAccount("host", gateway.origin);
    expect((await ask("/machines/x", forHost)).status).toBe(403);
    expect((await ask("/machines/x", await createAccount("else", "https://else.example"))).status).toBe(401);
  });

  test.each<readonly [string, Partial<ExternalTokenClaims>]>([
    ["an MCP client for the whole host", { kind: "grant", grantId: "g1" }],
    ["an MCP client route's application", { kind: "application", sessionId: "s1" }],
  ])("the token of %s opens none", async (_, claims) => {
    const audience = claims.kind === "grant" ? gateway.origin : `application ${gateway.origin}`;
    await store.put("grant:g1", {}, { expiresAt: inAnHour() });
    const token = minting().mint({
      kind: "grant",
      userId: userId("u-alice"),
      audience,
      expiresAt: inAnHour(),
      ...claims,
    });

    expect((await ask("/web/x", token)).status).toBe(401);
    expect((await lastRecord())?.["allow-why-false"]).not.toContain("credential-malformed");
  });

  test("a bad External Token is rejected, even on public routes", async () => {
    expect((await ask("/web/x", "gwt_invented")).status).toBe(401);
    expect((await ask("/public/x", "gwt_invented")).status).toBe(401);
    expect(await lastRecord()).toMatchObject({ "allow-why-false": ["credential-malformed"] });
  });
});
