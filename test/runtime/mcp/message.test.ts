import { gzipSync, deflateSync } from "node:zlib";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { isBesideArguments, toolArguments } from "../../../runtime/mcp/message.ts";
import type { RefusalReason } from "../../../runtime/mcp/refusals.ts";
import { jsonHeaders, modernHeaders, modernMeta, readMessage, toolCallBody } from "../../support/mcp.ts";

/** What official servers accept and a policy would misread: facts of tests against them, one by one. */
describe("parseMessage() closes what servers leave open", () => {
  const text = JSON.stringify(toolCallBody("delete_repo"));
  const call = '"id":1,"method":"tools/call"';

  test.each([undefined, "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])(
    "a batch with ping and tools/call is refused, version header %s",
    (version) => {
      const headers = version === undefined ? jsonHeaders : [...jsonHeaders, "MCP-Protocol-Version", version];
      const batch = [{ jsonrpc: "2.0", id: 2, method: "ping" }, toolCallBody("delete_repo")];
      expect(readMessage(batch, headers)).toMatchObject({ ok: false, status: 400, code: -32600, reason: "mcp-batch" });
      expect(readMessage([], headers)).toMatchObject({ reason: "mcp-batch" });
    },
  );

  test.each([
    ["name", `{"jsonrpc":"2.0",${call},"params":{"name":"search","name":"delete_repo"}}`],
    ["method", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete_repo"}}`],
    ["params", `{"jsonrpc":"2.0",${call},"params":{"name":"search"},"params":{"name":"delete_repo"}}`],
    ["name, spelled with an escape", `{"jsonrpc":"2.0",${call},"params":{"name":"search","n\\u0061me":"delete_repo"}}`],
    [
      "a key deep in the arguments",
      `{"jsonrpc":"2.0",${call},"params":{"name":"x","arguments":{"a":[{"b":1,"b":2}]}}}`,
    ],
  ])("a duplicate key is refused: %s", (_, body) => {
    expect(readMessage(body)).toMatchObject({ ok: false, status: 400, code: -32700, reason: "mcp-duplicate-key" });
  });

  test.each<[string, Buffer]>([
    ["gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", Buffer.from(text)],
    ["identity, gzip", Buffer.from(text)],
    ["", Buffer.from(text)],
  ])("Content-Encoding %j is refused", (coding, body) => {
    const headers = [...jsonHeaders, "Content-Encoding", coding];
    expect(readMessage(body, headers)).toMatchObject({ ok: false, status: 415, reason: "mcp-content-encoding" });
  });

  test("Content-Encoding identity passes, twice does not", () => {
    expect(readMessage(text, [...jsonHeaders, "Content-Encoding", "Identity"]).ok).toBe(true);
    const twice = [...jsonHeaders, "Content-Encoding", "identity", "content-encoding", "gzip"];
    expect(readMessage(text, twice)).toMatchObject({ ok: false, status: 415 });
  });

  test("a UTF-16 body is refused, by its charset and by its bytes", () => {
    const body = Buffer.from(text, "utf16le");
    const headers = ["Content-Type", "application/json; charset=utf-16le"];
    expect(readMessage(body, headers)).toMatchObject({ ok: false, status: 415, reason: "mcp-media-type" });
    expect(readMessage(body)).toMatchObject({ ok: false, status: 400 });
    expect(readMessage(Buffer.concat([Buffer.from([0xff, 0xfe]), body]))).toMatchObject({ reason: "mcp-not-utf8" });
  });

  test("a UTF-8 byte order mark is refused", () => {
    expect(readMessage(`\ufeff${text}`)).toMatchObject({ ok: false, status: 400, reason: "mcp-not-utf8" });
  });

  test.each<[string, Buffer]>([
    ["a broken sequence", Buffer.from([0x22, 0xc3, 0x28, 0x22])],
    ["an overlong slash", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ["an encoded surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["Latin-1", Buffer.from(text.replace("delete_repo", "é"), "latin1")],
  ])("invalid UTF-8 is refused: %s", (_, body) => {
    expect(readMessage(body)).toMatchObject({ ok: false, status: 400, code: -32700, reason: "mcp-not-utf8" });
  });

  test.each<[contentType: string, accepted: boolean]>([
    ["application/json", true],
    ["Application/JSON", true],
    ["application/json; charset=utf-8", true],
    ["application/json;charset=UTF-8", true],
    ['application/json ; charset="utf-8"', true],
    ["application/json; charset=utf-7", false],
    ["application/json; charset=utf-16", false],
    ["application/json; charset=iso-8859-1", false],
    ["application/json; charset=utf-8; charset=utf-16", false],
    ["application/json; version=1", false],
    ["application/json;", false],
    ["application/json, application/json", false],
    ["text/plain; application/json", false],
    ["text/plain", false],
    ["application/vnd.x+json", false],
    ["application/jsonx", false],
    ["application/json-rpc", false],
    ["multipart/form-data; boundary=x", false],
    ["", false],
  ])("Content-Type %j accepted: %s", (contentType, accepted) => {
    const message = readMessage(text, ["content-type", contentType]);
    expect(message.ok).toBe(accepted);
    if (!accepted) expect(message).toMatchObject({ status: 415, reason: "mcp-media-type" });
  });

  test("no Content-Type, and two of them, are refused", () => {
    expect(readMessage(text, [])).toMatchObject({ ok: false, status: 415 });
    expect(readMessage(text, [...jsonHeaders, ...jsonHeaders])).toMatchObject({ ok: false, status: 415 });
    expect(readMessage(text, [...jsonHeaders, "Content-Type", "text/plain"])).toMatchObject({ ok: false, status: 415 });
  });

  test("a tool name with escapes is compared decoded", () => {
    const body = `{"jsonrpc":"2.0",${call},"params":{"name":"\\u0064elete_\\u0072epo"}}`;
    expect(readMessage(body)).toMatchObject({ ok: true, facts: { method: "tools/call", tool: "delete_repo" } });
    const method = `{"jsonrpc":"2.0","id":1,"method":"tools\\/c\\u0061ll","params":{"name":"delete_repo"}}`;
    expect(readMessage(method)).toMatchObject({ ok: true, facts: { method: "tools/call", tool: "delete_repo" } });
    const keys = `{"jsonrpc":"2.0","id":1,"m\\u0065thod":"tools/call","p\\u0061rams":{"n\\u0061me":"delete_repo"}}`;
    expect(readMessage(keys)).toMatchObject({ ok: true, facts: { method: "tools/call", tool: "delete_repo" } });
  });

  test("tools/call without an id is a tool call to policy", () => {
    const message = readMessage({ jsonrpc: "2.0", method: "tools/call", params: { name: "delete_repo" } });
    expect(message).toMatchObject({
      ok: true,
      kind: "notification",
      id: undefined,
      facts: { method: "tools/call", tool: "delete_repo" },
    });
  });

  test("id null is refused", () => {
    const body = { jsonrpc: "2.0", id: null, method: "tools/call", params: { name: "x" } };
    expect(readMessage(body)).toMatchObject({ ok: false, status: 400, code: -32600, reason: "mcp-invalid-message" });
  });

  test.each([
    ["Params", `{"jsonrpc":"2.0",${call},"params":{"name":"search"},"Params":{"name":"delete_repo"}}`],
    ["Name", `{"jsonrpc":"2.0",${call},"params":{"name":"search","Name":"delete_repo"}}`],
    ["NAME alone", `{"jsonrpc":"2.0",${call},"params":{"name":"search","NAME":"x"}}`],
    ["METHOD", `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"x"}}`],
    [
      "params with the long s",
      `{"jsonrpc":"2.0",${call},"params":{"name":"search"},"param\u017f":{"name":"delete_repo"}}`,
    ],
    [
      "params with the long s, escaped",
      `{"jsonrpc":"2.0",${call},"params":{"name":"search"},"param\\u017f":{"name":"x"}}`,
    ],
    ["task with the Kelvin sign", `{"jsonrpc":"2.0",${call},"params":{"name":"search","tas\u212a":{}}}`],
    [
      "uri with the dotless i",
      `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a","ur\u0131":"b"}}`,
    ],
    ["id with the dotted I", `{"jsonrpc":"2.0",${call},"\u0130D":2,"params":{"name":"search"}}`],
    ["name in full width", `{"jsonrpc":"2.0",${call},"params":{"name":"search","\uff4e\uff41\uff4d\uff45":"x"}}`],
    ["name cut by NUL", `{"jsonrpc":"2.0",${call},"params":{"name":"search","name\\u0000":"x"}}`],
    ["name with a blank", `{"jsonrpc":"2.0",${call},"params":{"name":"search","name ":"x"}}`],
    ["_META", `{"jsonrpc":"2.0",${call},"params":{"name":"search","_META":{}}}`],
    [
      "the version claim",
      `{"jsonrpc":"2.0",${call},"params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolversion":"2026-07-28"}}}`,
    ],
    ["Result beside a method", `{"jsonrpc":"2.0",${call},"params":{"name":"search"},"Result":{}}`],
    ["na_me", `{"jsonrpc":"2.0",${call},"params":{"name":"search","na_me":"x"}}`],
    ["na-me", `{"jsonrpc":"2.0",${call},"params":{"name":"search","na-me":"x"}}`],
    ["_Name-", `{"jsonrpc":"2.0",${call},"params":{"name":"search","_Name-":"x"}}`],
    ["name with a full-width low line", `{"jsonrpc":"2.0",${call},"params":{"name":"search","na\uff3fme":"x"}}`],
    ["na_me, escaped", `{"jsonrpc":"2.0",${call},"params":{"name":"search","na\\u005fme":"x"}}`],
    ["me_thod", `{"jsonrpc":"2.0","id":1,"method":"ping","me_thod":"tools/call","params":{"name":"x"}}`],
    ["json-rpc", `{"jsonrpc":"2.0",${call},"json-rpc":"2.0","params":{"name":"search"}}`],
    ["task_id", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a","task_id":"b"}}`],
    ["meta", `{"jsonrpc":"2.0",${call},"params":{"name":"search","meta":{}}}`],
    [
      "the version claim with a low line",
      `{"jsonrpc":"2.0",${call},"params":{"name":"x","_meta":{"io.modelcontextprotocol/protocol_version":"2026-07-28"}}}`,
    ],
  ])("rejects a key that a case-insensitive parser reads as a known one: %s", (_, body) => {
    expect(readMessage(body)).toMatchObject({ ok: false, status: 400, code: -32600, reason: "mcp-look-alike-key" });
  });

  test("_meta may have names of its own with dashes and low lines", () => {
    const params = { name: "search", _meta: { task_id: "t", "trace-id": "i", u_r_i: "u", progressToken: 1 } };
    expect(readMessage({ jsonrpc: "2.0", id: 1, method: "tools/call", params })).toMatchObject({ ok: true });
  });

  test("the same keys are allowed inside the arguments", () => {
    const body = toolCallBody("search", {
      Name: "x",
      na_me: "x",
      ID: 1,
      URI: "y",
      Params: {},
      "param\u017f": 1,
      nested: { Method: "z" },
    });
    expect(readMessage(body)).toMatchObject({ ok: true, facts: { tool: "search" } });
  });

  test("modern _meta with a legacy version header is refused", () => {
    const body = { jsonrpc: "2.0", id: 1, method: "ping", params: { _meta: modernMeta() } };
    const headers = [...jsonHeaders, "MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "ping"];
    expect(readMessage(body, headers)).toMatchObject({
      ok: false,
      status: 400,
      code: -32020,
      reason: "mcp-header-mismatch",
    });
  });
});

describe("parseMessage() accepts", () => {
  test("a tool call, keeping its bytes, id text and arguments", () => {
    const body =
      '{ "params": {"arguments": {"n": 12345678901234567890 }, "name": "search"},\n "method": "tools/call", "id": 9007199254740993, "jsonrpc": "2.0" }';
    const message = readMessage(body);
    expect(message).toMatchObject({
      ok: true,
      kind: "request",
      id: "9007199254740993",
      facts: { method: "tools/call", tool: "search" },
      isModern: false,
    });
    if (!message.ok) return;
    expect(message.bytes.toString()).toBe(body);
    expect(toolArguments(message)).toBe('{"n": 12345678901234567890 }');
  });

  test.each<[string, unknown, object]>([
    [
      "initialize",
      { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-11-25" } },
      { kind: "request", id: "0", facts: { method: "initialize" } },
    ],
    [
      "a request without params",
      { jsonrpc: "2.0", id: "a\nb", method: "tools/list" },
      { kind: "request", id: '"a\\nb"' },
    ],
    ["params null", { jsonrpc: "2.0", id: -1, method: "ping", params: null }, { kind: "request", id: "-1" }],
    [
      "a notification",
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { kind: "notification", id: undefined, facts: { method: "notifications/initialized" } },
    ],
    ["a posted result", { jsonrpc: "2.0", id: 3, result: { content: [] } }, { kind: "response", id: "3", facts: {} }],
    [
      "a posted error",
      { jsonrpc: "2.0", id: "x", error: { code: 1, message: "no" } },
      { kind: "response", id: '"x"', facts: {} },
    ],
    [
      "a posted error without id",
      { jsonrpc: "2.0", error: { code: 1, message: "no" } },
      { kind: "response", id: undefined },
    ],
    ["arguments null", toolCallBody("x", null), { facts: { tool: "x" } }],
    ["unknown members", { ...toolCallBody("x"), extra: { name: "y", method: "z" } }, { facts: { tool: "x" } }],
    [
      "a name elsewhere",
      { jsonrpc: "2.0", id: 1, method: "prompts/get", params: { name: "p" } },
      { facts: { method: "prompts/get" } },
    ],
    ["a tool name beyond ASCII", toolCallBody("größe/prüfen ☃"), { facts: { tool: "größe/prüfen ☃" } }],
  ])("%s", (_, body, expected) => {
    expect(readMessage(body)).toMatchObject({ ok: true, ...expected });
  });

  test("no tool is known for methods that only carry a name", () => {
    const message = readMessage({ jsonrpc: "2.0", id: 1, method: "prompts/get", params: { name: "delete_repo" } });
    expect(message.ok && message.facts).toEqual({ method: "prompts/get", prompt: "delete_repo" });
  });
});

describe("parseMessage() refuses by shape", () => {
  const request = { jsonrpc: "2.0", id: 1, method: "ping" };
  test.each<[unknown, RefusalReason, code: number]>([
    ["", "mcp-malformed-json", -32700],
    ["{", "mcp-malformed-json", -32700],
    ["{}{}", "mcp-malformed-json", -32700],
    ["nonsense", "mcp-malformed-json", -32700],
    ['"text"', "mcp-invalid-message", -32600],
    ["1", "mcp-invalid-message", -32600],
    ["null", "mcp-invalid-message", -32600],
    [{}, "mcp-invalid-message", -32600],
    [{ ...request, jsonrpc: undefined }, "mcp-invalid-message", -32600],
    [{ ...request, jsonrpc: "1.0" }, "mcp-invalid-message", -32600],
    [{ ...request, jsonrpc: 2 }, "mcp-invalid-message", -32600],
    [{ ...request, id: 1.5 }, "mcp-invalid-message", -32600],
    ['{"jsonrpc":"2.0","id":1.0,"method":"ping"}', "mcp-invalid-message", -32600],
    ['{"jsonrpc":"2.0","id":1e3,"method":"ping"}', "mcp-invalid-message", -32600],
    [{ ...request, id: true }, "mcp-invalid-message", -32600],
    [{ ...request, id: {} }, "mcp-invalid-message", -32600],
    [{ ...request, method: 1 }, "mcp-invalid-message", -32600],
    [{ ...request, method: "" }, "mcp-invalid-message", -32600],
    [{ ...request, method: null }, "mcp-invalid-message", -32600],
    [{ ...request, method: ["tools/call"] }, "mcp-invalid-message", -32600],
    [{ ...request, method: "Tools/Call" }, "mcp-invalid-message", -32600],
    [{ ...request, method: "Resources/Read" }, "mcp-invalid-message", -32600],
    [{ ...request, method: "tools/LIST" }, "mcp-invalid-message", -32600],
    [{ ...request, method: "logging/setlevel" }, "mcp-invalid-message", -32600],
    [{ ...request, method: "tools/call " }, "mcp-invalid-message", -32600],
    [{ ...request, method: "tools/call\u0000" }, "mcp-invalid-message", -32600],
    [{ ...request, method: "too\u200bls/call" }, "mcp-invalid-message", -32600],
    [{ ...request, method: "x".repeat(257) }, "mcp-invalid-message", -32600],
    [{ ...request, params: [] }, "mcp-invalid-message", -32600],
    [{ ...request, params: "x" }, "mcp-invalid-message", -32600],
    [{ ...request, result: {} }, "mcp-invalid-message", -32600],
    [{ ...request, error: {} }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: 1 }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: 1, result: {}, error: {} }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", result: {} }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: 1, result: "x" }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: null, error: {} }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: 1, result: {}, params: {} }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: 1, params: { name: "x" } }, "mcp-invalid-message", -32600],
    [{ jsonrpc: "2.0", id: 1, method: "tools/call" }, "mcp-invalid-tool-call", -32602],
    [{ jsonrpc: "2.0", id: 1, method: "tools/call", params: null }, "mcp-invalid-tool-call", -32602],
    [{ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} }, "mcp-invalid-tool-call", -32602],
    [toolCallBody(1), "mcp-invalid-tool-call", -32602],
    [toolCallBody(null), "mcp-invalid-tool-call", -32602],
    [toolCallBody(["x"]), "mcp-invalid-tool-call", -32602],
    [toolCallBody({ name: "x" }), "mcp-invalid-tool-call", -32602],
    [toolCallBody(""), "mcp-invalid-tool-call", -32602],
    [toolCallBody("x\u0000y"), "mcp-invalid-tool-call", -32602],
    [toolCallBody("x\n"), "mcp-invalid-tool-call", -32602],
    [toolCallBody("x\u007f"), "mcp-invalid-tool-call", -32602],
    [toolCallBody("x\ud800"), "mcp-invalid-tool-call", -32602],
    [toolCallBody("x", "text"), "mcp-invalid-tool-call", -32602],
    [toolCallBody("x", [1]), "mcp-invalid-tool-call", -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":' + '{"a":'.repeat(80) + "1" + "}".repeat(80) + "}",
      "mcp-too-deep",
      -32700,
    ],
  ])("%j: %s", (body, reason, code) => {
    expect(readMessage(body)).toMatchObject({ ok: false, status: 400, reason, code });
  });

  test("the rejection contains the request's ID once it is known", () => {
    expect(readMessage(toolCallBody(1, {}, "call-7"))).toMatchObject({
      reason: "mcp-invalid-tool-call",
      id: '"call-7"',
    });
    expect(readMessage("{")).toMatchObject({ id: undefined });
  });

  test("tool names that are not plain only where rules can decide about them", () => {
    const options = { isClearTool: () => false };
    for (const name of ["a", "A-b_c.9", "x".repeat(128)]) {
      expect(readMessage(toolCallBody(name), jsonHeaders, options)).toMatchObject({ ok: true });
    }
    for (const name of ["a b", "ｄelete", "a/b", "café", "x".repeat(129), "a\u200b"]) {
      expect(readMessage(toolCallBody(name))).toMatchObject({ ok: true });
      expect(readMessage(toolCallBody(name), jsonHeaders, options)).toMatchObject({
        ok: false,
        reason: "mcp-unclear-tool-name",
      });
      expect(readMessage(toolCallBody(name), jsonHeaders, { isClearTool: () => true })).toMatchObject({ ok: true });
    }
  });
});

describe("parseMessage() mirror headers", () => {
  const meta = (params: object): object => ({ ...params, _meta: modernMeta() });
  const modernCall = { ...toolCallBody("search"), params: meta({ name: "search" }) };
  const legacyCall = toolCallBody("search");

  test.each<[string, unknown, readonly string[], isModern: boolean]>([
    ["a modern tool call", modernCall, modernHeaders("tools/call", "search"), true],
    [
      "a name in base64",
      { ...modernCall, params: meta({ name: "größe" }) },
      modernHeaders("tools/call", "=?base64?Z3LDtsOfZQ==?="),
      true,
    ],
    ["a plain name in base64", modernCall, modernHeaders("tools/call", "=?base64?c2VhcmNo?="), true],
    ["blanks around values", modernCall, modernHeaders(" tools/call\t", "  search "), true],
    [
      "a name that is half a marker",
      { ...modernCall, params: meta({ name: "=?base64?x" }) },
      modernHeaders("tools/call", "=?base64?x"),
      true,
    ],
    [
      "modern prompts/get",
      { jsonrpc: "2.0", id: 1, method: "prompts/get", params: meta({ name: "p" }) },
      modernHeaders("prompts/get", "p"),
      true,
    ],
    [
      "modern resources/read",
      { jsonrpc: "2.0", id: 1, method: "resources/read", params: meta({ uri: "file:///a" }) },
      modernHeaders("resources/read", "file:///a"),
      true,
    ],
    [
      "modern tasks/get",
      { jsonrpc: "2.0", id: 1, method: "tasks/get", params: meta({ taskId: "t" }) },
      modernHeaders("tasks/get", "t"),
      true,
    ],
    [
      "modern tools/list without a name",
      { jsonrpc: "2.0", id: 1, method: "tools/list", params: meta({}) },
      modernHeaders("tools/list"),
      true,
    ],
    [
      "an extension that mirrors its name",
      { jsonrpc: "2.0", id: 1, method: "x/run", params: meta({ name: "n" }) },
      modernHeaders("x/run", "n"),
      true,
    ],
    [
      "a modern header without a claim (the upstream answers that)",
      legacyCall,
      modernHeaders("tools/call", "search"),
      true,
    ],
    [
      "a modern notification, which needs no mirrors",
      { jsonrpc: "2.0", method: "notifications/x" },
      [...jsonHeaders, "MCP-Protocol-Version", "2026-07-28"],
      true,
    ],
    ["legacy with its version", legacyCall, [...jsonHeaders, "MCP-Protocol-Version", "2025-11-25"], false],
    ["legacy with a matching Mcp-Method", legacyCall, [...jsonHeaders, "Mcp-Method", "tools/call"], false],
    [
      "a legacy claim in both places",
      { ...legacyCall, params: { name: "search", _meta: modernMeta("2025-06-18") } },
      [...jsonHeaders, "MCP-Protocol-Version", "2025-06-18"],
      false,
    ],
  ])("accepts %s", (_, body, headers, isModern) => {
    expect(readMessage(body, headers)).toMatchObject({ ok: true, isModern });
  });

  test.each<[string, unknown, readonly string[]]>([
    ["another method", modernCall, modernHeaders("tools/list", "search")],
    ["another name", modernCall, modernHeaders("tools/call", "delete_repo")],
    ["the name in another case", modernCall, modernHeaders("tools/call", "Search")],
    ["the method in another case", modernCall, modernHeaders("Tools/call", "search")],
    [
      "no method in the modern era",
      modernCall,
      [...jsonHeaders, "MCP-Protocol-Version", "2026-07-28", "Mcp-Name", "search"],
    ],
    ["no name in the modern era", modernCall, modernHeaders("tools/call")],
    ["an empty name", modernCall, modernHeaders("tools/call", "")],
    [
      "no version header beside a modern claim",
      modernCall,
      [...jsonHeaders, "Mcp-Method", "tools/call", "Mcp-Name", "search"],
    ],
    ["another version", modernCall, modernHeaders("tools/call", "search", "2026-07-29")],
    [
      "a claim that is no text",
      { ...modernCall, params: { name: "search", _meta: { "io.modelcontextprotocol/protocolVersion": 1 } } },
      modernHeaders("tools/call", "search"),
    ],
    ["a version that is no date, without mirrors", legacyCall, [...jsonHeaders, "MCP-Protocol-Version", "next"]],
    ["two methods", modernCall, [...modernHeaders("tools/call", "search"), "mcp-method", "tools/call"]],
    ["two names", modernCall, [...modernHeaders("tools/call", "search"), "MCP-NAME", "delete_repo"]],
    [
      "two versions",
      legacyCall,
      [...jsonHeaders, "MCP-Protocol-Version", "2025-11-25", "MCP-Protocol-Version", "2025-11-25"],
    ],
    ["joined values", modernCall, modernHeaders("tools/call", "search, search")],
    ["bad base64 padding", modernCall, modernHeaders("tools/call", "=?base64?c2VhcmNo=?=")],
    ["bad base64 alphabet", modernCall, modernHeaders("tools/call", "=?base64?c2Vhcm-o?=")],
    ["base64 of bytes that are no UTF-8", modernCall, modernHeaders("tools/call", "=?base64?/w==?=")],
    ["the marker in upper case", modernCall, modernHeaders("tools/call", "=?BASE64?c2VhcmNo?=")],
    [
      "raw bytes beyond ASCII",
      { ...modernCall, params: meta({ name: "größe" }) },
      modernHeaders("tools/call", "größe"),
    ],
    ["a method in the legacy era that differs", legacyCall, [...jsonHeaders, "Mcp-Method", "tools/list"]],
    ["a name in the legacy era that differs", legacyCall, [...jsonHeaders, "Mcp-Name", "fetch"]],
    [
      "a method beside a posted response",
      { jsonrpc: "2.0", id: 1, result: {} },
      [...jsonHeaders, "Mcp-Method", "tools/call"],
    ],
    ["a name where the message has none", { jsonrpc: "2.0", id: 1, method: "ping" }, [...jsonHeaders, "Mcp-Name", "x"]],
    [
      "the task id as the name of a tool call",
      { ...legacyCall, params: { name: "search", taskId: "t" } },
      [...jsonHeaders, "Mcp-Name", "t"],
    ],
  ])("refuses %s", (_, body, headers) => {
    expect(readMessage(body, headers)).toMatchObject({
      ok: false,
      status: 400,
      code: -32020,
      reason: "mcp-header-mismatch",
    });
  });

  describe("headers that repeat arguments", () => {
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "search",
        arguments: {
          region: "eu",
          user_id: 9007199254740992,
          dryRun: true,
          at: { city: "Zürich", note: "us" },
          empty: null,
          tags: ["listed"],
        },
      },
    };
    const body = JSON.stringify(call).replace("9007199254740992", "9007199254740993");
    const read = (...headers: readonly string[]): unknown =>
      readMessage(Buffer.from(body), [...jsonHeaders, ...headers]);

    test.each([
      [["Mcp-Param-Region", "eu"]],
      [["MCP-PARAM-user-id", "9007199254740993.0"]],
      [["mcp-param-x", "9007199254740993"]],
      [["Mcp-Param-DryRun", "true", "Mcp-Param-City", "=?base64?WsO8cmljaA==?="]],
      [["Mcp-Param-Place", "=?base64?WsO8cmljaA==?="]],
    ])("pass if the body has the same value: %j", (headers) => {
      expect(read(...headers)).toMatchObject({ ok: true });
    });

    test.each([
      ["another value", ["Mcp-Param-Region", "us-east"]],
      ["the value of another argument", ["Mcp-Param-Region", "us"]],
      ["another spelling of the value", ["Mcp-Param-Region", "EU"]],
      ["a neighbor of a large number", ["Mcp-Param-User-Id", "9007199254740992"]],
      ["a value that no argument has", ["Mcp-Param-Tenant", "other"]],
      ["a value where the argument is null", ["Mcp-Param-Empty", "eu"]],
      ["a value where the argument is an object", ["Mcp-Param-At", "Zurich"]],
      ["an element of a list", ["Mcp-Param-Tag", "listed"]],
      ["the same header twice", ["Mcp-Param-Region", "eu", "mcp-param-region", "eu"]],
      ["bad base64", ["Mcp-Param-City", "=?base64?WsO8cmljaA=?="]],
      ["names with the length of other headers", ["Mcp-Param-Ab", "x", "Mcp-Param-Abcdef", "x"]],
    ])("are refused with %s", (_, headers) => {
      expect(read(...headers)).toMatchObject({ ok: false, code: -32020, reason: "mcp-header-mismatch" });
    });

    test.each<[boolean, object, string]>([
      [false, { region: "us", Region: "eu" }, "eu"],
      [false, { region: "us", Region: "eu" }, "us"],
      [false, { region: "eu", re_gion: null }, "eu"],
      [false, { at: { Region: "eu", region: { of: "eu" } } }, "eu"],
      [true, { region: "eu", Region: "eu" }, "eu"],
      [true, { region: "us", at: { region: "eu" } }, "eu"],
    ])(
      "pass (%s) with two forms of one name in an object only if both have the same value: %j, %s",
      (ok, args, value) => {
        const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "deploy", arguments: args } };
        expect(readMessage(call, [...jsonHeaders, "Mcp-Param-Region", value])).toMatchObject({ ok });
      },
    );

    test("are rejected on a message without arguments", () => {
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      expect(readMessage(ping, [...jsonHeaders, "Mcp-Param-Region", "eu"])).toMatchObject({ code: -32020 });
    });
  });

  test("the rejection contains the ID", () => {
    expect(readMessage(modernCall, modernHeaders("tools/list"))).toMatchObject({ id: "1" });
  });
});

describe("parseMessage() against JSON.parse", () => {
  interface Loose {
    jsonrpc?: unknown;
    id?: unknown;
    method?: unknown;
    params?: { name?: unknown; arguments?: unknown };
  }
  /** What every ordinary server would see. */
  function expectSameReading(body: string | Buffer): void {
    const message = readMessage(body);
    if (!message.ok) return;
    const seen = JSON.parse(body.toString()) as Loose;
    expect(Array.isArray(seen)).toBe(false);
    expect(message.facts.method).toBe(seen.method);
    if (seen.method === "tools/call") expect(message.facts.tool).toBe(seen.params?.name);
    else expect(message.facts).not.toHaveProperty("tool");
    if (message.id === undefined) expect(seen).not.toHaveProperty("id");
    else expect(JSON.parse(message.id)).toEqual(seen.id);
    const args = toolArguments(message);
    if (args !== undefined) expect(JSON.parse(args)).toEqual(seen.params?.arguments);
  }

  const key = fc.oneof(
    fc.constantFrom(
      "jsonrpc",
      "id",
      "method",
      "params",
      "name",
      "arguments",
      "_meta",
      "result",
      "error",
      "uri",
      "taskId",
    ),
    fc.constantFrom(
      "Name",
      "METHOD",
      "param\u017f",
      "tas\u212a",
      "na\\u006de",
      "metho\\u0064",
      "name\\u0000",
      "n\u0430me",
      "other",
    ),
  );
  const value: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom(
        '"2.0"',
        '"tools/call"',
        '"tools\\/call"',
        '"Tools/Call"',
        '"ping"',
        '"delete_repo"',
        '"d\\u0065lete_repo"',
        "1",
        "null",
        "{}",
        "[]",
        "true",
        '"\\ud800"',
      ),
      fc
        .array(fc.tuple(key, tie("value")), { maxLength: 4 })
        .map((members) => `{${members.map(([name, text]) => `"${name}":${text}`).join(",")}}`),
      fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    ),
  })).value;

  test("an accepted message means the same, whatever keys it is made of", () => {
    const extra = fc
      .array(fc.tuple(key, value), { maxLength: 3 })
      .map((members) => members.map(([name, text]) => `"${name}":${text}`));
    const own = fc.constantFrom(
      '"jsonrpc":"2.0"',
      '"id":1',
      '"method":"tools/call"',
      '"params":{"name":"search","arguments":{"a":1}}',
    );
    fc.assert(
      fc.property(fc.uniqueArray(own, { minLength: 2 }), extra, extra, (members, before, behind) => {
        expectSameReading(`{${[...before, ...members, ...behind].join(",")}}`);
      }),
      { numRuns: 3000 },
    );
  });

  test("keys inserted at random never change what policy sees of an accepted message", () => {
    const inParams = fc.array(fc.tuple(key, value), { maxLength: 3 });
    fc.assert(
      fc.property(inParams, inParams, fc.boolean(), (params, envelope, isParamsFirst) => {
        const texts = params.map(([name, text]) => `,"${name}":${text}`).join("");
        const inner = `"params":{"name":"search"${texts}}`;
        const outer = `"jsonrpc":"2.0","id":1,"method":"tools/call"${envelope.map(([name, text]) => `,"${name}":${text}`).join("")}`;
        const body = isParamsFirst ? `{${inner},${outer}}` : `{${outer},${inner}}`;
        expectSameReading(body);
        const message = readMessage(body);
        if (!message.ok) return;
        const { arguments: given, ...facts } = message.facts;
        expect(facts).toEqual({ method: "tools/call", tool: "search" });
        expect(given?.find([], false)).toEqual(
          (JSON.parse(body) as { params: { arguments?: object } }).params.arguments ?? {},
        );
      }),
      { numRuns: 3000 },
    );
  });

  test("what official clients send is accepted", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer(), fc.string()),
        fc.string({ minLength: 1 }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (id, tool, args) => {
          const body = JSON.stringify({
            method: "tools/call",
            params: { name: tool, arguments: args },
            jsonrpc: "2.0",
            id,
          });
          // oxlint-disable-next-line no-control-regex -- exactly these are meant
          const isPlain = !/[\0-\x1f\x7f-\x9f]/.test(tool) && !/"(?:[^"\\]|\\.)*\\ud[89a-f]/i.test(body);
          if (isPlain) expect(readMessage(body)).toMatchObject({ ok: true, facts: { tool } });
          expectSameReading(body);
        },
      ),
      { numRuns: 500 },
    );
  });
});

test.each([20, 2_000])(
  "a text is found before or after %i bytes of arguments, not in them or across their ends",
  (size) => {
    const before = "{before";
    const after = "after}";
    for (const text of ["task", Buffer.from("task")])
      for (let at = 0; at <= before.length + size + after.length; at += 1) {
        const all = before + "a".repeat(size) + after;
        const bytes = Buffer.from(`${all.slice(0, at)}task${all.slice(at + 4)}`);
        const argumentsSpan = {
          kind: "object",
          isEscaped: false,
          start: before.length,
          end: before.length + size,
        } as const;
        const isBeside = at + 4 <= argumentsSpan.start || at >= argumentsSpan.end;
        expect(isBesideArguments({ bytes, argumentsSpan }, text), `at ${at}`).toBe(isBeside);
        const inside = Buffer.concat([
          bytes.subarray(0, before.length),
          Buffer.from("task"),
          bytes.subarray(before.length),
        ]);
        const longer = { ...argumentsSpan, end: argumentsSpan.end + 4 };
        expect(isBesideArguments({ bytes: inside, argumentsSpan: longer }, text), `also at ${at}`).toBe(isBeside);
      }
  },
);
