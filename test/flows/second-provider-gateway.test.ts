/** A second identity provider at a whole gateway: policies that require it, and MCP clients of its users. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startMcpServer, type RunningMcpServer } from "../../examples/demo/mcp-server.ts";
import { createBrowser as createNavigator, findForm, findLink } from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { openAnswer, startLiveUpstream, type LiveUpstream } from "../support/live-upstream.ts";
import { createOAuthClient, createPkce, REDIRECT_URI, signInClient } from "../support/oauth-client.ts";
import { type Browser, createBrowser, type Page } from "../support/scripted-browser.ts";
import { createSdkProvider } from "../support/sdk-provider.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { startSecondProvider, type SecondProvider } from "../support/two-providers.ts";

const STAFF = "alice@example.com";
const VISITOR = "vera@corp.example";

let corp: SecondProvider;
let upstream: EchoUpstream;
let live: LiveUpstream;
let mcpServer: RunningMcpServer;
let world: SignInGateway;
let origin = "";
let routes = "";

beforeAll(async () => {
  [upstream, live, mcpServer] = await Promise.all([startEchoUpstream(), startLiveUpstream(), startMcpServer()]);
  corp = await startSecondProvider("corp", "http://localhost", {
    users: [
      {
        id: "u-alice",
        email: VISITOR,
        name: "Vera",
        groups: ["visitors"],
        claims: { preferred_username: "alice", user: "root" },
      },
    ],
  });
  const web = (name: string, policy: string): string =>
    `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: ${upstream.origin}, policy: ${policy} }`;
  const mcp = (name: string, to: string, path: string, policy: string): string =>
    `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: ${to}, mcp: { server: ${path} }, policy: ${policy} }`;
  routes = `
authorize_log_fields: [user, issuer]
jwt_claims_headers: { X-User: user, X-Login: preferred_username, X-Groups: groups }
routes:
${web("all", "{ allow: { and: [authenticated_user: true] } }")}
${web("corp", "{ allow: { and: [{ idp: corp }] } }")}
${web("corp-admins", "{ allow: { and: [{ idp: corp }, { groups: admins }] } }")}
${web("staff", "{ allow: { and: [authenticated_user: true] }, deny: { or: [{ idp: corp }] } }")}
${web("machines", "{ allow: { and: [{ user: 'service-account:ci' }, { idp: { not_in: [corp, default] } }] } }")}
${mcp("tools", mcpServer.origin, "{ path: /mcp }", "{ allow: { and: [{ idp: corp }] } }")}
${mcp("live", live.origin, "{}", "{ allow: { and: [authenticated_user: true] } }")}
`;
  world = await startSignInGateway({ yaml: corp.settings("", "email_domains: [typed.example]") + routes });
  ({ origin } = world.gateway);
  await corp.idp.allowRedirects("gateway-at-corp", [`${origin}/.gateway/callback/corp`]);
});
afterAll(async () => {
  await world?.close();
  await Promise.all([upstream?.close(), live?.close(), mcpServer?.close(), corp?.idp.close()]);
});

let trusted = true;
async function trust(wanted: boolean): Promise<void> {
  if (wanted === trusted) return;
  trusted = wanted;
  await world.reconfigure((wanted ? corp.settings() : "") + routes);
}
beforeEach(() => trust(true));

const choices = (page: Page): readonly string[] =>
  [...page.text.matchAll(/<a class="button[^"]*" href="[^"]*idp=([a-z]+)"/g)].map(([, name = ""]) => name);
const isAtProvider = (page: Page, { idp }: Pick<SecondProvider, "idp">): boolean => page.url.startsWith(idp.issuer);

/** A browser with a signed-in user. */
async function signedIn(name: "corp" | "default"): Promise<Browser> {
  const browser = createBrowser();
  const at = await browser.click(await browser.open(`${origin}/all/`), `idp=${name}`);
  expect((await browser.click(at, name === "corp" ? VISITOR : STAFF)).status).toBe(200);
  return browser;
}

describe("a route for the users of one provider", () => {
  test("leads straight there, others to the choice", async () => {
    const at = async (path: string): Promise<Page> => createBrowser().open(`${origin}/${path}/`);
    expect(isAtProvider(await at("corp"), corp)).toBe(true);
    expect(isAtProvider(await at("corp-admins"), corp)).toBe(true);
    expect(isAtProvider(await at("staff"), { idp: world.identityProvider })).toBe(true);
    expect(choices(await at("all"))).toEqual(["default", "corp"]);
    // Users of both are denied: the choice does not matter.
    expect(choices(await at("machines"))).toEqual(["default", "corp"]);
  });

  test("accepts and denies them like other users", async () => {
    const browser = await signedIn("corp");
    expect((await browser.open(`${origin}/corp/`)).status).toBe(200);
    const denied = await browser.open(`${origin}/corp-admins/`);
    expect([denied.status, denied.hops.length]).toEqual([403, 1]);
    const record = (await world.gateway.records()).findLast(({ user }) => user === "issuer:corp/u-alice");
    expect(record).toMatchObject({ issuer: "corp", "allow-why-false": ["groups-unauthorized"] });
  });

  test("qualifies user names for upstreams, in plain headers like in the signed one", async () => {
    const browser = await signedIn("corp");
    await browser.open(`${origin}/corp/`);
    const headers = upstream.seen.at(-1)?.headers ?? {};
    const [, payload = ""] = String(headers["x-gateway-assertion"]).split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
    expect([headers["x-user"], claims["user"]]).toEqual(["issuer:corp/u-alice", "issuer:corp/u-alice"]);
    expect([headers["x-login"], claims["preferred_username"]]).toEqual(["issuer:corp/alice", "issuer:corp/alice"]);
    expect([headers["x-groups"], claims["groups"]]).toEqual(["visitors", ["visitors"]]);
  });

  test("offers its provider to a user of another one, who stays signed in, without a loop", async () => {
    const browser = await signedIn("default");
    const page = await browser.open(`${origin}/corp/page?x=1`);
    expect([page.status, choices(page)]).toEqual([200, ["corp"]]);
    expect(page.text).toContain(`You are signed in as <strong>${STAFF}</strong>`);
    expect((await browser.open(`${origin}/all/`)).status).toBe(200);
    const script = await browser.open(`${origin}/corp/`, { mode: "cors" });
    expect([script.status, script.hops.length]).toEqual([401, 1]);

    const back = await browser.click(await browser.click(page, "idp=corp"), VISITOR);
    expect([back.status, back.url]).toEqual([200, `${origin}/corp/page?x=1`]);
    const seen = await browser.open(`${origin}/.gateway/user`, { mode: "cors" });
    expect(JSON.parse(seen.text)).toMatchObject({ user: "issuer:corp/u-alice" });
    // And the other way round, where a deny rule keeps them out.
    expect(choices(await browser.open(`${origin}/staff/`))).toEqual(["default"]);
  });

  test("is not chosen for a signed-in user by an external link", async () => {
    const stranger = await createBrowser().open(`${origin}/corp/`);
    const link = stranger.hops.map(({ location }) => location ?? "").find((each) => each.includes("?ticket="));
    const browser = await signedIn("default");
    let page = await browser.open(origin);
    for (const choice of ["login_hint=vera%40typed.example", "idp=corp"]) {
      page = await browser.open(`${new URL(link ?? "", origin).href}&${choice}`);
      expect([page.status, page.hops.length, choices(page)]).toEqual([200, 1, ["corp"]]);
    }
    expect(isAtProvider(await browser.click(page, "idp=corp"), corp)).toBe(true);
  });

  test("denies a program token of another provider's user, without a redirect", async () => {
    const asked = await fetch(`${origin}/.gateway/api/v1/login?gateway_redirect_uri=http://127.0.0.1:9/back`);
    const browser = await signedIn("default");
    const page = await browser.open(await asked.text());
    const done = await browser.submit(page, { button: "Allow", follow: "http://127.0.0.1:9/" });
    const token = new URL(done.hops.at(-1)?.location ?? "").searchParams.get("gateway_jwt") ?? "";
    const ask = (path: string) =>
      fetch(origin + path, { redirect: "manual", headers: { authorization: `Bearer ${token}` } });
    expect((await ask("/all/")).status).toBe(200);
    expect((await ask("/corp/")).status).toBe(403);
  });
});

const textOf = (result: unknown): string => JSON.stringify((result as { content: unknown }).content);

describe("MCP clients of the second provider's users", () => {
  test("connect by the SDK: the requested resource determines the provider", async () => {
    const navigator = createNavigator();
    const { provider: authProvider, callback } = createSdkProvider(
      async (url) => new URL(await consent(navigator, url.href, VISITOR)),
      { callback: REDIRECT_URI },
    );
    const url = new URL(`${origin}/tools/mcp`);
    const first = new StreamableHTTPClientTransport(url, { authProvider });
    await expect(new Client({ name: "v2", version: "1" }).connect(first)).rejects.toThrow();
    await first.finishAuth(callback());
    const client = new Client({ name: "v2", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
    expect(textOf(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
    await client.close();
  });

  test("offer it at the consent of a user signed in elsewhere", async () => {
    const browser = await signedIn("default");
    const resource = `${origin}/tools/mcp`;
    const { client_id } = await createOAuthClient({ resource }).register();
    const query = new URLSearchParams({
      response_type: "code",
      client_id,
      redirect_uri: REDIRECT_URI,
      code_challenge: createPkce().challenge,
      code_challenge_method: "S256",
      resource,
    });
    const page = await browser.open(`${origin}/.gateway/mcp/authorize?${query.toString()}`);
    expect([page.status, choices(page)]).toEqual([200, ["corp"]]);
    const consenting = await browser.click(await browser.click(page, "idp=corp"), VISITOR);
    expect(consenting.url).toContain("/.gateway/mcp/consent?request=");
    expect(consenting.text).toContain("Signed in as <strong>Vera</strong>");
  });

  test("lose access, open streams and refresh tokens when the provider leaves the configuration", async () => {
    const client = await signInClient({ resource: `${origin}/live`, press: "CORP", user: VISITOR });
    const headers = { authorization: `Bearer ${client.tokens.access_token}`, accept: "text/event-stream" };
    const stream = await openAnswer(world.gateway.port, `${origin}/live`, headers);
    expect(stream.status).toBe(200);
    const browser = await signedIn("corp");
    await trust(false);
    await stream.ended;
    expect((await fetch(`${origin}/live`, { headers })).status).toBe(401);
    await expect(client.refresh()).rejects.toThrow("invalid_grant");
    expect(isAtProvider(await browser.open(`${origin}/all/`), { idp: world.identityProvider })).toBe(true);
  });
});

/** The client's redirect with the response. */
async function consent(navigator: ReturnType<typeof createNavigator>, url: string, user: string): Promise<string> {
  let page = await navigator.open(url, REDIRECT_URI);
  page = await navigator.open(findLink(page, user) ?? "", REDIRECT_URI);
  const form = findForm(page, "/.gateway/mcp/consent");
  if (!form) throw new Error(`no consent: ${page.status} ${page.url}`);
  page = await navigator.submit(page, form, { decision: "approve" }, REDIRECT_URI);
  return page.url;
}
