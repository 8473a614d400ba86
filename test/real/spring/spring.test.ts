/** The gateway at a real Spring Authorization Server: it lists one scope, and rotates no refresh tokens. */
import { afterEach, expect, test } from "vitest";

import { signInClient } from "../../support/oauth-client.ts";
import { startProcess } from "../common/process.ts";
import { PASSWORD, type ProviderWorld, SECRET, startProviderWorld } from "../common/provider-world.ts";
import { installSpring } from "./install.ts";

let at: ProviderWorld;
afterEach(() => at?.close());

const FORM = { username: "alice", password: PASSWORD };

/** @param client more of its registration */
async function start(settings = "", client: Readonly<Record<string, string>> = {}): Promise<void> {
  const program = await installSpring();
  at = await startProviderWorld(async (origin) => {
    const registration = {
      "client-id": "gateway",
      "client-secret": `{noop}${SECRET}`,
      "client-authentication-methods": "client_secret_basic",
      "authorization-grant-types": "authorization_code,refresh_token",
      "redirect-uris": `${origin}/.gateway/callback`,
      "post-logout-redirect-uris": `${origin}/.gateway/signed_out`,
      scopes: "openid,profile,email",
      ...client,
    };
    const place = "spring.security.oauth2.authorizationserver.client.gateway.registration";
    const given = Object.entries(registration).map(([name, value]) => `--${place}.${name}=${value}`);
    const user = [`--spring.security.user.name=alice`, `--spring.security.user.password=${PASSWORD}`];
    const server = ["--server.address=127.0.0.1", "--server.port=0", ...user, ...given];
    const started = await startProcess("java", ["-jar", program, ...server], /Tomcat started on port ([0-9]+)/);
    return { issuer: `http://127.0.0.1:${started.ready[1]}`, process: started };
  }, settings);
}

test("a user signs in, is refreshed, authorizes an MCP client, and signs out there as well", async () => {
  await start();
  const { browser, page } = await at.signIn(FORM);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('"/app/"')]);
  expect(await at.later(browser)).toBe(200);
  const client = await signInClient({ resource: `${at.gateway.origin}/tool/mcp`, browser });
  expect(await at.later(browser)).toBe(200);
  await client.refresh();
  const bye = await at.signOut(browser);
  expect([bye.status, new URL(bye.url).pathname]).toEqual([200, "/.gateway/signed_out"]);
  expect((await browser.open(`${at.gateway.origin}/app/`)).text).toContain('name="password"');
});

test("the gateway's secret is in the form where this client accepts that only", async () => {
  await start("idp_client_auth: client_secret_post", { "client-authentication-methods": "client_secret_post" });
  expect((await at.signIn(FORM)).page.status).toBe(200);
});
