/** Owners of a shared gateway who want power over each other's visitors: by publishing, and by their applications' tokens. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { visit } from "../../examples/demo/person.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createExternalTokens, type ExternalTokenClaims } from "../../runtime/identity/external-token.ts";
import { createHttpTarget } from "../../runtime/terraform/publish/publish-http.ts";
import { type AdminAnswer, type AdminClient, createAdminClient } from "../support/admin-client.ts";
import { createBrowser, createSend } from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const ALICE = "alice@example.com";
const POLICY = { allow: { and: [{ authenticated_user: true }] } };
const OWNERS = `
owners:
  team-a: { allow_local_upstreams: true, allowed_from: [localhost, "*.localhost"], allowed_tokens: [external] }
  team-b: { allow_local_upstreams: true, allowed_from: [localhost], allowed_tokens: [external, provider] }
  other.*: { allow_local_upstreams: true, allowed_from: [localhost] }
`;

let world: SignInGateway;
let upstream: EchoUpstream;
let admin: AdminClient;
let origin = "";
/** A host of team-a alone. */
let away = "";
/** Routes of the main configuration file. */
let routes = "";
const send = createSend();
const tokens = createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock: systemClock });

beforeAll(async () => {
  upstream = await startEchoUpstream();
  routes = `
routes:
  - { name: portal, from: "{origin}", prefix: /portal, to: "${upstream.origin}", mcp: { client: {} }, policy: ${JSON.stringify(POLICY)} }
  - { name: directory, from: "{origin}", prefix: /directory, to: "${upstream.origin}", mcp: { server: {} }, policy: ${JSON.stringify(POLICY)} }
`;
  world = await startSignInGateway({ yaml: OWNERS + routes });
  ({ origin } = world.gateway);
  admin = createAdminClient(world.gateway.adminOrigin, world.gateway.adminToken);
  away = origin.replace("localhost", "away.localhost");
  await published("team-a", {
    app: { mcp: { client: {} } },
    away: { from: away, mcp: { client: {} } },
    tools: { mcp: { server: {} } },
  });
  await published("team-b", {
    "b-app": { mcp: { client: {} } },
    secrets: { mcp: { server: {} } },
    shared: { mcp: { server: { allowed_applications: ["team-a"] } } },
  });
  await published("other.one", { wide: { mcp: { server: { allowed_applications: ["*"] } } } });
  await published("other.two", { some: { mcp: { server: { allowed_applications: ["other.*"] } } } });
});

afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

/** @param given routes by name, which is also the prefix */
function publish(
  owner: string,
  given: Readonly<Record<string, object>>,
  settings: object = {},
  match?: string,
): Promise<AdminAnswer> {
  const named = Object.entries(given).map(([name, more]) => [
    name,
    { from: origin, prefix: `/${name}`, to: upstream.origin, policy: POLICY, ...more },
  ]);
  const slice = { version: 1, owner, settings, routes: Object.fromEntries(named) };
  return admin.publish(owner, JSON.stringify(slice), match);
}

async function published(owner: string, given: Readonly<Record<string, object>>): Promise<void> {
  const answer = await publish(owner, given);
  expect(answer.status, answer.text).toBe(200);
}

/** Locations and reasons of a rejected slice. */
function problemsOf({ status, body }: AdminAnswer): readonly string[] {
  expect(status).toBe(422);
  return (body["problems"] as { severity: string; path: string; message: string }[])
    .filter(({ severity }) => severity === "error")
    .map(({ path, message }) => `${path} ${message}`);
}

/** The token that the application of a route gets with Alice's visit. */
async function tokenAt(prefix: string, browser = createBrowser()): Promise<string> {
  const page = await visit(browser, `${origin}/${prefix}/`, { user: ALICE });
  const { headers } = JSON.parse(page.text) as { headers: Record<string, string> };
  return (headers["authorization"] ?? "").replace(/^Bearer /, "");
}

const SERVERS = ["directory", "secrets", "shared", "some", "tools", "wide"];

/** The servers at which a token is good. */
async function opensAt(token: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const answers = await Promise.all(
    SERVERS.map(async (name) => {
      const { status } = await send({ method: "POST", url: `${origin}/${name}`, headers, body });
      expect([200, 401]).toContain(status);
      return status === 200 ? [name] : [];
    }),
  );
  return answers.flat();
}

async function listed(headers: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const answer = await send({ method: "GET", url: `${origin}/.gateway/mcp/routes`, headers });
  if (answer.status !== 200) return [`status ${answer.status}`];
  return (answer.json()["servers"] as { name: string }[]).map(({ name }) => name).sort();
}

const listedTo = (token: string) => listed({ authorization: `Bearer ${token}` });

function claimsOf(token: string): ExternalTokenClaims {
  const opened = tokens.open(token);
  if (!opened.ok) throw new Error(opened.reason);
  return opened.claims;
}

describe("an owner without permission", () => {
  test("gets no External Tokens of its visitors by publishing an MCP client route", async () => {
    expect(problemsOf(await publish("other.three", { bait: { mcp: { client: {} } } }))).toEqual([
      'routes.bait.mcp.client passes External Tokens of its users to the application, which owner "other.three" may not; ' +
        '"external" must be in "owners.other.*.allowed_tokens" of the main configuration file',
    ]);
  });

  test("gets location and reason from Terraform's provider", async () => {
    const target = createHttpTarget({
      url: world.gateway.adminOrigin,
      owner: "other.three",
      token: () => Promise.resolve(world.gateway.adminToken),
    });
    const bait = { from: origin, prefix: "/bait", to: upstream.origin, policy: POLICY, mcp: { client: {} } };
    const slice = { version: 1, owner: "other.three", routes: { bait } };

    await expect(target.write(JSON.stringify(slice), null)).rejects.toMatchObject({
      code: "publish.refused",
      parts: [{ path: "routes.bait.mcp.client", message: expect.stringContaining("owners.other.*.allowed_tokens") }],
    });
  });

  test.each([
    ["the access token", "${gateway.access_token}"],
    ["the ID token", "${gateway.id_token}"],
    ["a token inside of other text", 'x ${gateway.request.headers["A"]} $$ ${gateway.access_token} y'],
  ])("gets not %s of its visitors at the provider", async (_what, value) => {
    const bait = { set_request_headers: { "X-Mine": "plain", Authorization: value } };
    expect(problemsOf(await publish("other.three", { bait }))).toEqual([
      "routes.bait.set_request_headers.Authorization passes the identity provider's tokens of its users to the application, " +
        'which owner "other.three" may not; "provider" must be in "owners.other.*.allowed_tokens" of the main configuration file',
    ]);
  });

  test("has no ID tokens of its visitors exchanged for access to its upstream", async () => {
    const oauth = { client_id: "mine", client_secret_sealed: "mine", id_jag: {} };
    const answer = await publish("other.three", { bait: { mcp: { server: { upstream_oauth2: oauth } } } });
    expect(problemsOf(answer)).toContainEqual(
      "routes.bait.mcp.server.upstream_oauth2.id_jag exchanges ID tokens of its users for access to its upstream, " +
        'which owner "other.three" may not; "id_jag" must be in "owners.other.*.allowed_tokens" of the main configuration file',
    );
  });

  test("gets no provider token by leave for External Tokens", async () => {
    const bait = { set_request_headers: { A: "${gateway.id_token}" } };
    const answer = await publish("team-a", { bait }, {}, "*");
    expect(problemsOf(answer)).toEqual([
      expect.stringContaining('"owners.team-a.allowed_tokens" of the main configuration file'),
    ]);
  });

  test.each([
    ["takes tokens that were made for an application of its own", { idp_access_token_allowed_audiences: ["mine"] }],
    ["has programs' logins sent to itself", { programmatic_redirect_domain_whitelist: ["evil.example"] }],
    ["has people sign in elsewhere", { authenticate_service_url: "http://evil.example" }],
    ["lets itself in as an MCP client", { mcp_allowed_client_id_domains: ["evil.example"] }],
    ["sets headers on answers of others", { set_response_headers: { "Access-Control-Allow-Origin": "*" } }],
    ["sends claims to upstreams of others", { jwt_claims_headers: { "X-Role": "role" } }],
  ])("writes no setting that %s", async (_what, settings) => {
    const [name = ""] = Object.keys(settings);
    expect(problemsOf(await publish("other.three", {}, settings))).toContain(
      `settings.${name} is a setting that owner "other.three" may not write; it holds for the routes of all owners, ` +
        'so it must be in "owners.other.*.allowed_settings" of the main configuration file',
    );
  });

  test("still publishes what stays within its own routes", async () => {
    const own = { set_request_headers: { A: "${gateway.jwt}" } };
    expect((await publish("other.three", { own })).status).toBe(200);
    expect((await admin.remove("other.three")).status).toBe(200);
  });
});

describe("an application's token", () => {
  test("opens its owner's servers and those that name its owner, and none of another owner", async () => {
    const token = await tokenAt("app");
    expect(await opensAt(token)).toEqual(["shared", "tools", "wide"]);
    expect(await listedTo(token)).toEqual(["shared", "tools", "wide"]);
  });

  test("is another one for another owner's application on the same host", async () => {
    const browser = createBrowser();
    expect(claimsOf(await tokenAt("app", browser)).routeKey).toBe("team-a/app");
    const token = await tokenAt("b-app", browser);
    expect(claimsOf(token).routeKey).toBe("team-b/b-app");
    expect(await opensAt(token)).toEqual(["secrets", "shared", "wide"]);
    expect(await listedTo(token)).toEqual(["secrets", "shared", "wide"]);
  });

  test("opens every server when the boot file has the client route", async () => {
    const token = await tokenAt("portal");
    expect(await opensAt(token)).toEqual(SERVERS);
    expect(await listedTo(token)).toEqual(SERVERS);
  });

  test.each([
    ["says no route, as those of earlier versions", undefined],
    ["is of a route that is not there any more", "team-a/gone"],
    ["is of a route that is no client route", "default/directory"],
  ])("opens nothing when it %s", async (_what, routeKey) => {
    const { routeKey: _its, ...claims } = claimsOf(await tokenAt("portal"));
    const token = tokens.mint({ ...claims, ...(routeKey === undefined ? {} : { routeKey }) });
    expect(await opensAt(token)).toEqual([]);
    expect(await listedTo(token)).toEqual(["status 401"]);
  });

  test("disconnects no user from a server that it cannot call", async () => {
    const token = await tokenAt("app");
    const answer = await send({
      method: "POST",
      url: `${origin}/.gateway/mcp/routes/disconnect`,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ routes: [`${origin}/secrets`] }),
    });
    expect((answer.json()["servers"] as { name: string }[]).map(({ name }) => name)).not.toContain("secrets");
  });
});

test("a page on a host with applications of several owners lists only what all of them open", async () => {
  const browser = createBrowser();
  await visit(browser, `${origin}/app/`, { user: ALICE });

  expect(await listed({ cookie: browser.cookieHeader("localhost") })).toEqual(["shared", "wide"]);
});

test("connecting never redirects to an application that cannot call the server", async () => {
  const connect = async (server: string): Promise<{ readonly status: number; readonly isBack: boolean }> => {
    const query = new URLSearchParams({ resource: `${origin}/${server}`, redirect_url: `${away}/` });
    const url = `${origin}/.gateway/mcp/connect?${query.toString()}`;
    const { status, left } = await visit(createBrowser(), url, { user: ALICE, stopAt: away });
    return { status, isBack: left };
  };

  expect(await connect("shared")).toMatchObject({ isBack: true });
  expect(await connect("secrets")).toEqual({ status: 400, isBack: false });
});

describe("the process that opens a token", () => {
  test("decides by its own main configuration file, regardless of the issuing process", async () => {
    await world.reconfigure(routes);
    const token = await tokenAt("app");
    // Without `owners` an application reaches all servers that its user may use.
    expect(await opensAt(token)).toEqual(SERVERS);
    expect(await listedTo(token)).toEqual(SERVERS);

    await world.reconfigure(OWNERS + routes);
    expect(await opensAt(token)).toEqual(["shared", "tools", "wide"]);
    expect(await listedTo(token)).toEqual(["shared", "tools", "wide"]);
  });

  test("accepts tokens without a route if owners are not separated", async () => {
    const { routeKey: _its, ...claims } = claimsOf(await tokenAt("app"));
    const token = tokens.mint(claims);
    await world.reconfigure(routes);
    expect(await opensAt(token)).toEqual(SERVERS);
    await world.reconfigure(OWNERS + routes);
    expect(await opensAt(token)).toEqual([]);
  });
});
