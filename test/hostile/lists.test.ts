/** Lists of an MCP server on their way through the gateway, and upstreams that answer in ways that hide or show too much. */
import type { Socket } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { openRaw, sendRaw, type RawAnswer } from "../support/raw-client.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "../support/scripted-upstream.ts";
import { mayStall } from "../support/stall-limit.ts";

const HIDDEN = "delete_everything";
const TOOLS = `{"name":"read","x":1.0e2},{"name":"${HIDDEN}"},{"name":"write"}`;

let upstream: ScriptedUpstream;
let pipeline: Pipeline;
beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const route = (name: string, more = ""): string => `
      - from: https://mcp.example
        name: ${name}
        prefix: /${name}
        to: ${upstream.origin}
        mcp: { server: { path: /mcp${more} } }`;
  const policy = `
        policy:
          - allow: { and: [{ domain: example.com }] }
          - deny: { or: [{ mcp_tool: { starts_with: delete_ } }, { mcp_resource: { starts_with: "file:///etc/" } }] }`;
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    routes:${route("judged")}${policy}${route("open", ", filter_lists: false")}${policy}${route("plain")}
        policy: [{ allow: { and: [{ domain: example.com }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await upstream.close();
});

interface Asked {
  readonly method?: string;
  readonly route?: string;
  readonly id?: string;
  readonly params?: string;
  readonly headers?: readonly string[];
  /** Instead of a message with these. */
  readonly body?: string;
}

function message({ method = "tools/list", id = "1", params }: Asked): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}"${params === undefined ? "" : `,"params":${params}`}}`;
}

async function ask(asked: Asked = {}): Promise<RawAnswer> {
  const body = asked.body ?? message(asked);
  const answer = await sendRaw(
    pipeline.port,
    [
      `POST /${asked.route ?? "judged"}/mcp HTTP/1.1`,
      "Host: mcp.example",
      "Connection: close",
      "Authorization: Bearer gwt_alice",
      "Accept: application/json, text/event-stream",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...(asked.headers ?? []),
      "",
      body,
    ].join("\r\n"),
    // It closes; between head and body of an answer any time may pass.
    5_000,
  );
  const isChunked = answer.headers.get("transfer-encoding")?.includes("chunked") === true;
  return isChunked ? { ...answer, body: withoutChunks(answer.body) } : answer;
}

function withoutChunks(body: string): string {
  let rest = Buffer.from(body);
  let whole = "";
  for (;;) {
    const lineEnd = rest.indexOf("\r\n");
    const size = Number.parseInt(rest.toString("latin1", 0, lineEnd), 16);
    if (lineEnd === -1 || !(size > 0)) return whole;
    whole += rest.toString("utf8", lineEnd + 2, lineEnd + 2 + size);
    rest = rest.subarray(lineEnd + 2 + size + 2);
  }
}

function json(
  socket: Socket,
  body: string | Buffer,
  { status = "200 OK", type = "application/json", headers = "" } = {},
): void {
  socket.write(
    `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
  );
  socket.write(body);
}

function events(socket: Socket, text: string): void {
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n${text}`);
}

const result = (inner: string, id = "1"): string => `{"jsonrpc":"2.0","id":${id},"result":{${inner}}}`;
const UNANSWERED =
  '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The service behind this address sent an invalid response","data":{"reason":"upstream.protocol"}}}';
const heard = (): number => upstream.requests.length;

describe("an answer as JSON", () => {
  test("loses only tools that its user cannot call", async () => {
    upstream.answer((socket) =>
      json(socket, result(`"tools":[${TOOLS}],"nextCursor":"p2"`), { headers: 'ETag: "1"\r\nX-Own: kept\r\n' }),
    );
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(result('"tools":[{"name":"read","x":1.0e2},{"name":"write"}],"nextCursor":"p2"'));
    expect(answer.headers.get("content-length")).toEqual([String(Buffer.byteLength(answer.body))]);
    expect(answer.headers.get("etag")).toBeUndefined();
    expect(answer.headers.get("x-own")).toEqual(["kept"]);
  });

  test.each(["open", "plain"])("passes as it came on the route %s", async (route) => {
    upstream.answer((socket) => json(socket, result(`"tools":[${TOOLS}]`), { headers: 'ETag: "1"\r\n' }));
    const answer = await ask({ route });
    expect(answer.body).toBe(result(`"tools":[${TOOLS}]`));
    expect(answer.headers.get("etag")).toEqual(['"1"']);
  });

  test("of resources and templates", async () => {
    const listed = (member: string, name: string, ...values: readonly string[]): string =>
      `"${member}":[${values.map((value) => `{"${name}":"${value}"}`).join(",")}]`;
    upstream.answer((socket) =>
      json(
        socket,
        result(
          listed("resources", "uri", "file:///etc/passwd", "FILE:///%65tc/x", "file:///srv/a", "file:///a/../etc/x"),
        ),
      ),
    );
    expect((await ask({ method: "resources/list" })).body).toBe(result(listed("resources", "uri", "file:///srv/a")));
    upstream.answer((socket) =>
      json(socket, result(listed("resourceTemplates", "uriTemplate", "file:///etc/{n}", "file:///{+p}"))),
    );
    expect((await ask({ method: "resources/templates/list" })).body).toBe(
      result(listed("resourceTemplates", "uriTemplate", "file:///{+p}")),
    );
  });

  test("is marked private for modern clients, even if nothing is hidden", async () => {
    upstream.answer((socket) =>
      json(socket, result('"cacheScope":"public","ttlMs":3600000,"tools":[{"name":"read"}]')),
    );
    const modern = {
      params: '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}',
      headers: ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"],
    };
    expect((await ask(modern)).body).toBe(result('"cacheScope":"private","ttlMs":60000,"tools":[{"name":"read"}]'));
  });

  test.each([
    ["broken JSON", (socket: Socket) => json(socket, `{"jsonrpc":"2.0","id":1,"result":{"tools":[${TOOLS}`)],
    ["a list twice", (socket: Socket) => json(socket, result(`"tools":[],"tools":[${TOOLS}]`))],
    ["a batch", (socket: Socket) => json(socket, `[${result(`"tools":[${TOOLS}]`)}]`)],
    ["another id", (socket: Socket) => json(socket, result(`"tools":[${TOOLS}]`, "2"))],
    ["the id as text", (socket: Socket) => json(socket, result(`"tools":[${TOOLS}]`, '"1"'))],
    ["a type that is neither", (socket: Socket) => json(socket, result(`"tools":[${TOOLS}]`), { type: "text/plain" })],
    [
      "no type",
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${result(`"tools":[${TOOLS}]`)}`),
    ],
    [
      "a coding nobody asked for",
      (socket: Socket) => json(socket, result(`"tools":[${TOOLS}]`), { headers: "Content-Encoding: br\r\n" }),
    ],
    [
      "more than 8 MiB",
      (socket: Socket) => json(socket, result(`"tools":[${TOOLS}],"x":"${"y".repeat(8 * 1024 * 1024)}"`)),
    ],
    [
      "the rest missing",
      (socket: Socket) =>
        socket.end(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n${result(`"tools":[${TOOLS}]`)}`,
        ),
    ],
  ])("is refused, and no byte of it passes: %s", async (_, script) => {
    upstream.answer(script);
    const answer = await ask();
    expect(answer.status).toBe(502);
    expect(answer.body).not.toContain("read");
    expect(answer.body).not.toContain(HIDDEN);
  });

  test.each([
    ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', "200 OK"],
    ["an error without an id", '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', "200 OK"],
    ["an error of HTTP as JSON", '{"error":"down"}', "503 Service Unavailable"],
    ["a list with an error status", result(`"tools":[${TOOLS}]`), "500 Internal Server Error"],
  ])("that is %s", async (_, body, status) => {
    upstream.answer((socket) => json(socket, body, { status }));
    const answer = await ask();
    expect(answer.status).toBe(Number(status.slice(0, 3)));
    expect(answer.body).toBe(body.replace(`,{"name":"${HIDDEN}"}`, ""));
  });

  test.each([
    ["text with an error status", "500 Internal Server Error", "text/plain", "Authorization: x"],
    ["a page", "503 Service Unavailable", "text/html", "X-Own: kept"],
    ["an acknowledgement", "202 Accepted", "text/plain", "X-Own: kept"],
    ["broken JSON with an error status", "500 Internal Server Error", "application/json", "X-Own: kept"],
  ])("keeps its status and nothing else when it is %s", async (_, status, type, header) => {
    upstream.answer((socket) => json(socket, `["${HIDDEN}",`, { status, type, headers: `${header}\r\n` }));
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([Number(status.slice(0, 3)), ""]);
    expect(answer.headers.get("content-length")).toEqual(["0"]);
  });

  test.each([
    ['"a/b"', '"a\\/b"'],
    ['"caf\\u00e9"', '"c\\u0061f\\u00E9"'],
    ["1", "1.0"],
    ["1", "10e-1"],
  ])("with id %s in the form %s is the requested one", async (id, written) => {
    upstream.answer((socket) => json(socket, result(`"tools":[${TOOLS}]`, written)));
    expect((await ask({ id })).body).toBe(result('"tools":[{"name":"read","x":1.0e2},{"name":"write"}]', written));
  });

  test("with an id that differs only after rounding is another one", async () => {
    upstream.answer((socket) => json(socket, result(`"tools":[${TOOLS}]`, "9007199254740992")));
    expect((await ask({ id: "9007199254740993" })).status).toBe(502);
  });

  test.each([
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/x"}'],
    ["the answer to something else", '{"jsonrpc":"2.0","id":7,"result":{}}'],
    ["nothing", ""],
  ])("that does not match the request is rejected: %s", async (_, body) => {
    upstream.answer((socket) => json(socket, body));
    expect((await ask()).status).toBe(502);
  });

  test("to a notification is no answer", async () => {
    upstream.answer((socket) => json(socket, result(`"tools":[${TOOLS}]`, "null")));
    const body = '{"jsonrpc":"2.0","method":"tools/list"}';
    expect((await ask({ body })).body).not.toContain(HIDDEN);
  });

  test("to a notification requests no other page", async () => {
    const before = heard();
    upstream.answer((socket) =>
      json(socket, '{"jsonrpc":"2.0","result":{"tools":[{"name":"delete_it"}],"nextCursor":"c"}}'),
    );
    await ask({ body: '{"jsonrpc":"2.0","method":"tools/list"}' });
    expect(heard() - before).toBe(1);
  });

  test("of a call is not inspected, whatever it contains", async () => {
    upstream.answer((socket) => json(socket, result(`"content":[],"tools":[${TOOLS}]`)));
    expect((await ask({ method: "tools/call", params: '{"name":"read"}' })).body).toContain(HIDDEN);
  });
});

describe("an answer as events", () => {
  test("is filtered with any chunking and line end, and other events pass", async () => {
    const progress = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"x":"tools"}}\r\n\r\n';
    const list = `id: 5\r\nevent: message\r\ndata: {"jsonrpc":"2.0","id":1,\r\ndata: "result":{"tools":[${TOOLS}]\r\ndata: }}\r\n\r\n`;
    upstream.answer((socket) => {
      socket.write(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n",
      );
      for (const char of `: hello\r\nid: 4\r\ndata:\r\n\r\n${progress}${list}`) socket.write(`1\r\n${char}\r\n`);
      socket.write("0\r\n\r\n");
    });
    const { body } = await ask();
    expect(body).toContain(": hello\n");
    expect(body).toContain("id: 4\ndata:\n\n");
    expect(body).toContain('data: {"jsonrpc":"2.0","method":"notifications/progress"');
    expect(body).toContain(
      'id: 5\nevent: message\ndata: {"jsonrpc":"2.0","id":1,\ndata: "result":{"tools":[{"name":"read","x":1.0e2},{"name":"write"}]\ndata: }}\n\n',
    );
    expect(body).not.toContain(HIDDEN);
  });

  test.each([
    ["no JSON", "data: tools\n\n"],
    ["broken JSON", `data: {"jsonrpc":"2.0","id":1,"result":{"tools":[${TOOLS}\n\n`],
    ["another id", `data: ${result(`"tools":[${TOOLS}]`, "7")}\n\n`],
    ["a batch", `data: [${result(`"tools":[${TOOLS}]`)}]\n\n`],
    ["an event of more than 8 MiB", `data: ${"x".repeat(8 * 1024 * 1024)}\n`],
  ])("that cannot be read ends with an error to the request: %s", async (_, text) => {
    upstream.answer((socket) => events(socket, text));
    const { status, body } = await ask();
    expect(status).toBe(200);
    expect(body).toBe(
      'data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The service behind this address sent an invalid response","data":{"reason":"upstream.protocol"}}}\n\n',
    );
  });

  test.each([
    ["an event without its blank line", `data: ${result(`"tools":[${TOOLS}]`)}\n`],
    ["nothing", ""],
    [
      "other messages",
      'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n',
    ],
    ["an error without an id", 'data: {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}\n\n'],
  ])("that ends without the answer ends with an error to the request: %s", async (_, text) => {
    upstream.answer((socket) => events(socket, text));
    const { status, body } = await ask();
    expect([status, body.includes(HIDDEN)]).toEqual([200, false]);
    expect(body.endsWith(`data: ${UNANSWERED}\n\n`)).toBe(true);
  });

  test.each(['"error":{"code":-32601,"message":"no"}', '"result":{}', '"result":{"tools":[]}'])(
    "that answers with %s ends as it came",
    async (member) => {
      upstream.answer((socket) => events(socket, `data: {"jsonrpc":"2.0","id":1,${member}}\n\n`));
      expect((await ask()).body).toBe(`data: {"jsonrpc":"2.0","id":1,${member}}\n\n`);
    },
  );

  test.each(["text/plain", "application/json", "text/html; charset=utf-8"])(
    "that comes as %s to a request for a stream is refused",
    async (type) => {
      const text = `data: ${result(`"tools":[${TOOLS}]`)}\n\n`;
      upstream.answer((socket) => json(socket, text, { type }));
      const connection = openRaw(
        pipeline.port,
        "GET /judged/mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n",
      );
      await connection.closed;
      expect(connection.text).toContain(" 502 ");
      expect(connection.text).not.toContain(HIDDEN);
    },
  );

  test("that comes again in a stream opened by GET", async () => {
    const text = `id: 1\ndata: ${result(`"tools":[${TOOLS}]`, '"earlier"')}\n\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`;
    upstream.answer((socket) => events(socket, text));
    const connection = openRaw(
      pipeline.port,
      "GET /judged/mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nAccept: text/event-stream\r\nLast-Event-ID: 0\r\nConnection: close\r\n\r\n",
    );
    await connection.closed;
    expect(connection.text).toContain('{"tools":[{"name":"read","x":1.0e2},{"name":"write"}]}');
    expect(connection.text).toContain("notifications/tools/list_changed");
    expect(connection.text).not.toContain(HIDDEN);
  });

  test("that starts with an endpoint event is also filtered in such a stream", async () => {
    const list = result(`"tools":[${TOOLS}]`);
    const text = `event: endpoint\nevent: message\ndata: ${list}\n\nevent: endpoint\ndata: ${list}\n\n`;
    upstream.answer((socket) => events(socket, text));
    const connection = openRaw(
      pipeline.port,
      "GET /judged/mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n",
    );
    await connection.closed;
    expect(connection.text).not.toContain(HIDDEN);
  });

  test("that cannot be read in such a stream ends it", async () => {
    upstream.answer((socket) => events(socket, `data: {"result":{"tools":[],"tools":[${TOOLS}]}}\n\n`));
    const connection = openRaw(
      pipeline.port,
      "GET /judged/mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n",
    );
    await connection.closed;
    expect(connection.text).not.toContain("tools");
  });
});

describe("a page on which all is hidden", () => {
  const page = (items: string, cursor?: string): string =>
    result(`"tools":[${items}]${cursor === undefined ? "" : `,"nextCursor":${JSON.stringify(cursor)}`}`);
  const hidden = `{"name":"${HIDDEN}"}`;
  const cursorOf = (body: string): string | undefined =>
    (JSON.parse(body) as { params?: { cursor?: string } }).params?.cursor;

  test("is filled from those behind it, with the cursor of the last one", async () => {
    const before = heard();
    upstream.answer((socket, request) => {
      const pages: Readonly<Record<string, string>> = { "": page(hidden, ""), "a b": page('{"name":"read"}', "last") };
      const cursor = cursorOf(request.body.toString());
      json(
        socket,
        cursor === undefined
          ? page(hidden, "")
          : (pages[cursor] ?? page("")).replace('"nextCursor":""', '"nextCursor":"a b"'),
      );
    });
    const { body } = await ask({ params: '{"_meta":{"progressToken":7}}' });
    expect(body).toBe(page('{"name":"read"}', "last"));
    const asked = upstream.requests.slice(before).map((request) => request.body.toString());
    expect(asked.map(cursorOf)).toEqual([undefined, "", "a b"]);
    expect(JSON.parse(asked[2] ?? "")).toEqual({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: { _meta: { progressToken: 7 }, cursor: "a b" },
    });
  });

  test("is requested by the same message, with unchanged numbers", async () => {
    const before = heard();
    const large = "9007199254740993";
    upstream.answer((socket, request) =>
      json(socket, cursorOf(request.body.toString()) === "c" ? page("") : page(hidden, "c")),
    );
    await ask({ params: `{"_meta":{"progressToken":${large}},"x":1.0,"cursor":null}` });
    expect(upstream.requests[before + 1]?.body.toString()).toBe(
      `{"id":1,"jsonrpc":"2.0","method":"tools/list","params":{"_meta":{"progressToken":${large}},"cursor":"c","x":1.0}}`,
    );
  });

  test("comes empty, with its cursor, after eight requests", async () => {
    const before = heard();
    upstream.answer((socket) => json(socket, page(hidden, "again")));
    expect((await ask()).body).toBe(page("", "again"));
    expect(heard() - before).toBe(8);
  });

  test("comes empty without a cursor when it is the last one", async () => {
    const before = heard();
    upstream.answer((socket) => json(socket, page(hidden)));
    expect((await ask()).body).toBe(page(""));
    expect(heard() - before).toBe(1);
  });

  test.each([
    ["fails", (socket: Socket) => socket.destroy()],
    ["is refused", (socket: Socket) => json(socket, "{}", { status: "401 Unauthorized" })],
    ["is an error", (socket: Socket) => json(socket, '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}')],
    ["cannot be read", (socket: Socket) => json(socket, `{"result":{"tools":[${TOOLS}`)],
    ["is for somebody else", (socket: Socket) => json(socket, result(`"tools":[${TOOLS}]`, "9"))],
    ["is a stream without an answer", (socket: Socket) => events(socket, ": nothing\n\n")],
    ["is a page of HTML", (socket: Socket) => json(socket, "<html>", { type: "text/html" })],
  ])("comes empty, with its cursor, when the next one %s", async (_, next) => {
    upstream.answer((socket, request) =>
      cursorOf(request.body.toString()) === undefined ? json(socket, page(hidden, "c")) : next(socket),
    );
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([200, page("", "c")]);
  });

  test.each([
    ["JSON, then a stream", false, true],
    ["a stream, then JSON", true, false],
    ["streams", true, true],
  ])("is filled where answers come as %s", async (_, first, second) => {
    const send = (socket: Socket, text: string, isStream: boolean): void =>
      isStream
        ? events(socket, `data: {"jsonrpc":"2.0","method":"notifications/x"}\n\nid: 3\ndata: ${text}\n\n`)
        : json(socket, text);
    upstream.answer((socket, request) =>
      cursorOf(request.body.toString()) === undefined
        ? send(socket, page(hidden, "c"), first)
        : send(socket, page('{"name":"read"}'), second),
    );
    const answer = await ask();
    expect(answer.headers.get("content-type")).toEqual([first ? "text/event-stream" : "application/json"]);
    expect(answer.body).toContain(page('{"name":"read"}'));
    expect(answer.body).not.toContain(HIDDEN);
    expect(answer.body.split('"result"')).toHaveLength(2);
  });
});

test.each([
  [
    "events in pieces",
    (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`,
    "Transfer-Encoding: chunked\r\n",
  ],
  ["events in one piece", (text: string) => text, "Connection: close\r\n"],
])("after an aborted page nothing more passes: %s", async (_, piece, framing) => {
  const hidden = result(`"tools":[{"name":"${HIDDEN}"}],"nextCursor":"c"`);
  upstream.answer((socket, request) => {
    if (request.body.includes('"cursor"')) return json(socket, result('"tools":[{"name":"read"}]'));
    const text = [hidden, result(`"tools":[${TOOLS}]`)].map((each) => piece(`data: ${each}\n\n`)).join("");
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${framing}\r\n${text}`);
  });
  expect((await ask()).body).toBe(`data: ${result('"tools":[{"name":"read"}]')}\n\n`);
});

test("a client that disconnects cancels the pending page request", async () => {
  const left = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  upstream.answer((socket, request) => {
    if (!request.body.includes('"cursor"'))
      return json(socket, result(`"tools":[{"name":"${HIDDEN}"}],"nextCursor":"c"`));
    socket.on("close", () => left.resolve());
    asked.resolve();
  });
  const body = message({});
  const connection = openRaw(
    pipeline.port,
    `POST /judged/mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await asked.promise;
  connection.socket.destroy();
  await left.promise;
});

test("hidden entries cannot be called, read or completed either", async () => {
  upstream.answer((socket) => json(socket, result('"content":[]')));
  const before = heard();
  const uri = '{"uri":"file:///etc/passwd"}';
  for (const asked of [
    { method: "tools/call", params: `{"name":"${HIDDEN}"}` },
    { method: "resources/read", params: uri },
    { method: "resources/read", params: '{"uri":"file:///srv/../etc/passwd"}' },
    { method: "resources/subscribe", params: uri },
    {
      method: "completion/complete",
      params: '{"ref":{"type":"ref/resource","uri":"file:///etc/{x}"},"argument":{"name":"x","value":""}}',
    },
    { method: "completion/complete", params: '{"ref":{"type":"ref/resource","Uri":"a","uri":"file:///srv/x"}}' },
    { method: "resources/read", params: '{"uri":["file:///srv/a"]}' },
  ]) {
    expect((await ask(asked)).body, JSON.stringify(asked)).toContain('"error"');
  }
  expect(heard()).toBe(before);
  expect((await ask({ method: "resources/read", params: '{"uri":"file:///srv/a"}' })).body).toContain('"content"');
});

describe("messages reserved to the gateway", () => {
  const modern = (method: string, name?: string): Pick<Asked, "method" | "headers" | "params"> => ({
    method,
    params: `{${name === undefined ? "" : `"uri":"${name}","name":"${name}",`}"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
    headers: [
      "MCP-Protocol-Version: 2026-07-28",
      `Mcp-Method: ${method}`,
      ...(name === undefined ? [] : [`Mcp-Name: ${name}`]),
    ],
  });

  test.each([
    ["tools/list", undefined],
    ["resources/read", "file:///srv/a"],
    ["prompts/get", "p"],
    ["server/discover", undefined],
  ])("an answer to %s is for its caller alone, on every route", async (method, name) => {
    for (const route of ["judged", "open", "plain"]) {
      upstream.answer((socket) =>
        json(socket, result('"contents":[],"tools":[],"ttlMs":5,"cacheScope":"public"'), { headers: 'ETag: "1"\r\n' }),
      );
      const answer = await ask({ ...modern(method, name), route });
      expect(answer.body, route).toBe(result('"contents":[],"tools":[],"ttlMs":5,"cacheScope":"private"'));
      upstream.answer((socket) => events(socket, `data: ${result('"tools":[],"cacheScope":"public"')}\n\n`));
      expect((await ask({ ...modern(method, name), route })).body, route).toContain('"cacheScope":"private"');
    }
  });

  test("is the same for a list that is known", async () => {
    const page = (scope: string, code: string, id: string): string =>
      result(`"tools":[{"name":"read","_meta":{"cacheScope":"${scope}","code":${code}}}],"cacheScope":"private"`, id);
    for (const id of ["1", "2", "10", "11"]) {
      upstream.answer((socket) => json(socket, page("public", "5", id)));
      expect((await ask({ id })).body).toBe(page("public", "5", id));
      expect((await ask({ ...modern("tools/list"), id })).body).toBe(page("private", "5", id));
      upstream.answer((socket) => json(socket, page("public", "-31403", id)));
      expect((await ask({ id })).body).toBe(page("public", "-32000", id));
      expect((await ask({ ...modern("tools/list"), id })).body).toBe(page("private", "-32000", id));
    }
    upstream.answer((socket) => json(socket, page("public", "5", "12")));
    expect((await ask({ id: "11" })).body).toContain("upstream.protocol");
  });

  test("are replaced in a long list as it arrives, not in one turn", async () => {
    mayStall(200);
    const page = (code: string): string =>
      result(`"tools":[{"name":"read","x":[${`{"code":${code}},`.repeat(500_000)}0]}]`);
    const expected = page("-32000");
    for (const headers of [{}, modern("tools/list")]) {
      upstream.answer((socket) => json(socket, page("-31403")));
      const { body } = await ask(headers);
      expect(body.replace('"cacheScope":"private",', "") === expected).toBe(true);
    }
  });

  test("is no error of a server's, in an answer or an event", async () => {
    const error = (code: string): string =>
      `{"jsonrpc":"2.0","id":1,"error":{"code":${code},"message":"m","data":{"approval_url":"https://evil.example"}}}`;
    for (const asked of [{ method: "tools/call", params: '{"name":"read"}' }, {}]) {
      upstream.answer((socket) => json(socket, error("-31403")));
      expect((await ask(asked)).body).toBe(error("-32000"));
      upstream.answer((socket) => events(socket, `data: ${error("-3.1429e4")}\n\n`));
      expect((await ask(asked)).body).toContain(`data: ${error("-32000   ")}\n\n`);
    }
  });

  test("cannot be hidden by a coding", async () => {
    upstream.answer((socket) => json(socket, "x", { headers: "Content-Encoding: gzip\r\n" }));
    expect((await ask({ method: "tools/call", params: '{"name":"read"}' })).status).toBe(502);
  });
});

describe("subscriptions/listen", () => {
  const listen = async (notifications: string, route?: string): Promise<string | undefined> => {
    upstream.answer((socket) => json(socket, result("")));
    const before = heard();
    const params = `{"_meta":{"x":1.0},"notifications":${notifications}}`;
    await ask({ method: "subscriptions/listen", params, ...(route !== undefined && { route }) });
    const body = upstream.requests[before]?.body.toString();
    return body?.slice(body.indexOf('"notifications":') + 16, -2);
  };

  test.each([
    ["the denied one", '{"resourceSubscriptions":[ "file:///srv/a","file:///etc/x" ]}', '["file:///srv/a"]'],
    ["one of no spelling", '{"resourceSubscriptions":["file:/etc/x","file:///srv/../etc"]}', "[]"],
    ["nothing that is allowed", '{"resourceSubscriptions":[ "file:///srv/a"]}', '[ "file:///srv/a"]'],
  ])("continues without %s", async (_, asked, left) => {
    expect(await listen(asked)).toBe(`{"resourceSubscriptions":${left}}`);
  });

  test("continues unchanged if it names none, and without rules on messages", async () => {
    for (const asked of ['{"toolsListChanged":true}', "null", '{"resourceSubscriptions":null}'])
      expect(await listen(asked)).toBe(asked);
    const denied = '{"resourceSubscriptions":["file:///etc/x"]}';
    expect(await listen(denied, "plain")).toBe(denied);
  });

  test.each([
    '{"resourceSubscriptions":"file:///etc/x"}',
    '{"resourceSubscriptions":[{"uri":"file:///etc/x"}]}',
    '{"resourceSubscriptions":[],"ResourceSubscriptions":["file:///etc/x"]}',
    '{"resource_subscriptions":["file:///etc/x"]}',
    '["file:///etc/x"]',
  ])("is refused where servers could read others: %s", async (asked) => {
    expect(await listen(asked)).toBeUndefined();
  });
});
