/** The gateway at a real Ory Hydra: refresh tokens that rotate, back-channel logout, and what its administration interface ends. */
import { generateKeyPairSync } from "node:crypto";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { signInClient } from "../../support/oauth-client.ts";
import { within2s } from "../../support/promised.ts";
import {
  PASSWORD,
  type ProviderWorld,
  type ProviderWorldOptions,
  SECRET,
  startProviderWorld,
  WIKI,
} from "../common/provider-world.ts";
import { type Hydra, startHydra } from "./hydra.ts";

let hydra: Hydra;
let at: ProviderWorld | undefined;
beforeAll(async () => {
  hydra = await startHydra();
  const wiki = { client_id: "wiki", redirect_uris: [WIKI], token_endpoint_auth_method: "none", scope: "openid" };
  await hydra.admin("POST", "/clients", wiki);
});
async function stop(): Promise<void> {
  await at?.close();
  at = undefined;
  await hydra.admin("DELETE", "/clients/gateway");
}
afterEach(stop);
afterAll(() => hydra?.close());

/** @param client more of the gateway's registration */
async function start(
  options: ProviderWorldOptions = {},
  client: Readonly<Record<string, unknown>> = {},
): Promise<ProviderWorld> {
  for (const user of ["alice", "bob"]) hydra.users.add(user);
  at = await startProviderWorld(
    async (origin) => {
      await hydra.admin("POST", "/clients", {
        client_id: "gateway",
        client_secret: SECRET,
        redirect_uris: [`${origin}/.gateway/callback`],
        post_logout_redirect_uris: [`${origin}/.gateway/signed_out`],
        backchannel_logout_uri: `${origin}/.gateway/backchannel_logout`,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        scope: "openid profile email offline_access",
        token_endpoint_auth_method: "client_secret_basic",
        ...client,
      });
      // One for all tests.
      return { issuer: hydra.issuer, process: { ...hydra.process, close: async () => {} } };
    },
    { ...options, settings: `${LOGOUT}\n${options.settings ?? ""}` },
  );
  return at;
}

const LOGOUT = 'identity_issuers: { company: { issuer: "{issuer}", uses: [logout] } }';
const ALICE = { username: "alice", password: PASSWORD };
const BOB = { username: "bob", password: PASSWORD };
const REFUSED = "user rejected by identity provider, sessions and grants ended";

describe("a sign-in", () => {
  test("makes an ordinary session, whose refresh token rotates; sign-out ends it at Hydra as well", async () => {
    const world = await start();
    const { browser, page } = await world.signIn(ALICE);
    const answered = [page.status, page.text];
    expect(answered, world.reasonOf("sign-in failed")).toEqual([200, expect.stringContaining('"/app/"')]);
    expect(await world.wikiKnows(browser)).toBe(true);
    const given = hydra.refreshTokens.length;
    expect(await world.later(browser)).toBe(200);
    expect(await world.later(browser)).toBe(200);
    expect(new Set(hydra.refreshTokens.slice(given - 1)).size).toBe(3);
    const bye = await world.signOut(browser);
    expect([bye.status, new URL(bye.url).pathname]).toEqual([200, "/.gateway/signed_out"]);
    expect(await world.wikiKnows(browser)).toBe(false);
    expect(await world.later(browser, 0)).toBe(401);
  });

  test("without offline_access has no refresh token, and the log says so", async () => {
    const world = await start({ settings: "idp_scopes: [openid, profile, email]" });
    const given = hydra.refreshTokens.length;
    const { browser, page } = await world.signIn(ALICE);
    expect(page.status).toBe(200);
    expect(hydra.refreshTokens.length).toBe(given);
    expect(world.gateway.log()).toContain("no refresh token from identity provider");
    expect(await world.wikiKnows(browser)).toBe(true);
  });

  test("and what came of it before a key change, also a logout, work with the new key", async () => {
    const world = await start();
    const { browser } = await world.signIn(ALICE);
    const other = await world.signIn(BOB);
    // Without an overlap. Hydra itself makes a key of 4096 bits, which may take longer than its time limit.
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const jwk = { ...privateKey.export({ format: "jwk" }), alg: "RS256", use: "sig", kid: "next" };
    await hydra.admin("PUT", "/keys/hydra.openid.id-token", { keys: [jwk] });
    await browser.open(`${hydra.issuer}/oauth2/sessions/logout`);
    await expect.poll(within2s(() => world.later(browser, 0))).toBe(401);
    expect((await world.signIn(ALICE)).page.status).toBe(200);
    expect(await world.later(other.browser)).toBe(200);
  });
});

describe("logout at Hydra ends the session here within 2 seconds", () => {
  test("by the user", async () => {
    const world = await start();
    const { browser } = await world.signIn(ALICE);
    const other = await world.signIn(BOB);
    await browser.open(`${hydra.issuer}/oauth2/sessions/logout`);
    await expect.poll(within2s(() => world.later(browser, 0))).toBe(401);
    expect(await world.later(other.browser, 0)).toBe(200);
  });

  test("by an administrator who ends that session, but not by one who ends all of a user's", async () => {
    const world = await start();
    const { browser } = await world.signIn(ALICE);
    interface Consent {
      readonly consent_request: { readonly login_session_id: string };
    }
    const [consent] = await hydra.admin<Consent[]>("GET", "/oauth2/auth/sessions/consent?subject=alice");
    await hydra.admin("DELETE", `/oauth2/auth/sessions/login?sid=${consent?.consent_request.login_session_id}`);
    await expect.poll(within2s(() => world.later(browser, 0))).toBe(401);
    const again = await world.signIn(ALICE);
    // Hydra sends nothing then, and the refresh token stays valid.
    await hydra.admin("DELETE", "/oauth2/auth/sessions/login?subject=alice");
    expect(await world.wikiKnows(again.browser)).toBe(false);
    expect(await world.later(again.browser)).toBe(200);
  });
});

describe("access ends with the next refresh", () => {
  test("when another client presents an old refresh token: Hydra revokes the whole family", async () => {
    const world = await start();
    const { browser } = await world.signIn(ALICE);
    const old = hydra.refreshTokens.at(-1) ?? "";
    expect(await world.later(browser)).toBe(200);
    const answer = await fetch(`${hydra.issuer}/oauth2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`gateway:${SECRET}`).toString("base64")}` },
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: old }),
    });
    expect(answer.status).toBe(400);
    expect(await world.later(browser)).toBe(401);
    expect(world.reasonOf(REFUSED)).toMatch(/answered 400 invalid_grant: "/);
  });

  test("when the user's consent is revoked, also that of MCP clients; other users' continues", async () => {
    const world = await start();
    const { browser } = await world.signIn(ALICE);
    const other = await world.signIn(BOB);
    const client = await signInClient({ resource: `${world.gateway.origin}/tool/mcp`, browser });
    expect(await world.later(browser)).toBe(200);
    await client.refresh();
    await hydra.admin("DELETE", "/oauth2/auth/sessions/consent?subject=alice&client=gateway");
    expect(await world.later(browser)).toBe(401);
    await expect(client.refresh()).rejects.toThrow(/invalid_grant/);
    expect(world.reasonOf(REFUSED)).toMatch(/answered 400 invalid_grant: "/);
    expect(await world.later(other.browser, 0)).toBe(200);
  });

  test("of a removed user, rejected by the token hook, when it is repeated", async () => {
    const world = await start();
    const { browser } = await world.signIn(ALICE);
    const other = await world.signIn(BOB);
    hydra.users.delete("alice");
    // The first refusal may be about the provider.
    expect(await world.later(browser)).toBe(200);
    expect(await world.later(browser, 60_000)).toBe(401);
    expect(world.reasonOf(REFUSED)).toMatch(/answered 403 access_denied: "/);
    expect(await world.later(other.browser, 0)).toBe(200);
  });
});

test("an MCP client's grant outlives the sign-out of its user", async () => {
  const world = await start();
  const { browser } = await world.signIn(ALICE);
  const client = await signInClient({ resource: `${world.gateway.origin}/tool/mcp`, browser });
  await world.signOut(browser);
  expect(await world.later(browser)).toBe(401);
  await client.refresh();
});

describe("the gateway's client", () => {
  test("proves itself with a private key, for the token endpoint; without that setting, the log names it", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const client = {
      client_secret: undefined,
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_signing_alg: "ES256",
      jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256", kid: "gateway" }] },
    };
    const proof = `idp_client_key: ${JSON.stringify(privateKey.export({ type: "pkcs8", format: "pem" }))}`;
    const without = await start({ proof }, client);
    expect((await without.signIn(ALICE)).page.status).toBe(502);
    expect(without.reasonOf("sign-in failed")).toMatch(
      /answered 401 invalid_client: ".+"; check idp_client_id, idp_client_key, idp_client_key_id and idp_client_proof_audience$/,
    );
    await stop();
    const world = await start({ proof, settings: "idp_client_proof_audience: token_endpoint" }, client);
    const { browser, page } = await world.signIn(ALICE);
    expect(page.status).toBe(200);
    expect(await world.later(browser)).toBe(200);
  });

  test("sends its secret as this client has it; without the setting, the log names it", async () => {
    const client = { token_endpoint_auth_method: "client_secret_post" };
    const world = await start({}, client);
    expect((await world.signIn(ALICE)).page.status).toBe(502);
    expect(world.reasonOf("sign-in failed")).toMatch(/answered 401 invalid_client: ".+"; set idp_client_auth$/);
    await stop();
    const posting = await start({ settings: "idp_client_auth: client_secret_post" }, client);
    expect((await posting.signIn(ALICE)).page.status).toBe(200);
  });

  test("with a wrong secret, or without the scopes, is refused, and the log names the settings", async () => {
    const world = await start({ proof: "idp_client_secret: another-secret" });
    expect((await world.signIn(ALICE)).page.status).toBe(502);
    expect(world.reasonOf("sign-in failed")).toMatch(
      /answered 401 invalid_client: ".+"; check idp_client_id, idp_client_secret and idp_client_auth$/,
    );
    await hydra.admin("PATCH", "/clients/gateway", [{ op: "replace", path: "/scope", value: "openid" }]);
    expect((await world.signIn()).page.status).toBe(502);
    expect(world.reasonOf("sign-in failed")).toMatch(/invalid_scope: ".+"; check idp_scopes$/);
  });
});
