import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createAdmin, type Admin } from "../../../runtime/admin-listener/admin.ts";
import { json as jsonReply } from "../../../runtime/admin-listener/answer.ts";
import { ADMIN_ERROR_DOCS } from "../../../runtime/config/surfaces/documentation-pages.ts";
import { createMetrics, type Metrics } from "../../../runtime/admin-listener/metrics.ts";
import type { Snapshot } from "../../../runtime/config/snapshot.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { VERSION } from "../../../runtime/shared/version.ts";
import { WITHOUT_STORE_MS } from "../../../runtime/store/watch/store-health.ts";
import { watchStore, type WatchedStore } from "../../../runtime/store/watch/watched-store.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../support/config.ts";
import { createBreakableStore, type BreakableStore } from "../../support/store.ts";
import type { BundleStatus } from "../../../runtime/bundle/report.ts";

const TOKEN = "admin-token-of-the-test";
const YAML = `
  routes:
    - { name: web, from: "http://web.example.com", to: "http://127.0.0.1:1" }
    - { name: tools, from: "http://tools.example.com", to: "http://127.0.0.1:1", mcp: { server: {} } }
`;

let admin: Admin;
let metrics: Metrics;
let store: BreakableStore;
let watched: WatchedStore;
let clock: TestClock;
let snapshot: Snapshot;
let status: Partial<BundleStatus>;
let draining: boolean;
let listening: boolean;
const listeners = new Set<(next: Snapshot, previous: Snapshot) => void>();

async function start(
  options: { readonly address?: string; readonly token?: string | undefined; readonly metrics?: Metrics } = {},
): Promise<Admin> {
  return createAdmin({
    address: "127.0.0.1:0",
    token: TOKEN,
    metrics,
    ...options,
    storeHealth: watched.health,
    storeCounts: watched.counts,
    isDraining: () => draining,
    isListening: () => listening,
    log: silentLog(),
    bundle: {
      current: () => snapshot,
      sealKey: { kty: "OKP", crv: "X25519", x: "public" },
      subscribe(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      status: () => ({
        digest: snapshot.digest,
        generation: snapshot.generation,
        loadedAt: 1_800_000_000,
        slices: [{ owner: "default", file: "gateway.yaml", ok: true, problems: [] }],
        degraded: [],
        owners: { current: 0, kept: 0, absent: 0 },
        restartNeeded: false,
        reloads: { ok: 1, failed: 0 },
        ...status,
      }),
    },
  });
}

beforeEach(async () => {
  metrics = createMetrics();
  clock = createTestClock();
  store = createBreakableStore(clock);
  watched = watchStore(store.store, { clock });
  snapshot = snapshotFrom(YAML);
  status = {};
  draining = false;
  listening = true;
  admin = await start();
});
afterEach(async () => {
  await admin.close();
  await watched.store.close();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

async function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const [hostname, port] = [admin.address.slice(0, admin.address.lastIndexOf(":")), admin.address.split(":").at(-1)];
    const { method = "GET", headers = {}, body } = options;
    const request = httpRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    request.on("error", reject).end(body);
  });
}

const withToken = { headers: { authorization: `Bearer ${TOKEN}` } };
const readiness = async (query = ""): Promise<unknown> => {
  const answer = await ask(`/readyz${query}`);
  const { digest: _, generation: __, draining: ___, reload: ____, ...rest } = json(answer) as Record<string, unknown>;
  return [answer.status, rest];
};
const json = (answer: Answer): unknown => JSON.parse(answer.body);

describe("health", () => {
  test("/healthz answers without token, whatever else is down", async () => {
    store.broken = true;
    draining = true;
    expect(await ask("/healthz")).toMatchObject({ status: 200, body: "ok\n" });
  });

  test("/readyz has digest and generation without a token", async () => {
    const answer = await ask("/readyz");
    expect(answer.status).toBe(200);
    expect(json(answer)).toEqual({
      ready: true,
      digest: snapshot.digest,
      generation: 1,
      draining: false,
      store: "ok",
      reload: "ok",
    });
    expect(answer.headers).toMatchObject({ "cache-control": "no-store", "content-type": "application/json" });
  });

  test("/readyz is 503 while draining", async () => {
    draining = true;
    const answer = await ask("/readyz");
    expect(answer.status).toBe(503);
    expect(json(answer)).toMatchObject({ ready: false, draining: true });
  });

  test("/readyz is 503 before the public listener accepts connections", async () => {
    listening = false;
    expect(await readiness()).toEqual([503, { ready: false, store: "ok" }]);
    listening = true;
    expect(await readiness()).toEqual([200, { ready: true, store: "ok" }]);
  });

  test("/readyz is 503 in a process that never reached the store", async () => {
    store.broken = true;
    const answer = await ask("/readyz");
    expect(answer.status).toBe(503);
    expect(json(answer)).toMatchObject({ ready: false, store: "down" });
    expect(json(answer)).not.toHaveProperty("store_failing_seconds");
  });

  test("/readyz stays 200 without the store for as long as verified principals are valid, then 503, then 200 with it", async () => {
    await watched.store.get("any");
    store.broken = true;
    await expect(watched.store.get("any")).rejects.toMatchObject({ code: "store.unavailable" });
    clock.advance(WITHOUT_STORE_MS - 1);
    expect(await readiness()).toEqual([200, { ready: true, store: "down", store_failing_seconds: 299 }]);
    clock.advance(1);
    expect(await readiness()).toEqual([503, { ready: false, store: "down", store_failing_seconds: 300 }]);
    store.broken = false;
    await watched.store.get("any");
    expect(await readiness()).toEqual([200, { ready: true, store: "ok" }]);
  });

  test("/readyz?store=required is 503 as soon as the store is unavailable", async () => {
    await watched.store.get("any");
    expect(await readiness("?store=required")).toEqual([200, { ready: true, store: "ok" }]);
    store.broken = true;
    await expect(watched.store.get("any")).rejects.toMatchObject({ code: "store.unavailable" });
    const told = { store: "down", store_failing_seconds: 0 };
    // It was asked just now, and is asked again after a second.
    await expect.poll(() => readiness("?store=required")).toEqual([503, { ready: false, ...told }]);
    expect(await readiness("?other=1")).toEqual([200, { ready: true, ...told }]);
    for (const query of ["?store=", "?store=yes", "?store=required&store=1"])
      expect((await ask(`/readyz${query}`)).status).toBe(400);
  });

  test("/readyz queries the store at most once a second, however often it is called", async () => {
    await Promise.all(Array.from({ length: 20 }, () => ask("/readyz")));
    expect(store.calls.length).toBeLessThanOrEqual(3);
  });

  test("/readyz stays 200 after a rejected change, reports it, and reveals no names", async () => {
    status = { lastError: { at: 1, problems: ["gateway.yaml: error: secret-host.example.com"] } };
    const answer = await ask("/readyz");
    expect(answer.status).toBe(200);
    expect(json(answer)).toMatchObject({ ready: true, reload: "failed" });
    expect(answer.body).not.toContain("example.com");
  });

  test("HEAD answers like GET without body", async () => {
    const answer = await ask("/readyz", { method: "HEAD" });
    expect(answer).toMatchObject({ status: 200, body: "" });
    expect(Number(answer.headers["content-length"])).toBeGreaterThan(0);
  });
});

describe("/status", () => {
  test("tells versions, bundle, store, seal key and counters", async () => {
    metrics.answered(routeNamed(snapshot, "web"), 200, 3);
    status = { lastError: { at: 5, problems: ["gateway.yaml: error: x"] } };
    expect(json(await ask("/status", withToken))).toEqual({
      version: VERSION,
      node: process.version,
      uptime_seconds: expect.any(Number) as number,
      draining: false,
      store: "ok",
      bundle: {
        digest: snapshot.digest,
        generation: 1,
        loadedAt: 1_800_000_000,
        slices: [{ owner: "default", file: "gateway.yaml", ok: true, problems: [] }],
        degraded: [],
        owners: { current: 0, kept: 0, absent: 0 },
        lastError: { at: 5, problems: ["gateway.yaml: error: x"] },
        restartNeeded: false,
        reloads: { ok: 1, failed: 0 },
      },
      seal_key: { kty: "OKP", crv: "X25519", x: "public" },
      counters: { requests: 1, allowed: 0, denied: 0, refused: 0, openStreams: 0 },
    });
  });
});

describe("/metrics", () => {
  test("is Prometheus text with the bundle, requests, decisions, durations and the process", async () => {
    const [web, tools] = [routeNamed(snapshot, "web"), routeNamed(snapshot, "tools")];
    metrics.answered(web, 200, 4);
    metrics.answered(web, 204, 40_000);
    metrics.answered(tools, 502, 12);
    metrics.openStreams(3);
    status = { reloads: { ok: 2, failed: 1 }, lastError: { at: 1, problems: [] } };
    const answer = await ask("/metrics", withToken);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = answer.body.split("\n");
    for (const line of [
      `gateway_bundle_info{digest="${snapshot.digest}"} 1`,
      "gateway_bundle_generation 1",
      "gateway_bundle_routes 2",
      'gateway_bundle_reloads_total{result="failed"} 1',
      "gateway_bundle_current 0",
      `gateway_requests_total{route="${web.key}",status="2xx"} 2`,
      `gateway_requests_total{route="${tools.key}",status="5xx"} 1`,
      'gateway_upstream_duration_seconds_bucket{kind="web",le="0.005"} 1',
      'gateway_upstream_duration_seconds_bucket{kind="web",le="30"} 1',
      'gateway_upstream_duration_seconds_bucket{kind="web",le="+Inf"} 2',
      'gateway_upstream_duration_seconds_sum{kind="web"} 40.004',
      'gateway_upstream_duration_seconds_count{kind="mcp-server"} 1',
      "gateway_open_streams 3",
      "# TYPE gateway_upstream_duration_seconds histogram",
    ]) {
      expect(lines).toContain(line);
    }
    expect(answer.body).toMatch(/^gateway_process_resident_memory_bytes \d+$/m);
    expect(
      lines.filter(
        (line) => line !== "" && !/^(# (HELP|TYPE) )?(gateway_|mcp_server_operation_duration_seconds )/.test(line),
      ),
    ).toEqual([]);
  });

  test("forgets routes that are gone", async () => {
    metrics.answered(routeNamed(snapshot, "web"), 200, 1);
    metrics.answered(routeNamed(snapshot, "tools"), 200, 1);
    const next = { ...snapshot, routes: snapshot.routes.filter((route) => route.name === "tools") };
    for (const listener of listeners) listener(next, snapshot);
    const { body } = await ask("/metrics", withToken);
    expect(body).not.toContain("default/web");
    expect(body).toContain('route="default/tools"');
  });
});

describe("the gate", () => {
  const rebound = (host: string): Record<string, string> => ({ host, authorization: `Bearer ${TOKEN}` });

  test.each(["/status", "/metrics", "/", "/unknown", "/healthz/", "//healthz", "/readyz%00"])(
    "%s needs the token",
    async (path) => {
      expect(await ask(path)).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
      for (const authorization of [
        "Bearer",
        "Bearer ",
        `Basic ${TOKEN}`,
        TOKEN,
        `Bearer ${TOKEN}x`,
        `Bearer ${TOKEN.slice(1)}`,
        `Bearer ${TOKEN} x`,
      ]) {
        const answer = await ask(path, { headers: { authorization } });
        expect(answer.status).toBe(401);
        expect(answer.body).not.toContain(snapshot.digest);
      }
    },
  );

  test("an unknown path with token is 404, another method 405", async () => {
    expect(await ask("/unknown", withToken)).toMatchObject({ status: 404 });
    expect(await ask("/status?x=1", withToken)).toMatchObject({ status: 200 });
    expect(await ask("/status", { ...withToken, method: "POST", body: "x" })).toMatchObject({
      status: 405,
      headers: { allow: "GET, HEAD", connection: "close" },
    });
    expect(await ask("/healthz", { method: "DELETE" })).toMatchObject({ status: 405 });
  });

  test.each([
    "evil.example.com",
    "evil.example.com:9901",
    "127.0.0.1.evil.example.com",
    "localhost.evil.example.com",
    "[::1",
    "a b",
  ])("Host %j is refused on every path", async (host) => {
    for (const path of ["/healthz", "/readyz", "/status"]) {
      const answer = await ask(path, { headers: rebound(host) });
      expect([400, 421]).toContain(answer.status);
      expect(answer.body).not.toContain(snapshot.digest);
    }
  });

  test.each(["localhost", "LOCALHOST:80", "127.0.0.1:9901", "[::1]:9901", "10.1.2.3:9901"])(
    "Host %j is fine",
    async (host) => {
      expect((await ask("/status", { headers: rebound(host) })).status).toBe(200);
    },
  );

  test("without a token set only health answers", async () => {
    await admin.close();
    admin = await start({ token: undefined, metrics: createMetrics() });
    expect((await ask("/healthz")).status).toBe(200);
    for (const headers of [{}, { authorization: "Bearer undefined" }, { authorization: "Bearer " }] as Record<
      string,
      string
    >[]) {
      expect(await ask("/status", { headers })).toMatchObject({
        status: 403,
        body: expect.stringContaining("admin_token") as string,
      });
    }
  });

  test.each([
    ["what is no HTTP", "HELLO\r\n\r\n", 400],
    ["no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400],
    ["an empty Host", "GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 421],
    ["an absolute target", "GET http://localhost/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 401],
  ])("%s gets nothing", async (_, text, status) => {
    const socket = connect({ port: Number(admin.address.split(":").at(-1)), host: "127.0.0.1" });
    socket.write(text);
    let answer = "";
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).not.toContain(snapshot.digest);
  });
});

describe("createAdmin()", () => {
  test("names the address that it cannot use", async () => {
    await expect(start({ address: admin.address })).rejects.toMatchObject({
      code: "admin.listen",
      message: expect.stringContaining(`Cannot listen on "${admin.address}"`) as string,
    });
    await expect(start({ address: "nonsense" })).rejects.toMatchObject({ code: "admin.address" });
  });

  test("close() closes keep-alive connections and stops listening to the bundle", async () => {
    const extra = await start({ metrics: createMetrics() });
    const socket = connect({ port: Number(extra.address.split(":").at(-1)), host: "127.0.0.1" });
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
    const ended = new Promise((resolve) => socket.once("close", resolve));
    const before = listeners.size;
    await extra.close();
    await ended;
    expect(listeners.size).toBe(before - 1);
  });
});

test("errors name the section of the reference that explains their codes", async () => {
  const bodyOf = (status: number, value: object): unknown => JSON.parse(jsonReply(status, value).body);
  expect(bodyOf(404, { error: "path" })).toEqual({ error: "path", docs: ADMIN_ERROR_DOCS });
  expect(bodyOf(200, { error: "" })).toEqual({ error: "" });
  const [page = "", section] = ADMIN_ERROR_DOCS.split("#");
  expect(section).toBe("admin-listener");
  expect(await readFile(new URL(`../../../${page}`, import.meta.url), "utf8")).toContain("\n## Admin listener\n");
});
