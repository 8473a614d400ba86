/**
 * More requests than a process can serve: each gets one response or a rejection with a time to retry, and none is served
 * after its client left.
 */
import { connect as connectHttp2, constants, type ClientHttp2Session } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { afterEach, expect, test } from "vitest";

import type { Exchange } from "../../runtime/http/exchange.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../runtime/http/listener/server.ts";
import { ignore } from "../../runtime/shared/ignore.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { openListenerCertificates } from "../support/certificates.ts";
import { parseAnswer, type RawAnswer } from "../support/raw-client.ts";

const QUEUE_TIMEOUT_MS = 20;
/** Cost of each request: all of them, one after another, take much longer than they may wait. */
const COST_MS = 5;
const REQUESTS = 60;
const REQUEST = "GET /web HTTP/1.1\r\nhost: app.example\r\n\r\n";

let server: HttpServer;
const served: Exchange[] = [];
const refused: string[] = [];
const logged: Record<string, unknown>[] = [];
const sockets: Socket[] = [];
/** Called with the number of the request that starts. */
let onServe = (_count: number): void => {};
let onUpgraded = (_bytes: Buffer): void => {};

async function start(queueTimeoutMs = QUEUE_TIMEOUT_MS, more: Partial<HttpServerOptions> = {}): Promise<void> {
  server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    queueTimeoutMs,
    ...more,
    log: createLog({ destination: { write: (line: string) => void logged.push(JSON.parse(line) as never) } }),
    handle(exchange) {
      onServe(served.push(exchange));
      // The event loop is held, as by work.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, COST_MS);
      const answer = (): void => exchange.respond(200, ["content-length", "2"], "ok");
      if (exchange.upgrade !== undefined)
        exchange.upgrade.accept([]).on("data", onUpgraded).on("error", ignore).resume();
      else if (exchange.path === "/read") exchange.body.resume().once("end", answer);
      else answer();
    },
    onRefused: (reason) => void refused.push(reason),
  });
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close({ timeoutMs: 0 });
  onServe = () => {};
  onUpgraded = () => {};
  for (const list of [served, refused, logged]) list.length = 0;
});

/** Connections that the server has taken: it takes one in a turn of the event loop, and their requests would come as slowly. */
async function openAll(): Promise<readonly Socket[]> {
  const all = await Promise.all(
    Array.from(
      { length: REQUESTS },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(server.port, "127.0.0.1", () => resolve(socket));
          sockets.push(socket);
          socket.once("error", reject);
        }),
    ),
  );
  await expect.poll(() => server.connections()).toBe(REQUESTS);
  return all;
}

function answerOn(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const answer = parseAnswer(text);
      if (answer.body.length >= Number(answer.headers.get("content-length")?.[0] ?? Infinity)) resolve(answer);
    });
  });
}

test("refuses with 503 and a time to come back, over connections that stay good, and says so once", async () => {
  await start();
  const clients = await openAll();
  const answers = clients.map(answerOn);
  for (const client of clients) client.write(REQUEST);
  const all = await Promise.all(answers);
  const shed = all.filter(({ status }) => status === 503);
  expect(shed.length).toBeGreaterThan(0);
  expect(served.length + shed.length).toBe(REQUESTS);
  expect(refused).toEqual(shed.map(() => "queue-timeout"));
  for (const { headers, body } of shed) {
    expect(headers.get("retry-after")?.[0]).toMatch(/^[1-4]$/);
    expect(headers.get("cache-control")).toEqual(["no-store"]);
    expect(JSON.parse(body)).toMatchObject({ error: "request.overloaded" });
  }
  expect(logged).toMatchObject([{ msg: "overloaded, requests get 503", reason: "queue-timeout" }]);

  const again = clients[all.findIndex(({ status }) => status === 503)] as Socket;
  const answer = answerOn(again);
  again.write(REQUEST);
  expect((await answer).status).toBe(200);
});

test("does nothing for clients that disconnect while they wait", async () => {
  await start(0);
  const [stays, ...clients] = (await openAll()) as [Socket, ...Socket[]];
  onServe = (count) => {
    if (count === 1) for (const client of clients) client.resetAndDestroy();
  };
  for (const client of clients) client.write(REQUEST);
  const answer = answerOn(stays);
  stays.write(REQUEST);
  expect((await answer).status).toBe(200);
  await expect.poll(() => server.waiting).toBe(0);
  expect(served.length).toBeLessThan(REQUESTS);
});

test("an abandoned body is read to its end, and the connection accepts the next request", async () => {
  await start();
  const clients = await openAll();
  const body = "x".repeat(4_000);
  const post = `POST /mcp HTTP/1.1\r\nhost: app.example\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const answers = clients.map(answerOn);
  for (const client of clients) client.write(post);
  const all = await Promise.all(answers);
  const last = clients[all.findIndex(({ status }) => status === 503)] as Socket;
  const answer = answerOn(last);
  last.write(REQUEST);
  expect((await answer).status).toBe(200);
});

test("a waiting request in pieces, or with more requests after it, is served like one without waiting", async () => {
  await start(0);
  const [first, pieces, large, two, silent] = (await openAll()) as [Socket, Socket, Socket, Socket, Socket];
  const body = "x".repeat(100_000);
  let begun = (): void => {};
  const isBegun = new Promise<void>((resolve) => (begun = resolve));
  onServe = (count) => {
    if (count === 1) begun();
  };
  // More than can start at the same time, so that later ones wait.
  for (const client of sockets.slice(5)) client.write(REQUEST);
  first.write(REQUEST);
  await isBegun;
  const answers = [pieces, large].map(answerOn);
  let ofTwo = "";
  two.on("data", (chunk: Buffer) => (ofTwo += chunk.toString("latin1")));
  pieces.write(REQUEST.slice(0, 20));
  pieces.write(REQUEST.slice(20));
  large.write(`POST /mcp HTTP/1.1\r\nhost: app.example\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  two.write(REQUEST + REQUEST);
  silent.write("GET");
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  await expect.poll(() => ofTwo.match(/HTTP\/1\.1 200 /g)?.length).toBe(2);
  await expect.poll(() => server.waiting).toBe(0);
  expect(served).toHaveLength(REQUESTS);
  // Its body ended where it said.
  const again = answerOn(large);
  large.write(REQUEST);
  expect((await again).status).toBe(200);
});

/** Once the first of many requests is served: from now on requests wait. */
function crowd(clients: readonly Socket[], request = REQUEST): Promise<void> {
  return new Promise((resolve) => {
    onServe = (count) => {
      if (count === 1) resolve();
    };
    for (const client of clients) client.write(request);
  });
}

test("rejections, expectations and WebSockets work the same after waiting", async () => {
  await start(0);
  const clients = await openAll();
  const texts = new Map<string, string>();
  let frames = "";
  onUpgraded = (bytes) => (frames += bytes.toString());
  const head = "/read HTTP/1.1\r\nhost: app.example\r\n";
  const upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
  const cases = [
    ["no request", "what is this\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["no host", "GET / HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", /^HTTP\/1\.1 405 /],
    ["a bad chunk", `POST ${head}transfer-encoding: chunked\r\n\r\n5\r\nabcdefg\r\n`, /^HTTP\/1\.1 400 /],
    ["an expectation", `POST ${head}expect: 100-continue\r\ncontent-length: 2\r\n\r\n`, /^HTTP\/1\.1 100 /],
    ["a handshake", `GET ${head}${upgrade}sec-websocket-key: ${"A".repeat(22)}==\r\n\r\nearly`, /^HTTP\/1\.1 101 /],
  ] as const;
  await crowd(clients.slice(cases.length));
  cases.forEach(([name, bytes], index) => {
    const client = clients[index] as Socket;
    client.on("data", (chunk: Buffer) => texts.set(name, (texts.get(name) ?? "") + chunk.toString("latin1")));
    client.write(bytes);
  });
  for (const [name, , expected] of cases) await expect.poll(() => texts.get(name)).toMatch(expected);
  await expect.poll(() => frames).toBe("early");
  expect(server.waiting).toBe(0);
});

test("clients that leave with more sent than is held take all of it along", async () => {
  await start(0);
  const [first, half, ...clients] = (await openAll()) as [Socket, Socket, ...Socket[]];
  const post = `POST /left HTTP/1.1\r\nhost: app.example\r\ncontent-length: 100000\r\n\r\n${"x".repeat(100_000)}`;
  await crowd([first, ...clients.slice(10)]);
  for (const client of clients.slice(0, 10)) client.write(post, () => client.resetAndDestroy());
  half.end(REQUEST.replace("/web", "/left"));
  await expect.poll(() => server.waiting).toBe(0);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => server.connections()).toBe(0);
});

test("a request waiting over TLS after a PROXY header belongs to its client, and is read completely at its turn", async () => {
  const files = await openListenerCertificates("app.example");
  await start(0, { insecure: false, certificates: files.certificates, proxyProtocol: true });
  try {
    const clients = await Promise.all(
      Array.from(
        { length: 30 },
        (_, index) =>
          new Promise<Socket>((resolve) => {
            const raw = connect(server.port, "127.0.0.1", () => {
              raw.write(`PROXY TCP4 192.0.2.${index + 1} 10.0.0.1 50000 443\r\n`);
              const secure = connectTls({ socket: raw, servername: "app.example", rejectUnauthorized: false }, () =>
                resolve(secure),
              );
              sockets.push(secure);
            });
          }),
      ),
    );
    const [large, ...others] = clients as [Socket, ...Socket[]];
    await crowd(others);
    const body = "x".repeat(300_000);
    const answer = answerOn(large);
    large.write(`POST /read HTTP/1.1\r\nhost: app.example\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    expect((await answer).status).toBe(200);
    expect(served.find(({ path }) => path === "/read")?.remoteAddress).toBe("192.0.2.1");
    expect(server.waiting).toBe(0);
  } finally {
    await files.close();
  }
});

/** @returns status, "reset" or, of a gRPC call, its own status; once the stream is over */
function askStream(session: ClientHttp2Session, headers: Record<string, string> = {}, leaves = false): Promise<string> {
  return new Promise((resolve) => {
    const stream = session.request({ ":path": "/web", ":authority": "app.example", ...headers });
    let status = "reset";
    stream.on("response", (head) => (status = String(head["grpc-status"] ?? head[":status"])));
    stream.on("trailers", (trailers) => (status = String(trailers["grpc-status"] ?? status)));
    stream.on("error", () => {});
    stream.on("close", () => resolve(status));
    stream.resume();
    if (leaves) setImmediate(() => stream.close(constants.NGHTTP2_CANCEL));
  });
}

test("streams of HTTP/2 wait like connections: each ends once, and those that were reset are not begun", async () => {
  await start();
  const session = connectHttp2(server.origin);
  try {
    const call = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
    const stay = Array.from({ length: REQUESTS }, () => askStream(session));
    const calls = Array.from({ length: 20 }, () => askStream(session, call));
    const leave = Array.from({ length: 40 }, () => askStream(session, {}, true));
    const ends = await Promise.all(stay);
    expect(ends.filter((end) => end !== "200" && end !== "503")).toEqual([]);
    expect(ends).toContain("503");
    // UNAVAILABLE; those that were served were answered like any other.
    const callEnds = await Promise.all(calls);
    expect(callEnds.filter((end) => end !== "200" && end !== "14")).toEqual([]);
    expect(callEnds).toContain("14");
    await Promise.all(leave);
    await expect.poll(() => server.waiting).toBe(0);
    expect(served.length).toBeLessThan(REQUESTS + 20);
    expect(await askStream(session)).toBe("200");
  } finally {
    session.destroy();
  }
});

test("a connection of HTTP/2 that breaks takes all its waiting streams along", async () => {
  await start(0);
  const session = connectHttp2(server.origin);
  session.on("error", () => {});
  onServe = () => session.destroy();
  await Promise.all(Array.from({ length: 100 }, () => askStream(session)));
  await expect.poll(() => server.waiting).toBe(0);
  expect(served.length).toBeLessThan(100);
});

test("waiting requests are served before the server closes", async () => {
  await start(0);
  const clients = await openAll();
  const answers = clients.map(answerOn);
  let closed: Promise<void> | undefined;
  onServe = (count) => {
    // Connections of which nothing has been read are closed.
    if (count + server.waiting === REQUESTS) closed ??= server.close();
  };
  for (const client of clients) client.write(REQUEST);
  const all = await Promise.all(answers);
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
  expect(closed).toBeDefined();
  await closed;
});
