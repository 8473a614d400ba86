/** The gateway with a real Keycloak, which may behave differently from a stand-in. */
import { generateKeyPairSync } from "node:crypto";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { type Browser, createBrowser } from "../../support/browser.ts";
import { within2s } from "../../support/promised.ts";
import { type Keycloak, startKeycloak } from "./keycloak.ts";
import { type KeycloakWorld, PASSWORD, type RealmOptions, SECRET, startWorld } from "./world.ts";

let keycloak: Keycloak;
let world: KeycloakWorld | undefined;
beforeAll(async () => {
  keycloak = await startKeycloak();
});
afterEach(async () => {
  await world?.close();
  world = undefined;
});
afterAll(() => keycloak?.close());

async function start(options?: RealmOptions): Promise<KeycloakWorld> {
  world = await startWorld(keycloak, options);
  return world;
}

/** A due refresh is waited for. */
const OVERDUE_MS = 20 * 60_000;

describe("a sign-in", () => {
  test("makes an ordinary session: another application of the realm asks for no password, sign-out ends it there", async () => {
    const at = await start();
    const wiki = "http://127.0.0.1:9/wiki";
    await at.admin("POST", "/clients", { clientId: "wiki", publicClient: true, redirectUris: [wiki] });
    const { browser, page } = await at.signIn("alice");
    expect(page.status).toBe(200);
    expect([await at.sessions("alice"), await at.offlineSessions("alice")]).toEqual([1, 0]);
    const query = new URLSearchParams({
      client_id: "wiki",
      redirect_uri: wiki,
      response_type: "code",
      scope: "openid",
    });
    const other = await browser.open(`${at.issuer}/protocol/openid-connect/auth?${query.toString()}`, wiki);
    expect([other.left, new URL(other.url).searchParams.has("code")]).toEqual([true, true]);
    // The hint of the sign-out is the ID token of a refresh.
    at.advance(OVERDUE_MS);
    expect(await at.status(browser)).toBe(200);
    const bye = await at.signOut(browser);
    expect([bye.status, new URL(bye.url).pathname]).toEqual([200, "/.gateway/signed_out"]);
    expect(await at.sessions("alice")).toBe(0);
    expect(await at.status(browser)).toBe(401);
  });

  test("names who it is by a path with dots in quotes", async () => {
    const role = (name: string): object => ({
      name,
      protocol: "openid-connect",
      protocolMapper: "oidc-usermodel-client-role-mapper",
      config: {
        "claim.name": "resource_access.${client_id}.roles",
        multivalued: "true",
        "jsonType.label": "String",
        "id.token.claim": "true",
        "userinfo.token.claim": "true",
      },
    });
    const at = await start({
      clientId: "gateway.app",
      client: { protocolMappers: [role("roles in the ID token")] },
      settings: `idp_groups_claim: 'resource_access."gateway.app".roles'`,
      criterion: "groups: editor",
    });
    const { browser, page } = await at.signIn("alice");
    expect(page.status).toBe(403);
    await at.admin("POST", `/clients/${at.client}/roles`, { name: "editor" });
    const editor = await at.admin("GET", `/clients/${at.client}/roles/editor`);
    await at.admin("POST", `/users/${await at.userId("alice")}/role-mappings/clients/${at.client}`, [editor]);
    at.advance(OVERDUE_MS);
    expect(await at.status(browser)).toBe(200);
  });
});

test("an access token is accepted as a bearer token with an audience mapper, and not without one", async () => {
  const at = await start({
    client: { directAccessGrantsEnabled: true },
    settings: "bearer_token_format: idp_access_token\nidp_access_token_allowed_audiences: [gateway]",
  });
  const call = async (): Promise<number> => {
    const answer = await fetch(`${at.issuer}/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "password",
        client_id: "gateway",
        client_secret: SECRET,
        username: "alice",
        password: PASSWORD,
        scope: "openid",
      }),
    });
    const { access_token: token } = (await answer.json()) as { readonly access_token: string };
    const headers = { accept: "application/json", authorization: `Bearer ${token}` };
    return (await fetch(`${at.gateway.origin}/app/`, { headers })).status;
  };
  expect(await call()).toBe(401);
  await at.admin("POST", `/clients/${at.client}/protocol-mappers/models`, {
    name: "audience",
    protocol: "openid-connect",
    protocolMapper: "oidc-audience-mapper",
    config: { "included.client.audience": "gateway", "access.token.claim": "true" },
  });
  expect(await call()).toBe(200);
});

describe("logout at Keycloak", () => {
  test("ends the session here within 2 seconds", async () => {
    const at = await start();
    const { browser } = await at.signIn("alice");
    expect(await at.status(browser)).toBe(200);
    const ended = within2s(async () => expect(await at.status(browser)).toBe(401));
    await at.admin("POST", `/users/${await at.userId("alice")}/logout`);
    await ended();
  });

  test("also ends it after a key change since the sign-in; other users' sessions continue", async () => {
    const at = await start({ users: ["alice", "bob"] });
    const { browser } = await at.signIn("alice");
    const other = await at.signIn("bob");
    await at.admin("POST", "/components", {
      name: "next",
      providerId: "rsa-generated",
      providerType: "org.keycloak.keys.KeyProvider",
      config: { priority: ["1000"], keySize: ["2048"] },
    });
    expect((await at.signIn("alice")).page.status).toBe(200);
    await at.admin("POST", `/users/${await at.userId("alice")}/logout`);
    await expect.poll(() => at.status(browser)).toBe(401);
    at.advance(OVERDUE_MS);
    expect(await at.status(other.browser)).toBe(200);
  });
});

describe("an MCP client", () => {
  test("gets one offline session, without a question, until sign-out and the end of the last grant", async () => {
    const at = await start();
    const { browser } = await at.signIn("alice");
    const clients = [await at.authorize(browser), await at.authorize(browser)];
    expect([await at.sessions("alice"), await at.offlineSessions("alice")]).toEqual([1, 1]);
    await at.signOut(browser);
    expect([await at.sessions("alice"), await at.offlineSessions("alice")]).toEqual([0, 1]);
    for (const client of clients) {
      at.advance(OVERDUE_MS);
      await client.refresh();
      expect(await at.ping(client)).toBe(200);
    }
    for (const { oauth, registration, tokens } of clients) {
      expect(await at.offlineSessions("alice")).toBe(1);
      await oauth.sendRevocation({ token: tokens.refresh_token ?? "", client_id: registration.client_id });
    }
    await expect.poll(() => at.offlineSessions("alice")).toBe(0);
  });

  test("leaves no offline session when the user signs out after the grant's end", async () => {
    const at = await start();
    const { browser } = await at.signIn("alice");
    const client = await at.authorize(browser);
    const { oauth, registration, tokens } = client;
    await oauth.sendRevocation({ token: tokens.refresh_token ?? "", client_id: registration.client_id });
    expect(await at.offlineSessions("alice")).toBe(1);
    await at.signOut(browser);
    await expect.poll(() => at.offlineSessions("alice")).toBe(0);
  });

  test("of a user who cannot have offline tokens gets its grant", async () => {
    const at = await start();
    const role = await at.admin("GET", "/roles/offline_access");
    const defaults = await at.admin<{ id: string }>("GET", `/roles/default-roles-${at.issuer.split("/").at(-1)}`);
    await at.admin("DELETE", `/roles-by-id/${defaults.id}/composites`, [role]);
    const { browser, page } = await at.signIn("alice");
    expect(page.status).toBe(200);
    const client = await at.authorize(browser);
    expect(await at.ping(client)).toBe(200);
    expect(await at.offlineSessions("alice")).toBe(0);
    expect(at.reasonOf("no offline tokens from identity provider, grants end with its session")).toMatch(/offline/i);
  });
});

describe("users who may no longer sign in", () => {
  test("a removed user loses sessions and grants with the next refresh", async () => {
    const at = await start({ users: ["alice", "bob"] });
    const { browser } = await at.signIn("alice");
    const client = await at.authorize(browser);
    const other = await at.signIn("bob");
    await at.admin("DELETE", `/users/${await at.userId("alice")}`);
    at.advance(OVERDUE_MS);
    expect(await at.status(browser)).toBe(401);
    expect(await at.ping(client)).toBe(401);
    await expect(client.refresh()).rejects.toThrow(/invalid_grant/);
    expect(await at.status(other.browser)).toBe(200);
  });

  test("a realm that is disabled for a while ends no session; a disabled user's sessions end", async () => {
    const users = ["alice", "bob", "carol", "dave"];
    const at = await start({ users });
    const browsers: Browser[] = [];
    for (const user of users) browsers.push((await at.signIn(user)).browser);
    const statuses = async (): Promise<number[]> => {
      at.advance(OVERDUE_MS);
      const all: number[] = [];
      for (const browser of browsers) all.push(await at.status(browser));
      return all;
    };
    await at.admin("PUT", "", { enabled: false });
    for (let round = 0; round < 3; round += 1) expect(await statuses()).toEqual([200, 200, 200, 200]);
    await at.admin("PUT", "", { enabled: true });
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    await at.admin("PUT", `/users/${await at.userId("bob")}`, { enabled: false });
    expect(await statuses()).toEqual([200, 401, 200, 200]);
  });
});

/** A key of the gateway's client, as Keycloak and as the gateway know it. */
function makeKey(kid: string): { readonly jwk: object; readonly settings: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = JSON.stringify(privateKey.export({ type: "pkcs8", format: "pem" }));
  return {
    jwk: { ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256", kid },
    settings: `idp_client_key: ${pem}\nidp_client_key_id: ${kid}`,
  };
}

describe("the gateway's client", () => {
  test("proves itself with a private key, which is replaced by another one without an outage", async () => {
    const [before, next] = [makeKey("before"), makeKey("next")];
    const at = await start({
      client: { clientAuthenticatorType: "client-jwt" },
      attributes: { "use.jwks.string": "true", "jwks.string": JSON.stringify({ keys: [before.jwk, next.jwk] }) },
      proof: before.settings,
    });
    const { browser, page } = await at.signIn("alice");
    expect(page.status).toBe(200);
    await at.reconfigure((yaml) => yaml.replace(before.settings, next.settings));
    at.advance(OVERDUE_MS);
    expect(await at.status(browser)).toBe(200);
    expect((await at.signIn("alice")).page.status).toBe(200);
  });

  test("proves itself with a proof that its secret signs; without that, the log names the setting", async () => {
    const client = { clientAuthenticatorType: "client-secret-jwt" };
    const at = await start({ client, proof: `idp_client_secret: ${SECRET}\nidp_client_auth: client_secret_jwt` });
    expect((await at.signIn("alice")).page.status).toBe(200);
    await at.close();
    const without = await start({ client });
    expect((await without.signIn("alice")).page.status).toBe(502);
    expect(without.reasonOf("sign-in failed")).toMatch(
      /answered 40[01] (invalid|unauthorized)_client: ".+"; check .*idp_client_auth$/,
    );
  });

  test("pushes its requests where Keycloak requires that of this client; without the setting, the log names it", async () => {
    const attributes = { "require.pushed.authorization.requests": "true" };
    const pushing = await start({ attributes, settings: "idp_push_requests: true" });
    expect((await pushing.signIn("alice")).page.status).toBe(200);
    await pushing.close();
    const at = await start({ attributes });
    const browser = createBrowser();
    const page = await browser.open(`${at.gateway.origin}/app/`);
    expect(page.status).toBe(502);
    expect(at.reasonOf("sign-in failed")).toMatch(/; set idp_push_requests$/);
  });
});
