/** Owners with upstreams on the gateway's own host, addresses that only it can reach, or names that lead there. */
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { readFile, writeFile } from "node:fs/promises";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { visit } from "../../examples/demo/person.ts";
import { createAdminClient } from "../support/admin-client.ts";
import { createBrowser } from "../support/browser.ts";
import { startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

/** A listener for the local host only, like an admin listener. It counts connections, and never responds. */
const victim = { port: 0, connections: 0, close: (): void => {} };
let gateway: TestGateway;

beforeAll(async () => {
  const server = createServer((socket) => {
    victim.connections += 1;
    socket.on("error", () => {});
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  victim.port = (server.address() as AddressInfo).port;
  victim.close = () => void server.close();
  const owners = { team: {}, trusted: { allow_local_upstreams: true } };
  gateway = await startGateway({ yaml: "routes: []", boot: { owners } });
});
afterAll(async () => {
  await gateway.close();
  victim.close();
});

/** The whole slice of an owner: one route. @returns the response to its publisher */
async function publish(owner: string, route: object): Promise<{ readonly warnings: readonly { message: string }[] }> {
  const answer = await fetch(`${gateway.adminOrigin}/config/slices/${owner}`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${gateway.adminToken}`,
      ...((await isThere(owner)) ? { "if-match": "*" } : { "if-none-match": "*" }),
    },
    body: JSON.stringify({
      version: 1,
      owner,
      routes: {
        one: { from: gateway.origin, prefix: `/${owner}`, allow_public_unauthenticated_access: true, ...route },
      },
    }),
  });
  const said = (await answer.json()) as { warnings: readonly { message: string }[] };
  expect([answer.status, JSON.stringify(said)]).toEqual([200, expect.any(String)]);
  return said;
}

async function isThere(owner: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${gateway.adminToken}` };
  return (await fetch(`${gateway.adminOrigin}/config/slices/${owner}`, { method: "HEAD", headers })).status === 200;
}

async function handshake(path: string): Promise<number> {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: localhost:${gateway.port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  return (await sendRaw(gateway.port, `${lines.join("\r\n")}\r\n\r\n`)).status;
}

/** Log lines of the action. */
async function logged(act: () => Promise<unknown>): Promise<string> {
  const before = gateway.log().length;
  await act();
  return gateway.log().slice(before);
}

const CHECK = { timeout: "2s", interval: "1s", healthy_threshold: 1, unhealthy_threshold: 1 };
const at = (host: string, scheme = "http"): string => `${scheme}://${host}:${victim.port}`;

const own = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4");

/** How connections to upstreams are opened: each way must refuse. */
const ways: readonly (readonly [string, object, (path: string) => Promise<unknown>])[] = [
  ["HTTP/1.1", {}, (path) => fetch(gateway.origin + path)],
  ["HTTP/2", { http2: true }, (path) => fetch(gateway.origin + path)],
  ["WebSocket", { allow_websockets: true }, handshake],
];

describe.each(ways)("over %s", (_, settings, ask) => {
  test.each(["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "0x7f.1"])(
    "%s is not reached by an owner without leave",
    async (host) => {
      await publish("team", { to: at(host), ...settings });
      victim.connections = 0;

      const log = await logged(() => ask("/team"));

      expect(victim.connections).toBe(0);
      expect(log).toContain("an address of the gateway's own host");
      expect(log).toContain('"failure":"unreachable"');
    },
  );

  test.each(["localhost", "127.0.0.1"])("%s over TLS is not reached either", async (host) => {
    await publish("team", { to: at(host, "https"), ...settings });
    victim.connections = 0;

    const log = await logged(() => ask("/team"));

    expect(victim.connections).toBe(0);
    expect(log).toContain("an address of the gateway's own host");
  });

  test.each(["0.0.0.0", "[::]", "169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"])(
    "%s is not reached by an owner, with leave or without",
    async (host) => {
      for (const owner of ["team", "trusted"]) {
        await publish(owner, { to: at(host), ...settings });
        victim.connections = 0;

        const log = await logged(() => ask(`/${owner}`));

        expect(victim.connections).toBe(0);
        expect(log).toContain("a link-local, metadata or reserved address");
      }
    },
  );

  test.skipIf(own === undefined).each(["", "[::ffff:", "[0:0:0:0:0:ffff:"])(
    "an address of the host itself in a network is not reached, written as %s",
    async (before) => {
      const address = own?.address ?? "";
      await publish("team", { to: at(before === "" ? address : `${before}${address}]`), ...settings });

      expect(await logged(() => ask("/team"))).toContain("an address of the gateway's own host");
    },
  );

  test("an owner with leave reaches it", async () => {
    await publish("trusted", { to: at("localhost"), ...settings });
    victim.connections = 0;

    await ask("/trusted");

    expect(victim.connections).toBeGreaterThan(0);
  });
});

describe("a health check", () => {
  test.each([
    ["http_health_check", { path: "/" }],
    ["tcp_health_check", {}],
    ["grpc_health_check", {}],
  ])("by %s reaches nothing either", async (kind, probe) => {
    for (const host of ["localhost", "127.0.0.1"]) {
      victim.connections = 0;
      const seen = gateway.log().length;
      await publish("team", { to: at(host), health_checks: [{ ...CHECK, [kind]: probe }] });

      await expect
        .poll(() => gateway.log().slice(seen))
        .toMatch(/an address of the gateway's own host.*upstream is unhealthy/);

      expect(victim.connections).toBe(0);
    }
  });
});

describe("an authorization server that a route names", () => {
  const policy = { allow: { and: [{ authenticated_user: true }] } };
  const oauth = { client_id: "x", endpoint: { auth_url: "https://auth.example.com/", token_url: "" } };
  let world: SignInGateway;

  beforeAll(async () => {
    world = await startSignInGateway({
      yaml: `
mcp_allowed_as_metadata_domains: [localhost, "127.0.0.1"]
owners:
  team: { allowed_tokens: [external] }
  trusted: { allow_local_upstreams: true, allowed_tokens: [external] }
routes: []
`,
    });
  });
  afterAll(() => world?.close());

  /** Alice connects, and comes back from the authorization server with a code. */
  async function connect(owner: string, server: object): Promise<void> {
    const { origin, adminOrigin, adminToken } = world.gateway;
    const admin = createAdminClient(adminOrigin, adminToken);
    victim.connections = 0;
    const route = { from: origin, to: at("localhost"), policy };
    const routes = {
      app: { ...route, prefix: `/${owner}/app`, mcp: { client: {} } },
      tools: { ...route, prefix: `/${owner}/tools`, mcp: { server } },
    };
    const isNew = (await admin.get(`/config/slices/${owner}`)).status === 404;
    const said = await admin.publish(owner, JSON.stringify({ version: 1, owner, routes }), isNew ? undefined : "*");
    expect(said.status, said.text).toBe(200);
    const browser = createBrowser();
    await visit(browser, `${origin}/.gateway/`, { user: "alice@example.com" });
    const query = new URLSearchParams({
      redirect_url: `${origin}/${owner}/app/`,
      resource: `${origin}/${owner}/tools`,
    });
    const page = await browser.open(`${origin}/.gateway/mcp/connect?${query.toString()}`, "https://auth.example.com/");
    const state = new URL(page.url).searchParams.get("state");
    if (state === null) return;
    await browser.open(`${origin}/.gateway/mcp/client/oauth/callback?code=x&state=${state}`, `${origin}/${owner}/app/`);
  }

  test.each(["localhost", "127.0.0.1", "[::1]"])(
    "by its token_url at %s is not reached without leave",
    async (host) => {
      const server = { upstream_oauth2: { ...oauth, endpoint: { ...oauth.endpoint, token_url: `${at(host)}/token` } } };
      await connect("team", server);
      expect(victim.connections).toBe(0);

      if (host !== "[::1]") await connect("trusted", server);
      if (host !== "[::1]") expect(victim.connections).toBeGreaterThan(0);
    },
  );

  test("at the upstream itself is not reached by discovery without leave", async () => {
    await connect("team", {});
    expect(victim.connections).toBe(0);

    await connect("trusted", {});
    expect(victim.connections).toBeGreaterThan(0);
  });
});

test("the publisher is warned of an address that will be refused", async () => {
  const said = await publish("team", { to: at("127.0.0.1") });

  expect(said.warnings.map(({ message }) => message).join()).toContain("allow_local_upstreams");
});

test("a revoked permission ends open connections", async () => {
  const upstream = await startEchoUpstream();
  try {
    await publish("trusted", { to: upstream.origin });
    expect((await fetch(`${gateway.origin}/trusted`)).status).toBe(200);
    const changed = new Promise<void>((resolve) => gateway.runtime.onChange(resolve));
    const text = await readFile(gateway.configFile, "utf8");
    await writeFile(gateway.configFile, text.replace("allow_local_upstreams: true", "allow_local_upstreams: false"));
    await changed;

    // No request can use the pooled connection.
    expect((await fetch(`${gateway.origin}/trusted`)).status).toBe(502);
    expect(upstream.seen).toHaveLength(1);
  } finally {
    await upstream.close();
  }
});
