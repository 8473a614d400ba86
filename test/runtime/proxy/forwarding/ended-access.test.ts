/** The answer to a client whose access is revoked while its request is in progress: none at which it sends the request again. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { openRaw } from "../../../support/raw-client.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const policy = "policy: [{ allow: { and: [{ authenticated_user: true }] } }]";

/** @param begin what the upstream does at once; it continues when the test says so */
async function start(begin: (response: ServerResponse) => void) {
  const asked: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      begin(response);
      asked.push(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => server.close() }, { close: () => server.closeAllConnections() });
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pipeline: Pipeline = await startPipeline(`
runtime_flags: { mcp: true }
routes:
  - { name: app, from: https://app.example, to: "${to}", ${policy} }
  - { name: mcp, from: https://mcp.example, to: "${to}", mcp: { server: {} }, ${policy} }`);
  open.push({ close: () => pipeline.close({ timeoutMs: 100 }) });
  const send = (host: string, body: string) => {
    const client = openRaw(
      pipeline.port,
      `POST / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n` +
        `Authorization: Bearer gwt_alice\r\nCookie: gateway_session=alice\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    open.push({ close: () => client.socket.destroy() });
    return client;
  };
  const call = (method = "tools/call") =>
    send("mcp.example", JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: { name: "pay" } }));
  return { pipeline, asked, call, post: () => send("app.example", "hello") };
}

const ENDED = `"id":7,"error":{"code":-31403`;

test("a tool call that is answered as JSON gets an error inside a 200, not 401", async () => {
  const { pipeline, asked, call } = await start(() => {});
  const client = call();
  await expect.poll(() => asked.length).toBe(1);
  pipeline.revocations.revokeNow("user:alice");
  asked[0]?.setHeader("content-type", "application/json").end(`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`);
  await client.closed;
  expect(client.text).toMatch(/^HTTP\/1\.1 200 /);
  expect(client.text).toContain(ENDED);
  expect(client.text).toContain(`"reason":"access-ended","may_have_run":true`);
  expect(client.text).not.toContain("result");
});

test("a tool call is ended while the upstream works, and the upstream notices", async () => {
  const { pipeline, asked, call } = await start(() => {});
  const client = call();
  await expect.poll(() => asked.length).toBe(1);
  const left = new Promise((resolve) => asked[0]?.once("close", resolve));
  pipeline.proxy.streams.endExpired();
  pipeline.revocations.revokeNow("user:alice");
  await client.closed;
  expect(client.text).toContain(ENDED);
  await left;
});

test("a tool call whose event stream has begun gets the error as its last event, after half of another one", async () => {
  const { pipeline, call } = await start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write('event: message\ndata: {"half":');
  });
  const client = call();
  await client.contains("half");
  pipeline.revocations.revokeNow("user:alice");
  await client.closed;
  expect(client.text).toContain(`\nevent: ended\n\nevent: message\ndata: {"jsonrpc":"2.0",${ENDED}`);
  expect(client.text).toMatch(/\}\n\n\r\n0\r\n\r\n$/);
});

test("a stream of subscriptions is closed without an error, and counts as a stream", async () => {
  const { pipeline, call } = await start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
  });
  const client = call("subscriptions/listen");
  await client.contains(": open");
  pipeline.revocations.revokeNow("user:alice");
  await client.closed;
  expect(client.text).not.toContain("error");
});

test("a request of an application gets 403 where its answer has not begun", async () => {
  const { pipeline, asked, post } = await start(() => {});
  const client = post();
  await expect.poll(() => asked.length).toBe(1);
  pipeline.revocations.revokeNow("user:alice");
  asked[0]?.end("paid");
  await client.closed;
  expect(client.text).toMatch(/^HTTP\/1\.1 403 /);
  expect(client.text).toContain("session.ended");
  expect(client.text).toContain("may have been carried out");
});
