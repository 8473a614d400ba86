/**
 * Keycloak, as far as a development provider with its URLs shows it: a sign-in requests no offline session, which would
 * replace the online one. MCP grants get tokens that outlive the session by a second authorization without user
 * interaction.
 */
import { afterEach, describe, expect, test } from "vitest";

import { createBrowser, findForm, type Browser } from "../support/browser.ts";
import { signInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";
import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";

let world: SignInGateway;
let upstream: EchoUpstream;
afterEach(async () => {
  await world?.close();
  await upstream?.close();
});

async function start(provider: { readonly grantsOffline?: boolean } = {}): Promise<Browser> {
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    provider: { isKeycloak: true, ...provider },
    yaml: `
routes:
  - { name: app, from: "{origin}", prefix: /app, to: "${upstream.origin}", policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
  - { name: tool, from: "{origin}", prefix: /tool, to: "${upstream.origin}", mcp: { server: { path: /mcp } }, policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
`,
  });
  return createBrowser();
}

const asked = () => world.identityProvider.asked.map(({ scope, prompt }) => [scope.includes("offline_access"), prompt]);
const authorize = (browser: Browser) =>
  signInClient({ resource: `${world.gateway.origin}/tool/mcp`, user: "alice@example.com", browser });

async function signOut(browser: Browser): Promise<void> {
  const page = await browser.open(`${world.gateway.origin}/.gateway/sign_out`);
  const form = findForm(page, "/sign_out") ?? expect.fail("no form to sign out");
  expect((await browser.submit(page, form, {})).status).toBe(200);
}

describe("at Keycloak", () => {
  test("a sign-in requests no offline session, a grant requests one without user interaction, once", async () => {
    const browser = await start();
    await authorize(browser);
    expect(asked()).toEqual([
      [false, null],
      [true, "none"],
    ]);
    const client = await authorize(browser);
    expect(asked()).toHaveLength(2);
    expect(client.tokens.refresh_token).toBeDefined();
  });

  test("the offline token is revoked at sign-out, if no grant needs it", async () => {
    const browser = await start();
    const client = await authorize(browser);
    await signOut(browser);
    // Signs in again: the grant needs the earlier tokens, which stay.
    const second = await authorize(browser);
    expect(asked().slice(2)).toEqual([[false, null]]);
    for (const { oauth, registration, tokens } of [client, second])
      await oauth.sendRevocation({ token: tokens.refresh_token ?? "", client_id: registration.client_id });
    expect(world.identityProvider.calls.revocation).toBe(0);
    await signOut(browser);
    await expect.poll(() => world.identityProvider.calls.revocation).toBe(1);
  });

  test("the offline token is revoked at the end of the last grant, after sign-out", async () => {
    const browser = await start();
    const clients = [await authorize(browser), await authorize(browser)];
    await signOut(browser);
    for (const { oauth, registration, tokens } of clients) {
      expect(world.identityProvider.calls.revocation).toBe(0);
      await oauth.sendRevocation({ token: tokens.refresh_token ?? "", client_id: registration.client_id });
    }
    await expect.poll(() => world.identityProvider.calls.revocation).toBe(1);
  });

  test("a user without permission for one gets the grant", async () => {
    const browser = await start({ grantsOffline: false });
    const client = await authorize(browser);
    expect(asked()).toEqual([
      [false, null],
      [true, "none"],
    ]);
    expect(client.tokens.access_token).toBeDefined();
    await authorize(browser);
    expect(asked()).toHaveLength(2);
  });
});
