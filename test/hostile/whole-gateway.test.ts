/**
 * A whole gateway under attack: two route hosts, several routes on one of them, sign-in on a host of its own, SQLite.
 * Every credential that the gateway makes is tried at every door, and every door that is not its own stays shut.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createSend, type Answer } from "../support/browser.ts";
import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import type { TestGateway } from "../support/gateway.ts";
import { clientProof, createPkce, REDIRECT_URI, signInClient } from "../support/oauth-client.ts";
import type { SignedInClient } from "../support/oauth-client.ts";
import { sendRaw } from "../support/raw-client.ts";
import { createBrowser } from "../support/scripted-browser.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

let directory: string;
let world: SignInGateway;
let gateway: TestGateway;
let upstream: EchoUpstream;
let host: string;
let otherHost: string;
let pages: string;
let client: SignedInClient;
let hostWide: string;
/** Kind → value; all belong to alice. */
let credentials: Record<string, string>;
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  process.on("unhandledRejection", noteUnhandled);
  directory = await mkdtemp(join(tmpdir(), "gateway-hostile-"));
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    pagesHost: "127.0.0.1",
    boot: { storage_url: `sqlite:${join(directory, "store.db")}`, log_level: "debug" },
    yaml: routes("{origin}", "http://other.localhost:1"),
  });
  ({ gateway } = world);
  host = `localhost:${gateway.port}`;
  otherHost = `other.localhost:${gateway.port}`;
  pages = `127.0.0.1:${gateway.port}`;
  await world.reconfigure(routes(gateway.origin, `http://${otherHost}`));
  credentials = await collectCredentials();
});

afterAll(async () => {
  await world?.close();
  await upstream?.close();
  await rm(directory, { recursive: true, force: true });
  process.off("unhandledRejection", noteUnhandled);
});

function routes(origin: string, other: string): string {
  const app = (name: string, from: string, prefix: string, policy: string, mcp = ""): string =>
    `  - { name: ${name}, from: "${from}", prefix: "${prefix}", to: "${upstream.origin}", ${mcp} policy: { allow: { and: [{ ${policy} }] } } }`;
  return [
    "authorize_log_fields: [request-id, user, email, path, mcp-method, mcp-tool, mcp-tool-parameters]",
    "routes:",
    app("app-a", origin, "/app-a", "authenticated_user: true"),
    app("app-b", origin, "/app-b", "email: { is: bob@example.com }"),
    app("assistant", origin, "/assistant", "authenticated_user: true", "mcp: { client: {} },"),
    app("tools", origin, "/tools", "authenticated_user: true", "mcp: { server: { path: /mcp } },"),
    app("notes", origin, "/notes", "authenticated_user: true", "mcp: { server: { path: /mcp } },"),
    app("other", other, "/app", "authenticated_user: true"),
    app("other-tools", other, "/tools", "authenticated_user: true", "mcp: { server: {} },"),
  ].join("\n");
}

const send = (request: {
  readonly method?: string;
  readonly host?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}): Promise<Answer> =>
  createSend({ via: gateway.port })({
    method: request.method ?? "GET",
    url: `http://${request.host ?? host}${request.path}`,
    ...(request.headers && { headers: request.headers }),
    ...(request.body !== undefined && { body: request.body }),
  });

const MESSAGE = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
const callTools = (token: string, path: string, at = host): Promise<Answer> =>
  send({
    method: "POST",
    host: at,
    path,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: MESSAGE,
  });
const sendForm = (path: string, form: Readonly<Record<string, string>>, headers = {}, at = host): Promise<Answer> =>
  send({
    method: "POST",
    host: at,
    path,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(form).toString(),
  });

/** One of each kind, got as its owner gets it. */
async function collectCredentials(): Promise<Record<string, string>> {
  const resource = `${gateway.origin}/tools/mcp`;
  client = await signInClient({
    resource,
    user: "alice@example.com",
    metadata: { token_endpoint_auth_method: "client_secret_post" },
  });
  const { oauth, registration } = client;

  // For the whole host, like clients without a resource.
  const { verifier, challenge } = createPkce();
  const clientId = registration.client_id;
  const wide = await oauth.authorize({
    clientId,
    redirectUri: REDIRECT_URI,
    challenge,
    parameters: { resource: undefined },
  });
  const wideCode = wide.at === "client" ? (wide.parameters["code"] ?? "") : "";
  const exchanged = await oauth.sendToken({
    grant_type: "authorization_code",
    code: wideCode,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
    ...clientProof(registration),
  });
  hostWide = String(exchanged.json()["access_token"]);
  const unused = await oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge });
  const waiting = await oauth.authorize({
    clientId,
    redirectUri: REDIRECT_URI,
    challenge,
    parameters: { prompt: "consent" },
    decision: "look",
  });

  const browser = createBrowser();
  const home = await browser.signIn(`${gateway.origin}/assistant/home`, "alice@example.com");
  const { headers } = JSON.parse(home.text) as { headers: Record<string, string> };
  const ticketHop = (await browser.open(`http://${otherHost}/app`, { follow: false })).hops.at(-1);
  const atPages = await browser.open(ticketHop?.location ?? "", { follow: `http://${otherHost}/.gateway/return` });
  const own = await browser.open(`http://${pages}/.gateway/`);
  return {
    cookie: browser.jar.get("localhost", "gateway_session")?.value ?? "",
    pagesCookie: browser.jar.get("127.0.0.1", "gateway_session")?.value ?? "",
    access: client.tokens.access_token,
    hostWide,
    application: String(headers["authorization"]).replace("Bearer ", ""),
    refresh: client.tokens.refresh_token ?? "",
    code: unused.at === "client" ? (unused.parameters["code"] ?? "") : "",
    clientSecret: registration.client_secret ?? "",
    waitingRequest: /name="request" value="([^"]+)"/.exec(waiting.at === "page" ? waiting.page.text : "")?.[1] ?? "",
    ticket: new URL(ticketHop?.location ?? "http://none/").searchParams.get("ticket") ?? "",
    signInCode: new URL(atPages.hops.at(-1)?.location ?? "http://none/").searchParams.get("code") ?? "",
    csrf: /name="csrf" value="([^"]+)"/.exec(own.text)?.[1] ?? "",
    assertion: String(headers["x-gateway-assertion"]),
    admin: gateway.adminToken,
  };
}

/** Every place that takes a credential, and whether it opened for this one. */
const doors: Readonly<Record<string, (value: string) => Promise<boolean>>> = {
  "MCP route": async (value) => (await callTools(value, "/tools/mcp")).status === 200,
  "another MCP route of the host": async (value) => (await callTools(value, "/notes/mcp")).status === 200,
  "an MCP route of another host": async (value) => (await callTools(value, "/tools", otherHost)).status === 200,
  "MCP route, as a cookie": async (value) =>
    (
      await send({
        method: "POST",
        path: "/tools/mcp",
        headers: { cookie: `gateway_session=${value}`, "content-type": "application/json" },
        body: MESSAGE,
      })
    ).status === 200,
  "web route, as a cookie": async (value) =>
    (await send({ path: "/app-a", headers: { cookie: `gateway_session=${value}` } })).status === 200,
  "web route of another host, as a cookie": async (value) =>
    (await send({ host: otherHost, path: "/app", headers: { cookie: `gateway_session=${value}` } })).status === 200,
  "web route, as a bearer": async (value) =>
    (await send({ path: "/app-a", headers: { authorization: `Bearer ${value}` } })).status === 200,
  "list of servers, as a bearer": async (value) =>
    (await send({ path: "/.gateway/mcp/routes", headers: { authorization: `Bearer ${value}` } })).status === 200,
  "list of servers, as a cookie": async (value) =>
    (await send({ path: "/.gateway/mcp/routes", headers: { cookie: `gateway_session=${value}` } })).status === 200,
  "own page, as a cookie": async (value) =>
    (await send({ host: pages, path: "/.gateway/user", headers: { cookie: `gateway_session=${value}` } })).status ===
    200,
  "own page, as a bearer": async (value) =>
    (await send({ host: pages, path: "/.gateway/user", headers: { authorization: `Bearer ${value}` } })).status === 200,
  "refresh grant": async (value) =>
    (
      await sendForm("/.gateway/mcp/token", {
        grant_type: "refresh_token",
        refresh_token: value,
        ...clientProof(client.registration),
      })
    ).status === 200,
  "code grant, without its verifier": async (value) =>
    (
      await sendForm("/.gateway/mcp/token", {
        grant_type: "authorization_code",
        code: value,
        redirect_uri: REDIRECT_URI,
        code_verifier: "x".repeat(43),
        ...clientProof(client.registration),
      })
    ).status === 200,
  "client secret": async (value) =>
    (
      await sendForm("/.gateway/mcp/revoke", {
        client_id: client.registration.client_id,
        client_secret: value,
        token: "none",
      })
    ).status === 200,
  ticket: async (value) =>
    (
      await send({
        host: pages,
        path: `/.gateway/sign_in?ticket=${encodeURIComponent(value)}`,
        headers: { accept: "text/html" },
      })
    ).status === 302,
  "one-time code of another browser": async (value) =>
    (await send({ host: otherHost, path: `/.gateway/return?code=${encodeURIComponent(value)}` })).status === 302,
  "callback's state": async (value) =>
    (await send({ host: pages, path: `/.gateway/callback?code=x&state=${encodeURIComponent(value)}` })).status === 302,
  "consent, as another": async (value) =>
    (await send({ host: pages, path: `/.gateway/mcp/consent?request=${encodeURIComponent(value)}` })).status === 200,
  "sign-out without a session": async (value) =>
    (
      await sendForm(
        "/.gateway/sign_out",
        { csrf: value },
        { origin: gateway.origin, cookie: `gateway_session=${value}` },
      )
    ).text.includes("Signed out") &&
    (await send({ path: "/app-a", headers: { cookie: `gateway_session=${credentials["cookie"] ?? ""}` } })).status !==
      200,
  "admin status": async (value) =>
    (
      await createSend()({
        method: "GET",
        url: `${gateway.adminOrigin}/status`,
        headers: { authorization: `Bearer ${value}` },
      })
    ).status === 200,
};

/** Access that each one has; everything else is denied. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  cookie: ["web route, as a cookie", "list of servers, as a cookie"],
  pagesCookie: ["own page, as a cookie"],
  access: ["MCP route"],
  hostWide: ["MCP route", "another MCP route of the host"],
  application: [
    "MCP route",
    "another MCP route of the host",
    "an MCP route of another host",
    "list of servers, as a bearer",
  ],
  refresh: ["refresh grant"],
  code: [],
  clientSecret: ["client secret"],
  waitingRequest: [],
  ticket: ["ticket"],
  signInCode: [],
  csrf: [],
  assertion: [],
  admin: ["admin status"],
};

describe("every credential at every door", () => {
  test.each(Object.keys(ALLOWED))("%s opens what it is for and nothing else", async (kind) => {
    const value = credentials[kind] ?? "";
    expect(value).not.toBe("");
    const opened: string[] = [];
    for (const [door, open] of Object.entries(doors)) if (await open(value)) opened.push(door);
    expect(opened).toEqual(ALLOWED[kind]);
  });

  test("afterwards all of them still work for their owner", async () => {
    expect((await callTools(client.tokens.access_token, "/tools/mcp")).status).toBe(200);
    expect((await callTools(hostWide, "/notes/mcp")).status).toBe(200);
    await expect(client.refresh()).resolves.toBeDefined();
  });
});

describe("requests to the upstreams", () => {
  test("contain no credential of ours except the application's own", () => {
    const seen = JSON.stringify(upstream.seen);
    expect(upstream.seen.length).toBeGreaterThan(5);
    for (const [kind, value] of Object.entries(credentials)) {
      if (kind !== "application" && kind !== "assertion") expect([kind, seen.includes(value)]).toEqual([kind, false]);
    }
    const withToken = upstream.seen.filter(({ headers }) => headers.authorization !== undefined);
    expect(withToken.every(({ target }) => target.startsWith("/assistant"))).toBe(true);
  });

  test("are in no log line and no record either", async () => {
    const lines = gateway.log() + (await gateway.recordText());
    expect(lines).toContain("grant created");
    for (const [kind, value] of Object.entries(credentials))
      expect([kind, lines.includes(value)]).toEqual([kind, false]);
  });
});

describe("the public listener", () => {
  test.each([
    "/metrics",
    "/healthz",
    "/readyz",
    "/status",
    "/debug/pprof",
    "/debug/vars",
    "/admin",
    "/ping",
    "/server_info",
    "/config_dump",
    "/stats",
    "/.gateway/metrics",
    "/.gateway/status",
    "/.gateway/healthz",
    "/.gateway/admin",
    "/.gateway/debug",
    "/.gateway/slices",
    "/.gateway/mcp",
    "/.gateway/mcp/token/x",
    "/.gateway/user/x",
    "/.well-known/gateway",
    "/.well-known/gateway/keys",
    "/.well-known/oauth-protected-resource/none",
  ])("%s is not found there", async (path) => {
    for (const at of [host, otherHost, pages]) {
      const before = upstream.seen.length;
      const answer = await send({ host: at, path, headers: { authorization: `Bearer ${gateway.adminToken}` } });
      expect([at, answer.status]).toEqual([at, 404]);
      expect(upstream.seen.length).toBe(before);
    }
  });

  test.each([
    "ELB-HealthChecker/2.0",
    "GoogleHC/1.0",
    "kube-probe/1.31",
    "Prometheus/3.0",
    "curl/8",
    "Amazon CloudFront",
    "",
  ])("a User-Agent of %j decides nothing", async (agent) => {
    const headers = { "user-agent": agent };
    expect((await send({ path: "/app-a", headers })).status).toBe(401);
    expect((await send({ path: "/tools/mcp", headers })).status).toBe(401);
  });

  test.each([
    ["X-Forwarded-Uri", "/public"],
    ["X-Original-URL", "/.gateway/"],
    ["X-Rewrite-URL", "/"],
    ["X-Forwarded-Host", "127.0.0.1"],
    ["X-Forwarded-For", "127.0.0.1"],
    ["X-Real-IP", "127.0.0.1"],
    ["X-Forwarded-User", "alice"],
    ["X_Forwarded_Email", "alice@example.com"],
    ["X-Gateway-Assertion", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."],
    ["X-Envoy-Internal", "true"],
    ["X-Router-Key", "secret"],
    ["Mcp-Init-Host", "localhost"],
    ["X-HTTP-Method-Override", "OPTIONS"],
    ["Sec-Fetch-Site", "same-origin"],
  ])("a %s header grants nothing and identifies no user", async (name, value) => {
    expect((await send({ path: "/app-a", headers: { [name]: value } })).status).toBe(401);
    expect((await send({ path: "/tools/mcp", headers: { [name]: value } })).status).toBe(401);
    const known = await send({
      path: "/app-a",
      headers: { [name]: value, cookie: `gateway_session=${credentials["cookie"] ?? ""}` },
    });
    expect(known.status).toBe(200);
    expect(JSON.stringify((JSON.parse(known.text) as { headers: object }).headers)).not.toContain(
      "eyJhbGciOiJub25lIn0",
    );
  });

  test.each(["/app-a", "/assistant/x", "/tools/mcp", "/.gateway/user", "/.gateway/mcp/routes"])(
    "a random bearer is 401 at %s",
    async (path) => {
      for (const token of [
        "x",
        "gwt_x",
        "null",
        "undefined",
        "0",
        "eyJhbGciOiJub25lIn0.e30.",
        `gwt_${"A".repeat(400)}`,
      ]) {
        const answer = await send({ path, headers: { authorization: `Bearer ${token}` } });
        expect([token, answer.status]).toEqual([token, 401]);
      }
    },
  );

  test.each([
    "/app-a/../app-b",
    "/app-a/..%2fapp-b",
    "/app-a/%2e%2e/app-b",
    "/app-a//app-b",
    "/app-a/..;/app-b",
    "/app-b;x",
    "/%61pp-b",
    "/app-b/",
    "/app-b%2f",
    "/./app-b",
  ])("%s leads alice nowhere near the route of bob", async (path) => {
    const before = upstream.seen.length;
    const answer = await sendRaw(
      gateway.port,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: gateway_session=${credentials["cookie"] ?? ""}\r\nConnection: close\r\n\r\n`,
    );
    expect([400, 403]).toContain(answer.status);
    expect(upstream.seen.length).toBe(before);
  });

  test.each(["evil.example", "127.0.0.1", "localhost", "localhost:1", "localhost.", "[::1]"])(
    "Host %s serves nothing",
    async (name) => {
      for (const path of ["/app-a", "/.gateway/user", "/.gateway/mcp/register"]) {
        const answer = await sendRaw(
          gateway.port,
          `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`,
        );
        expect([path, answer.status]).toEqual([path, 404]);
      }
    },
  );
});

describe("tokens of ours in the answers of our own pages", () => {
  test("the user's page and JSON hold none of them", async () => {
    const headers = { cookie: `gateway_session=${credentials["pagesCookie"] ?? ""}`, accept: "text/html" };
    for (const path of ["/.gateway/", "/.gateway/user", "/.gateway/sign_out"]) {
      const { status, text } = await send({ host: pages, path, headers });
      expect(status).toBe(200);
      for (const kind of ["cookie", "pagesCookie", "access", "refresh", "application", "assertion", "clientSecret"]) {
        expect([path, kind, text.includes(credentials[kind] ?? "?")]).toEqual([path, kind, false]);
      }
      expect(text).not.toMatch(/eyJ[A-Za-z0-9_-]+\.eyJ/);
    }
  });
});

test("the store's file and its side files are readable by their owner only", async () => {
  for (const ending of ["", "-wal", "-shm"]) {
    const { mode } = await stat(join(directory, `store.db${ending}`));
    expect([ending, mode & 0o077]).toEqual([ending, 0]);
  }
});

test("no promise was left to reject unhandled", () => {
  expect(unhandled).toEqual([]);
});
