/** The gateway at a real Canaille: a small provider, whose metadata list no `offline_access`. */
import { generateKeyPairSync } from "node:crypto";

import { afterEach, expect, test } from "vitest";

import { signInClient } from "../../support/oauth-client.ts";
import { freePort } from "../../support/ports.ts";
import { startProcess } from "../common/process.ts";
import {
  PASSWORD,
  type ProviderWorld,
  type ProviderWorldOptions,
  SECRET,
  startProviderWorld,
  WIKI,
} from "../common/provider-world.ts";
import { installCanaille } from "./install.ts";

let at: ProviderWorld;
afterEach(() => at?.close());

const FORMS = [{ login: "alice" }, { password: PASSWORD }];

let issuer = "";

/** @param jwks of the gateway's client, which then has a key instead of a secret */
async function start(options: ProviderWorldOptions = {}, jwks = ""): Promise<void> {
  const python = await installCanaille();
  const program = new URL("provider.py", import.meta.url).pathname;
  at = await startProviderWorld(async (origin) => {
    const port = await freePort();
    const given = [PASSWORD, SECRET, `${origin}/.gateway/callback`, `${origin}/.gateway/signed_out`, WIKI, jwks];
    const process = await startProcess(python, [program, String(port), ...given], /^Listening$/m);
    issuer = `http://127.0.0.1:${port}`;
    return { issuer, process };
  }, options);
}

test("a user signs in, there for other applications as well, is refreshed, and signs out there", async () => {
  await start();
  const { browser, page } = await at.signIn(...FORMS);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('"/app/"')]);
  expect(await at.wikiKnows(browser)).toBe(true);
  expect(await at.later(browser)).toBe(200);
  const bye = await at.signOut(browser);
  expect([bye.status, new URL(bye.url).pathname]).toEqual([200, "/.gateway/signed_out"]);
  expect((await browser.open(`${at.gateway.origin}/app/`)).text).toContain('name="login"');
  expect(await at.wikiKnows(browser)).toBe(false);
  expect(await at.later(browser)).toBe(401);
});

test("a logout at Canaille is not reported: the session here continues, and so does its refresh", async () => {
  await start();
  const { browser } = await at.signIn(...FORMS);
  await browser.open(`${issuer}/logout`);
  expect(await at.wikiKnows(browser)).toBe(false);
  expect(await at.later(browser)).toBe(200);
});

test("the gateway's client proves itself with a private key, for the token endpoint", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256", kid: "gateway" };
  const proof = `idp_client_key: ${JSON.stringify(privateKey.export({ type: "pkcs8", format: "pem" }))}`;
  await start({ proof, settings: "idp_client_proof_audience: token_endpoint" }, JSON.stringify({ keys: [jwk] }));
  const { browser, page } = await at.signIn(...FORMS);
  expect(page.status).toBe(200);
  expect(await at.later(browser)).toBe(200);
});

test("a removed user loses the session and the MCP client's grant", async () => {
  await start();
  const { browser } = await at.signIn(...FORMS);
  const client = await signInClient({ resource: `${at.gateway.origin}/tool/mcp`, browser });
  expect(await at.later(browser)).toBe(200);
  await client.refresh();
  await at.provider.say("alice", /^Removed alice$/m);
  // The first refusal may be about the provider.
  expect(await at.later(browser)).toBe(200);
  expect(await at.later(browser, 60_000)).toBe(401);
  await expect(client.refresh()).rejects.toThrow(/invalid_grant/);
});
