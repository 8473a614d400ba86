/** The gateway at a real Spring Authorization Server: it lists one scope, and rotates no refresh tokens. */
import { afterEach, expect, test } from "vitest";

import { findForm } from "../../support/browser.ts";
import { signInClient } from "../../support/oauth-client.ts";
import { startProcess } from "../common/process.ts";
import {
  PASSWORD,
  type ProviderWorld,
  type ProviderWorldOptions,
  SECRET,
  startProviderWorld,
  WIKI,
} from "../common/provider-world.ts";
import { installSpring } from "./install.ts";

let at: ProviderWorld;
afterEach(() => at?.close());

const FORM = { username: "alice", password: PASSWORD };

let issuer = "";

/** @param client more of its registration */
async function start(options: ProviderWorldOptions = {}, client: Readonly<Record<string, string>> = {}): Promise<void> {
  const program = await installSpring();
  const place = "spring.security.oauth2.authorizationserver.client";
  const wiki = {
    "client-id": "wiki",
    "client-authentication-methods": "none",
    "authorization-grant-types": "authorization_code",
    "redirect-uris": WIKI,
    scopes: "openid",
  };
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
    const given = Object.entries({ gateway: registration, wiki }).flatMap(([client, members]) =>
      Object.entries(members).map(([name, value]) => `--${place}.${client}.registration.${name}=${value}`),
    );
    const user = [`--spring.security.user.name=alice`, `--spring.security.user.password=${PASSWORD}`];
    const server = ["--server.address=127.0.0.1", "--server.port=0", ...user, ...given];
    const started = await startProcess("java", ["-jar", program, ...server], /Tomcat started on port ([0-9]+)/);
    issuer = `http://127.0.0.1:${started.ready[1]}`;
    return { issuer, process: started };
  }, options);
}

test("a user signs in, there for other applications as well, is refreshed, authorizes an MCP client, and signs out there", async () => {
  await start();
  const { browser, page } = await at.signIn(FORM);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('"/app/"')]);
  expect(await at.wikiKnows(browser)).toBe(true);
  expect(await at.later(browser)).toBe(200);
  const client = await signInClient({ resource: `${at.gateway.origin}/tool/mcp`, browser });
  expect(await at.later(browser)).toBe(200);
  await client.refresh();
  const bye = await at.signOut(browser);
  expect([bye.status, new URL(bye.url).pathname]).toEqual([200, "/.gateway/signed_out"]);
  expect((await browser.open(`${at.gateway.origin}/app/`)).text).toContain('name="password"');
});

test("a logout at Spring is not reported, and a removed user keeps what was signed in before: a refresh asks about neither", async () => {
  await start();
  const { browser } = await at.signIn(FORM);
  const leaving = await browser.open(`${issuer}/logout`);
  const form = findForm(leaving, "/logout");
  if (!form) throw new Error(`No form to sign out: ${leaving.status} ${leaving.text}`);
  await browser.submit(leaving, form, {});
  expect(await at.wikiKnows(browser)).toBe(false);
  expect(await at.later(browser)).toBe(200);
  await at.provider.say("alice", /^Removed alice$/m);
  expect(await at.later(browser)).toBe(200);
});

test("the gateway's secret is in the form where this client accepts that only", async () => {
  const client = { "client-authentication-methods": "client_secret_post" };
  await start({ settings: "idp_client_auth: client_secret_post" }, client);
  expect((await at.signIn(FORM)).page.status).toBe(200);
});
