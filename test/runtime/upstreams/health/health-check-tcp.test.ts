/** Health checks by connecting and by what is said, against real TCP and TLS servers. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { afterEach, describe, expect, test } from "vitest";

import type { TcpProbe } from "../../../../runtime/features/balancing/compiled.ts";
import { checkTcp, createFinder } from "../../../../runtime/upstreams/health/health-check-tcp.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";
import { type CheckedServer, listen, upstreamAt, verdictOf } from "../../../support/check-verdict.ts";
import { freePort } from "../../../support/ports.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function serve(talk: (socket: Socket) => void): Promise<CheckedServer> {
  const server = await listen(createServer(talk));
  open.push(server);
  return server;
}

const hex = (text: string): string => Buffer.from(text).toString("hex");
const probe = (send: string | undefined, ...receive: readonly string[]): TcpProbe => ({
  kind: "tcp",
  send: send === undefined ? undefined : hex(send),
  receive: receive.map(hex),
});
const check = ({ port }: CheckedServer, settings: TcpProbe): Promise<string> =>
  verdictOf((over) => checkTcp(upstreamAt(`http://127.0.0.1:${port}`), settings, over));

/** Says the chunks one by one, each once the one before has left. */
const saying =
  (...chunks: readonly string[]) =>
  (socket: Socket): void => {
    const next = (index: number): void => {
      const chunk = chunks[index];
      if (chunk === undefined) socket.end();
      else socket.write(chunk, () => setImmediate(next, index + 1));
    };
    next(0);
  };

describe("checkTcp()", () => {
  test("opening the connection is enough where nothing is expected, and nothing is sent", async () => {
    const server = await serve(() => {});
    expect(await check(server, probe(undefined))).toBe("");
    const [socket] = [...server.sockets];
    if (socket) await once(socket.resume(), "close");
    expect(socket?.bytesRead ?? 0).toBe(0);
    expect(server.sockets.size).toBe(0);
  });

  test("sends its bytes and accepts the expected ones", async () => {
    const server = await serve((socket) =>
      socket.on("data", (chunk: Buffer) =>
        socket.write(chunk.equals(Buffer.from("PING\r\n")) ? "+PONG\r\n" : "-ERR\r\n"),
      ),
    );
    expect(await check(server, probe("PING\r\n", "+PONG"))).toBe("");
    const binary: TcpProbe = { kind: "tcp", send: "50494e470d0a", receive: ["2b504f4e470d0a"] };
    expect(await check(server, binary)).toBe("");
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test.each<readonly [string, readonly string[], readonly string[], string]>([
    ["a greeting that nobody asked for", ["220 ready\r\n"], ["220"], ""],
    ["parts with something between", ["a--b--c"], ["a", "b", "c"], ""],
    ["a part in two chunks", ["xxab", "cdyy"], ["abcd"], ""],
    ["a part that only seems to begin", ["aab", "aabc"], ["aabc"], ""],
    ["parts in one chunk each", ["one", "two"], ["one", "two"], ""],
    ["the same part twice", ["ab"], ["ab", "ab"], "the upstream closed the connection after 1 of 2 expected parts"],
    ["the wrong order", ["ba"], ["a", "b"], "the upstream closed the connection after 1 of 2 expected parts"],
    [
      "parts that would overlap",
      ["aba"],
      ["ab", "ba"],
      "the upstream closed the connection after 1 of 2 expected parts",
    ],
    ["other bytes", ["-ERR"], ["+PONG"], "the upstream closed the connection after 0 of 1 expected parts"],
    ["nothing at all", [], ["x"], "the upstream closed the connection after 0 of 1 expected parts"],
  ])("%s", async (_, chunks, expected, verdict) => {
    const server = await serve(saying(...chunks));
    expect(await check(server, probe(undefined, ...expected))).toBe(verdict);
  });

  test("bytes that are not text", async () => {
    const server = await serve((socket) => socket.end(Buffer.from([0x00, 0xff, 0x80, 0x00])));
    expect(await check(server, { kind: "tcp", send: "ff00", receive: ["ff80"] })).toBe("");
    expect(await check(server, { kind: "tcp", send: "ff00", receive: ["80ff"] })).not.toBe("");
  });

  test("gives up an upstream that talks without end", async () => {
    const server = await serve((socket) => {
      const more = (): void => {
        while (socket.writable && socket.write("x".repeat(1_000)));
      };
      socket.on("drain", more);
      more();
    });
    expect(await check(server, probe(undefined, "y"))).toBe(
      "the answer is longer than 65536 bytes without what is expected",
    );
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test("reports a reset, and that nothing listens", async () => {
    const server = await serve((socket) => socket.resetAndDestroy());
    expect(await check(server, probe("PING", "PONG"))).toMatch(/ECONNRESET|EPIPE/);
    const dead = upstreamAt(`http://127.0.0.1:${await freePort()}`);
    expect(await verdictOf((over) => checkTcp(dead, probe(undefined), over))).toContain("ECONNREFUSED");
  });

  test("a canceled one leaves no connection, whether the upstream is silent or has closed its half", async () => {
    const silent = await serve(() => {});
    const halfClosed = await listen(createServer({ allowHalfOpen: true }, (socket) => void socket.resume()));
    open.push(halfClosed);
    for (const server of [silent, halfClosed]) {
      const words: string[] = [];
      const cancel = checkTcp(upstreamAt(`http://127.0.0.1:${server.port}`), probe("PING", "PONG"), (word) => {
        words.push(word);
      });
      (await server.connected).resume();
      cancel();
      if (server === halfClosed) {
        const [socket] = [...server.sockets];
        socket?.end();
      }
      await expect.poll(() => server.sockets.size).toBe(0);
      expect(words).toEqual([]);
    }
  });
});

describe("createFinder()", () => {
  test.each<readonly [chunks: string, parts: string, found: readonly number[]]>([
    ["xxab cdyy", "abcd", [0, 1]],
    ["a b c d", "abcd", [0, 0, 0, 1]],
    ["aab aabc", "aabc", [0, 1]],
    ["ab ab", "ab ab", [1, 2]],
    ["aba b", "ab ab", [1, 2]],
    ["aba", "ab ba", [1]],
    ["xaxb c", "a b c", [2, 3]],
    ["b a b", "a b", [0, 1, 2]],
    ["abc abc", "c a", [1, 2]],
    ["one twothree", "one two three", [1, 3]],
  ])("%j for %j: %j found", (chunks, parts, found) => {
    const find = createFinder(parts.split(" ").map((part) => Buffer.from(part)));
    expect(chunks.split(" ").map((chunk) => find(Buffer.from(chunk)))).toEqual(found);
  });
});

describe("checkTcp() over TLS", () => {
  const authority = makeTestCertificate({ name: "authority", isAuthority: true });
  const certificate = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  const pong = (socket: Socket): void => void socket.on("data", () => socket.write("PONG"));

  async function serveTls(more: object = {}): Promise<CheckedServer> {
    const server = await listen(
      createTlsServer({ cert: certificate.cert, key: certificate.key, ...more }, pong),
      "localhost",
    );
    open.push(server);
    return server;
  }

  test.each([
    ["with the authority", { ca: authority.cert }, /^$/],
    ["without it", {}, /unable to verify|self.signed|unable to get/],
    ["without it, where nothing is checked", { rejectUnauthorized: false }, /^$/],
    ["under another name", { ca: authority.cert, servername: "other.example" }, /does not match|altnames/],
  ])("%s", async (_, tls, verdict) => {
    const server = await serveTls();
    const upstream = upstreamAt(`https://localhost:${server.port}`, tls);
    expect(await verdictOf((over) => checkTcp(upstream, probe("PING", "PONG"), over))).toMatch(verdict);
    // A certificate that is not trusted is no open connection either.
    expect(await verdictOf((over) => checkTcp(upstream, probe(undefined), over))).toMatch(verdict);
  });

  test("shows its certificate to an upstream that asks for one", async () => {
    const client = makeTestCertificate({ name: "gateway", by: authority });
    const server = await serveTls({ ca: authority.cert, requestCert: true, rejectUnauthorized: true });
    const asked = (tls: object): Promise<string> =>
      verdictOf((over) => checkTcp(upstreamAt(`https://localhost:${server.port}`, tls), probe("PING", "PONG"), over));
    expect(await asked({ ca: authority.cert, cert: client.cert, key: client.key })).toBe("");
    expect(await asked({ ca: authority.cert })).not.toBe("");
  });

  test("an upstream that speaks no TLS where `to` is https is unhealthy", async () => {
    const server = await serve((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const upstream = upstreamAt(`https://127.0.0.1:${server.port}`);
    expect(await verdictOf((over) => checkTcp(upstream, probe(undefined), over))).not.toBe("");
  });
});
