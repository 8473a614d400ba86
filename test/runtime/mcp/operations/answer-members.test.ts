import { describe, expect, test } from "vitest";

import { AnswerMembers, OWN_CODES } from "../../../../runtime/mcp/operations/answer-members.ts";
import { ACCESS_DENIED_CODE, RATE_LIMITED_CODE } from "../../../../runtime/mcp/refuse.ts";

/** In one piece, and cut between all bytes. @returns undefined when it is refused */
function replaced(text: string, isCacheable = false): string | undefined {
  const bytes = Buffer.from(text);
  const whole = run([bytes], isCacheable);
  const cut = run(
    Array.from(bytes, (byte) => Buffer.from([byte])),
    isCacheable,
  );
  expect(cut).toBe(whole);
  return whole;
}

function run(chunks: readonly Buffer[], isCacheable: boolean): string | undefined {
  const members = new AnswerMembers(isCacheable);
  const passed: Buffer[] = [];
  for (const chunk of chunks) {
    const next = members.push(chunk);
    if (next === undefined) return undefined;
    passed.push(next);
  }
  return Buffer.concat([...passed, members.end()]).toString();
}

test("OWN_CODES are the codes in the gateway's responses", () => {
  expect(OWN_CODES).toEqual(new Set([ACCESS_DENIED_CODE, RATE_LIMITED_CODE]));
});

describe("a code of the gateway's own", () => {
  test.each([
    ['{"error":{"code":-31403,"message":"m"}}', '{"error":{"code":-32000,"message":"m"}}'],
    ['{"error":{"code" :\t-31429 }}', '{"error":{"code" :\t-32000 }}'],
    ['{"error":{"code":-31403.0}}', '{"error":{"code":-32000  }}'],
    ['{"error":{"code":-3.1403E+4}}', '{"error":{"code":-32000    }}'],
    [`{"error":{"code":-31403.${"0".repeat(40)}1}}`, `{"error":{"code":-32000${" ".repeat(42)}}}`],
    ['{"error":{"c\\u006fd\\u0045":-31403}}', '{"error":{"c\\u006fd\\u0045":-32000}}'],
    ['{"error":{"CODE":-31403}}', '{"error":{"CODE":-32000}}'],
    ['{"error":{\r\n  "code":\r\n\n-31403}}', '{"error":{\r\n  "code":\r\n\n-32000}}'],
    ['{"error":{"code":"-31403"}}', '{"error":{"code":"-32000"}}'],
    ['{"error":{"code":" \\u002d31_403.0\\t"}}', '{"error":{"code":"-32000"           }}'],
    ['data: {"error":{"code":\ndata: -31403}}\n\n', 'data: {"error":{"code":\ndata: -32000}}\n\n'],
  ])("is replaced: %s", (written, left) => {
    expect(replaced(written)).toBe(left);
  });

  test.each([
    '{"error":{"code":-32601,"message":"no"}}',
    '{"error":{"code":31403}}',
    '{"result":{"content":[{"type":"text","text":"{\\"code\\": -31403}"}]}}',
    '{"result":{"structuredContent":{"list":["code",-31403,"-31403"],"code":"x-31403","codes":-31403}}}',
    `{"result":{"code":"${"x".repeat(10_000)}","cod":"-31403"}}`,
    '{"result":{"code":"line\\n-31403"}}',
    '{"result":{"list":[\n"code"\n]},"x":"\u00e9\u{1f600}"}',
    '{"result":{"cacheScope":"public"}}',
    'data: {"result":{"text":"code"}}\n\nid: 4\ndata: {}\n\n',
  ])("stays where it is none, and all else does: %s", (written) => {
    expect(replaced(written)).toBe(written);
  });

  test.each<[string, string]>([
    ["another field of the event", 'data: {"error":{"code":\nid: 4\ndata: -31403}}\n\n'],
    ["a comment", 'data: {"error":{"code"\n: x\ndata: : -31403}}\n\n'],
    ...["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"].flatMap((end): [string, string][] => [
      ["a line end of Unicode before the colon", `data: {"error":{"code" ${end}data: :-31403}}\n\n`],
      ["a line end of Unicode before the value", `data: {"error":{"code":${end}data: -31403}}\n\n`],
    ]),
    ["digits without end", `{"error":{"code":"-${"0".repeat(10_000)}`],
    ["white space without end", `{"error":{"code":${" ".repeat(10_000)}`],
  ])("is rejected with %s within the member", (_, written) => {
    expect(run([Buffer.from(written)], false)).toBeUndefined();
  });
});

test.each([
  ['{"result":{"cacheScope":"public","ttlMs":5}}', '{"result":{"cacheScope":"private","ttlMs":5}}'],
  ['{"result":{"ttlMs":5,"cacheScope" : "private"}}', '{"result":{"ttlMs":5,"cacheScope" : "private"}}'],
  ['{"result":{"cache\\u0053cope":"p\\u0075blic"}}', '{"result":{"cache\\u0053cope":"private"}}'],
  ['{"result":{"contents":[{"text":"\\"cacheScope\\":\\"public\\""}]}}', undefined],
  [
    '{"error":{"code":-31403,"data":{"cacheScope":"x\\"y"}}}',
    '{"error":{"code":-32000,"data":{"cacheScope":"private"}}}',
  ],
])("a scope is private: %s", (written, left = written) => {
  expect(replaced(written, true)).toBe(left);
});

test("an unchanged chunk is the same object", () => {
  const chunk = Buffer.from('{"result":{"content":[]}}');
  expect(new AnswerMembers(false).push(chunk)).toBe(chunk);
});
