/** WebSocket through the gateway: over HTTP/1.1 and, by extended CONNECT, over HTTP/2. @see RFC 6455, RFC 8441 */
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../../../support/certificates.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { openRaw, sendRaw, type RawConnection } from "../../../support/raw-client.ts";
import { startWebSocketUpstream, type WebSocketUpstream } from "../../../support/websocket-upstream.ts";

let tls: ListenerCertificates;
let upstream: WebSocketUpstream;
let plain: Pipeline;
let secure: Pipeline;

const KEY = "dGhlIHNhbXBsZSBub25jZQ==";
/** Value for the key above, computed by RFC 6455 §1.3. */
const ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const yaml = (policy = "authenticated_user: true"): string => `routes:
  - { name: app, from: https://app.example, to: "${upstream.origin}", allow_websockets: true, set_response_headers: { X-Set: "1" }, policy: [{ allow: { and: [{ ${policy} }] } }] }
  - { name: without, from: https://app.example, prefix: /without, to: "${upstream.origin}", policy: [{ allow: { and: [{ accept: true }] } }] }
  - { name: dead, from: https://app.example, prefix: /dead, to: "http://127.0.0.1:1", allow_websockets: true, policy: [{ allow: { and: [{ accept: true }] } }] }`;

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  upstream = await startWebSocketUpstream();
  plain = await startPipeline(yaml());
  secure = await startPipeline(yaml(), { certificates: tls.certificates });
});
afterAll(async () => {
  await plain.close();
  await secure.close();
  await upstream.close();
  await tls.close();
});

function handshake(path = "/", more: readonly string[] = [], cookie = "gateway_session=alice"): string {
  return [
    `GET ${path} HTTP/1.1`,
    "Host: app.example",
    "Connection: keep-alive, Upgrade",
    "Upgrade: WebSocket",
    `Sec-WebSocket-Key: ${KEY}`,
    "Sec-WebSocket-Version: 13",
    `Cookie: ${cookie}`,
    ...more,
    "",
    "",
  ].join("\r\n");
}

describe("WebSocket over HTTP/1.1", () => {
  let open: RawConnection | undefined;
  afterEach(() => {
    open?.socket.destroy();
    return upstream.allClosed();
  });

  async function established(): Promise<RawConnection> {
    open = openRaw(plain.port, handshake("/", ["Origin: https://app.example"]));
    await open.contains("\r\n\r\n");
    return open;
  }

  test("bytes pass both ways, with a handshake of its own on each side", async () => {
    open = openRaw(plain.port, `${handshake("/chat?x=1", ["Sec-WebSocket-Protocol: chat, other"])}early`);
    await open.contains("early");
    const head = open.text.slice(0, open.text.indexOf("\r\n\r\n")).toLowerCase();
    expect(open.text).toMatch(/^HTTP\/1\.1 101 /);
    expect(open.text).toContain(`sec-websocket-accept: ${ACCEPT}`);
    expect(head).toContain("sec-websocket-protocol: chat");
    expect(head).toContain("x-set: 1");
    const id = /\r\nx-request-id: ([0-9a-f]{32})/.exec(head)?.[1];
    expect(plain.records.at(-1)).toMatchObject({ "request-id": id });
    open.socket.write("and later");
    await open.contains("and later");

    const seen = upstream.handshakes.at(-1);
    expect(seen?.url).toBe("/chat?x=1");
    expect(seen?.headers["sec-websocket-key"]).not.toBe(KEY);
    expect(seen?.headers["x-gateway-assertion"]).toBe("assertion.alice.app.example");
    expect(seen?.headers.cookie).toBeUndefined();
    expect(plain.records.at(-1)).toMatchObject({ allow: true });
  });

  test("bytes that the upstream sends with its handshake reach the client", async () => {
    open = openRaw(plain.port, handshake("/hello"));
    await open.contains("\r\n\r\nhello");
  });

  test.each<[string, string, number]>([
    ["a route without allow_websockets", handshake("/without"), 403],
    ["a page of another origin", handshake("/", ["Origin: https://evil.example"]), 403],
    ["a page of an opaque origin", handshake("/", ["Origin: null"]), 403],
    ["no session", handshake("/", [], "a=b"), 302],
    ["an upstream that cannot be reached", handshake("/dead"), 502],
    ["an answer for another key", handshake("/wrong"), 502],
    ["an answer that changes to something else", handshake("/other"), 502],
    ["no key", handshake().replace(`Sec-WebSocket-Key: ${KEY}\r\n`, ""), 400],
    ["a short key", handshake().replace(KEY, "c2hvcnQ="), 400],
    ["an old version", handshake().replace("Version: 13", "Version: 8"), 426],
    ["a foreign host", handshake().replace("app.example", "evil.example"), 404],
  ])("%s is refused", async (_case, request, status) => {
    const answer = await sendRaw(plain.port, request);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("connection")).toContain("close");
  });

  test("an upstream's refusal reaches the client as it is", async () => {
    const answer = await sendRaw(plain.port, handshake("/no"));
    expect(answer).toMatchObject({ status: 403, body: "no" });
    expect(answer.headers.get("x-why")).toEqual(["upstream"]);
  });

  test("another Upgrade, or one with a body, is an ordinary request", async () => {
    const other = await sendRaw(plain.port, handshake().replace("Upgrade: WebSocket", "Upgrade: h2c"));
    expect(other.status).toBe(200);
    expect(other.body).toContain("plain");
    const withBody = await sendRaw(plain.port, `${handshake("/", ["Content-Length: 3"])}abc`);
    expect(withBody.status).toBe(200);
  });

  test("it ends with the session's revocation", async () => {
    const { closed } = await established();
    expect(upstream.open.size).toBe(1);
    plain.revocations.revokeNow("session:session-alice");
    await closed;
    await upstream.allClosed();
    await plain.close();
    plain = await startPipeline(yaml());
  });

  test("it ends when the policy says no", async () => {
    const { closed } = await established();
    plain.swap(yaml("email: { is: bob@example.com }"));
    await closed;
    await upstream.allClosed();
    plain.swap(yaml());
  });

  test("it ends when the user's claims change at a refresh and the policy says no", async () => {
    let groups: readonly string[] = ["staff"];
    const guarded = await startPipeline(yaml("groups: staff"), {
      current: (principal) => Promise.resolve({ ...principal, user: { ...principal.user, groups, version: 2 } }),
    });
    open = openRaw(guarded.port, handshake());
    await open.contains("\r\n\r\n");
    await guarded.proxy.streams.recheck();
    open.socket.write("still here");
    await open.contains("still here");
    groups = ["visitors"];
    await guarded.proxy.streams.recheck();
    await open.closed;
    await upstream.allClosed();
    await guarded.close();
  });

  test("each side's end ends the other", async () => {
    const first = await established();
    first.socket.end();
    await upstream.allClosed();
    const second = await established();
    for (const socket of upstream.open) socket.destroy();
    await second.closed;
  });

  test("a shutdown does not wait for it", async () => {
    const other = await startPipeline(yaml());
    open = openRaw(other.port, handshake());
    await open.contains("\r\n\r\n");
    await other.close({ timeoutMs: 5_000 });
    await open.closed;
  });
});

describe("WebSocket over HTTP/2", () => {
  let session: ClientHttp2Session;
  beforeAll(async () => {
    session = connectHttp2(`https://127.0.0.1:${secure.port}`, { rejectUnauthorized: false });
    session.on("error", () => {});
    await new Promise((resolve) => session.once("remoteSettings", resolve));
  });
  afterAll(() => session.destroy());
  afterEach(() => upstream.allClosed());

  async function open(
    path: string,
    more: Record<string, string> = {},
  ): Promise<{ stream: ClientHttp2Stream; status: number }> {
    const stream = session.request(
      {
        ":method": "CONNECT",
        ":protocol": "websocket",
        ":scheme": "https",
        ":path": path,
        ":authority": "app.example",
        "sec-websocket-version": "13",
        cookie: "gateway_session=alice",
        ...more,
      },
      { endStream: false },
    );
    stream.on("error", () => {});
    const status = await new Promise<number>((resolve) => {
      stream.once("response", (headers) => resolve(Number(headers[":status"])));
      stream.once("close", () => resolve(0));
    });
    return { stream, status };
  }

  function text(stream: ClientHttp2Stream, wanted: string): Promise<void> {
    let got = "";
    return new Promise((resolve) => {
      stream.on("data", (chunk: Buffer) => {
        got += String(chunk);
        if (got.includes(wanted)) resolve();
      });
    });
  }

  test("the server offers extended CONNECT, and bytes pass both ways", async () => {
    expect(session.remoteSettings.enableConnectProtocol).toBe(true);
    const { stream, status } = await open("/chat", { origin: "https://app.example" });
    expect(status).toBe(200);
    stream.write("over h2");
    await text(stream, "over h2");
    expect(upstream.handshakes.at(-1)?.method).toBe("GET");
    expect(upstream.handshakes.at(-1)?.headers["x-gateway-assertion"]).toBe("assertion.alice.app.example");
    stream.close();
  });

  test.each([
    ["/without", {}, 403],
    ["/", { origin: "https://evil.example" }, 403],
    ["/", { "sec-websocket-version": "8" }, 400],
    ["/no", {}, 403],
    ["/wrong", {}, 502],
    ["/dead", {}, 502],
  ])("%s with %j is refused", async (path, more, expected) => {
    const { stream, status } = await open(path, more);
    expect(status).toBe(expected);
    stream.close();
  });

  test("ends with the session's revocation, while other streams of the connection continue", async () => {
    const { stream } = await open("/");
    const closed = new Promise((resolve) => stream.once("close", resolve));
    secure.revocations.revokeNow("session:session-alice");
    await closed;
    await upstream.allClosed();
    const after = session.request({ ":path": "/without/x", ":authority": "app.example" });
    const status = await new Promise((resolve) => after.once("response", (headers) => resolve(headers[":status"])));
    expect(status).toBe(200);
    after.close();
  });
});
