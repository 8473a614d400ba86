/** Consent over HTTP: the page, who can answer, and remembered consents. Labels: see issuer.test.ts. */
import { describe, expect, test } from "vitest";

import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createTestClock } from "../support/clock.ts";
import { findForm, type Page } from "../support/browser.ts";
import { createPkce, REDIRECT_URI, type AuthorizeOptions, type OAuthClient } from "../support/oauth-client.ts";
import {
  ONE_SERVER,
  ORIGIN,
  RESOURCE,
  useIssuers,
  type TestIssuer,
  type TestIssuerOptions,
} from "../support/issuer.ts";

const start = useIssuers();

async function look(oauth: OAuthClient, clientId: string, more: Partial<AuthorizeOptions> = {}): Promise<Page> {
  const outcome = await oauth.authorize({
    clientId,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    decision: "look",
    ...more,
  });
  if (outcome.at !== "page") throw new Error(`not asked, went to ${outcome.url}`);
  return outcome.page;
}

/** A consent page for alice, with its form. */
async function ask(options?: TestIssuerOptions, metadata?: Record<string, unknown>) {
  const gateway = await start(options);
  const oauth = gateway.oauth();
  const { client_id, redirect_uris } = await oauth.register(metadata);
  const page = await look(oauth, client_id, { redirectUri: redirect_uris[0] ?? "" });
  const form = findForm(page, "/.gateway/mcp/consent");
  if (!form) throw new Error(`no form on ${page.text}`);
  return { gateway, oauth, clientId: client_id, page, form };
}

/** The form as a browser would send it, bent. */
function post(
  gateway: TestIssuer,
  form: { fields: Readonly<Record<string, string>> },
  change: { fields?: Record<string, string>; headers?: Record<string, string>; user?: string } = {},
) {
  return gateway.send({
    method: "POST",
    url: `${ORIGIN}/.gateway/mcp/consent`,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      accept: "text/html",
      origin: ORIGIN,
      "sec-fetch-site": "same-origin",
      cookie: `test_user=${change.user ?? "alice"}`,
      ...change.headers,
    },
    body: new URLSearchParams({ ...form.fields, decision: "approve", ...change.fields }).toString(),
  });
}

test("a code stored while its session ends is invalid", async () => {
  const clock = createTestClock();
  const memory = createMemoryStore({ clock });
  let gateway: TestIssuer | undefined;
  const put: Store["put"] = async (name, value, options) => {
    // A concurrent revocation does not see the code yet.
    if (name.startsWith("code:")) await gateway?.revocations.revoke("session:session-of-alice");
    return memory.put(name, value, options);
  };
  const store: Store = Object.create(memory, { put: { value: put } });
  const asked = await ask({ clock, store });
  ({ gateway } = asked);
  const answer = await post(asked.gateway, asked.form);
  const location = new URL(answer.headers["location"] ?? "");
  expect([answer.status, location.searchParams.get("error"), location.searchParams.has("code")]).toEqual([
    303,
    "access_denied",
    false,
  ]);
  expect((await memory.list("user:alice")).filter(({ key }) => key.startsWith("code:"))).toEqual([]);
});

describe("the page", () => {
  test("shows client, document host, redirect target, server, scope and user", async () => {
    const { page } = await ask(undefined, { client_name: "Shiny & Co", redirect_uris: ["https://app.example.com/cb"] });
    expect(page.status).toBe(200);
    for (const text of [
      "Shiny &#38; Co",
      "the name is not verified",
      "app.example.com",
      "tools",
      RESOURCE,
      "on your behalf",
      "alice@example.com",
    ]) {
      expect(page.text).toContain(text);
    }
    expect(page.text).not.toContain("on this computer");
  });

  test("A8: warns when the answer goes to a program on this computer", async () => {
    const { page } = await ask();
    expect(page.text).toContain("on this computer");
    expect(page.text).toContain("127.0.0.1:33418");
  });

  test.each([
    ["http://127.0.0.1:33418/callback", "a program on this computer, at <code>127.0.0.1:33418</code>"],
    ["http://localhost:1/callback", "a program on this computer, at <code>localhost:1</code>"],
    ["https://127.0.0.1.example.com/cb", "the website <code>127.0.0.1.example.com</code>"],
    ["https://app.example.com:8443/cb", "the website <code>app.example.com:8443</code>"],
    ["com.example.app:/callback", "the application on this computer that opens <code>com.example.app:</code> links"],
  ])("says in words where the result of %s goes", async (uri, words) => {
    const yaml = `mcp_allowed_private_redirect_uris: ["com.example.app:/callback"]\n${ONE_SERVER}`;
    const { page } = await ask({ yaml }, { redirect_uris: [uri] });
    expect(page.text).toContain(words);
  });

  test.each([
    ["zero-width characters", "Des\u200bk", "Des\\u200bk"],
    ["a filler", "Desk\u3164", "Desk\\u3164"],
    ["250 marks on one letter", `D${"\u0301".repeat(250)}`, "D\\u0301\\u0301"],
  ])("a client name with %s is shown with its hidden characters", async (_what, name, shown) => {
    const { page } = await ask(undefined, { client_name: name });
    expect([page.text.includes(shown), page.text.includes(name)]).toEqual([true, false]);
  });

  const REFRESHING = { grant_types: ["authorization_code", "refresh_token"] };
  const SHORT = { grant_types: ["authorization_code"] };
  test.each([
    ["without an absolute end", "", REFRESHING, /Access ends<\/dt>\s*<dd>after 90 days without use<\/dd>/],
    [
      "with both ends",
      "refresh_token_lifetime: 36h\nrefresh_token_absolute_lifetime: 30d",
      REFRESHING,
      /<dd>after 36 hours without use, and 30 days from now at the latest<\/dd>/,
    ],
    [
      "where the absolute end is the first",
      "refresh_token_lifetime: 30d\nrefresh_token_absolute_lifetime: 1h",
      REFRESHING,
      /<dd>1 hour from now<\/dd>/,
    ],
    [
      "of a client that does not refresh",
      "",
      SHORT,
      /<dd>with your sign-in, <time datetime="(?<at>[^"]+)">[-0-9]{10} [0-9:]{5} UTC<\/time><\/dd>/,
    ],
  ])("says when access ends %s, and how to end it", async (_, settings, metadata, words) => {
    const { page } = await ask({ yaml: `${settings}\n${ONE_SERVER}` }, metadata);
    expect(page.text).toMatch(words);
    expect(page.text).toContain('You can end this access at any time on <a href="/.gateway/">your page</a>.');
  });

  test("cannot be framed, cached or scripted, and lets the form's redirect go to https and to the client", async () => {
    const { page } = await ask(undefined, { redirect_uris: ["https://app.example.com/cb"] });
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(page.headers["content-security-policy"]).toContain("form-action 'self' https:;");
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.headers["cache-control"]).toBe("no-store");
    expect(page.text).not.toContain("<script");
  });

  test.each([
    ["http://127.0.0.1:33418/callback", "form-action 'self' https: http://127.0.0.1:33418;"],
    ["http://[::1]:8080/cb", "form-action 'self' https: http:;"],
  ])("lets the form's redirect reach %s", async (uri, directive) => {
    const { page } = await ask(undefined, { redirect_uris: [uri] });
    expect(page.headers["content-security-policy"]).toContain(directive);
  });

  test("escapes the client's name", async () => {
    const { page } = await ask(undefined, { client_name: '<img src=x onerror="alert(1)">' });
    expect(page.text).not.toContain("<img");
  });

  test("redirects an unauthenticated user to sign-in", async () => {
    const gateway = await start();
    const { client_id } = await gateway.oauth().register();
    const page = await look({ ...gateway.oauth({ userId: "nobody" }) }, client_id);
    expect(page.text).toBe("the sign-in page");
  });

  test("is on the authenticate host only, if there is one", async () => {
    const yaml = `authenticate_service_url: https://auth.example.com\n${ONE_SERVER}`;
    const { gateway, page } = await ask({ yaml });
    expect(new URL(page.url).host).toBe("auth.example.com");
    const moved = page.url.replace("https://auth.example.com", ORIGIN);
    expect((await gateway.browser("alice").open(moved)).status).toBe(404);
  });

  test("of another host's request is not shown", async () => {
    const yaml = `${ONE_SERVER}  - { name: b, from: https://b.example.com, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }\n`;
    const { gateway, page } = await ask({ yaml });
    const moved = page.url.replace(ORIGIN, "https://b.example.com");
    expect((await gateway.browser("alice").open(moved)).status).toBe(400);
  });

  test("is over after ten minutes", async () => {
    const { gateway, page } = await ask();
    gateway.clock.advance(601_000);
    const again = await gateway.browser("alice").open(page.url);
    expect([again.status, again.text.includes("This request has ended")]).toEqual([400, true]);
  });

  test.each(["", "?request=", "?request=x", "?request=../../x", `?request=${"A".repeat(43)}`, "?request=a&request=b"])(
    "does not show anything for %j",
    async (query) => {
      const gateway = await start();
      expect((await gateway.browser("alice").open(`${ORIGIN}/.gateway/mcp/consent${query}`)).status).toBe(400);
    },
  );
});

describe("the decision", () => {
  test("deny goes back as access_denied, with state and iss, and gives no code", async () => {
    const gateway = await start();
    const oauth = gateway.oauth();
    const { client_id } = await oauth.register();
    const outcome = await oauth.authorize({
      clientId: client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "deny",
    });
    expect(outcome).toMatchObject({
      at: "client",
      parameters: { error: "access_denied", state: "state-of-the-test", iss: ORIGIN },
    });
  });

  test("approve answers 303, so that the form is not sent on to the client", async () => {
    const { gateway, form } = await ask();
    const answer = await post(gateway, form);
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toMatch(/^http:\/\/127\.0\.0\.1:33418\/callback\?code=/);
    expect(answer.headers["referrer-policy"]).toBe("no-referrer");
  });

  test("is accepted once", async () => {
    const { gateway, form } = await ask();
    const answers = await Promise.all([post(gateway, form), post(gateway, form), post(gateway, form)]);
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([303, 400, 400]);
  });

  test.each<[string, Parameters<typeof post>[2]]>([
    ["without a CSRF token", { fields: { csrf_token: "" } }],
    ["with another CSRF token", { fields: { csrf_token: "A".repeat(43) } }],
    ["from another origin", { headers: { origin: "https://evil.example" } }],
    ["from a sandboxed frame", { headers: { origin: "null" } }],
    ["from a sibling host", { headers: { "sec-fetch-site": "same-site" } }],
    [
      "from another site without Origin",
      { headers: { origin: "https://evil.example", "sec-fetch-site": "cross-site" } },
    ],
    ["by another user who is signed in", { user: "bob" }],
  ])("%s is refused", async (_, change) => {
    const { gateway, form } = await ask();
    const answer = await post(gateway, form, change);
    expect(answer.status).toBe(403);
    expect(answer.headers).not.toHaveProperty("location");
    // The request still waits for the right person.
    expect((await post(gateway, form)).status).toBe(303);
  });

  test("with the CSRF token of another request is refused", async () => {
    const { gateway, oauth, clientId, form } = await ask();
    const other = findForm(await look(oauth, clientId), "/.gateway/mcp/consent");
    const answer = await post(gateway, form, { fields: { csrf_token: other?.fields["csrf_token"] ?? "" } });
    expect(answer.status).toBe(403);
  });

  test("without a session redirects to the page, which requires sign-in", async () => {
    const { gateway, form } = await ask();
    const answer = await post(gateway, form, { user: "nobody" });
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toContain("/.gateway/mcp/consent?request=");
  });

  test.each(["", "maybe", "APPROVE"])("%j is no decision", async (decision) => {
    const { gateway, form } = await ask();
    expect((await post(gateway, form, { fields: { decision } })).status).toBe(400);
  });
});

describe("policy", () => {
  const onlyAlice = ONE_SERVER.replace("authenticated_user: true", "email: { is: alice@example.com }");

  test("a user without access gets a page with a link back to the application", async () => {
    const gateway = await start({ yaml: onlyAlice });
    const oauth = gateway.oauth({ userId: "bob" });
    const { client_id } = await oauth.register();
    const page = await look(oauth, client_id);
    expect(page.status).toBe(403);
    expect(page.text).toContain("No access to this MCP server");
    expect(page.text).toContain("<code>access_denied</code>");
    expect(page.text).toContain(`<code>${page.headers["x-request-id"]}</code>`);
    const form = findForm(page, "/.gateway/mcp/consent");
    if (!form) throw new Error("no way back");
    const back = await oauth.browser.submit(page, form, { decision: "deny" }, REDIRECT_URI);
    expect(new URL(back.url).searchParams.get("error")).toBe("access_denied");
  });

  test("a user without access cannot consent", async () => {
    const gateway = await start({ yaml: onlyAlice });
    const oauth = gateway.oauth({ userId: "bob" });
    const page = await look(oauth, (await oauth.register()).client_id);
    const form = findForm(page, "/.gateway/mcp/consent");
    if (!form) throw new Error("no form");
    const forced = await oauth.browser.submit(page, form, { decision: "approve" }, REDIRECT_URI);
    expect(new URL(forced.url).searchParams.get("error")).toBe("access_denied");
    expect((await oauth.browser.submit(page, form, { decision: "approve" }, REDIRECT_URI)).status).toBe(400);
  });

  test("a rule about tools alone does not count as no access", async () => {
    const yaml = ONE_SERVER.replace("authenticated_user: true", "mcp_tool: { is: search }");
    const { page } = await ask({ yaml });
    expect(page.status).toBe(200);
  });

  test("that changed while the page was open is applied", async () => {
    const { gateway, form } = await ask();
    gateway.reconfigure(onlyAlice.replace("alice@", "carol@"));
    const answer = await post(gateway, form);
    expect(new URL(answer.headers["location"] ?? "").searchParams.get("error")).toBe("access_denied");
  });
});

describe("remembering", () => {
  test("A7: a consent is remembered for this user and client only", async () => {
    const gateway = await start();
    const oauth = gateway.oauth();
    const { client_id } = await oauth.register();
    const request = { clientId: client_id, redirectUri: REDIRECT_URI, challenge: createPkce().challenge };
    expect((await oauth.authorize(request)).at).toBe("client");
    // Again: no page.
    expect((await oauth.authorize({ ...request, decision: "look" })).at).toBe("client");
    // Another user, another client: a page.
    await look(gateway.oauth({ userId: "bob" }), client_id);
    const other = await gateway.oauth().register();
    await look(gateway.oauth(), other.client_id);
  });

  test("prompt=consent asks again", async () => {
    const gateway = await start();
    const oauth = gateway.oauth();
    const { client_id } = await oauth.register();
    await oauth.authorize({ clientId: client_id, redirectUri: REDIRECT_URI, challenge: createPkce().challenge });
    expect((await look(oauth, client_id, { parameters: { prompt: "consent" } })).status).toBe(200);
  });

  test("another resource needs a new consent", async () => {
    const yaml = `
runtime_flags: { mcp: true }
routes:
  - { name: a, from: https://mcp.example.com, prefix: /a, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }
  - { name: b, from: https://mcp.example.com, prefix: /b, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }
`;
    const gateway = await start({ yaml });
    const oauth = gateway.oauth({ resource: `${ORIGIN}/a` });
    const { client_id } = await oauth.register();
    await oauth.authorize({ clientId: client_id, redirectUri: REDIRECT_URI, challenge: createPkce().challenge });
    const page = await look(oauth, client_id, { parameters: { resource: `${ORIGIN}/b` } });
    expect(page.text).toContain(`${ORIGIN}/b`);
    expect(page.text).not.toContain(`${ORIGIN}/a<`);
    // The whole host: both servers are named.
    const both = await look(oauth, client_id, { parameters: { resource: undefined } });
    expect(both.text).toContain(`${ORIGIN}/a<`);
    expect(both.text).toContain(`${ORIGIN}/b<`);
  });

  test("changed document metadata need a new consent; a document with a loopback address always does (RFC 8252 §8.6)", async () => {
    const id = "https://app.example.org/client.json";
    const uri = "https://app.example.org/cb";
    let document: Record<string, unknown> = { client_id: id, client_name: "Doc", redirect_uris: [uri] };
    const yaml = `mcp_allowed_client_id_domains: ["app.example.org"]\n${ONE_SERVER}`;
    const gateway = await start({ yaml, fetchClientDocument: async () => ({ ok: true, document }) as const });
    const oauth = gateway.oauth();
    const request = { clientId: id, redirectUri: uri, challenge: createPkce().challenge };
    await oauth.authorize(request);
    expect((await oauth.authorize({ ...request, decision: "look" })).at).toBe("client");

    document = { ...document, redirect_uris: [uri, REDIRECT_URI] };
    gateway.clock.advance(120_000);
    await look(oauth, id, { redirectUri: uri });
    await oauth.authorize(request);
    expect((await oauth.authorize({ ...request, decision: "look" })).at).toBe("client");

    await oauth.authorize({ ...request, redirectUri: REDIRECT_URI });
    await look(oauth, id);
  });
});
