import { setImmediate as turn } from "node:timers/promises";

import { describe, expect, test } from "vitest";

import { inspect } from "../../../runtime/mcp/inspect.ts";
import type { Inspection } from "../../../runtime/mcp/inspect.ts";
import { createFakeExchange } from "../../support/fake-exchange.ts";
import type { FakeExchange, FakeRequest } from "../../support/fake-exchange.ts";
import { jsonHeaders, toolCallBody } from "../../support/mcp.ts";

const text = JSON.stringify(toolCallBody("search"));
const maxBytes = 4096;

/** Starts an inspection and keeps what it reports; a second report fails the test. */
function begin(request: FakeRequest): { exchange: FakeExchange; result: () => Inspection | undefined } {
  const exchange = createFakeExchange(request);
  let result: Inspection | undefined;
  inspect(exchange, maxBytes, (inspection) => {
    expect(result).toBeUndefined();
    result = inspection;
  });
  return { exchange, result: () => result };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn();
}

async function send(request: FakeRequest, ...chunks: readonly (string | Buffer)[]): Promise<Inspection | undefined> {
  const { exchange, result } = begin({ hasBody: true, ...request });
  for (const chunk of chunks) exchange.body.write(chunk);
  exchange.body.end();
  await settled();
  return result();
}

describe("inspect()", () => {
  test("a POST in pieces, also inside a character, is one message with its bytes", async () => {
    const bytes = Buffer.from(JSON.stringify(toolCallBody("größe")));
    const pieces = Array.from(bytes, (byte) => Buffer.from([byte]));
    const result = await send({ headers: jsonHeaders }, ...pieces);
    expect(result).toMatchObject({ ok: true, message: { facts: { method: "tools/call", tool: "größe" } } });
    expect(result?.ok === true && result.message?.bytes.equals(bytes)).toBe(true);
  });

  test.each(["GET", "HEAD", "DELETE"])("%s without a body passes at once, without a message", (method) => {
    const { result } = begin({ method });
    expect(result()).toEqual({ ok: true, message: undefined });
  });

  test.each(["GET", "HEAD", "DELETE"])("%s with a body is refused, with an empty one passes", async (method) => {
    expect(await send({ method, headers: jsonHeaders }, text)).toMatchObject({
      ok: false,
      reason: "mcp-unexpected-body",
      status: 400,
    });
    expect(await send({ method })).toEqual({ ok: true, message: undefined });
  });

  test.each(["PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "PROPFIND"])("%s is refused unread", (method) => {
    const { exchange, result } = begin({ method, hasBody: true, headers: jsonHeaders });
    expect(result()).toMatchObject({ ok: false, reason: "mcp-http-method", status: 405 });
    expect(exchange.body.listenerCount("data")).toBe(0);
  });

  test("a POST without a body is refused", () => {
    expect(begin({ headers: jsonHeaders }).result()).toMatchObject({ ok: false, reason: "mcp-malformed-json" });
    expect(begin({}).result()).toMatchObject({ ok: false, reason: "mcp-media-type", status: 415 });
  });
});

describe("inspect() size", () => {
  const sized = (length: number): string => text + " ".repeat(length - text.length);

  test("exactly max_request_bytes pass, one more does not", async () => {
    expect(await send({ headers: jsonHeaders }, sized(maxBytes))).toMatchObject({ ok: true });
    expect(await send({ headers: jsonHeaders }, sized(maxBytes + 1))).toMatchObject({
      ok: false,
      reason: "mcp-body-too-large",
      status: 413,
    });
    expect(await send({ headers: jsonHeaders }, sized(maxBytes), " ")).toMatchObject({ ok: false, status: 413 });
  });

  test.each(["POST", "GET", "DELETE"])("%s: a longer Content-Length is refused before anything is read", (method) => {
    const { exchange, result } = begin({ method, hasBody: true, headers: [...jsonHeaders, "Content-Length", "4097"] });
    expect(result()).toMatchObject({ ok: false, status: 413 });
    expect(exchange.body.listenerCount("data")).toBe(0);
  });

  test("an invalid Content-Length never counts as small", () => {
    const { result } = begin({ hasBody: true, headers: [...jsonHeaders, "Content-Length", "many"] });
    expect(result()).toMatchObject({ ok: false, status: 413 });
  });

  test("counts the received bytes, whatever Content-Length says", async () => {
    const headers = [...jsonHeaders, "Content-Length", "10"];
    expect(await send({ headers }, sized(maxBytes + 1))).toMatchObject({ ok: false, status: 413 });
  });

  test("a GET that streams more than the limit is refused by size", async () => {
    expect(await send({ method: "GET" }, "x".repeat(maxBytes + 1))).toMatchObject({ ok: false, status: 413 });
  });

  test("stops reading once the limit is passed", async () => {
    const { exchange, result } = begin({ hasBody: true, headers: jsonHeaders });
    exchange.body.write("x".repeat(maxBytes + 1));
    await settled();
    expect(result()).toMatchObject({ ok: false, status: 413 });
    expect(exchange.body.isPaused()).toBe(true);
    expect(exchange.body.listenerCount("data")).toBe(0);
    exchange.body.destroy(new Error("reset"));
    await settled();
  });
});

describe("inspect() when the client disconnects", () => {
  test.each([
    ["with an error", (exchange: FakeExchange) => exchange.body.destroy(new Error("reset"))],
    ["silently", (exchange: FakeExchange) => exchange.body.destroy()],
  ])("%s: refused once, as incomplete", async (_, leave) => {
    const { exchange, result } = begin({ hasBody: true, headers: jsonHeaders });
    exchange.body.write(text.slice(0, 20));
    await settled();
    expect(result()).toBeUndefined();
    leave(exchange);
    await settled();
    expect(result()).toMatchObject({ ok: false, reason: "mcp-body-incomplete", status: 400 });
  });

  test("after the body was complete nothing more is reported", async () => {
    const { exchange, result } = begin({ hasBody: true, headers: jsonHeaders });
    exchange.body.end(text);
    await settled();
    expect(result()).toMatchObject({ ok: true });
    exchange.body.destroy(new Error("reset"));
    await settled();
  });
});

test("inspect() passes the message options on", () => {
  const exchange = createFakeExchange({ hasBody: true, headers: jsonHeaders });
  return new Promise<void>((resolve) => {
    inspect(
      exchange,
      maxBytes,
      (result) => {
        expect(result).toMatchObject({ ok: false, reason: "mcp-unclear-tool-name" });
        resolve();
      },
      { isClearTool: () => false },
    );
    exchange.body.end(JSON.stringify(toolCallBody("a b")));
  });
});
