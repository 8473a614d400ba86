/** The gateway at a real Canaille: a small provider, whose metadata list no `offline_access`. */
import { afterEach, expect, test } from "vitest";

import { type Browser, createBrowser, findForm, type Page } from "../../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { signInClient } from "../../support/oauth-client.ts";
import { freePort } from "../../support/ports.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import { installCanaille } from "./install.ts";

let provider: RealProcess;
let upstream: EchoUpstream;
let gateway: TestGateway;
let ahead = 0;

async function start(): Promise<void> {
  const [port, own] = [await freePort(), await freePort()];
  const python = await installCanaille();
  const origin = `http://localhost:${own}`;
  const program = new URL("provider.py", import.meta.url).pathname;
  const addresses = [`${origin}/.gateway/callback`, `${origin}/.gateway/signed_out`];
  provider = await startProcess(python, [program, String(port), ...addresses], /^Listening$/m);
  upstream = await startEchoUpstream();
  ahead = 0;
  const allow = "policy: [{ allow: { and: [authenticated_user: true] } }]";
  gateway = await startGateway({
    port: own,
    clock: { now: () => Date.now() + ahead },
    yaml: `
runtime_flags: { mcp: true }
idp_provider_url: http://127.0.0.1:${port}
idp_client_id: gateway
idp_client_secret: secret-of-the-tests
routes:
  - { name: app, from: "{origin}", prefix: /app, to: "${upstream.origin}", ${allow} }
  - { name: tool, from: "{origin}", prefix: /tool, to: "${upstream.origin}", mcp: { server: { path: /mcp } }, ${allow} }
`,
  });
}
afterEach(async () => {
  await gateway?.close();
  await upstream?.close();
  await provider?.close();
});

async function signIn(): Promise<{ readonly browser: Browser; readonly page: Page }> {
  const browser = createBrowser();
  let page = await browser.open(`${gateway.origin}/app/`);
  for (const values of [{ login: "alice" }, { password: "password-of-the-tests" }]) {
    const form = findForm(page) ?? expect.fail(`${page.url}: ${page.text}`);
    page = await browser.submit(page, { ...form, method: "POST" }, values);
  }
  return { browser, page };
}

async function later(browser: Browser): Promise<number> {
  ahead += 20 * 60_000;
  const headers = { accept: "application/json", cookie: browser.cookieHeader("localhost") };
  return (await fetch(`${gateway.origin}/app/`, { headers })).status;
}

test("a user signs in, is refreshed, and signs out there as well", async () => {
  await start();
  const { browser, page } = await signIn();
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('"/app/"')]);
  expect(await later(browser)).toBe(200);
  const asked = await browser.open(`${gateway.origin}/.gateway/sign_out`);
  const bye = await browser.submit(asked, findForm(asked, "/sign_out") ?? expect.fail(asked.text), {});
  expect([bye.status, new URL(bye.url).pathname]).toEqual([200, "/.gateway/signed_out"]);
  expect((await browser.open(`${gateway.origin}/app/`)).text).toContain('name="login"');
  expect(await later(browser)).toBe(401);
});

test("a removed user loses the session and the MCP client's grant", async () => {
  await start();
  const { browser } = await signIn();
  const client = await signInClient({ resource: `${gateway.origin}/tool/mcp`, browser });
  expect(await later(browser)).toBe(200);
  await client.refresh();
  await provider.say("alice", /^Removed alice$/m);
  for (let look = 0; look < 2; look += 1) await later(browser);
  expect(await later(browser)).toBe(401);
  await expect(client.refresh()).rejects.toThrow(/invalid_grant/);
});
