/** Health checks, ejection, limits and idle times against real upstreams; the checks' time is the test's. */
import { createServer, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";

import { afterEach, describe, expect, test } from "vitest";

import { snapshotFrom } from "../../../support/config.ts";
import { createTransport } from "../../../../runtime/upstreams/transport.ts";
import { createHealthChecks, type HealthChecks } from "../../../../runtime/upstreams/health/health-checks.ts";
import { createUpstreamStates, type UpstreamStates } from "../../../../runtime/features/balancing/apply-state.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { freePort } from "../../../support/ports.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { openRaw, sendRaw } from "../../../support/raw-client.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

interface TestUpstream {
  readonly origin: string;
  readonly name: string;
  /** Paths asked for, in order. */
  readonly seen: string[];
  /** Its response; the test changes it. */
  answer: (response: ServerResponse, path: string) => void;
  close(): Promise<void>;
}

async function upstream(name: string): Promise<TestUpstream> {
  const server = createServer((request, response) => {
    it.seen.push(request.url ?? "");
    it.answer(response, request.url ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const it: TestUpstream = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    name,
    seen: [],
    answer: (response) => response.end(name),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  open.push(it);
  return it;
}

async function pipeline(yaml: string): Promise<Pipeline> {
  const started = await startPipeline(yaml);
  open.push({ close: () => started.close({ timeoutMs: 100 }) });
  return started;
}

const route = (to: readonly string[], more: string): string => `routes:
  - { name: app, from: https://app.example, to: ${JSON.stringify(to)}, policy: [{ allow: { and: [{ accept: true }] } }], ${more} }
`;
const get = (path = "/"): string => `GET ${path} HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n`;
const bodyOf = async (proxy: Pipeline, path = "/"): Promise<string> => (await sendRaw(proxy.port, get(path))).body;

/** Timers that fire when the test says so. */
function manualTime() {
  const waiting = new Map<number, { readonly action: () => void; readonly afterMs: number }>();
  let next = 0;
  return {
    schedule: (action: () => void, afterMs: number) => {
      const id = (next += 1);
      waiting.set(id, { action, afterMs });
      return () => void waiting.delete(id);
    },
    /** Current waits, in milliseconds. */
    waits: () => [...waiting.values()].map(({ afterMs }) => afterMs),
    /** Ends all waits of up to that long. */
    fire(upToMs: number): void {
      for (const [id, { action, afterMs }] of Array.from(waiting)) {
        if (afterMs > upToMs) continue;
        waiting.delete(id);
        action();
      }
    },
  };
}

describe("createHealthChecks()", () => {
  interface Checked {
    readonly checks: HealthChecks;
    readonly states: UpstreamStates;
    readonly time: ReturnType<typeof manualTime>;
    follow(yaml: string): void;
    /** Health by upstream, as requests are given out. */
    health(): Record<string, boolean>;
    /** Lets one round of checks happen. @param count results that must have come */
    round(): Promise<void>;
  }

  function checked(yaml: string): Checked {
    const time = manualTime();
    const transport = createTransport();
    const checks = createHealthChecks({
      transport,
      log: silentLog(),
      schedule: time.schedule,
      random: () => 0.5,
    });
    const states = createUpstreamStates();
    open.push({ close: () => transport.close() }, checks);
    const it: Checked = {
      checks,
      states,
      time,
      follow(next) {
        const snapshot = snapshotFrom(next);
        states.follow(snapshot);
        checks.follow(snapshot);
      },
      health: () => Object.fromEntries([...states.all()].map((state) => [state.address, state.isHealthy(0)])),
      async round() {
        // Intervals are 10 s, timeouts 60 s, so that only checks begin.
        time.fire(10_000);
        await expect.poll(() => time.waits().filter((ms) => ms === 60_000)).toEqual([]);
      },
    };
    it.follow(yaml);
    return it;
  }

  const http = (more = ""): string =>
    `health_checks: [{ interval: 10s, timeout: 60s, http_health_check: { path: /healthz${more} } }]`;

  test("an answer that never ends is left when the next check begins, and when checks stop", async () => {
    const up = await upstream("up");
    const unended = new Set<ServerResponse>();
    up.answer = (response) => {
      unended.add(response.writeHead(200));
      response.once("close", () => unended.delete(response)).write("x");
    };
    const it = checked(route([up.origin], http()));
    for (let round = 1; round <= 3; round += 1) {
      await it.round();
      expect(up.seen).toHaveLength(round);
      await expect.poll(() => unended.size).toBe(1);
    }
    expect(it.health()).toEqual({ [up.origin]: true });
    it.checks.close();
    await expect.poll(() => unended.size).toBe(0);
  });

  test("the first result counts immediately, later ones by the thresholds", async () => {
    const [a, b] = [await upstream("a"), await upstream("b")];
    b.answer = (response) => void response.writeHead(500).end();
    const it = checked(route([a.origin, b.origin], http()));
    expect(it.health()).toEqual({ [a.origin]: true, [b.origin]: true });
    await it.round();
    expect(it.health()).toEqual({ [a.origin]: true, [b.origin]: false });
    expect(a.seen).toEqual(["/healthz"]);

    // Back after two good ones.
    b.answer = (response) => response.end("fine");
    await it.round();
    expect(it.health()[b.origin]).toBe(false);
    await it.round();
    expect(it.health()[b.origin]).toBe(true);

    // Unhealthy after three failures in a row; a success in between resets the count.
    a.answer = (response) => void response.writeHead(503).end();
    await it.round();
    await it.round();
    a.answer = (response) => response.end("fine");
    await it.round();
    a.answer = (response) => void response.writeHead(503).end();
    await it.round();
    await it.round();
    expect(it.health()[a.origin]).toBe(true);
    await it.round();
    expect(it.health()[a.origin]).toBe(false);
  });

  test.each([
    [200, "", true],
    [201, "", false],
    [204, ", expected_statuses: [{ start: 200, end: 300 }]", true],
    [300, ", expected_statuses: [{ start: 200, end: 300 }]", false],
    [401, ", expected_statuses: [{ start: 200, end: 201 }, { start: 401, end: 402 }]", true],
    [302, "", false],
  ])("status %i with %j is healthy: %s", async (status, more, healthy) => {
    const a = await upstream("a");
    a.answer = (response) => void response.writeHead(status, { location: "/elsewhere" }).end();
    const it = checked(route([a.origin], http(more)));
    await it.round();
    expect(it.health()[a.origin]).toBe(healthy);
    expect(a.seen).toEqual(["/healthz"]);
  });

  test("starts at the root whatever path `to` has, with the host of `to` or its own", async () => {
    const hosts: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      hosts.push(`${request.headers.host} ${request.url}`);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => server.close() }, { close: () => server.closeAllConnections() });
    const { port } = server.address() as AddressInfo;
    const it = checked(route([`http://127.0.0.1:${port}/base`], http()));
    await it.round();
    it.follow(route([`http://127.0.0.1:${port}/base`], http(", host: app.internal")));
    await it.round();
    expect(hosts).toEqual([`127.0.0.1:${port} /healthz`, "app.internal /healthz"]);
  });

  test("one that takes longer than the timeout fails and is canceled", async () => {
    const a = await upstream("a");
    const closed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    a.answer = (response) => {
      response.on("close", closed.resolve);
      asked.resolve();
    };
    const it = checked(route([a.origin], http()));
    it.time.fire(10_000);
    await asked.promise;
    it.time.fire(60_000);
    await closed.promise;
    expect(it.health()[a.origin]).toBe(false);
    expect([...it.states.all()][0]?.checks[0]?.lastError).toBe("no answer in time");
  });

  test("tcp: a connection that can be opened is enough", async () => {
    const a = await upstream("a");
    const dead = `http://127.0.0.1:${await freePort()}`;
    const it = checked(
      route([a.origin, dead], "health_checks: [{ interval: 10s, timeout: 60s, tcp_health_check: {} }]"),
    );
    await it.round();
    expect(it.health()).toEqual({ [a.origin]: true, [dead]: false });
    expect(a.seen).toEqual([]);
  });

  test("tcp with bytes: the expected bytes must come in time, and a stopped check leaves no connection", async () => {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => sockets.delete(socket));
      socket.on("data", (chunk: Buffer) => {
        if (answers) socket.write(chunk.toString() === "PING\r\n" ? "+PONG\r\n" : "-ERR\r\n");
      });
    });
    let answers = true;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => server.close() });
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = (send: string): string =>
      route(
        [origin],
        `health_checks: [{ interval: 10s, timeout: 60s, unhealthy_threshold: 1, tcp_health_check: { send: { utf8: "${send}" }, receive: [{ hex: 2b504f }, { utf8: "NG" }] } }]`,
      );
    const it = checked(settings("PING\\r\\n"));
    await it.round();
    expect(it.health()[origin]).toBe(true);
    answers = false;
    it.time.fire(10_000);
    await expect.poll(() => sockets.size).toBe(1);
    it.time.fire(60_000);
    expect(it.health()[origin]).toBe(false);
    expect([...it.states.all()][0]?.checks[0]).toMatchObject({ kind: "tcp", lastError: "no answer in time" });
    await expect.poll(() => sockets.size).toBe(0);

    // Another check of the same upstream starts from the beginning; one in progress ends with its route.
    it.follow(settings("PONG\\r\\n"));
    expect(it.health()[origin]).toBe(true);
    it.time.fire(10_000);
    await expect.poll(() => sockets.size).toBe(1);
    it.checks.close();
    await expect.poll(() => sockets.size).toBe(0);
    expect(it.time.waits()).toEqual([]);
  });

  test("grpc: asks as its settings say, in time", async () => {
    const asked: string[] = [];
    const sessions = new Set<ServerHttp2Session>();
    const server = createHttp2Server();
    let answers = true;
    server.on("session", (session) => {
      sessions.add(session);
      session.once("close", () => sessions.delete(session));
    });
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.on("error", () => {});
      stream.on("data", (chunk: Buffer) => {
        asked.push(`${headers[":authority"]} ${chunk.subarray(7).toString()}`);
        if (!answers) return;
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => server.close() });
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings =
      "health_checks: [{ interval: 10s, timeout: 60s, unhealthy_threshold: 1, grpc_health_check: { service_name: app, authority: app.internal } }]";
    const it = checked(route([origin], settings));
    await it.round();
    expect(it.health()[origin]).toBe(true);
    expect(asked).toEqual(["app.internal app"]);
    answers = false;
    it.time.fire(10_000);
    await expect.poll(() => asked.length).toBe(2);
    it.time.fire(60_000);
    expect([...it.states.all()][0]?.checks[0]).toMatchObject({
      kind: "grpc",
      healthy: false,
      lastError: "no answer in time",
    });
    await expect.poll(() => sessions.size).toBe(0);
  });

  test("all checks of an upstream must be good", async () => {
    const a = await upstream("a");
    a.answer = (response, path) => void response.writeHead(path === "/b" ? 500 : 200).end();
    const it = checked(
      route(
        [a.origin],
        `health_checks: [${["/a", "/b"].map((path) => `{ interval: 10s, timeout: 60s, http_health_check: { path: ${path} } }`).join(", ")}]`,
      ),
    );
    await it.round();
    expect(it.health()[a.origin]).toBe(false);
  });

  test("results survive a reload that keeps the upstream; checks stop when route or setting are removed", async () => {
    const [a, b] = [await upstream("a"), await upstream("b")];
    b.answer = (response) => void response.writeHead(500).end();
    const it = checked(route([a.origin, b.origin], http()));
    await it.round();
    const running = it.checks.size;
    // Another setting of the route, and an additional route.
    const more = `${route([a.origin, b.origin], `${http()}, timeout: 7s`)}  - { name: other, from: https://other.example, to: ["${b.origin}"], ${http()} }\n`;
    it.follow(more);
    expect(it.checks.size).toBe(running);
    expect([...it.states.all()].map((state) => [state.route, state.address, state.isHealthy(0)])).toEqual([
      ["default/app", a.origin, true],
      ["default/app", b.origin, false],
      ["default/other", b.origin, false],
    ]);

    it.follow(route([a.origin], http()));
    expect(it.checks.size).toBe(1);
    it.follow(route([a.origin, b.origin], "timeout: 8s"));
    expect(it.checks.size).toBe(0);
    expect(it.time.waits()).toEqual([]);
    expect(it.health()).toEqual({ [a.origin]: true, [b.origin]: true });
    const asked = a.seen.length;
    it.time.fire(10_000);
    expect(a.seen.length).toBe(asked);
  });
});

describe("a route with health checks", () => {
  test("sends an unhealthy upstream no requests, but all of them when none is healthy, and reports it", async () => {
    const [a, b] = [await upstream("a"), await upstream("b")];
    a.answer = (response, path) =>
      void response.writeHead(path === "/up" ? 500 : 200, { "content-length": 1 }).end("a");
    const checks = 'health_checks: [{ interval: "100ms", unhealthy_threshold: 1, http_health_check: { path: /up } }]';
    const proxy = await pipeline(route([a.origin, b.origin], checks));
    const healthy = (): readonly boolean[] => proxy.proxy.upstreams().map((each) => each.healthy);
    await expect.poll(healthy).toEqual([false, true]);
    for (let count = 0; count < 6; count += 1) expect(await bodyOf(proxy)).toBe("b");
    expect(proxy.proxy.upstreams()[0]).toMatchObject({
      route: "default/app",
      upstream: a.origin,
      checks: [{ kind: "http", healthy: false, last_error: "the answer has status 500" }],
    });
    b.answer = (response, path) =>
      void response.writeHead(path === "/up" ? 500 : 200, { "content-length": 1 }).end("b");
    await expect.poll(healthy).toEqual([false, false]);
    expect(new Set([await bodyOf(proxy), await bodyOf(proxy)])).toEqual(new Set(["a", "b"]));
  });

  test("answers 503 with Retry-After when none is healthy and healthy_panic_threshold is 0", async () => {
    const a = await upstream("a");
    a.answer = (response) => void response.writeHead(500).end();
    const proxy = await pipeline(
      route(
        [a.origin],
        'healthy_panic_threshold: 0, allow_websockets: true, health_checks: [{ interval: "100ms", http_health_check: { path: /up } }]',
      ),
    );
    await expect.poll(() => proxy.proxy.upstreams()[0]?.healthy).toBe(false);
    const answer = await sendRaw(proxy.port, get());
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toEqual(["1"]);
    expect(answer.body).toContain("upstream.unhealthy");
    expect(a.seen.filter((path) => path !== "/up")).toEqual([]);
  });
});

describe("a route with outlier_detection", () => {
  test("ejects an upstream that responds with errors, also over a reload, and readmits it", async () => {
    const [a, b] = [await upstream("a"), await upstream("b")];
    a.answer = (response) => void response.writeHead(502).end("a");
    const settings = 'outlier_detection: { consecutive_gateway_failure: 2, base_ejection_time: "1s" }';
    const proxy = await pipeline(route([a.origin, b.origin], settings));
    for (let count = 0; count < 4; count += 1) await bodyOf(proxy);
    expect(proxy.proxy.upstreams()[0]).toMatchObject({ healthy: false, ejections: 1 });
    proxy.swap(route([a.origin, b.origin], `${settings}, timeout: 9s`));
    const asked = a.seen.length;
    expect([await bodyOf(proxy), await bodyOf(proxy)]).toEqual(["b", "b"]);
    expect(a.seen.length).toBe(asked);
    a.answer = (response) => response.end("a");
    await expect.poll(() => bodyOf(proxy)).toBe("a");
  });
});

describe("circuit_breaker_thresholds", () => {
  /** Answers nothing until told. */
  function held(of: TestUpstream): ServerResponse[] {
    const responses: ServerResponse[] = [];
    of.answer = (response) => void responses.push(response);
    return responses;
  }

  test("max_requests: one more is answered 503 with Retry-After, and again served when one has ended", async () => {
    const a = await upstream("a");
    const responses = held(a);
    const proxy = await pipeline(route([a.origin], "circuit_breaker_thresholds: { max_requests: 2 }"));
    const clients = [openRaw(proxy.port, get("/1")), openRaw(proxy.port, get("/2"))];
    await expect.poll(() => responses.length).toBe(2);
    const refused = await sendRaw(proxy.port, get("/3"));
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toEqual(["1"]);
    expect(refused.body).toContain("upstream.overloaded");
    responses[0]?.end("one");
    await clients[0]?.closed;
    a.answer = (response) => response.end("again");
    expect(await bodyOf(proxy, "/4")).toBe("again");
    responses[1]?.end("two");
    await clients[1]?.closed;
    expect(a.seen).toEqual(["/1", "/2", "/4"]);
  });

  test("tries another upstream first", async () => {
    const [a, b] = [await upstream("a"), await upstream("b")];
    const responses = held(a);
    const proxy = await pipeline(
      route([`${a.origin},1000`, b.origin], "circuit_breaker_thresholds: { max_requests: 1 }"),
    );
    const client = openRaw(proxy.port, get("/1"));
    await expect.poll(() => responses.length).toBe(1);
    expect(await bodyOf(proxy, "/2")).toBe("b");
    responses[0]?.end();
    await client.closed;
  });

  test("max_connections: requests wait for a connection, event streams count, those beyond max_pending_requests are 503", async () => {
    const a = await upstream("a");
    const responses = held(a);
    const sockets = new Set<Socket | null>();
    const proxy = await pipeline(
      route([a.origin], "circuit_breaker_thresholds: { max_connections: 2, max_pending_requests: 1 }"),
    );
    const stream = openRaw(proxy.port, get("/events").replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n"));
    const second = openRaw(proxy.port, get("/2"));
    await expect.poll(() => responses.length).toBe(2);
    const waiting = openRaw(proxy.port, get("/3"));
    await expect.poll(() => proxy.proxy.underWay).toBe(3);
    expect((await sendRaw(proxy.port, get("/4"))).status).toBe(503);
    expect(responses.length).toBe(2);
    for (const response of responses) sockets.add(response.socket);
    responses[1]?.end("two");
    await second.closed;
    await expect.poll(() => responses.length).toBe(3);
    sockets.add(responses[2]?.socket ?? null);
    expect(sockets.size).toBe(2);
    responses[2]?.end("three");
    await waiting.closed;
    stream.socket.destroy();
  });
});

describe("idle_timeout", () => {
  const eventStream =
    (first = "data: 1\n\n") =>
    (response: ServerResponse): void => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(first);
    };

  test("ends an event stream that is silent for longer, as one ends", async () => {
    const a = await upstream("a");
    a.answer = eventStream();
    const proxy = await pipeline(route([a.origin], 'idle_timeout: "300ms"'));
    const client = openRaw(proxy.port, get().replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n"));
    await client.closed;
    expect(client.text).toMatch(/data: 1\n\n\r\n0\r\n\r\n$/);
  });

  test("breaks off another answer that is silent for longer, though `timeout` has no limit", async () => {
    const a = await upstream("a");
    a.answer = (response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.write("half");
    };
    const proxy = await pipeline(route([a.origin], 'timeout: 0s, idle_timeout: "300ms"'));
    const client = openRaw(proxy.port, get());
    await client.closed;
    expect(client.text).toContain("half");
    expect(client.text).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  test('"0s" and no setting let a stream be silent for longer than `timeout`', async () => {
    const a = await upstream("a");
    const responses: ServerResponse[] = [];
    a.answer = (response) => {
      eventStream()(response);
      responses.push(response);
    };
    const proxy = await pipeline(route([a.origin], 'timeout: "1s", idle_timeout: 0s'));
    const client = openRaw(proxy.port, get().replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n"));
    await client.contains("data: 1");
    // Longer than the timeout, which leaves a busy machine time to answer: what must not happen, not a wait for something.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    responses[0]?.end("data: 2\n\n");
    await client.contains("data: 2");
    client.socket.destroy();
  });
});
