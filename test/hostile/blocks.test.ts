/**
 * Ways around the incident brake: requests started before a block that end after it, other credentials and accounts of
 * a blocked user, and our own endpoints of a blocked route. Whole gateway, real oidc-provider, real sockets.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request as httpRequest, type ClientRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";

import { within2s } from "../support/promised.ts";
import { block, unblock } from "../../runtime/tools/commands/blocks.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createSend, type Answer, type Browser } from "../support/browser.ts";
import { runCommand } from "../support/run-command.ts";
import { HANDSHAKE, openAnswer } from "../support/live-upstream.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

/** Key of an unreadable record. */
const ODD = "block:odd";
const send = createSend();

let directory: string;
let server: Server;
/** Requests that reached the upstream completely, and aborted ones. */
const upstream = { whole: [] as string[], broken: [] as string[], begun: [] as string[] };
let bench: UpstreamGateway;
let store: Store;
let alice: Browser;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-hostile-blocks-"));
  // It knows no WebSocket, and passes over the offer as servers do that have no listener for it.
  server = createServer((request, response) => {
    const what = `${request.method} ${request.url}`;
    upstream.begun.push(what);
    request.on("error", () => upstream.broken.push(what)).resume();
    request.on("end", () => {
      upstream.whole.push(what);
      const isStream = request.url === "/app/events";
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "text/plain" });
      if (isStream) response.write("data: begun\n\n");
      else response.end("done");
    });
  });
  server.on("upgrade", (request, socket) => {
    upstream.begun.push(`upgrade ${request.url}`);
    socket.on("error", () => {}).on("end", () => socket.end());
    socket.resume();
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: begun\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const storage = `sqlite:${join(directory, "gateway.db")}`;
  const everybody = "policy: { allow: { and: [authenticated_user: true] } }";
  bench = await startUpstreamGateway({
    boot: { storage_url: storage },
    users: [{ id: "u-twin", email: "Alice@example.com", name: "Alice Twin", groups: [] }],
    change: (yaml) =>
      `${yaml}  - { name: app, from: "{origin}", prefix: /app, to: "${to}", allow_websockets: true, ${everybody} }\n`,
  });
  store = await openRecords(storage, { clock: systemClock, log: silentLog() });
  alice = await bench.person();
});
afterAll(async () => {
  await store?.close();
  await bench?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true, force: true });
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const { key } of await store.list("blocks")) await store.delete(key);
  await store.append("blocks", "changed", Math.floor(Date.now() / 1000) + 60);
  await expect.poll(within2s(inForce)).toBe(0);
});

const config = (): { config: string } => ({ config: bench.gateway.configFile });
async function inForce(): Promise<number> {
  const headers = { authorization: `Bearer ${bench.gateway.adminToken}` };
  const answer = await fetch(`${bench.gateway.adminOrigin}/status`, { headers });
  return ((await answer.json()) as { blocks: object[] }).blocks.length;
}

/** Resolves when it is active. */
async function blocked(kind: string, name: string): Promise<void> {
  vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
  expect(await block(kind, name, config())).toBe(0);
  const stored = (await store.list("blocks")).filter(({ key }) => key !== ODD);
  await expect.poll(within2s(inForce)).toBe(stored.length);
}

const cookieOf = (browser: Browser): string => browser.cookieHeader("localhost");
const get = (path: string, headers: Readonly<Record<string, string>>): Promise<Answer> =>
  send({ method: "GET", url: `${bench.gateway.origin}${path}`, headers: { accept: "application/json", ...headers } });

/** A request with an incomplete body. */
function upload(
  path: string,
  headers: Readonly<Record<string, string>>,
): { sent: ClientRequest; over: Promise<unknown> } {
  const { origin, port } = bench.gateway;
  const sent = httpRequest({
    host: "127.0.0.1",
    port,
    method: "POST",
    path,
    agent: false,
    headers: { host: new URL(origin).host, cookie: cookieOf(alice), accept: "application/json", ...headers },
  });
  const over = new Promise<unknown>((resolve) => {
    sent.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", () => resolve("broken off"));
  });
  sent.write("123456789");
  return { sent, over };
}

describe("requests started before a block", () => {
  test("a short body that its sender held back does not reach the upstream afterwards", async () => {
    const before = (await bench.gateway.records()).length;
    const { sent, over } = upload("/app/held", { "content-length": "10" });
    // Decided.
    await expect.poll(within2s(async () => (await bench.gateway.records()).length)).toBe(before + 1);
    await blocked("user", "u-alice");
    sent.end("0");
    expect(await over).not.toBe(200);
    expect(upstream.begun).not.toContain("POST /app/held");
  });

  test.each([
    ["of unknown length", { "transfer-encoding": "chunked" }],
    ["of a known length", { "content-length": "100000" }],
  ])("an upload %s is broken off, and the upstream does not take it for whole", async (title, headers) => {
    const path = `/app/upload-${title.replaceAll(" ", "-")}`;
    const { over } = upload(path, headers);
    await expect.poll(within2s(() => upstream.begun)).toContain(`POST ${path}`);
    await blocked("user", "u-alice");
    expect(await over).not.toBe(200);
    await expect.poll(within2s(() => upstream.broken)).toContain(`POST ${path}`);
    expect(upstream.whole).not.toContain(`POST ${path}`);
  });

  test("an event stream that answers a WebSocket handshake is ended like any other", async () => {
    const { port, origin } = bench.gateway;
    const open = await openAnswer(port, `${origin}/app/events`, { cookie: cookieOf(alice), ...HANDSHAKE });
    expect(open.status).toBe(200);
    await blocked("user", "u-alice");
    await open.ended;
  });
});

describe("a user blocked by email address", () => {
  test("another account with the same address, and a service account with it, are also blocked", async () => {
    const twin = await bench.person("Alice@example.com");
    const args = ["--name", "hers", "--email", "Alice@example.com", "--expires", "1h"];
    const made = await runCommand("service-account", "create", "--config", bench.gateway.configFile, ...args);
    const authorization = `Bearer ${made.out.trim()}`;
    const asked = () =>
      Promise.all(
        [{ cookie: cookieOf(alice) }, { cookie: cookieOf(twin) }, { authorization }].map((who) => get("/app/x", who)),
      );
    expect((await asked()).map(({ status }) => status)).toEqual([200, 200, 200]);
    await blocked("user", "alice@example.com");
    expect((await asked()).map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(await unblock("user", "ALICE@example.com", config())).toBe(0);
    await expect.poll(within2s(inForce)).toBe(0);
    expect((await asked()).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("unblock by that address lifts it after the provider gave the user another one", async () => {
    await blocked("user", "alice@example.com");
    const identity = await store.get<{ email: string }>("identity:u-alice");
    if (!identity) throw new Error("alice is not known");
    const { value, version, ...rest } = identity;
    const renamed = await store.put(
      "identity:u-alice",
      { ...value, email: "a.smith@example.com" },
      { ...rest, ifVersion: version },
    );
    if (!renamed.ok) throw new Error("alice changed");
    try {
      expect(await unblock("user", "alice@example.com", config())).toBe(0);
      await expect.poll(within2s(inForce)).toBe(0);
    } finally {
      await store.put("identity:u-alice", value, { ...rest, ifVersion: renamed.version });
    }
  });
});

describe("our own addresses of a blocked route", () => {
  test("connect starts nothing at its upstream, and a started flow is not completed", async () => {
    const url = (route: string): string =>
      `${bench.gateway.origin}/.gateway/mcp/connect?redirect_url=${encodeURIComponent(bench.application)}&resource=${encodeURIComponent(bench.resource(route))}`;
    const begun = await get("/.gateway/mcp/connect" + new URL(url("static")).search, { cookie: cookieOf(alice) });
    const atServer = await fetch(String(begun.headers["location"]), { redirect: "manual" });
    const back = atServer.headers.get("location") ?? "";
    expect(back).toContain(bench.callback);
    await blocked("route", "default/static");
    const before = [bench.service.seen.length, bench.service.tokenRequests.length];
    const again = await get("/.gateway/mcp/connect" + new URL(url("static")).search, { cookie: cookieOf(alice) });
    expect([again.status, again.json()["error"]]).toEqual([403, "upstream.blocked"]);
    const completed = await get(new URL(back).pathname + new URL(back).search, { cookie: cookieOf(alice) });
    expect(completed.status).toBe(403);
    expect([bench.service.seen.length, bench.service.tokenRequests.length]).toEqual(before);
  });

  test("the application behind a blocked client route lists and disconnects nothing", async () => {
    const cookie = cookieOf(alice);
    expect((await get("/.gateway/mcp/routes", { cookie })).status).toBe(200);
    await blocked("route", "default/application");
    const answer = await get("/.gateway/mcp/routes", { cookie });
    expect([answer.status, answer.json()["error"]]).toEqual([403, "blocked"]);
  });
});

test("an unreadable record does not disable other blocks", async () => {
  await store.put(ODD, { kind: "user", until: "never" }, { tags: ["blocks"] });
  await blocked("user", "u-alice");
  expect((await get("/app/x", { cookie: cookieOf(alice) })).status).toBe(403);
  expect(bench.gateway.log()).toContain(ODD);
});
