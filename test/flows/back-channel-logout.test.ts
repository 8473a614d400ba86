/**
 * A user is signed out at the identity provider, which notifies one of two gateways that share a PostgreSQL server:
 * cookies and open streams end at both. A real oidc-provider sends the logout tokens.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { createAdminClient } from "../support/admin-client.ts";
import { type Browser, createBrowser, createSend, findForm, findLink } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { logoutClaims, signLogout } from "../support/logout-tokens.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { type LiveUpstream, openAnswer, startLiveUpstream } from "../support/live-upstream.ts";
import { signInClient } from "../support/oauth-client.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const found = findPostgres();
const COMPANY = "https://company.example.com";
const ALICE = "alice@example.com";

describe.skipIf("missing" in found)("a logout at the provider", () => {
  let postgres: Postgres;
  let live: LiveUpstream;
  let world: SignInGateway;
  /** The provider knows its address. */
  let here: TestGateway;
  let there: TestGateway;
  let key: SigningKey;
  let withTrust: (more?: string) => string;

  beforeAll(async () => {
    if ("missing" in found) return;
    [postgres, live] = await Promise.all([startPostgres(found.bin), startLiveUpstream()]);
    const boot = { storage_url: postgres.url };
    const policy = "{ allow: { and: [authenticated_user: true] } }";
    const routes = (origin: string): string => `
routes:
  - { name: app, from: "${origin}", prefix: /app, to: "${live.origin}", policy: ${policy} }
  - { name: tools, from: "${origin}", prefix: /tools, to: "${live.origin}", mcp: { server: {} }, policy: ${policy} }
`;
    world = await startSignInGateway({ boot, yaml: routes("{origin}"), backChannelLogout: true });
    here = world.gateway;
    const { issuer } = world.identityProvider;
    key = await makeSigningKey("ES256", "company");
    const company = `{ issuer: "${COMPANY}", uses: [logout], logout_audiences: [gateway], jwks: '${JSON.stringify({ keys: [key.jwk] })}' }`;
    withTrust = (more = "") =>
      `identity_issuers: { staff: { issuer: "${issuer}", uses: [logout]${more} }, company: ${company} }\n${routes(here.origin)}`;
    await world.reconfigure(withTrust());
    there = await startGateway({ boot, yaml: world.withProvider(withTrust()) });
  });
  afterAll(async () => {
    await there?.close();
    await world?.close();
    await Promise.all([live?.close(), postgres?.close()]);
  });

  async function signIn(): Promise<Browser> {
    const browser = createBrowser();
    const choice = await browser.open(`${here.origin}/app/`);
    expect((await browser.open(findLink(choice, ALICE) ?? "")).status).toBe(200);
    return browser;
  }
  const statusAt = async (gateway: TestGateway, browser: Browser): Promise<number> => {
    const headers = { accept: "application/json", cookie: browser.cookieHeader("localhost") };
    return (await createSend({ via: gateway.port })({ method: "GET", url: `${here.origin}/app/`, headers })).status;
  };
  const ping = async (gateway: TestGateway, token: string): Promise<number> => {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const url = `${here.origin}/tools`;
    return (await createSend({ via: gateway.port })({ method: "POST", url, headers, body })).status;
  };
  const openAt = async (gateway: TestGateway, path: string, headers: Readonly<Record<string, string>>) => {
    const stream = await openAnswer(gateway.port, here.origin + path, headers);
    expect(stream.status).toBe(200);
    let ended = false;
    void stream.ended.then(() => (ended = true));
    return () => ended;
  };
  /** As a person does on the provider's own page. */
  async function leave(browser: Browser): Promise<void> {
    const page = await browser.open(`${world.identityProvider.issuer}/session/end`);
    const form = findForm(page, "/session/end/confirm");
    if (!form) throw new Error(page.text);
    expect((await browser.submit(page, form, { logout: "yes" })).text).toContain("You are signed out");
  }

  test("ends that browser's session and streams at both gateways within two seconds, and no other session", async () => {
    const [browser, other] = [await signIn(), await signIn()];
    const cookie = browser.cookieHeader("localhost");
    const ended = await Promise.all([here, there].map((gateway) => openAt(gateway, "/app/", { cookie })));
    const goesOn = await openAt(there, "/app/", { cookie: other.cookieHeader("localhost") });
    expect(await statusAt(there, browser)).toBe(200);
    await leave(browser);
    await expect.poll(within2s(() => ended.map((each) => each()))).toEqual([true, true]);
    expect(await statusAt(here, browser)).toBe(401);
    expect(await statusAt(there, browser)).toBe(401);
    expect([await statusAt(here, other), await statusAt(there, other), goesOn()]).toEqual([200, 200, false]);
  });

  test("keeps grants of MCP clients, unless configured otherwise", async () => {
    const { oauth, tokens } = await signInClient({ resource: `${here.origin}/tools`, user: ALICE });
    const token = tokens.access_token ?? "";
    const bearer = { authorization: `Bearer ${token}` };
    const ended = await openAt(there, "/tools", bearer);
    const browser = await signIn();
    await leave(browser);
    await expect.poll(within2s(() => statusAt(there, browser))).toBe(401);
    expect([await ping(here, token), await ping(there, token), ended()]).toEqual([200, 200, false]);

    await world.reconfigure(withTrust(", logout_ends_grants: true"));
    await leave(oauth.browser);
    await expect.poll(within2s(ended)).toBe(true);
    expect([await ping(here, token), await ping(there, token)]).toEqual([401, 401]);
    await world.reconfigure(withTrust());
  });

  test("counts once at both together", async () => {
    const post = async (gateway: TestGateway, token: string): Promise<number> => {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const body = new URLSearchParams({ logout_token: token }).toString();
      const url = `${here.origin}/.gateway/backchannel_logout`;
      return (await createSend({ via: gateway.port })({ method: "POST", url, headers, body })).status;
    };
    for (let round = 0; round < 5; round += 1) {
      const token = await signLogout(logoutClaims(COMPANY, Date.now(), { sub: "nobody" }), key);
      const statuses = await Promise.all([here, there, here, there].map((gateway) => post(gateway, token)));
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      for (const status of statuses) expect([200, 400, 503]).toContain(status);
      expect([await post(here, token), await post(there, token)]).toEqual([400, 400]);
    }
    // Operators see rejected statements of issuers.
    const { text } = await createAdminClient(there.adminOrigin, there.adminToken).get("/metrics");
    const refused = /^gateway_sign_outs_total\{kind="back-channel",result="refused"\} (\d+)$/m.exec(text)?.[1];
    expect(Number(refused)).toBeGreaterThanOrEqual(5);
  });
});
