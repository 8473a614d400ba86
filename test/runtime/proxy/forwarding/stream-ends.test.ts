/**
 * A GET stream of MCP that the gateway ends has a last identifier: the Go SDK gives its session up when the sixth stream in a row
 * ends without a new one (D358).
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach, expect, test } from "vitest";

import { type EndedStream, lastIdOf, upstreamEventId } from "../../../../runtime/proxy/answers/stream-end-id.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { openRaw } from "../../../support/raw-client.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

let pipeline: Pipeline;
let asked: { readonly headers: IncomingHttpHeaders; readonly response: ServerResponse }[];

beforeEach(async () => {
  asked = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      asked.push({ headers: request.headers, response });
      if (request.method === "GET") response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      else
        response
          .writeHead(200, { "content-type": "application/json", "mcp-session-id": "session-of-the-upstream" })
          .end('{"jsonrpc":"2.0","id":1,"result":{}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => server.close() }, { close: () => server.closeAllConnections() });
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  pipeline = await startPipeline(`
runtime_flags: { mcp: true }
routes:
  - { name: mcp, from: https://mcp.example, to: "${to}", mcp: { server: {} }, policy: [{ allow: { and: [{ authenticated_user: true }] } }] }`);
  open.push({ close: () => pipeline.close({ timeoutMs: 100 }) });
});

function send(method: string, headers: string, body = "") {
  const client = openRaw(
    pipeline.port,
    `${method} / HTTP/1.1\r\nHost: mcp.example\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\n` +
      `Authorization: Bearer gwt_alice\r\n${headers}\r\n${body}`,
  );
  open.push({ close: () => client.socket.destroy() });
  return client;
}

/** The header of a session that has begun. */
async function begin(): Promise<string> {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  });
  const client = send("POST", `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`, body);
  await client.closed;
  return `Mcp-Session-Id: ${/^mcp-session-id: (.*)\r$/im.exec(client.text)?.[1]}\r\n`;
}

/** @returns the identifier with which the stream ended */
async function endedBy(session: string, events: readonly string[]): Promise<string> {
  const stream = send("GET", session);
  await stream.contains("text/event-stream");
  await expect.poll(() => asked.length).toBe(2);
  for (const event of events) asked[1]?.response.write(event);
  await stream.contains(events.at(-1) ?? "");
  pipeline.proxy.streams.endAll(() => true);
  await stream.closed;
  return /\nevent: ended\nid: (\S+)\n\n/.exec(stream.text)?.[1] ?? "";
}

/** The identifier that the upstream gets when the stream is opened again. */
async function toldBy(session: string, id: string): Promise<string | undefined> {
  const again = send("GET", `${session}Last-Event-ID: ${id}\r\n`);
  await again.contains("text/event-stream");
  return asked.at(-1)?.headers["last-event-id"] as string | undefined;
}

test("the identifier is the gateway's own, and another one each time; the upstream does not see it", async () => {
  const session = await begin();
  const id = await endedBy(session, ["data: {}\n\n"]);
  expect(id).not.toBe("");
  expect(await toldBy(session, id)).toBeUndefined();
  const context: EndedStream = { lastEventId: "" };
  expect(lastIdOf(context)).not.toBe(lastIdOf(context));
});

test("an upstream whose events have IDs gets its own last one, also when it came in pieces", async () => {
  const session = await begin();
  const id = await endedBy(session, [
    "id: one\ndata: {}\n\n",
    "i",
    "d: tw",
    "o\ndata: {}\n\n",
    'data: "id: three"\n\n',
  ]);
  expect(await toldBy(session, id)).toBe("two");
  expect(await toldBy(session, "one")).toBe("one");
});

test("IDs that others write in our form cannot inject a header", () => {
  expect(upstreamEventId(`gateway-end.x.${Buffer.from("a\r\nb: c").toString("base64url")}`)).toBeUndefined();
  expect(upstreamEventId("gateway-end.")).toBeUndefined();
});

test("a stream whose access is revoked, and one of an application, end without such an event", async () => {
  const session = await begin();
  const stream = send("GET", session);
  await stream.contains("text/event-stream");
  pipeline.revocations.revokeNow("user:alice");
  await stream.closed;
  expect(stream.text).not.toContain("id: gateway");
});
