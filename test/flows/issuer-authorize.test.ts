/** The authorization endpoint over HTTP: rejections and their forms (OAuth 2.1 §4.1). Labels: see issuer.test.ts. */
import { describe, expect, test } from "vitest";

import { createLog } from "../../runtime/shared/log.ts";
import { findLink } from "../support/browser.ts";
import { createPkce, REDIRECT_URI, type AuthorizeOptions, type AuthorizeOutcome } from "../support/oauth-client.ts";
import { ONE_SERVER, ORIGIN, RESOURCE, useIssuers, type TestIssuer } from "../support/issuer.ts";

const start = useIssuers();

/** Registers a client with these redirect URIs and sends an authorization request as alice. */
async function attempt(
  gateway: TestIssuer,
  parameters: AuthorizeOptions["parameters"] = {},
  registered: readonly string[] = [REDIRECT_URI],
): Promise<AuthorizeOutcome> {
  const oauth = gateway.oauth();
  const { client_id } = await oauth.register({ redirect_uris: registered });
  return oauth.authorize({
    clientId: client_id,
    redirectUri: parameters["redirect_uri"] ?? registered[0] ?? "",
    challenge: createPkce().challenge,
    parameters,
  });
}

describe("a good request", () => {
  test("A5: comes back with code, state and iss", async () => {
    const outcome = await attempt(await start());
    expect(outcome).toMatchObject({
      at: "client",
      parameters: {
        code: expect.stringMatching(/^[A-Za-z0-9_-]{75}$/) as string,
        state: "state-of-the-test",
        iss: ORIGIN,
      },
    });
    if (outcome.at === "client") expect(Object.keys(outcome.parameters)).toHaveLength(3);
  });

  test("comes back without a state when it had none", async () => {
    const outcome = await attempt(await start(), { state: undefined });
    expect(outcome.at === "client" && outcome.parameters).not.toHaveProperty("state");
  });

  test.each(["a b&c=d#e", "ü", "x".repeat(2000), '{"n":1}'])("keeps state %j as it is", async (state) => {
    expect(await attempt(await start(), { state })).toMatchObject({ at: "client", parameters: { state } });
  });

  test("keeps the query of the redirect URI", async () => {
    const outcome = await attempt(await start(), {}, ["https://app.example.com/cb?tenant=7"]);
    expect(outcome).toMatchObject({ at: "client", parameters: { tenant: "7", iss: ORIGIN } });
  });

  test("may leave the redirect URI out when one is registered", async () => {
    const outcome = await attempt(await start(), { redirect_uri: undefined });
    expect(outcome.at).toBe("client");
  });

  test("may use any port of a loopback address", async () => {
    const outcome = await attempt(await start(), { redirect_uri: "http://127.0.0.1:50123/callback" });
    expect(outcome.at === "client" && outcome.url.startsWith("http://127.0.0.1:50123/callback?code=")).toBe(true);
  });

  test("A11: needs neither resource nor scope, and may request unknown scopes", async () => {
    const gateway = await start();
    expect((await attempt(gateway, { resource: undefined, scope: undefined })).at).toBe("client");
    expect((await attempt(gateway, { scope: "openid email profile offline_access" })).at).toBe("client");
  });

  test.each([RESOURCE, `${RESOURCE}/`, ORIGIN, `${ORIGIN}/`, "HTTPS://MCP.example.com:443/mcp"])(
    "may spell its resource %s",
    async (resource) => {
      expect((await attempt(await start(), { resource })).at).toBe("client");
    },
  );

  test("ignores parameters that it does not know, and empty ones", async () => {
    expect((await attempt(await start(), { nonce: "n", login_hint: "alice", scope: "", response_mode: "" })).at).toBe(
      "client",
    );
  });
});

describe("a refusal that the client learns (RFC 6749 §4.1.2.1)", () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ["no response_type", { response_type: undefined }, "invalid_request"],
    ["implicit", { response_type: "token" }, "unsupported_response_type"],
    ["hybrid", { response_type: "code id_token" }, "unsupported_response_type"],
    ["fragment mode", { response_mode: "fragment" }, "invalid_request"],
    ["no challenge", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["no challenge method, which means plain", { code_challenge_method: undefined }, "invalid_request"],
    ["plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["s256 in lower case", { code_challenge_method: "s256" }, "invalid_request"],
    ["a short challenge", { code_challenge: "a".repeat(42) }, "invalid_request"],
    ["a challenge that is no base64url", { code_challenge: `${"a".repeat(42)}=` }, "invalid_request"],
    ["a resource of somebody else", { resource: "https://other.example.com/mcp" }, "invalid_target"],
    ["a resource with a fragment", { resource: `${RESOURCE}#x` }, "invalid_target"],
    ["a resource that is no route", { resource: `${ORIGIN}/other` }, "invalid_target"],
    ["prompt=none", { prompt: "none" }, "interaction_required"],
    ["a signed request", { request: "eyJhbGciOiJub25lIn0.e30." }, "request_not_supported"],
    ["a request by reference", { request_uri: "https://evil.example/r" }, "request_uri_not_supported"],
  ])("%s", async (_, parameters, error) => {
    const outcome = await attempt(await start(), parameters);
    expect(outcome).toMatchObject({ at: "client", parameters: { error, state: "state-of-the-test", iss: ORIGIN } });
    expect(outcome.at === "client" && outcome.parameters).not.toHaveProperty("code");
  });

  test("a state that would break the answer is not sent back", async () => {
    const outcome = await attempt(await start(), { state: "x\r\nSet-Cookie: a=b" });
    expect(outcome).toMatchObject({ at: "client", parameters: { error: "invalid_request" } });
    expect(outcome.at === "client" && outcome.parameters).not.toHaveProperty("state");
  });
});

describe("a refusal of a client that registered itself for an address on the network", () => {
  // "MUST always authenticate the user first … before redirecting the user" (RFC 9700 §4.11.2): registration is open to all.
  test.each<Record<string, string | undefined>>([
    { response_type: "token" },
    { code_challenge: undefined },
    { resource: "https://other.example.com/mcp" },
    { prompt: "none" },
  ])("is a page that says where the way back leads, with %j", async (parameters) => {
    const outcome = await attempt(await start(), parameters, ["https://evil.example/cb?a=1&b=2"]);
    if (outcome.at !== "page") throw new Error(`went to ${outcome.url}`);
    const { status, headers, text } = outcome.page;
    expect([status, headers["location"], headers["refresh"]]).toEqual([400, undefined, undefined]);
    expect(text).toContain("<code>evil.example</code>");
    expect(findLink(outcome.page, "Return to the application")).toMatch(
      /^https:\/\/evil\.example\/cb\?a=1&b=2&error=[a-z_]+&error_description=.+&state=state-of-the-test&iss=/,
    );
  });

  test("is still redirected automatically to a program on the user's own computer", async () => {
    const outcome = await attempt(await start(), { response_type: "token" }, ["http://localhost:8080/cb"]);
    expect(outcome).toMatchObject({ at: "client", parameters: { error: "unsupported_response_type" } });
  });
});

describe("a refusal that stays a page, because no redirect URI is trusted", () => {
  test.each([
    "http://127.0.0.1:33418/callback/",
    "http://127.0.0.1:33418/callback?x",
    "http://localhost:33418/callback",
    "https://127.0.0.1:33418/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://127.0.0.1:33418@evil.example/callback",
    "https://evil.example/callback",
    "//evil.example/callback",
    "javascript:alert(1)",
  ])("redirect URI %s", async (uri) => {
    const outcome = await attempt(await start(), { redirect_uri: uri });
    if (outcome.at !== "page") throw new Error(`went to ${outcome.url}`);
    expect(outcome.page.status).toBe(400);
    expect(outcome.page.headers).not.toHaveProperty("location");
    expect(outcome.page.text).toContain("not registered for this client");
    expect(outcome.page.text).toContain(outcome.page.headers["x-request-id"]);
  });

  test("no redirect URI where several are registered", async () => {
    const outcome = await attempt(await start(), { redirect_uri: undefined }, [
      "https://a.example/cb",
      "https://b.example/cb",
    ]);
    expect(outcome).toMatchObject({ at: "page", page: { status: 400 } });
  });

  test.each([
    "gwc_AAAAAAAAAAAAAAAAAAAAAA",
    "unknown",
    "http://app.example.com/client.json",
    "client:x",
    "x".repeat(3000),
    "\u0000",
  ])("unregistered client %j", async (client_id) => {
    const outcome = await attempt(await start(), { client_id });
    expect(outcome).toMatchObject({ at: "page", page: { status: 400 } });
  });

  test("no client", async () => {
    expect(await attempt(await start(), { client_id: undefined })).toMatchObject({ at: "page", page: { status: 400 } });
  });

  test.each(["client_id", "redirect_uri", "state", "scope"])("%s given twice (RFC 6749 §3.1)", async (name) => {
    const gateway = await start();
    const oauth = gateway.oauth();
    const { client_id } = await oauth.register();
    const query = new URLSearchParams({
      response_type: "code",
      client_id,
      redirect_uri: REDIRECT_URI,
      state: "s",
      scope: "mcp",
    });
    query.append(name, query.get(name) ?? "");
    const page = await oauth.browser.open(`${ORIGIN}/.gateway/mcp/authorize?${query.toString()}`, REDIRECT_URI);
    expect([page.left, page.status]).toEqual([false, 400]);
  });

  test("is escaped, whatever the client id holds", async () => {
    const yaml = `mcp_allowed_client_id_domains: ["good.example"]\n${ONE_SERVER}`;
    const outcome = await attempt(await start({ yaml }), {
      client_id: "https://evil.example/c?<script>alert(1)</script>",
    });
    expect(outcome.at === "page" && outcome.page.text).not.toContain("<script>");
  });

  test("is JSON for programs", async () => {
    const { send } = await start();
    const answer = await send({ method: "GET", url: `${ORIGIN}/.gateway/mcp/authorize?client_id=x` });
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: "invalid_client", request_id: answer.headers["x-request-id"] });
  });

  test("POST is rejected", async () => {
    const { send } = await start();
    expect((await send({ method: "POST", url: `${ORIGIN}/.gateway/mcp/authorize` })).status).toBe(405);
  });
});

describe("client ids that are URLs (requirements, Errors)", () => {
  const ID = "https://app.example.org/oauth/client.json";
  const document = { client_id: ID, client_name: "Document client", redirect_uris: [REDIRECT_URI] };
  const yaml = `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`;
  const withDocument = (fetched: object = document) => ({
    yaml,
    fetchClientDocument: async () => ({ ok: true, document: fetched }) as const,
  });

  test.each([
    "https://app.example.net/client.json",
    "https://example.org/client.json",
    "https://app.example.org.evil.example/c",
  ])("%s is outside the list: the page says so, with request id and attempted client id", async (client_id) => {
    let fetched = false;
    const fetchClientDocument = async () => {
      fetched = true;
      return { ok: false, reason: "must not be asked" } as const;
    };
    const outcome = await attempt(await start({ yaml, fetchClientDocument }), { client_id });
    if (outcome.at !== "page") throw new Error(outcome.url);
    expect(outcome.page.status).toBe(403);
    expect(outcome.page.text).toContain("administrator restricted the permitted MCP client ID document domains");
    expect(outcome.page.text).toContain(outcome.page.headers["x-request-id"]);
    expect(outcome.page.text).toContain(client_id);
    expect(fetched).toBe(false);
  });

  test("an empty list turns them off", async () => {
    const outcome = await attempt(await start({ fetchClientDocument: async () => ({ ok: true, document }) as const }), {
      client_id: ID,
    });
    expect(outcome).toMatchObject({ at: "page", page: { status: 403 } });
  });

  test("without a way to read documents a listed one is refused clearly", async () => {
    const outcome = await attempt(await start({ yaml }), { client_id: ID });
    expect(outcome.at === "page" && outcome.page.text).toContain("does not read client ID metadata documents");
  });

  test("a good document is a client: consent, tokens, refresh", async () => {
    const gateway = await start(withDocument());
    const client = await gateway.signIn({ registration: { client_id: ID, redirect_uris: [REDIRECT_URI] } });
    await expect(client.refresh()).resolves.toMatchObject({ token_type: "Bearer" });
  });

  test("the consent page shows the host of the document", async () => {
    const gateway = await start(withDocument());
    const outcome = await gateway
      .oauth()
      .authorize({ clientId: ID, redirectUri: REDIRECT_URI, challenge: createPkce().challenge, decision: "look" });
    expect(outcome.at === "page" && outcome.page.text).toContain("app.example.org");
  });

  test.each([
    ["another client_id", { ...document, client_id: `${ID}?x` }],
    ["a secret", { ...document, client_secret: "s" }],
    ["no redirect URIs", { ...document, redirect_uris: [] }],
  ])("a document with %s is refused on a page", async (_, fetched) => {
    expect(await attempt(await start(withDocument(fetched)), { client_id: ID })).toMatchObject({
      at: "page",
      page: { status: 400 },
    });
  });

  test("a document changed during consent invalidates the request", async () => {
    let current: object = document;
    const gateway = await start({ yaml, fetchClientDocument: async () => ({ ok: true, document: current }) as const });
    const oauth = gateway.oauth();
    const outcome = await oauth.authorize({
      clientId: ID,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "look",
    });
    if (outcome.at !== "page") throw new Error(outcome.url);
    current = { ...document, redirect_uris: ["https://evil.example/cb"] };
    gateway.clock.advance(120_000);
    expect((await oauth.browser.open(outcome.page.url)).status).toBe(400);
  });
});

test("a client document that cannot be read leaves its reason in the log, and none on the page", async () => {
  const lines: string[] = [];
  const reason = "unreachable: app.example.org: CERT_HAS_EXPIRED";
  const gateway = await start({
    yaml: `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`,
    log: createLog({ destination: { write: (line) => void lines.push(line) } }),
    fetchClientDocument: async () => ({ ok: false, reason, transient: true }),
  });
  const clientId = "https://app.example.org/client.json";
  const oauth = gateway.oauth();
  const outcome = await oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge: createPkce().challenge });
  if (outcome.at !== "page") throw new Error(outcome.url);
  expect(outcome.page.status).toBe(503);
  expect(outcome.page.text).not.toContain("CERT_HAS_EXPIRED");
  const answer = await oauth.sendToken({ grant_type: "refresh_token", refresh_token: "x", client_id: clientId });
  expect(answer.text).not.toContain("CERT_HAS_EXPIRED");
  const records = lines.map((line) => JSON.parse(line) as { msg: string; detail?: string });
  expect(records.map(({ msg, detail }) => [msg, detail])).toEqual([
    ["authorization request rejected", `document-unavailable: ${reason}`],
    ["token request rejected", `document-unavailable: ${reason}`],
  ]);
});
