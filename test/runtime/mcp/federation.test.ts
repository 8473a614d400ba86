/** The pure parts of federated endpoints: names, values of messages, sessions, templates. */
import { describe, expect, test } from "vitest";

import { MODERN, requestFor } from "../../../runtime/mcp/federation/eras.ts";
import { readMessage, writeJson } from "../../../runtime/mcp/federation/json.ts";
import { advertise, MAX_ADVERTISED_NAME, readAdvertised } from "../../../runtime/mcp/federation/names.ts";
import { createFederatedSessions } from "../../../runtime/mcp/federation/sessions.ts";
import { passThrough } from "../../../runtime/mcp/federation/pass-through.ts";
import { readClientMessage, writeCall } from "../../../runtime/mcp/federation/raw-arguments.ts";
import { fitsTemplate } from "../../../runtime/mcp/federation/templates.ts";
import { inspect } from "../../../runtime/mcp/inspect.ts";
import { encodeMirror } from "../../../runtime/mcp/message-headers.ts";
import { parseMessage, type McpMessage } from "../../../runtime/mcp/message.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { createFakeExchange } from "../../support/fake-exchange.ts";
import { createRandom } from "../../support/random.ts";

describe("names", () => {
  test("are injective, and readAdvertised() is the inverse of advertise(), for any names of members", () => {
    const random = createRandom(41);
    const below = (most: number): number => Math.floor(random() * most);
    const letters = ["a", "b", "_", "__", "-", "1", "é", "."];
    const text = (alphabet: readonly string[], most: number): string =>
      Array.from({ length: 1 + below(most) }, () => alphabet[below(alphabet.length)]).join("");
    const known = new Map<string, string>();
    let dropped = 0;
    for (let round = 0; round < 5_000; round += 1) {
      const prefix = text(["a", "b", "1", "a-b"], 4);
      const name = text(letters, below(8) === 0 ? 80 : 6);
      const advertised = advertise(prefix, name);
      if (advertised === undefined) {
        dropped += 1;
        expect(`${prefix}__${name}`.length).toBeGreaterThan(MAX_ADVERTISED_NAME);
        continue;
      }
      expect(readAdvertised(advertised)).toEqual({ prefix, name });
      const pair = JSON.stringify([prefix, name]);
      expect(known.get(advertised) ?? pair).toBe(pair);
      known.set(advertised, pair);
    }
    expect([known.size > 500, dropped > 50]).toEqual([true, true]);
  });

  test.each(["", "a", "a_b", "__b", "a__", `a__${"b".repeat(64)}`])("%s is not an advertised name", (text) => {
    expect(readAdvertised(text)).toBeUndefined();
  });
});

describe("messages", () => {
  test.each([
    '{"b":1,"a":[1.0,1.50,-0,1e3,12345678901234567890,0.1,"1.0"],"c":{"z":null,"y":"\\u00e9"}}',
    '{"n":1,"text":"no number that could change"}',
  ])("keep their order and their numbers: %s", (text) => {
    const message = readMessage(Buffer.from(text));
    expect(writeJson(message)).toBe(text.replace("\\u00e9", "é"));
  });

  test.each(["[]", "1", '"a"', "null", "{", '{"__proto__":{"a":1}}'])("%s is none", (text) => {
    expect(readMessage(Buffer.from(text))).toBeUndefined();
  });
});

describe("passThrough()", () => {
  const pass = (text: string | Buffer, { id = "1", method = "tools/call", clientIsModern = false } = {}) =>
    passThrough(Buffer.from(text as string), { id, method, clientIsModern })?.toString();
  const SERVER = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}';

  test.each([
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"result":{"content":[{"type":"text","text":"a"}]},"jsonrpc":"2.0","id":1}',
    '{"id":1,"jsonrpc":"2.0","result":{"content":[]}}',
    '{"jsonrpc":"2.0","result":{"n":[1.0,1e400,-0,12345678901234567890]},"id":1}\n',
    '{"jsonrpc":"2.0","id":1,"result":{"text":"\\u00e9 \\"id\\":2 } é \u2028"} }',
    '{"jsonrpc":"2.0","id":1,"result":{"id":2,"result":{"id":3},"method":"x","error":{}}}',
  ])("leaves %s as it came", (text) => {
    expect(pass(text)).toBe(text);
  });

  test.each<[string, string]>([
    ["another ID", '{"jsonrpc":"2.0","id":2,"result":{}}'],
    ["an ID twice, the second foreign", '{"jsonrpc":"2.0","id":1,"result":{},"id":2}'],
    ["an ID twice, the first foreign", '{"id":2,"jsonrpc":"2.0","id":1,"result":{}}'],
    ["an ID twice around the result", '{"id":1,"result":{},"jsonrpc":"2.0","id":1}'],
    ["an ID twice, the second escaped", '{"jsonrpc":"2.0","id":1,"result":{},"\\u0069d":2}'],
    ["an escaped ID alone", '{"jsonrpc":"2.0","\\u0069d":1,"result":{}}'],
    ["an ID of another type", '{"jsonrpc":"2.0","id":"1","result":{}}'],
    ["another form of the ID", '{"jsonrpc":"2.0","id":1.0,"result":{}}'],
    ["a longer ID", '{"jsonrpc":"2.0","id":11,"result":{}}'],
    ["no ID", '{"jsonrpc":"2.0","result":{}}'],
    ["the ID within the result", '{"jsonrpc":"2.0","result":{},"result":{"id":1}}'],
    ["two results", '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}'],
    ["a result and an error", '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}'],
    ["a result and a method", '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}'],
    ["a method behind the result", '{"jsonrpc":"2.0","id":1,"result":{},"method":"ping"}'],
    ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'],
    ["a request", '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ["two messages", '{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":1,"result":{}}'],
    ["a list of messages", '[{"jsonrpc":"2.0","id":1,"result":{}}]'],
    ["a list as result", '{"jsonrpc":"2.0","id":1,"result":[]}'],
    ["null as result", '{"jsonrpc":"2.0","id":1,"result":null}'],
    ["no version", '{"id":1,"result":{}}'],
    ["another version", '{"jsonrpc":"1.0","id":1,"result":{}}'],
    ["white space between members", '{"jsonrpc":"2.0", "id":1,"result":{}}'],
    ["a result that ends the message", '{"jsonrpc":"2.0","id":1,"result":{}},{"a":{}}'],
    ["an open result", '{"jsonrpc":"2.0","id":1,"result":{}'],
    ["an open text", '{"jsonrpc":"2.0","id":1,"result":{"a":"}}'],
    ["broken JSON", '{"jsonrpc":"2.0","id":1,"result":{a:1}}'],
    ["nothing", ""],
    ["a byte order mark", '\ufeff{"jsonrpc":"2.0","id":1,"result":{}}'],
    ["the address of an app", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"uri":"ui://x"}]}}'],
    ["an escaped address", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"uri":"\\u0075i://x"}]}}'],
    ["another escaped address", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"uri":"ui\\u003A//x"}]}}'],
    ["an address in slashes", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"uri":"ui:\\/\\/x"}]}}'],
    ["an address behind another", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"uri":"ui://x","uri":"a"}]}}'],
    ["content behind other content", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"uri":"ui://x"}],"content":[]}}'],
    ["a task", '{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"a"}}}'],
    ["an escaped task", '{"jsonrpc":"2.0","id":1,"result":{"t\\u0061skId":"a"}}'],
    ["a state", '{"jsonrpc":"2.0","id":1,"result":{"requestState":"a"}}'],
    ["questions", '{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{}}}'],
    ["hints for caches", '{"jsonrpc":"2.0","id":1,"result":{"ttlMs":1,"cacheScope":"public"}}'],
    ["a type for a client without types", '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}'],
    ["_meta of the message", '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1}}}'],
    ["escaped _meta", '{"jsonrpc":"2.0","id":1,"result":{"\\u005fmeta":{"io.modelcontextprotocol/a":1}}}'],
    ["_meta twice", `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1},${SERVER}}}`],
    ["_meta that is open", `{"jsonrpc":"2.0","id":1,"result":{"a":[{${SERVER}]}}`],
    ["_meta before others", `{"jsonrpc":"2.0","id":1,"result":{${SERVER},"content":[]}}`],
    [
      "_meta of a task",
      '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}',
    ],
    ["a member __proto__", '{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"a":1}}}'],
    ["deep nesting", `{"jsonrpc":"2.0","id":1,"result":{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}}`],
    ["too many values", `{"jsonrpc":"2.0","id":1,"result":{"a":[${"1,".repeat(500_001)}1]}}`],
  ])("does not pass %s", (_, text) => {
    expect(pass(text)).toBeUndefined();
    expect(pass(text.replace("}}", "}} "))).toBeUndefined();
  });

  test("does not pass bytes that are not UTF-8", () => {
    const text = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"a":"?"}}');
    text[text.indexOf("?")] = 0xff;
    expect(passThrough(text, { id: "1", method: "tools/call", clientIsModern: false })).toBeUndefined();
  });

  test.each([
    ['"content":[]', '"content":[],"resultType":"complete"'],
    ["", '"resultType":"complete"'],
    ['"resultType":"complete","content":[]', '"resultType":"complete","content":[]'],
    [`"content":[],"resultType":"complete",${SERVER}`, '"content":[],"resultType":"complete"'],
    [`"content":[],${SERVER}`, '"content":[],"resultType":"complete"'],
    [SERVER, '"resultType":"complete"'],
  ])("results of a client of 2026-07-28 have a type, and no facts of one hop: %s", (before, after) => {
    for (const [start, end] of [
      ['{"jsonrpc":"2.0","id":"a","result":{', "}}"],
      ['{"result":{', '},"jsonrpc":"2.0","id":"a"}'],
    ] as const)
      expect(pass(start + before + end, { id: '"a"', clientIsModern: true })).toBe(start + after + end);
  });

  test.each(["input_required", "task", 1, null])("does not pass the type %s", (type) => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"resultType":${JSON.stringify(type)}}}`;
    expect(pass(text, { clientIsModern: true })).toBeUndefined();
  });

  test("results that may be cached are written, so that they have hints", () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"contents":[]}}';
    expect(pass(text, { method: "resources/read" })).toBe(text);
    expect(pass(text, { method: "resources/read", clientIsModern: true })).toBeUndefined();
  });
});

describe("arguments as bytes", () => {
  const headers = { contentType: "application/json" } as Parameters<typeof parseMessage>[1];
  const parsed = (text: string): McpMessage => {
    const message = parseMessage(Buffer.from(text), headers);
    if (!message.ok) throw new Error(message.reason);
    return message;
  };

  test.each([
    '{ "a" : 1.0, "b":[-0,1e3 ],"é":"\\u00e9","arguments":{"name":"x"},"__proto__":1}',
    "{}",
    '{"a":{"params":{"arguments":{},"name":"y"}}}',
    "null",
  ])("%s reach the member as they are, in a message as if it had been read", (args) => {
    for (const text of [
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"p__t","arguments": ${args} ,"_meta":{"k":1.0}}}`,
      `{"params":{"arguments":${args},"name":"p__t","_meta":{"k":1.0}},"method":"tools/call","jsonrpc":"2.0","id":1}`,
    ]) {
      const read = readClientMessage(parsed(text));
      if (read?.args === undefined) throw new Error("no arguments");
      expect(read.body["params"]).not.toHaveProperty("arguments");
      for (const id of [1, "a\u0000é", 123_456_789])
        for (const name of ["t", "t x", "é"])
          for (const isModern of [false, true]) {
            const params = { ...(read.body["params"] as object), name };
            const side = { isModern, capabilities: {} };
            const call = writeCall(requestFor({ ...read.body, id, params }, isModern, side), read.args, isModern);
            const { bytes, argumentsSpan: span } = call;
            expect(bytes.subarray(span?.start, span?.end).toString()).toBe(args);
            const mirrors = isModern && {
              protocolVersion: MODERN,
              mcpMethod: "tools/call",
              mcpName: encodeMirror(name),
            };
            const again = parseMessage(bytes, { ...headers, ...mirrors });
            expect(again).toEqual(call);
            expect(call.facts.arguments?.find(["a"], true)).toEqual(
              again.ok && again.facts.arguments?.find(["a"], true),
            );
          }
    }
  });

  test("names are clear to the rules of the member's route", () => {
    const read = readClientMessage(
      parsed('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}'),
    );
    if (read?.args === undefined) throw new Error("no arguments");
    const call = writeCall({ ...read.body, params: { name: "löschen" } }, read.args, false);
    const exchange = { ...createFakeExchange(), method: "POST", hasBody: true, wholeBody: call.bytes };
    const inspected = (maxBytes: number, isClearTool?: () => boolean): unknown[] => {
      const seen: unknown[] = [];
      inspect(exchange, maxBytes, (inspection) => seen.push(inspection), { isClearTool }, call);
      return seen;
    };
    expect(inspected(1_000)).toEqual([{ ok: true, message: call }]);
    expect(inspected(1_000, () => false)).toMatchObject([{ ok: false, reason: "mcp-unclear-tool-name" }]);
    expect(inspected(10)).toMatchObject([{ ok: false, reason: "mcp-body-too-large" }]);
  });

  test("messages without arguments are read as a whole", () => {
    const read = readClientMessage(parsed('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}'));
    expect(read).toEqual({
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "t" } },
      args: undefined,
    });
  });
});

describe("sessions", () => {
  const sessions = createFederatedSessions({ keys: createKeys([Buffer.alloc(32, 7)]) });
  const alice = { userId: "alice", clientId: "c", route: "default/all" };
  const of = (count: number, length: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`m${index}`, "x".repeat(length)]));

  test("open for the same user, client and route alone", () => {
    const sealed = sessions.seal(of(2, 40), alice);
    expect(sessions.open(sealed, alice)).toEqual(of(2, 40));
    for (const other of [{ userId: "bob" }, { clientId: "d" }, { route: "default/other" }])
      expect(sessions.open(sealed, { ...alice, ...other })).toBeUndefined();
    expect(sessions.open(`${sealed.slice(0, -1)}x`, alice)).toBeUndefined();
  });

  test("are bounded: the last members are omitted", () => {
    const sealed = sessions.seal(of(50, 1_000), alice);
    expect(sealed.length).toBeLessThanOrEqual(6_144);
    expect(sessions.open(sealed, alice)).toEqual(of(4, 1_000));
  });
});

test.each([
  ["file:///{path}", "file:///a/b", 8],
  ["x://a/{b}/c", "x://a/1/c", 6],
  ["x://a/{b}/c", "x://a//c", 6],
  ["x://a/{b}/c", "x://a/c", undefined],
  ["x://a/{b}/c/{d}", "x://a/1/d/2", undefined],
  ["x://a", "x://a", 5],
  ["x://a", "x://ab", undefined],
  ["{+all}", "x://a", undefined],
  ["x{+all}", "x://a", undefined],
] as const)("template %s and %s", (template, uri, fit) => {
  expect(fitsTemplate(template, uri)).toBe(fit);
});
