import { describe, expect, test } from "vitest";

import { answerKind } from "../../../../runtime/mcp/operations/answer-kind.ts";
import { Operation } from "../../../../runtime/mcp/operations/operation.ts";
import { parseMessage, type McpMessage } from "../../../../runtime/mcp/message.ts";

const kindOf = (text: string, isCall = true) => answerKind(Buffer.from(text), isCall);
const error = (code: unknown) => ({ code, message: 'not "code":1 here, \\' });

describe("answerKind()", () => {
  test.each([
    ['{"jsonrpc":"2.0","id":1,"result":{"content":[]}}', "result"],
    ['{"result":{"content":[]},"jsonrpc":"2.0","id":1}', "result"],
    ['{"id":"a,\\"b","jsonrpc":"2.0","result":{}}', "result"],
    [JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [], isError: true } }), "tool_error"],
    ['{"jsonrpc":"2.0","id":1,"result":{"isError" : true}}', "tool_error"],
    [JSON.stringify({ result: { content: [{ text: '"isError":true' }], isError: false } }), "result"],
    [JSON.stringify({ jsonrpc: "2.0", id: 1, error: error(-32602) }), "-32602"],
    [JSON.stringify({ jsonrpc: "2.0", error: { message: error(1).message, code: -32001 }, id: null }), "-32001"],
    [JSON.stringify({ jsonrpc: "2.0", id: 1, error: error(-32602) }, null, 2), "-32602"],
    [JSON.stringify({ jsonrpc: "2.0", id: 1, error: error("no") }), "_OTHER"],
    [JSON.stringify({ jsonrpc: "2.0", id: 1, error: error(1e20) }), "_OTHER"],
    [JSON.stringify({ jsonrpc: "2.0", id: 1, error: "no" }), "_OTHER"],
    ['event: message\nid: 7\ndata: {"result":{},"jsonrpc":"2.0","id":1}\n\n', "result"],
    [
      'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\r\n\r\ndata:{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}',
      "-32603",
    ],
    ['data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n', undefined],
    [": kept alive\n\n", undefined],
    ['{"error":"upstream.unreachable","message":"no"}', "_OTHER"],
    ['{"jsonrpc":"2.0","id":', undefined],
    ['{"jsonrpc":"2.0","id":{"result":1}', undefined],
    ["[]", undefined],
    ["", undefined],
  ])("%s: %s", (text, kind) => {
    expect(kindOf(text)).toBe(kind);
  });

  test("a failure of a tool is one of calls alone", () => {
    expect(kindOf('{"result":{"isError":true}}', false)).toBe("result");
  });

  test("never throws, whatever the bytes and wherever they end", () => {
    const whole = 'data: {"jsonrpc":"2.0","id":"\\\\","error":{"message":"a\\"","code":-32602}}';
    const kinds = Array.from({ length: whole.length + 1 }, (_, end) => kindOf(whole.slice(0, end)));
    expect(new Set(kinds)).toEqual(new Set([undefined, "_OTHER", "-32602"]));
    expect(kindOf(`{"id":"${"x".repeat(2_000)}","result":{}}`)).toBeUndefined();
    expect(kindOf("data: {}\n".repeat(10_000))).toBeUndefined();
  });
});

describe("Operation", () => {
  const parse = (message: object): McpMessage => {
    const headers = {
      contentType: "application/json",
      contentEncoding: undefined,
      mcpMethod: undefined,
      mcpName: undefined,
      protocolVersion: undefined,
      repeated: undefined,
    };
    const parsed = parseMessage(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })), headers);
    if (!parsed.ok) throw new Error(parsed.reason);
    return parsed;
  };
  const operate = (message: object, pieces: readonly string[], status: number, version?: string) => {
    const parsed = parse(message);
    const operation = new Operation(parsed, parsed.facts.method ?? "", version, "1.1");
    for (const piece of pieces) operation.see(Buffer.from(piece));
    return operation.labels(status);
  };
  const call = { id: 1, method: "tools/call", params: { name: "dig" } };
  const result = '{"jsonrpc":"2.0","id":1,"result":{}}';

  test("is good once a response without a failure was read", () => {
    expect(operate(call, [result], 200, "2025-11-25")).toEqual({
      method: "tools/call",
      tool: "dig",
      prompt: undefined,
      protocolVersion: "2025-11-25",
      httpVersion: "1.1",
      isGood: true,
      code: undefined,
      errorType: undefined,
    });
    expect(operate(call, ["?"], 200)).toMatchObject({ isGood: false, errorType: undefined });
    expect(operate(call, [": first\n\n", `data: ${result}\n\n`], 200)).toMatchObject({ isGood: true });
  });

  test.each([
    ["cut", [result], 0, undefined],
    ["502", [], 502, undefined],
    ["404", [result], 404, undefined],
    ["tool_error", ['{"result":{"isError":true}}'], 200, undefined],
    ["-32602", ['{"error":{"code":-32602}}'], 400, "-32602"],
    ["-31403", ['{"error":{"code":-31403}}'], 200, "-31403"],
    ["_OTHER", ['{"error":{"code":77}}'], 200, "_OTHER"],
  ])("failed: %s", (errorType, pieces, status, code) => {
    expect(operate(call, pieces, status)).toMatchObject({ isGood: false, errorType, code });
  });

  test("tells methods and revisions that there are, and of others that they are others", () => {
    expect(operate({ method: "notifications/cancelled" }, [], 202)).toMatchObject({
      method: "notifications/cancelled",
    });
    expect(operate({ id: 1, method: "strange/name" }, [], 200, "2030-01-01")).toMatchObject({
      method: "_OTHER",
      protocolVersion: "_OTHER",
    });
    expect(operate({ id: 1, method: "prompts/get", params: { name: "p" } }, [], 200)).toMatchObject({ prompt: "p" });
    expect(
      operate({ method: "notifications/cancelled" }, ['{"error":{"code":-32602}}'], 202).errorType,
    ).toBeUndefined();
  });
});
