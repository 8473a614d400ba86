/**
 * MCP servers of revision 2024-11-05 (HTTP with SSE) with the gateway: they announce addresses for messages to their clients,
 * and an announcement must not bypass the policy, or lead to another user's session or another origin.
 */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createTestClock } from "../support/clock.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { signInClient } from "../support/oauth-client.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { openRaw, sendRaw, type RawAnswer } from "../support/raw-client.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "../support/scripted-upstream.ts";

interface OldServer {
  readonly origin: string;
  /** Tools called, and targets of the requests that came. */
  readonly calls: readonly string[];
  readonly targets: readonly string[];
  close(): Promise<void>;
}

/** As the SDK's documentation had it: a stream at /sse, messages at /messages. */
async function startOldServer(): Promise<OldServer> {
  const transports = new Map<string, SSEServerTransport>();
  const calls: string[] = [];
  const targets: string[] = [];
  const server: HttpServer = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://old.example");
    targets.push(`${request.method} ${url.pathname}`);
    if (request.method === "GET" && url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      const mcp = new McpServer({ name: "old", version: "1" });
      for (const name of ["echo", "delete_all"]) {
        mcp.registerTool(name, { description: name }, () => {
          calls.push(name);
          return { content: [{ type: "text", text: `${name} done` }] };
        });
      }
      void mcp.connect(transport);
      return;
    }
    const transport = transports.get(url.searchParams.get("sessionId") ?? "");
    if (request.method !== "POST" || url.pathname !== "/messages" || !transport) response.writeHead(404).end();
    else void transport.handlePostMessage(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    targets,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const POLICY = `
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
        deny: { and: [{ mcp_tool: { starts_with: delete_ } }] }`;

describe("a real server and a real client", () => {
  let old: OldServer;
  let world: SignInGateway;

  beforeAll(async () => {
    old = await startOldServer();
    world = await startSignInGateway({
      yaml: `
routes:
  - name: prefixed
    from: "{origin}"
    prefix: /tools
    to: ${old.origin}
    mcp: { server: { path: /sse } }${POLICY}
  - name: root
    from: "{origin}"
    to: ${old.origin}/sse
    mcp: { server: {} }${POLICY}
`,
    });
  });
  afterAll(async () => {
    await world?.close();
    await old?.close();
  });

  test.each([
    ["under a prefix", "/tools/sse"],
    ["at the base of a prefix", "/tools"],
    ["at a root", "/"],
  ])("talk through the gateway, and a denied tool is not called: %s", async (_name, path) => {
    const resource = world.gateway.origin + path;
    const { tokens } = await signInClient({ resource, user: "alice@example.com" });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const transport = new SSEClientTransport(new URL(resource), { requestInit: { headers } });
    const client = new Client({ name: "old", version: "1" });
    const before = old.calls.length;
    await client.connect(transport);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
    expect(JSON.stringify(await client.callTool({ name: "echo" }))).toContain("echo done");
    await expect(client.callTool({ name: "delete_all" })).rejects.toThrow(/403.*denied/);
    expect(JSON.stringify(await client.callTool({ name: "echo" }))).toContain("echo done");
    expect(old.calls.slice(before)).toEqual(["echo", "echo"]);
    await client.close();
  });

  test("messages to the sealed address have records with their tools", async () => {
    const records = await world.gateway.records();
    expect(records.filter((record) => record["mcp-tool"] === "delete_all").map(({ allow }) => allow)).toContain(false);
    expect(new Set(old.targets)).toEqual(new Set(["GET /sse", "POST /messages"]));
  });

  test("the sealed address has metadata: that of the route's resource", async () => {
    const { origin } = world.gateway;
    const unauthorized = await fetch(`${origin}/tools?gateway_endpoint=x`, { method: "POST" });
    expect(unauthorized.status).toBe(401);
    const named = /resource_metadata="([^"]+)"/.exec(unauthorized.headers.get("www-authenticate") ?? "")?.[1] ?? "";
    for (const url of [named, `${origin}/.well-known/oauth-protected-resource/tools?gateway_endpoint=x`]) {
      // oxlint-disable-next-line no-await-in-loop -- two
      expect(await (await fetch(url)).json()).toMatchObject({ resource: `${origin}/tools/sse` });
    }
  });
});

describe("an address that is not the caller's, or not the upstream's", () => {
  let upstream: ScriptedUpstream;
  let pipeline: Pipeline;
  const clock = createTestClock();
  /** Data that the upstream sends after the head of its streams. */
  let stream = "";
  let head = "";
  let typed = "text/event-stream";

  beforeAll(async () => {
    upstream = await startScriptedUpstream((socket, { method }) => {
      if (method === "GET") socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${typed}\r\n${head}\r\n${stream}`);
      else socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 8\r\n\r\nAccepted");
    });
    const policy = `
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]`;
    pipeline = await startPipeline(
      `
    runtime_flags: { mcp: true }
    routes:
      - from: https://one.example
        name: one
        prefix: /p
        to: ${upstream.origin}/base
        mcp: { server: { path: /sse } }${policy}
      - from: https://one.example
        name: two
        prefix: /q
        to: ${upstream.origin}/base
        mcp: { server: { path: /sse } }${policy}
  `,
      { clock },
    );
  });
  afterAll(async () => {
    await pipeline.close();
    await upstream.close();
  });

  const streamRequest = (path: string, token = "gwt_alice"): string =>
    `GET ${path} HTTP/1.1\r\nHost: one.example\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n`;

  async function announced(text: string, path = "/p/sse"): Promise<string> {
    stream = text;
    head = "";
    const connection = openRaw(pipeline.port, streamRequest(path));
    await connection.contains("data: ");
    connection.socket.destroy();
    return /data: (\S+)/.exec(connection.text)?.[1] ?? "";
  }

  function post(target: string, { token = "gwt_alice", method = "POST" } = {}): Promise<RawAnswer> {
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    return sendRaw(
      pipeline.port,
      `${method} ${target} HTTP/1.1\r\nHost: one.example\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n${
        method === "POST" ? `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}` : "\r\n"
      }`,
    );
  }

  const heard = (): number => upstream.requests.length;

  test.each([
    ["an absolute path", "/messages?sessionId=1", "/messages?sessionId=1"],
    ["a relative one", "messages?sessionId=1", "/base/messages?sessionId=1"],
    ["a query alone", "?sessionId=1", "/base/sse?sessionId=1"],
    ["dot segments, as URLs have them", "../up/./messages", "/up/messages"],
    ["other spellings", "/%6Dessages/%7e", "/messages/~"],
  ])("goes where the upstream said: %s", async (_name, data, target) => {
    const address = await announced(`event: endpoint\ndata: ${data}\n\n`);
    expect(address).toMatch(/^\/p\?gateway_endpoint=[\w-]+$/);
    const before = heard();
    expect((await post(address)).status).toBe(202);
    expect(upstream.requests.slice(before).map((request) => request.target)).toEqual([target]);
  });

  test("an absolute address on the upstream's own origin", async () => {
    const address = await announced(`event: endpoint\ndata: ${upstream.origin}/messages?a\n\n`);
    expect((await post(address)).status).toBe(202);
    expect(upstream.requests.at(-1)?.target).toBe("/messages?a");
  });

  test.each([
    ["another origin", "https://evil.example/messages"],
    ["another scheme", "https://127.0.0.1/messages"],
    ["no scheme", "//evil.example/messages"],
    ["a backslash", "/\\evil.example/messages"],
    ["backslashes", "\\\\evil.example/messages"],
    ["a scheme without slashes", "http:evil.example/messages"],
    ["a tab that URL parsers drop", "/\t/evil.example/messages"],
    ["a NUL", "/messages\0"],
    ["letters outside ASCII", "/messäges"],
    ["a fragment", "/messages#a"],
    ["javascript", "javascript:alert(1)"],
    ["an encoded slash", "/a%2Fb"],
    ["an empty segment", "/a//b"],
    ["nothing", ""],
  ])("ends the stream, and the client does not see it: %s", async (_name, data) => {
    stream = `event: endpoint\ndata: ${data}\n\n`;
    head = "";
    const connection = openRaw(pipeline.port, streamRequest("/p/sse"));
    await connection.closed;
    // Aborted, so that it does not look complete. Earlier data may not have arrived.
    expect(connection.text).not.toContain("endpoint\n");
    expect(connection.text).not.toContain("evil");
  });

  test.each([
    ["a message", "event: message\ndata: {}\n\n"],
    ["a good address", "event: endpoint\ndata: /messages\n\n"],
  ])("a later address does not lead elsewhere on this host either: behind %s", async (_name, before) => {
    stream = `${before}event: endpoint\ndata: /q/other\n\n`;
    head = "";
    const connection = openRaw(pipeline.port, streamRequest("/p/sse"));
    await expect
      .poll(() => connection.text.split("event: endpoint\n").length)
      .toBe(before.split("endpoint").length + 1);
    connection.socket.destroy();
    expect(connection.text).not.toContain("/q/other");
  });

  test("a stream with a media type that only starts like SSE, which clients read", async () => {
    stream = "event: endpoint\ndata: https://evil.example/messages\n\n";
    typed = "text/event-stream, a/b";
    const connection = openRaw(pipeline.port, streamRequest("/p/sse"));
    await connection.closed;
    typed = "text/event-stream";
    expect(connection.text).not.toContain("evil");
  });

  test("user names in an address", async () => {
    const { host } = new URL(upstream.origin);
    stream = `event: endpoint\ndata: http://user:secret@${host}/messages\n\n`;
    const connection = openRaw(pipeline.port, streamRequest("/p/sse"));
    await connection.closed;
    expect(connection.text).not.toContain("secret");
  });

  test("a stream in an unrequested coding is a 502", async () => {
    head = "content-encoding: gzip\r\n";
    stream = "\u001f\u008b";
    const connection = openRaw(pipeline.port, streamRequest("/p/sse"));
    await connection.contains("\r\n\r\n");
    connection.socket.destroy();
    expect(connection.text).toMatch(/^HTTP\/1\.1 502/);
    expect(upstream.requests.at(-1)?.header("accept-encoding")).toBe("identity");
  });

  test("the address of another user, another route, or an unknown one is 404 and is not forwarded", async () => {
    const address = await announced("event: endpoint\ndata: /messages?sessionId=1\n\n");
    const before = heard();
    const recordsBefore = pipeline.records.length;
    const refused = await Promise.all([
      post(address, { token: "gwt_bob" }),
      post(address.replace("/p?", "/q?")),
      post(`${address}x`),
      post(`${address}&a=b`),
      post(address.replace("?", "?a=b&")),
      post(address.replace("/p?", "/p/sse?")),
      post(`${address}&gateway_endpoint=${address.split("=")[1]}`),
      post("/p?gateway_endpoint=messages"),
      post("/p?gateway_endpoint"),
      post(address, { method: "GET" }),
      post(address, { method: "DELETE" }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 404));
    expect(heard()).toBe(before);
    const records = pipeline.records.slice(recordsBefore);
    expect(records).toHaveLength(refused.length);
    expect(new Set(records.map((record) => String(record["allow-why-false"])))).toEqual(
      new Set(["mcp-message-address-unknown"]),
    );
  });

  test("without a token the validity of an address is not revealed", async () => {
    const address = await announced("event: endpoint\ndata: /messages\n\n");
    expect((await post(address, { token: "none" })).status).toBe(401);
    expect((await post("/p?gateway_endpoint=x", { token: "none" })).status).toBe(401);
  });

  test("an address ends with the right to the stream that announced it", async () => {
    const address = await announced("event: endpoint\ndata: /messages\n\n", "/p/sse");
    expect((await post(address)).status).toBe(202);
    clock.advance(3_601_000);
    expect((await post(address)).status).toBe(404);
  });

  test("messages at the upstream's own address do not pass", async () => {
    const before = heard();
    expect((await post("/p/messages?sessionId=1", { token: "gwt_carol" })).status).toBe(404);
    expect((await post("/base/messages?sessionId=1", { token: "gwt_carol" })).status).toBe(404);
    expect(heard()).toBe(before);
  });
});

describe("several upstreams", () => {
  test("messages go to the upstream of their stream, whatever the balancing", async () => {
    const make = (): Promise<ScriptedUpstream> =>
      startScriptedUpstream((socket, { method }) => {
        if (method === "GET")
          socket.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages\n\n",
          );
        else socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
      });
    const both = await Promise.all([make(), make()]);
    const pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    routes:
      - from: https://one.example
        to: [${both.map(({ origin }) => origin).join(", ")}]
        mcp: { server: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  `);
    try {
      const head = "Host: one.example\r\nAuthorization: Bearer gwt_alice\r\n";
      const connection = openRaw(pipeline.port, `GET / HTTP/1.1\r\n${head}\r\n`);
      await connection.contains("data: ");
      const address = /data: (\S+)/.exec(connection.text)?.[1] ?? "";
      const streaming = both.findIndex(({ requests }) => requests.length === 1);
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      for (let turn = 0; turn < 5; turn += 1) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other, so that each takes its turn
        const answer = await sendRaw(
          pipeline.port,
          `POST ${address} HTTP/1.1\r\n${head}Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        expect(answer.status).toBe(202);
      }
      connection.socket.destroy();
      expect(both.map(({ requests }) => requests.length)).toEqual(streaming === 0 ? [6, 0] : [0, 6]);
    } finally {
      await pipeline.close();
      await Promise.all(both.map((each) => each.close()));
    }
  });
});

describe("HTTP/2 upstreams", () => {
  test("announce addresses, too", async () => {
    const targets: string[] = [];
    const server = createHttp2Server();
    const sessions = new Set<{ destroy(): void }>();
    server.on("session", (session) => sessions.add(session));
    server.on("stream", (answer: ServerHttp2Stream, headers) => {
      answer.on("error", () => {});
      targets.push(String(headers[":path"]));
      if (headers[":method"] === "GET") {
        answer.respond({ ":status": 200, "content-type": "text/event-stream" });
        answer.write("event: endpo");
        answer.write("int\ndata: /messages?s=1\n\n");
        return;
      }
      answer.respond({ ":status": 202 });
      answer.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    routes:
      - from: https://one.example
        prefix: /p
        to: http://127.0.0.1:${(server.address() as AddressInfo).port}
        http2: true
        mcp: { server: { path: /sse } }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  `);
    try {
      const head = "Host: one.example\r\nAuthorization: Bearer gwt_alice\r\n";
      const connection = openRaw(pipeline.port, `GET /p/sse HTTP/1.1\r\n${head}\r\n`);
      await connection.contains("data: ");
      const address = /data: (\S+)/.exec(connection.text)?.[1] ?? "";
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const answer = await sendRaw(
        pipeline.port,
        `POST ${address} HTTP/1.1\r\n${head}Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      expect(answer.status).toBe(202);
      expect(targets).toEqual(["/sse", "/messages?s=1"]);
      connection.socket.destroy();
    } finally {
      await pipeline.close();
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
