/** PROXY protocol and X-Forwarded-For: who a client is said to be, and who may say so. */
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";

import type { Exchange } from "../../../../runtime/http/exchange.ts";
import { readForwardedFor } from "../../../../runtime/http/listener/forwarded-for.ts";
import { readProxyHeader } from "../../../../runtime/http/listener/proxy-protocol.ts";
import { startPlainServer } from "../../../../runtime/http/listener/plain-server.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../../../runtime/http/listener/server.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { openListenerCertificates } from "../../../support/certificates.ts";
import { openRaw, sendRaw } from "../../../support/raw-client.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const SIGNATURE = "\r\n\r\n\0\r\nQUIT\n";
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

/** A head of version 2. @param options byte 13: command; byte 14: family and transport */
function binary(command: number, family: number, payload: readonly number[], size = payload.length): Buffer {
  return Buffer.concat([latin1(SIGNATURE), Buffer.from([command, family, size >> 8, size & 0xff, ...payload])]);
}
const IPV4 = [192, 0, 2, 7, 10, 0, 0, 1, 0xc3, 0x50, 1, 0xbb];
const IPV6 = [...Buffer.from("20010db8000000000000000000000007", "hex"), ...Buffer.alloc(16), 0xc3, 0x50, 1, 0xbb];

describe("readProxyHeader()", () => {
  test.each([
    ["v1 TCP4", "PROXY TCP4 192.0.2.7 10.0.0.1 50000 443\r\n", "192.0.2.7"],
    ["v1 TCP6", "PROXY TCP6 2001:DB8::7 ::1 50000 443\r\n", "2001:db8::7"],
    ["v1 with port 0", "PROXY TCP4 192.0.2.7 10.0.0.1 0 65535\r\n", "192.0.2.7"],
    ["v1 UNKNOWN", "PROXY UNKNOWN\r\n", undefined],
    ["v1 UNKNOWN with whatever", "PROXY UNKNOWN ffff:: x 1 2\r\n", undefined],
    ["v2 TCP over IPv4", binary(0x21, 0x11, IPV4), "192.0.2.7"],
    ["v2 TCP over IPv6", binary(0x21, 0x21, IPV6), "2001:db8::7"],
    ["v2 with extensions", binary(0x21, 0x11, [...IPV4, 0x04, 0, 3, 1, 2, 3]), "192.0.2.7"],
    ["v2 LOCAL", binary(0x20, 0x00, []), undefined],
    ["v2 LOCAL with addresses, which count for nothing", binary(0x20, 0x11, IPV4), undefined],
    ["v2 unspecified", binary(0x21, 0x00, []), undefined],
    [
      "v2 of a UNIX socket",
      binary(
        0x21,
        0x31,
        Array.from({ length: 216 }, () => 0),
      ),
      undefined,
    ],
  ])("reads %s", (_, head, source) => {
    const bytes = typeof head === "string" ? latin1(head) : head;
    const whole = { kind: "ok", length: bytes.length, source };
    expect(readProxyHeader(bytes)).toEqual(whole);
    expect(readProxyHeader(Buffer.concat([bytes, latin1("GET / HTTP/1.1\r\n")]))).toEqual(whole);
    for (let length = 0; length < bytes.length; length += 1)
      expect(readProxyHeader(bytes.subarray(0, length)).kind).toBe("incomplete");
  });

  test.each([
    ["no head", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["TLS", "\x16\x03\x01"],
    ["another first byte", " PROXY TCP4"],
    ["lower case", "proxy TCP4 192.0.2.7 10.0.0.1 1 2\r\n"],
    ["another family", "PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n"],
    ["an IPv4 address as TCP6", "PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n"],
    ["an IPv6 address as TCP4", "PROXY TCP4 2001:db8::7 ::1 1 2\r\n"],
    ["a zone", "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n"],
    ["an octal address", "PROXY TCP4 0300.0.2.7 10.0.0.1 1 2\r\n"],
    ["a short address", "PROXY TCP4 127.1 10.0.0.1 1 2\r\n"],
    ["a name", "PROXY TCP4 localhost 10.0.0.1 1 2\r\n"],
    ["a port above 65535", "PROXY TCP4 192.0.2.7 10.0.0.1 65536 2\r\n"],
    ["a port with a zero before", "PROXY TCP4 192.0.2.7 10.0.0.1 01 2\r\n"],
    ["a missing port", "PROXY TCP4 192.0.2.7 10.0.0.1 1\r\n"],
    ["more than there is", "PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3\r\n"],
    ["two spaces", "PROXY TCP4  192.0.2.7 10.0.0.1 1 2\r\n"],
    ["a tab", "PROXY TCP4 192.0.2.7\t10.0.0.1 1 2\r\n"],
    ["a bare line feed", "PROXY TCP4 192.0.2.7 10.0.0.1 1 2\n\r\n"],
    ["a line without end", `PROXY UNKNOWN ${"x".repeat(107)}`],
    ["a line that ends late", `PROXY UNKNOWN ${"x".repeat(92)}\r\n`],
    ["version 1 in the binary form", binary(0x11, 0x11, IPV4)],
    ["another command", binary(0x22, 0x11, IPV4)],
    ["UDP", binary(0x21, 0x12, IPV4)],
    ["another family in the binary form", binary(0x21, 0x41, IPV4)],
    ["too short for its addresses", binary(0x21, 0x11, IPV4.slice(0, 11))],
    ["IPv4 where IPv6 is said", binary(0x21, 0x21, IPV4)],
    ["longer than any", binary(0x21, 0x11, [], 2_049)],
  ])("refuses %s", (_, head) => {
    expect(readProxyHeader(typeof head === "string" ? latin1(head) : head).kind).toBe("bad");
  });
});

async function serve(options: Partial<HttpServerOptions> = {}): Promise<HttpServer & { readonly seen: Exchange[] }> {
  const seen: Exchange[] = [];
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log: silentLog(),
    handle(exchange) {
      seen.push(exchange);
      exchange.respond(200, ["content-length", String(exchange.remoteAddress.length)], exchange.remoteAddress);
    },
    ...options,
  });
  open.push({ close: () => server.close({ timeoutMs: 100 }) });
  return { ...server, seen };
}

const HEAD = "PROXY TCP4 192.0.2.7 10.0.0.1 50000 443\r\n";
const GET = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";

describe("use_proxy_protocol", () => {
  test("the address in the head is the client's; head and request may come in one piece or byte by byte", async () => {
    const server = await serve({ proxyProtocol: true });
    expect((await sendRaw(server.port, HEAD + GET)).body).toBe("192.0.2.7");
    const client = openRaw(server.port);
    client.socket.setNoDelay(true);
    for (const byte of HEAD + GET) {
      client.socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await client.contains("192.0.2.7");
    await client.closed;
    expect((await sendRaw(server.port, `${binary(0x21, 0x21, IPV6).toString("latin1")}${GET}`)).body).toBe(
      "2001:db8::7",
    );
  });

  test("holds for every request of the connection, and a later one cannot change it", async () => {
    const server = await serve({ proxyProtocol: true });
    const next = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    const client = openRaw(server.port, HEAD + next);
    await client.contains("192.0.2.7");
    client.socket.write(`${HEAD.replace("192.0.2.7", "192.0.2.8")}${next}`);
    await client.closed;
    expect(client.text).toContain("400 Bad Request");
    expect(server.seen).toHaveLength(1);
  });

  test.each(["PROXY UNKNOWN\r\n", binary(0x20, 0, []).toString("latin1")])(
    "a head without address leaves the connection's own",
    async (head) => {
      const server = await serve({ proxyProtocol: true });
      expect((await sendRaw(server.port, head + GET)).body).toBe("127.0.0.1");
    },
  );

  test.each([
    ["a request without head", GET],
    ["garbage", "PROXY TCP4 nonsense\r\n"],
    ["a line that never ends", "PROXY UNKNOWN ".padEnd(200, "x")],
    ["a second head", `${HEAD}${HEAD}${GET}`],
  ])("closes a connection with %s, without reading it as a request", async (_, bytes) => {
    const server = await serve({ proxyProtocol: true });
    const client = openRaw(server.port, bytes);
    await client.closed;
    expect(client.text).not.toContain("200 OK");
    expect(server.seen).toEqual([]);
  });

  test("the head is not believed where the setting is off", async () => {
    const server = await serve();
    expect((await sendRaw(server.port, HEAD + GET)).status).toBe(400);
    expect(server.seen).toEqual([]);
  });

  test("close() closes connections without a complete head, and idle ones with one", async () => {
    const server = await serve({ proxyProtocol: true });
    const clients = [openRaw(server.port), openRaw(server.port, HEAD.slice(0, 20)), openRaw(server.port, HEAD)];
    await expect.poll(() => server.connections()).toBe(3);
    const started = performance.now();
    await server.close({ timeoutMs: 20_000 });
    await Promise.all(clients.map(({ closed }) => closed));
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test("counts for max_connections before the head has come", async () => {
    const server = await serve({ proxyProtocol: true, maxConnections: 1 });
    const first = openRaw(server.port, HEAD.slice(0, 3));
    await expect.poll(() => server.connections()).toBe(1);
    await openRaw(server.port, HEAD + GET).closed;
    expect(server.seen).toEqual([]);
    first.socket.write(HEAD.slice(3) + GET);
    await first.contains("192.0.2.7");
  });

  test("comes before TLS, with HTTP/1.1 and HTTP/2 after it", async () => {
    const tls = await openListenerCertificates("a.example");
    open.push(tls);
    const server = await serve({ proxyProtocol: true, insecure: false, certificates: tls.certificates });
    const plain = (head: string): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connectTcp(server.port, "127.0.0.1", () => socket.write(head, () => resolve(socket)));
        socket.on("error", reject);
      });

    const text = await new Promise<string>((resolve, reject) => {
      void plain(HEAD).then((socket) => {
        const tls = connectTls({ socket, servername: "a.example", rejectUnauthorized: false }, () => tls.write(GET));
        let got = "";
        tls.on("data", (chunk: Buffer) => (got += chunk.toString()));
        tls.on("error", reject);
        tls.on("close", () => resolve(got));
      });
    });
    expect(text).toContain("192.0.2.7");

    const socket = await plain(HEAD.replace("192.0.2.7", "192.0.2.9"));
    const session = connectHttp2("https://a.example", {
      createConnection: () =>
        connectTls({ socket, servername: "a.example", rejectUnauthorized: false, ALPNProtocols: ["h2"] }),
    });
    open.push({ close: () => session.destroy() });
    const body = await new Promise<string>((resolve, reject) => {
      const request = session.request({ ":path": "/", ":authority": "a.example" });
      let got = "";
      request.on("data", (chunk: Buffer) => (got += chunk.toString()));
      request.on("end", () => resolve(got));
      request.on("error", reject);
    });
    expect(body).toBe("192.0.2.9");
    const without = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
    await new Promise<void>((resolve) => without.on("error", () => resolve()));
    expect(server.seen).toHaveLength(2);
  });

  test("a head that shares its segment with the TLS handshake, or is cut anywhere, is read alike", async () => {
    const tls = await openListenerCertificates("a.example");
    open.push(tls);
    const server = await serve({ proxyProtocol: true, insecure: false, certificates: tls.certificates });
    for (const cut of [0, 7, HEAD.length - 1, HEAD.length + 3]) {
      // As a load balancer writes it: the head in front of the client's first bytes.
      const relay = createTcpServer((client) => {
        const onward = connectTcp(server.port, "127.0.0.1");
        onward.setNoDelay(true);
        for (const socket of [client, onward]) socket.on("error", () => {});
        client.once("data", (hello: Buffer) => {
          const first = Buffer.concat([latin1(HEAD), hello]);
          if (cut > 0) onward.write(first.subarray(0, cut));
          setTimeout(() => {
            onward.write(first.subarray(cut));
            client.pipe(onward).pipe(client);
          }, 20);
        });
      });
      await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
      open.push({ close: () => relay.close() });
      const text = await new Promise<string>((resolve, reject) => {
        const { port } = relay.address() as AddressInfo;
        const options = { port, host: "127.0.0.1", servername: "a.example", rejectUnauthorized: false };
        const tls = connectTls(options, () => tls.write(GET));
        let got = "";
        tls.on("data", (chunk: Buffer) => (got += chunk.toString()));
        tls.on("error", reject);
        tls.on("close", () => resolve(got));
      });
      expect(text, `cut at ${cut}`).toContain("192.0.2.7");
    }
  });

  test("the plain listener next to the TLS one also expects the head", async () => {
    const redirects = await startPlainServer({
      address: "127.0.0.1:0",
      securePort: 443,
      servesHost: () => true,
      proxyProtocol: true,
      log: silentLog(),
    });
    open.push(redirects);
    expect((await sendRaw(redirects.port, HEAD + GET)).headers.get("location")).toEqual(["https://a.example/"]);
    expect((await sendRaw(redirects.port, GET)).status).toBe(0);
  });
});

describe("readForwardedFor()", () => {
  const PEER = "10.0.0.1";
  const read = (trustedHops: number, ...values: readonly string[]) =>
    readForwardedFor({ trustedHops, skipAppend: false }, values, PEER);

  test.each([
    [1, ["192.0.2.7"], "192.0.2.7", "192.0.2.7, 10.0.0.1"],
    [2, ["192.0.2.7, 10.0.0.2"], "192.0.2.7", "192.0.2.7, 10.0.0.2, 10.0.0.1"],
    // Several headers are one list, in order (RFC 9110 §5.3).
    [2, ["192.0.2.7", "10.0.0.2"], "192.0.2.7", "192.0.2.7, 10.0.0.2, 10.0.0.1"],
    [1, ["2001:db8::7"], "2001:db8::7", "2001:db8::7, 10.0.0.1"],
    [1, ["192.0.2.7:1234"], "192.0.2.7", "192.0.2.7, 10.0.0.1"],
    [1, ["[2001:db8::7]:1234"], "2001:db8::7", "2001:db8::7, 10.0.0.1"],
    [1, [" 192.0.2.7\t"], "192.0.2.7", "192.0.2.7, 10.0.0.1"],
  ])("with %i proxies %j is %s", (hops, values, address, chain) => {
    expect(read(hops, ...values)).toEqual({ address, chain });
  });

  test("entries to the left of the proxies' are neither trusted nor forwarded", () => {
    expect(read(1, "127.0.0.1, 10.9.9.9", "192.0.2.7")).toEqual({ address: "192.0.2.7", chain: "192.0.2.7, 10.0.0.1" });
    expect(read(1, "evil\u0001, , 192.0.2.7")).toEqual({ address: "192.0.2.7", chain: "192.0.2.7, 10.0.0.1" });
  });

  test.each([
    ["without the header", 1, []],
    ["with fewer entries than proxies", 2, ["192.0.2.7"]],
    ["with an empty header", 1, [""]],
    ["with an empty entry among them", 2, ["192.0.2.7,,10.0.0.2".replace("192.0.2.7,,", "192.0.2.7, ,")]],
    ["with an empty last entry", 1, ["192.0.2.7,"]],
    ["with a zone", 1, ["fe80::1%eth0"]],
    ["with a bracketed zone", 1, ["[fe80::1%25eth0]"]],
    ["with brackets around IPv4", 1, ["[192.0.2.7]"]],
    ["with a name", 1, ["unknown"]],
    ["with an octal address", 1, ["0300.0.2.7"]],
    ["with a list that is too long", 1, [`${"192.0.2.7,".repeat(1_000)}192.0.2.7`]],
  ])("trusts only the connection %s", (_, hops, values) => {
    expect(read(hops, ...values)).toEqual({ address: PEER, chain: PEER });
  });

  test("skip_xff_append leaves the connection's address out", () => {
    const skip = (trustedHops: number, ...values: readonly string[]) =>
      readForwardedFor({ trustedHops, skipAppend: true }, values, PEER);
    expect(skip(1, "127.0.0.1, 192.0.2.7")).toEqual({ address: "192.0.2.7", chain: "192.0.2.7" });
    expect(skip(0, "192.0.2.7")).toEqual({ address: PEER, chain: "" });
    expect(skip(2, "192.0.2.7")).toEqual({ address: PEER, chain: "" });
  });

  test("entries further to the left change nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 40 }), { maxLength: 5 }), (forged) => {
        expect(read(2, ...forged, "192.0.2.7, 10.0.0.2")).toEqual(read(2, "192.0.2.7, 10.0.0.2"));
      }),
    );
  });
});
