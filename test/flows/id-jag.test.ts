/**
 * Enterprise-managed authorization through a whole gateway: the company's provider issues an ID-JAG, the SDK's client
 * connects with it, policy decides, and access ends with the trust.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { createSend, findForm, type Answer } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { JWT_BEARER, idJagClaims, signIdJag } from "../support/id-jag.ts";
import { type IdJagProvider, startIdJagProvider } from "../support/id-jag-provider.ts";
import { openAnswer, startLiveUpstream, type LiveUpstream } from "../support/live-upstream.ts";
import { createOAuthClient, type Registration, signInClient } from "../support/oauth-client.ts";
import { runCommand } from "../support/run-command.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

let company: IdJagProvider;
let mcpServer: RunningMcpServer;
let live: LiveUpstream;
let world: SignInGateway;
let directory = "";
let origin = "";
let application: Registration;
/** The sign-in provider's, as far as ID-JAGs go. */
let staffKey: SigningKey;
let routes = "";
/** Active, below `identity_issuers`. */
let trusted = "";

beforeAll(async () => {
  [company, mcpServer, live, staffKey] = await Promise.all([
    startIdJagProvider({
      clientIdAt: () => application.client_id,
      claims: { email: "dana@company.example", email_verified: true, groups: ["engineering"] },
    }),
    startMcpServer(),
    startLiveUpstream(),
    makeSigningKey("ES256", "staff"),
  ]);
  const endpoint = '{ auth_url: "http://127.0.0.1:9/authorize", token_url: "http://127.0.0.1:9/token" }';
  routes = `
authorize_log_fields: [user, email, client-id, issuer, auth-method, grant-id]
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [{ domain: { is: company.example } }] }, deny: { and: [{ mcp_tool: { starts_with: delete_ } }] } }
  - name: live
    from: "{origin}"
    prefix: /live
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [authenticated_user: true] } }
  - name: notes
    from: "{origin}"
    prefix: /notes
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [{ groups: { has: engineering } }] } }
  - name: open
    from: "{origin}"
    prefix: /open
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [authenticated_user: true] }, deny: { and: [{ groups: { has: contractors } }] } }
  - name: tracker
    from: "{origin}"
    prefix: /tracker
    to: ${live.origin}
    mcp: { server: { path: /mcp, upstream_oauth2: { client_id: gateway, client_secret: upstream-secret, endpoint: ${endpoint} } } }
    policy: { allow: { and: [authenticated_user: true] } }
`;
  // Where the first provider issues ID-JAGs too, its entry needs its address, which is known only then.
  directory = await mkdtemp(join(tmpdir(), "gateway-id-jag-"));
  world = await startSignInGateway({
    yaml: routes,
    boot: { storage_url: `sqlite:${join(directory, "gateway.db")}` },
  });
  ({ origin } = world.gateway);
  await trust();
  application = await createOAuthClient({ resource: `${origin}/tools/mcp` }).register({
    token_endpoint_auth_method: "client_secret_basic",
  });
});

afterAll(async () => {
  await world?.close();
  await Promise.all([company?.close(), mcpServer?.close(), live?.close()]);
  await rm(directory, { recursive: true, force: true });
});

/** @param entries lines below `identity_issuers` */
async function trust(entries = `${companyEntry()}\n${staffEntry()}`): Promise<void> {
  if (entries === trusted) return;
  trusted = entries;
  await world.reconfigure(`${entries === "" ? "" : `identity_issuers:\n${entries}`}\n${routes}`);
}

function companyEntry(): string {
  return `  company: { issuer: "${company.issuer}", uses: [id_jag], email_domains: [company.example] }`;
}

function staffEntry(): string {
  const jwks = JSON.stringify({ keys: [staffKey.jwk] });
  return `  staff: { issuer: "${world.identityProvider.issuer}", uses: [id_jag], jwks: '${jwks}' }`;
}

function provider(user: string, more: Partial<{ clientSecret: string }> = {}): CrossAppAccessProvider {
  return new CrossAppAccessProvider({
    clientId: application.client_id,
    clientSecret: application.client_secret ?? "",
    expectedIssuer: origin,
    ...more,
    assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
      const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
        idpUrl: company.issuer,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: await company.idToken(user),
        clientId: company.clientId,
        clientSecret: company.clientSecret,
        ...(scope === undefined ? {} : { scope }),
        fetchFn,
      });
      return jwtAuthGrant;
    },
  });
}

async function connect(user: string): Promise<{ client: Client; token: string }> {
  const authProvider = provider(user);
  const client = new Client({ name: "assistant", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/tools/mcp`), { authProvider }));
  return { client, token: authProvider.tokens()?.access_token ?? "" };
}

const send = createSend();

/** An ID-JAG of the sign-in provider, exchanged for a server. */
async function exchange(route: string, sub: string): Promise<Answer> {
  const { issuer } = world.identityProvider;
  const resource = `${origin}/${route}`;
  const claims = idJagClaims(application.client_id, Date.now(), { iss: issuer, sub, aud: origin, resource });
  const form = {
    grant_type: JWT_BEARER,
    assertion: await signIdJag(claims, staffKey),
    client_id: application.client_id,
    client_secret: application.client_secret ?? "",
  };
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams(form).toString();
  return send({ method: "POST", url: `${origin}/.gateway/mcp/token`, headers, body });
}

const tokenOf = (answer: Answer): string => String(answer.json()["access_token"]);

function ping(route: string, token: string): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  return send({ method: "POST", url: `${origin}/${route}`, headers, body });
}

describe("the SDK's CrossAppAccessProvider", () => {
  test("connects with the company's assertion only, within policy; records have user, client and issuer, logs no assertion", async () => {
    const { client, token } = await connect("dana");
    try {
      const { tools } = await client.listTools();
      expect(tools.length).toBeGreaterThan(0);
      const denied = tools.find(({ name }) => name.startsWith("delete_"))?.name ?? "delete_note";
      await expect(client.callTool({ name: denied, arguments: {} })).rejects.toThrow();
    } finally {
      await client.close();
    }
    const records = await world.gateway.records();
    expect(records.at(-1)).toMatchObject({
      user: `issuer:company/dana`,
      email: "dana@company.example",
      "client-id": application.client_id,
      issuer: "company",
      "auth-method": "id-jag",
    });
    expect(company.issued.length).toBeGreaterThan(0);
    const logged = world.gateway.log() + (await world.gateway.recordText());
    for (const secret of [...company.issued.map((text) => text.split(".")[2] ?? ""), token])
      expect(logged).not.toContain(secret);
  });

  test("does not connect with a wrong secret", async () => {
    const authProvider = provider("dana", { clientSecret: "wrong" });
    const client = new Client({ name: "assistant", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`${origin}/tools/mcp`), { authProvider });
    await expect(client.connect(transport)).rejects.toThrow();
    expect(authProvider.tokens()).toBeUndefined();
  });
});

describe("a user known from an assertion alone", () => {
  test("has unknown groups, whatever the assertion says: neither allow nor deny by groups lets them in", async () => {
    const notes = await exchange("notes", "u-nobody");
    expect(notes.status).toBe(200);
    expect((await ping("notes", tokenOf(notes))).text).toContain('"error"');
    expect((await ping("open", tokenOf(await exchange("open", "u-nobody")))).text).toContain('"error"');
    const live = await ping("live", tokenOf(await exchange("live", "u-nobody")));
    expect([live.status, live.json()["result"]]).toEqual([200, {}]);
  });

  test("opens the one server that the assertion named", async () => {
    const token = tokenOf(await exchange("live", "u-nobody"));
    expect((await ping("open", token)).status).toBe(401);
  });

  test("gets 403 if an account has to be connected first: a challenge would lead nowhere", async () => {
    const answer = await ping("tracker/mcp", tokenOf(await exchange("tracker/mcp", "u-nobody")));
    expect([answer.status, answer.json()["error"]]).toEqual([403, "upstream.not-connected"]);
    expect(answer.headers).not.toHaveProperty("www-authenticate");
  });

  test("with the sign-in provider as issuer is the same user as after sign-in, with the same groups", async () => {
    const alice = await signInClient({ resource: `${origin}/live`, user: "alice@example.com" });
    expect((await ping("live", alice.tokens.access_token)).status).toBe(200);
    expect((await world.gateway.records()).at(-1)).toMatchObject({ user: "u-alice", "auth-method": "grant" });
    const answer = await ping("notes", tokenOf(await exchange("notes", "u-alice")));
    expect([answer.status, answer.json()["result"]]).toEqual([200, {}]);
    expect((await world.gateway.records()).at(-1)).toMatchObject({
      user: "u-alice",
      email: "alice@example.com",
      issuer: "staff",
    });
  });
});

describe("the end", () => {
  test.each([
    ["the entry is another one", () => staffEntry().replace("staff:", "renamed:"), 200],
    [
      "it counts on other hosts alone",
      () => staffEntry().replace("uses:", "hosts: [elsewhere.example.com], uses:"),
      400,
    ],
    ["the client is allowed no more", () => staffEntry().replace("uses:", "allowed_clients: [somebody], uses:"), 400],
    ["the issuer is removed", () => "", 400],
  ])("comes immediately when %s: for requests and for open streams", async (_, changed, status) => {
    await trust();
    const good = tokenOf(await exchange("live", "u-nobody"));
    const headers = { authorization: `Bearer ${good}` };
    const stream = await openAnswer(world.gateway.port, `${origin}/live`, headers);
    expect(stream.status).toBe(200);
    await trust(changed());
    await stream.ended;
    const answer = await ping("live", good);
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain("revoked");
    expect((await exchange("live", "u-nobody")).status).toBe(status);
    expect((await ping("live", good)).status).toBe(401);
    await trust();
  });

  test("the user sees the grant, and ends it", async () => {
    await trust();
    const { oauth } = await signInClient({ resource: `${origin}/live`, user: "bob@example.com" });
    const token = tokenOf(await exchange("live", "u-bob"));
    expect((await ping("live", token)).status).toBe(200);
    const id = String((await world.gateway.records()).at(-1)?.["grant-id"]);
    const page = await oauth.browser.open(`${origin}/.gateway/`);
    expect(page.text).toContain(`value="${id}"`);
    expect(page.text).toContain(
      `by your company's identity provider <code>${world.identityProvider.issuer}</code>, without asking you`,
    );
    const form = findForm(page, "/.gateway/own");
    if (!form) throw new Error(page.text);
    const after = await oauth.browser.submit(page, form, { kind: "grant", id });
    expect(after.text).not.toContain(`value="${id}"`);
    expect((await ping("live", token)).status).toBe(401);
  });

  test("the administrator sees the grant with its issuer, and ends it", async () => {
    await trust();
    const { token, client } = await connect("erin");
    await client.close();
    const run = (...args: readonly string[]) => runCommand("grants", ...args, "--config", world.gateway.configFile);
    const listed = await run("list", "--user", "issuer:company/erin");
    expect(listed.out).toMatch(/issuer:company\/erin .* company /);
    const [grant] = JSON.parse((await run("list", "--user", "issuer:company/erin", "--json")).out) as Row[];
    expect(grant).toMatchObject({ issuer: "company", client_id: application.client_id, server: `${origin}/tools/mcp` });
    expect(grant?.["ends_for_good"]).toBe(grant?.["ends"]);
    // Grants with a user's consent have no issuer.
    await signInClient({ resource: `${origin}/live`, user: "bob@example.com" });
    const [own] = JSON.parse((await run("list", "--user", "u-bob", "--json")).out) as Row[];
    expect(own).not.toHaveProperty("issuer");
    const revoked = await run("revoke", String(grant?.["id"]));
    expect([revoked.code, revoked.out]).toEqual([0, "1 grant ended\n"]);
    await expect.poll(within2s(async () => (await ping("tools/mcp", token)).status)).toBe(401);
    expect(JSON.parse((await run("list", "--user", "issuer:company/erin", "--json")).out)).toEqual([]);
  });
});

type Row = Readonly<Record<string, unknown>>;
