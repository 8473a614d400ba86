/** The user page: what acts for me, and ending it. Whole gateway, real sign-in, several browsers. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  createBrowser,
  createSend,
  findForm,
  findLink,
  type Browser,
  type Form,
  type Page,
} from "../support/browser.ts";
import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { createOAuthClient, createPkce, REDIRECT_URI, type SignedInClient } from "../support/oauth-client.ts";

const ALICE = "alice@example.com";
const BOB = "bob@example.com";

let world: McpGateway;
beforeAll(async () => {
  world = await startMcpGateway();
});
afterAll(() => world?.close());

const send = createSend();

async function openPage(browser: Browser, user = ALICE): Promise<Page> {
  let page = await browser.open(`${world.gateway.origin}/.gateway/`);
  const choice = findLink(page, user);
  if (choice !== undefined) page = await browser.open(choice);
  expect([page.status, page.url]).toEqual([200, `${world.gateway.origin}/.gateway/`]);
  return page;
}

/** The form with this button. */
function formOf(page: Page, button: string): Form {
  const form = [...page.text.matchAll(/<form\b.*?<\/form>/gs)].find(([text]) => text.includes(button))?.[0];
  const found = form && findForm({ ...page, text: form });
  if (!found) throw new Error(`Cannot find a form with "${button}" on the page:\n${page.text}`);
  return found;
}

const works = async (client: SignedInClient): Promise<boolean> => {
  const answer = await send({
    method: "POST",
    url: world.resource,
    headers: {
      authorization: `Bearer ${client.tokens.access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    }),
  });
  return answer.status === 200;
};

/** Returns true if an authorization by this client asks the user, in this browser. */
async function asks(browser: Browser, client: SignedInClient): Promise<boolean> {
  const outcome = await createOAuthClient({ resource: world.resource, browser }).authorize({
    clientId: client.registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    decision: "look",
  });
  return outcome.at === "page";
}

describe("the user page", () => {
  test("shows session and applications with their ends, and ends an application's access with its approval", async () => {
    const client = await world.signIn({ metadata: { client_name: "Desk <client>\u200b" } });
    const { browser } = client.oauth;
    const page = await openPage(browser);
    expect(page.text).not.toContain("\u200b");
    expect(page.text).toContain("This browser");
    expect(page.text).toContain("Desk &#60;client&#62;");
    expect(page.text).toContain(world.resource);
    expect(page.text.match(/<time datetime="[^"]+"/g)?.length).toBeGreaterThanOrEqual(5);
    expect(await works(client)).toBe(true);
    expect(await asks(browser, client)).toBe(false);
    const after = await browser.submit(page, formOf(page, "of Desk &#60;client&#62;\\u200b"), {});
    expect([after.status, after.url]).toEqual([200, `${world.gateway.origin}/.gateway/`]);
    expect(after.text).not.toContain("Desk &#60;client&#62;");
    expect(await works(client)).toBe(false);
    await expect(client.refresh()).rejects.toThrow("invalid_grant");
    expect(await asks(browser, client)).toBe(true);
  });

  test("withdraws only a consent: access continues, the next authorization asks", async () => {
    const client = await world.signIn({ metadata: { client_name: "Withdrawn" } });
    const { browser } = client.oauth;
    const page = await openPage(browser);
    const after = await browser.submit(page, formOf(page, "about Withdrawn"), {});
    expect(after.text).not.toContain("about Withdrawn");
    expect(await works(client)).toBe(true);
    expect(await asks(browser, client)).toBe(true);
  });

  test("ends the session of another browser, and never this one's by mistake", async () => {
    const here = createBrowser();
    const there = createBrowser();
    await openPage(there, BOB);
    const page = await openPage(here, BOB);
    const after = await here.submit(page, formOf(page, "Sign out<span"), {});
    expect(after.status).toBe(200);
    const userOf = async (browser: Browser) => (await browser.open(`${world.gateway.origin}/.gateway/user`)).status;
    expect([await userOf(here), await userOf(there)]).toEqual([200, 401]);
    expect(after.text.split("Sign out<span")).toHaveLength(page.text.split("Sign out<span").length - 1);
  });

  test("shows and revokes nothing of other users", async () => {
    const client = await world.signIn({ metadata: { client_name: "Alice's own" } });
    const alicePage = await openPage(client.oauth.browser);
    const bob = createBrowser();
    const bobs = await world.signIn({ user: BOB, browser: bob });
    const bobPage = await openPage(bob, BOB);
    expect(bobPage.text).not.toMatch(/Alice[ &']|alice@/);
    // Bob's token, Alice's ids.
    const own = formOf(bobPage, "End access<").fields["csrf"] ?? "";
    for (const button of ["of Alice", "about Alice"]) {
      const { fields } = formOf(alicePage, button);
      const form: Form = { action: "/.gateway/own", method: "POST", fields: { ...fields, csrf: own } };
      await bob.submit(bobPage, form, {});
    }
    expect(await works(client)).toBe(true);
    expect(await works(bobs)).toBe(true);
    expect(await asks(client.oauth.browser, client)).toBe(false);
    // Alice's form with Bob's session.
    expect((await bob.submit(bobPage, formOf(alicePage, "of Alice"), {})).status).toBe(403);
  });

  test.each(["Sign out<span", "of Guarded"])(
    "a form %s is taken from the page only: right origin, the session's token, a session",
    async (button) => {
      const client = await world.signIn({ metadata: { client_name: "Guarded" } });
      const { browser } = client.oauth;
      await openPage(createBrowser());
      const page = await openPage(browser);
      const form = formOf(page, button);
      const post = (fields: Record<string, string>, headers: Record<string, string>) =>
        send({
          method: "POST",
          url: `${world.gateway.origin}/.gateway/own`,
          headers: {
            "content-type": "application/x-www-form-urlencoded",
            origin: world.gateway.origin,
            cookie: browser.cookieHeader("localhost"),
            ...headers,
          },
          body: new URLSearchParams({ ...form.fields, ...fields }).toString(),
        });
      const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
      for (const [fields, headers] of [
        [{}, foreign],
        [{}, { origin: "null" }],
        [{}, { "sec-fetch-site": "same-site" }],
        [{ csrf: "" }, {}],
        [{ csrf: (form.fields["csrf"] ?? "").replace(/^./, (first) => (first === "A" ? "B" : "A")) }, {}],
        [{ csrf: formOf(page, ">Sign out<").fields["csrf"] ?? "" }, {}],
        [{}, { cookie: "" }],
      ] as const) {
        expect((await post(fields, headers)).status).toBe(403);
      }
      expect(await works(client)).toBe(true);
      expect((await send({ method: "GET", url: `${world.gateway.origin}/.gateway/own` })).status).toBe(405);
    },
  );
});
