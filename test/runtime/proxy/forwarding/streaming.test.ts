/** Bodies on their way: unbuffered, as fast as the slower side, and never complete-looking when they are not. */
import { afterEach, describe, expect, test } from "vitest";
import type { Socket } from "node:net";

import { systemClock } from "../../../../runtime/shared/clock.ts";
import { createTestAuthenticator, startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { openRaw, sendRaw } from "../../../support/raw-client.ts";
import { answerOk, startVictim, type Victim, type VictimAnswer } from "../../../support/victim.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const yaml = (origin: string, extra = ""): string => `
  runtime_flags: { mcp: true }
  routes:
    - from: https://app.example
      name: app
      to: ${origin}
      ${extra}
      policy: [{ allow: { and: [{ authenticated_user: true }] } }]
    - from: https://mcp.example
      name: tools
      to: ${origin}
      mcp: { server: {} }
      policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
`;

async function start(answer: VictimAnswer, extra = ""): Promise<{ victim: Victim; pipeline: Pipeline }> {
  const victim = await startVictim(answer);
  const pipeline = await startPipeline(yaml(victim.origin, extra));
  open.push(pipeline, victim);
  return { victim, pipeline };
}

const GET =
  "GET /events HTTP/1.1\r\nHost: app.example\r\nCookie: gateway_session=alice\r\nAccept: text/event-stream\r\n\r\n";
const MCP_GET =
  "GET / HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nAccept: text/event-stream\r\n\r\n";
const SSE_HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n\r\n";

describe("event streams", () => {
  test("head and events reach the client one by one, before the next exists", async () => {
    const upstream = Promise.withResolvers<Socket>();
    const { pipeline } = await start((_request, socket) => upstream.resolve(socket));
    for (const request of [GET]) {
      const client = openRaw(pipeline.port, request);
      const socket = await upstream.promise;
      socket.write(SSE_HEAD);
      await client.contains("x-accel-buffering: no");
      for (const event of ["one", "two", "three"]) {
        socket.write(`data: ${event}\n\n`);
        await client.contains(`data: ${event}\n\n`);
      }
      client.socket.destroy();
    }
  });

  test("a client that leaves aborts its upstream request", async () => {
    const closed = Promise.withResolvers<void>();
    const { pipeline } = await start((_request, socket) => {
      socket.on("close", () => closed.resolve());
      socket.write(SSE_HEAD);
    });
    const client = openRaw(pipeline.port, MCP_GET);
    await client.contains("text/event-stream");
    expect(pipeline.proxy.streams.size).toBe(1);
    client.socket.destroy();
    await closed.promise;
    expect(pipeline.proxy.streams.size).toBe(0);
    expect(pipeline.proxy.underWay).toBe(0);
  });

  test("a client that leaves before the head aborts its upstream request", async () => {
    const closed = Promise.withResolvers<void>();
    const { victim, pipeline } = await start((_request, socket) => void socket.on("close", () => closed.resolve()));
    const client = openRaw(pipeline.port, MCP_GET);
    await victim.next(0);
    client.socket.destroy();
    await closed.promise;
  });

  test("a client that leaves during authentication leaves nothing open upstream", async () => {
    const closed = Promise.withResolvers<void>();
    const victim = await startVictim((_request, socket) => {
      socket.on("close", () => closed.resolve());
      socket.write(SSE_HEAD);
    });
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const known = createTestAuthenticator(systemClock);
    const pipeline = await startPipeline(yaml(victim.origin), {
      authenticator: {
        ...known,
        async bearer(token, audience) {
          asked.resolve();
          await answer.promise;
          return known.bearer(token, audience);
        },
      },
    });
    open.push(pipeline, victim);
    const client = openRaw(pipeline.port, MCP_GET);
    await asked.promise;
    client.socket.destroy();
    await client.closed;
    // The server learns of it by an event of its own.
    await expect.poll(() => pipeline.server.connections()).toBe(0);
    answer.resolve();
    await expect.poll(() => pipeline.records.length).toBe(1);
    await expect.poll(() => pipeline.proxy.underWay).toBe(0);
    // It may have been on its way by then; in that case it was taken back.
    if (victim.requests.length > 0) await closed.promise;
    expect(pipeline.proxy.streams.size).toBe(0);
  });

  test("an upstream that breaks off leaves no complete-looking answer", async () => {
    const { pipeline } = await start((_request, socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", () => socket.destroy());
    });
    const answer = await sendRaw(pipeline.port, GET);
    expect(answer.text).toContain("hello");
    expect(answer.text).not.toContain("0\r\n\r\n");
  });

  test.each([
    ["of the session", "session:session-alice"],
    ["of the user", "user:alice"],
  ])("revocation %s ends an open stream", async (_name, key) => {
    const closed = Promise.withResolvers<void>();
    const { pipeline } = await start((_request, socket) => {
      socket.on("close", () => closed.resolve());
      socket.write(SSE_HEAD);
    });
    const client = openRaw(pipeline.port, MCP_GET);
    await client.contains("text/event-stream");
    pipeline.revocations.revokeNow("user:bob");
    expect(pipeline.proxy.streams.size).toBe(1);
    pipeline.revocations.revokeNow(key);
    await Promise.all([client.contains("0\r\n\r\n"), closed.promise]);
    expect(pipeline.proxy.streams.size).toBe(0);
  });

  test("revocation while the upstream thinks is 403, not the answer", async () => {
    const upstream = Promise.withResolvers<Socket>();
    const { pipeline } = await start((_request, socket) => upstream.resolve(socket));
    const client = openRaw(pipeline.port, MCP_GET);
    const socket = await upstream.promise;
    pipeline.revocations.revokeNow("user:alice");
    socket.write(`${SSE_HEAD}data: secret\n\n`);
    // Not 401, at which a client would send the request again.
    await client.contains("HTTP/1.1 403");
    expect(client.text).not.toContain("secret");
    client.socket.destroy();
  });

  test("a configuration that no longer allows it ends an open stream, another does not", async () => {
    const { victim, pipeline } = await start((_request, socket) => void socket.write(SSE_HEAD));
    const client = openRaw(pipeline.port, MCP_GET);
    await client.contains("text/event-stream");
    pipeline.swap(yaml(victim.origin, "timeout: 5s"));
    expect(pipeline.proxy.streams.size).toBe(1);
    pipeline.swap(yaml(victim.origin).replace("is: example.com", "is: elsewhere.example"));
    await client.contains("0\r\n\r\n");
    expect(pipeline.proxy.streams.size).toBe(0);
    client.socket.destroy();
  });
});

describe("connections", () => {
  test("an Upgrade other than WebSocket is an ordinary request, and the header is not forwarded", async () => {
    const { victim, pipeline } = await start(answerOk);
    const answer = await sendRaw(
      pipeline.port,
      GET.replace(
        "\r\n\r\n",
        "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
      ),
    );
    expect(answer.status).toBe(200);
    expect(victim.requests[0]?.headers.has("upgrade")).toBe(false);
    expect(victim.requests[0]?.headers.has("http2-settings")).toBe(false);
  });

  test("TLS to the upstream uses the host name of `to`, not the Host header", async () => {
    const { victim, pipeline } = await start(() => {});
    pipeline.swap(yaml(`https://localhost:${victim.port}`, "preserve_host_header: true"));
    const client = openRaw(pipeline.port, GET);
    await expect.poll(() => victim.received).toContain("localhost");
    expect(victim.received).not.toContain("app.example");
    client.socket.destroy();
  });
});

describe("answers", () => {
  test.each([
    ["HEAD with a length", "HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", ["5"], ""],
    ["204", "GET", "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n", undefined, ""],
    ["304", "GET", 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n', undefined, ""],
    ["an empty body", "GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ["0"], ""],
    [
      "an interim answer first",
      "GET",
      "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
      ["2"],
      "ok",
    ],
    [
      "a body in two pieces",
      "GET",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
      undefined,
      "abcde",
    ],
  ])("%s keeps its framing", async (_name, method, bytes, length, body) => {
    const { pipeline } = await start((_request, socket) => void socket.write(bytes));
    const request = GET.replace("GET", method);
    const answer = await sendRaw(pipeline.port, request);
    expect(answer.headers.get("content-length")).toEqual(length);
    expect(answer.body.replaceAll(/^[0-9a-f]+\r\n|\r\n(?:[0-9a-f]+\r\n)?|0\r\n\r\n$/g, "")).toContain(body);
    if (body === "") expect(answer.body).toBe("");
  });

  test.each([
    ["shorter than declared", "HTTP/1.1 200 OK\r\ncontent-length: 50000\r\n\r\nshort", true],
    ["shorter than declared, and small", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort", true],
  ])("%s do not look complete", async (_name, bytes, closes) => {
    const { pipeline } = await start((_request, socket) => {
      socket.write(bytes);
      if (closes) setTimeout(() => socket.end(), 20);
    });
    const client = openRaw(pipeline.port, GET);
    await client.closed;
    const length = /content-length: (\d+)/i.exec(client.text)?.[1];
    const body = client.text.slice(client.text.indexOf("\r\n\r\n") + 4);
    expect(
      client.text.startsWith("HTTP/1.1 200") ? body.length < Number(length) : client.text.startsWith("HTTP/1.1 502"),
    ).toBe(true);
  });

  test.each([
    ["no HTTP at all", "hello\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc"],
    ["a folded header", "HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\ncontent-length: 0\r\n\r\n"],
    ["an upgrade nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
    ["headers without end", `HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(70_000)}\r\n\r\n`],
  ])("%s from the upstream is 502", async (_name, bytes) => {
    const { pipeline } = await start((_request, socket) => void socket.write(bytes));
    const answer = await sendRaw(pipeline.port, MCP_GET);
    expect(answer.status).toBe(502);
  });

  test("bytes after the declared end reach no client", async () => {
    const { pipeline } = await start((_request, socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
    });
    const one = await sendRaw(pipeline.port, GET);
    const two = await sendRaw(pipeline.port, GET);
    expect(one.text + two.text).not.toContain("forged");
  });

  test("an upstream that accepts nothing is 502, one that says nothing is 504", async () => {
    const { victim, pipeline } = await start(() => {}, "timeout: 1s");
    expect((await sendRaw(pipeline.port, GET, 4_000)).status).toBe(504);
    await victim.close();
    expect((await sendRaw(pipeline.port, GET)).status).toBe(502);
  });

  test("a large answer arrives whole through a slow reader", async () => {
    const size = 8_000_000;
    const { pipeline } = await start((_request, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, 97));
    });
    const client = openRaw(pipeline.port, GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    await client.contains("content-length");
    client.socket.pause();
    await new Promise((resolve) => setImmediate(resolve));
    client.socket.resume();
    await client.closed;
    expect(client.text.length - client.text.indexOf("\r\n\r\n") - 4).toBe(size);
  });
});

describe("request bodies", () => {
  test("a large upload arrives whole and with its length", async () => {
    const { victim, pipeline } = await start(
      (_request, socket) => void socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
    );
    const body = "b".repeat(3_000_000);
    const answer = await sendRaw(
      pipeline.port,
      `POST /upload HTTP/1.1\r\nHost: app.example\r\nCookie: gateway_session=alice\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      1_000,
    );
    expect(answer.status).toBe(204);
    const request = await victim.next(0);
    expect(request.header("content-length")).toBe(String(body.length));
    expect(request.body.length).toBe(body.length);
  });

  test("chunks go upstream one by one, before the next exists", async () => {
    const { victim, pipeline } = await start(
      (_request, socket) => void socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
    );
    const client = openRaw(
      pipeline.port,
      "POST /upload HTTP/1.1\r\nHost: app.example\r\nCookie: gateway_session=alice\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
    );
    await expect.poll(() => victim.received).toContain("first");
    client.socket.write("6\r\nsecond\r\n");
    await expect.poll(() => victim.received).toContain("second");
    client.socket.write("0\r\n\r\n");
    await client.contains("204");
    client.socket.destroy();
    expect((await victim.next(0)).body.toString()).toBe("firstsecond");
  });

  test("a body that breaks off is never complete upstream", async () => {
    const { victim, pipeline } = await start(
      (_request, socket) => void socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
    );
    for (const framing of ["Content-Length: 100000", "Transfer-Encoding: chunked"]) {
      const part = framing.startsWith("C") ? "partial" : "7\r\npartial\r\n";
      const client = openRaw(
        pipeline.port,
        `POST /upload HTTP/1.1\r\nHost: app.example\r\nCookie: gateway_session=alice\r\n${framing}\r\n\r\n${part}`,
      );
      await expect.poll(() => victim.received.includes("partial")).toBe(true);
      client.socket.destroy();
      await client.closed;
    }
    await expect.poll(() => pipeline.proxy.underWay).toBe(0);
    expect(victim.requests).toHaveLength(0);
  });

  test("an upstream that answers before the body has come, and one that hangs up, are both passed on", async () => {
    const { pipeline } = await start(() => {});
    const early = await startVictim();
    early.raw((socket) =>
      socket.end("HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig"),
    );
    open.push(early);
    pipeline.swap(yaml(early.origin));
    const head =
      "POST /x HTTP/1.1\r\nHost: app.example\r\nCookie: gateway_session=alice\r\nContent-Length: 200000\r\n\r\n";
    expect((await sendRaw(pipeline.port, head + "x".repeat(70_000))).status).toBe(413);
    early.raw((socket) => socket.resetAndDestroy());
    expect((await sendRaw(pipeline.port, head + "x".repeat(70_000))).status).toBe(502);
    expect((await sendRaw(pipeline.port, head.replace("200000", "70000") + "x".repeat(70_000))).status).toBe(502);
    await expect.poll(() => pipeline.proxy.underWay).toBe(0);
  });

  test("an early rejection of a large body still reaches the client, and the connection continues", async () => {
    const { victim, pipeline } = await start(() => {});
    const body = "c".repeat(300_000);
    const client = openRaw(
      pipeline.port,
      `POST /x HTTP/1.1\r\nHost: app.example\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await client.contains("HTTP/1.1 401");
    client.socket.write("GET /%2f HTTP/1.1\r\nHost: app.example\r\n\r\n");
    await client.contains("HTTP/1.1 400");
    client.socket.destroy();
    expect(victim.received).toBe("");
  });

  test("Expect: 100-continue is answered only once the body is wanted", async () => {
    const { victim, pipeline } = await start(
      (_request, socket) => void socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
    );
    const head = "POST /x HTTP/1.1\r\nHost: app.example\r\nContent-Length: 5\r\nExpect: 100-continue\r\n";
    const refused = openRaw(pipeline.port, `${head}\r\n`);
    await refused.closed;
    expect(refused.text).toMatch(/^HTTP\/1\.1 401/);
    const allowed = openRaw(pipeline.port, `${head}Cookie: gateway_session=alice\r\n\r\n`);
    await allowed.contains("HTTP/1.1 100 Continue");
    allowed.socket.write("hello");
    await allowed.contains("HTTP/1.1 204");
    allowed.socket.destroy();
    expect((await victim.next(0)).headers.has("expect")).toBe(false);
  });
});
