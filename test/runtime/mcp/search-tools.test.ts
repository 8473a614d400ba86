import { describe, expect, test } from "vitest";

import { discoveryTools, plainCall, readSearch } from "../../../runtime/mcp/federation/discovery.ts";
import { MAX_SEARCHED_TOOLS, searchTools } from "../../../runtime/mcp/federation/search-tools.ts";

const tool = (name: string, description = "", properties: object = {}) => ({
  name,
  description,
  inputSchema: { type: "object", properties },
});
const TOOLS = [
  tool("git__createIssue", "Opens a ticket in a repository", { repository: {}, body: {} }),
  tool("git__list_issues", "Lists issues, also closed ones"),
  tool("wiki__search", "Searches pages of the wiki"),
  tool("mail__send", "Sends a message. Do not use it for an issue of a repository, repository, repository."),
  { name: "bare" },
];
const found = (query: string, limit = 10): readonly unknown[] =>
  searchTools(TOOLS, query, limit).map(({ name }) => name);

describe("searchTools()", () => {
  test.each([
    ["create issue", ["git__createIssue", "git__list_issues", "mail__send"]],
    ["ISSUES", ["git__list_issues", "git__createIssue", "mail__send"]],
    ["search wiki page", ["wiki__search"]],
    ["body", ["git__createIssue"]],
    ["bare", ["bare"]],
    ["nothing like it", ["mail__send"]],
    ["§ ☃", []],
  ])("%j finds by name, description and parameters, rare words first", (query, names) => {
    const all = found(query);
    expect(new Set(all)).toEqual(new Set(names));
    expect(all[0]).toBe(names[0]);
  });

  test("returns the definitions themselves, at most as many as asked, and looks at a bounded number", () => {
    expect(searchTools(TOOLS, "issue", 1)).toEqual([expect.objectContaining({ description: expect.any(String) })]);
    const many = Array.from({ length: MAX_SEARCHED_TOOLS + 1 }, (_, at) => tool(`t${at}`));
    expect(searchTools(many, `t${MAX_SEARCHED_TOOLS - 1} t${MAX_SEARCHED_TOOLS}`, 5).map(({ name }) => name)).toEqual([
      `t${MAX_SEARCHED_TOOLS - 1}`,
    ]);
  });

  test("ranks as a plain implementation of BM25 does", () => {
    const words = ["read", "write", "page", "issue", "mail", "team", "note"];
    let seed = 7;
    const next = (bound: number): number => (seed = (seed * 48_271) % 2_147_483_647) % bound;
    const text = (length: number): string => Array.from({ length }, () => words[next(words.length)]).join(" ");
    const tools = Array.from({ length: 200 }, (_, at) => tool(`tool ${at}`, text(1 + next(12))));
    const query = ["page", "mail"];
    const docs = tools.map(({ name, description }) => `${name} ${description}`.split(" "));
    const average = docs.reduce((sum, doc) => sum + doc.length, 0) / docs.length;
    const score = (doc: readonly string[]): number =>
      query.reduce((sum, term) => {
        const has = docs.filter((other) => other.includes(term)).length;
        const frequency = doc.filter((word) => word === term).length;
        const rarity = Math.log(1 + (docs.length - has + 0.5) / (has + 0.5));
        return sum + (rarity * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * doc.length) / average));
      }, 0);
    const expected = docs
      .map((doc, at) => ({ at, score: score(doc) }))
      .toSorted((one, other) => other.score - one.score || one.at - other.at)
      .slice(0, 20);
    expect(searchTools(tools, query.join(" "), 20).map(({ name }) => name)).toEqual(
      expected.map(({ at }) => `tool ${at}`),
    );
  });
});

describe("plainCall()", () => {
  const use = (params: string): Buffer =>
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);

  test("puts name and arguments of the tool into the message, numbers as written, and keeps the rest", () => {
    const call = plainCall(
      use(
        '{"name":"use_tool","arguments":{"name":"a__b","arguments":{"id":12345678901234567890,"x":1.0}},"_meta":{"progressToken":1}}',
      ),
    );
    expect([call?.name, String(call?.bytes)]).toEqual([
      "a__b",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__b","_meta":{"progressToken":1},"arguments":{"id":12345678901234567890,"x":1.0}}}',
    ]);
    expect(String(plainCall(use('{"name":"use_tool","arguments":{"name":"a__b"}}'))?.bytes)).toContain(
      '"params":{"name":"a__b"}',
    );
  });

  test.each([
    '{"name":"use_tool"}',
    '{"arguments":{}}',
    '{"arguments":{"name":1}}',
    '{"arguments":{"name":"a","arguments":[]}}',
    '{"arguments":{"name":"a","Arguments":{}}}',
  ])("rejects %s", (params) => expect(plainCall(use(params))).toBeUndefined());
});

test.each([{}, { query: "" }, { query: "x".repeat(1001) }, { query: "x", limit: 0 }, { query: "x", limit: 1.5 }])(
  "readSearch() rejects %j",
  (args) => expect(readSearch(args)).toEqual(expect.stringMatching(/^"(query|limit)" must be/)),
);

test("readSearch() has a default and a bound, and the definitions say how many tools there are", () => {
  expect([readSearch({ query: "x" }), readSearch({ query: "x", limit: 500 })]).toEqual([
    { query: "x", limit: 8 },
    { query: "x", limit: 20 },
  ]);
  expect(JSON.stringify(discoveryTools(321))).toContain("Searches 321 tools");
});
