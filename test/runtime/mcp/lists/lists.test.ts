import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { EventBlocks, renderEvent, type EventBlock } from "../../../../runtime/mcp/lists/event-blocks.ts";
import { filterAnswer } from "../../../../runtime/mcp/lists/filter-answer.ts";
import { readListAnswer, type ListAnswer } from "../../../../runtime/mcp/lists/list-answer.ts";
import { KnownLists } from "../../../../runtime/proxy/lists/known-lists.ts";

function read(text: string): ListAnswer {
  const answer = readListAnswer(Buffer.from(text));
  if (typeof answer === "string") throw new Error(`${answer}: ${text}`);
  return answer;
}

function filter(text: string, keep: readonly string[], isModern = false): string {
  return filterAnswer(Buffer.from(text), read(text), {
    keeps: (item) => keep.includes("name" in item ? item.name : "uri" in item ? item.uri : item.uriTemplate),
    isModern,
  }).bytes.toString();
}

describe("readListAnswer()", () => {
  test.each([
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/progress","params":{"tools":[]}}'],
    ["a request", '{"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{}}'],
    ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","data":{"tools":[]}}}'],
    ["another result", '{"jsonrpc":"2.0","id":1,"result":{"content":[{"tools":[]}]}}'],
    ["a result that is no object", '{"jsonrpc":"2.0","id":1,"result":[{"tools":[]}]}'],
  ])("finds no list in %s", (_, text) => {
    expect(readListAnswer(Buffer.from(text))).toBe("none");
  });

  test.each([
    ["no JSON", "tools"],
    ["a broken end", '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}'],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}]'],
    ["text behind it", '{"result":{"tools":[]}} {}'],
    ["a list twice", '{"id":1,"result":{"tools":[],"tools":[{"name":"x"}]}}'],
    ["a result twice", '{"id":1,"result":{"tools":[]},"result":{"tools":[]}}'],
    ["a name twice in one item", '{"id":1,"result":{"tools":[{"name":"a","name":"b"}]}}'],
    ["a name twice, once in escapes", '{"id":1,"result":{"tools":[{"name":"a","n\\u0061me":"b"}]}}'],
    ["a list that is none", '{"id":1,"result":{"tools":{"0":{"name":"a"}}}}'],
    ["a result beside an error", '{"id":1,"result":{"tools":[]},"error":{"code":1,"message":""}}'],
    ["a result beside a method", '{"id":1,"method":"x","result":{"tools":[]}}'],
    ["a result in another case", '{"id":1,"result":{"tools":[]},"Result":{"tools":[{"name":"x"}]}}'],
    ["a list in another case", '{"id":1,"result":{"tools":[],"Tools":[{"name":"x"}]}}'],
    ["only a list in another case", '{"id":1,"result":{"TOOLS":[{"name":"x"}]}}'],
    [
      "a list in another case of words",
      '{"id":1,"result":{"resourceTemplates":[],"resource_templates":[{"uriTemplate":"x"}]}}',
    ],
    ["only that", '{"id":1,"result":{"resource-templates":[{"uriTemplate":"x"}]}}'],
    ["a cursor in another case of words", '{"id":1,"result":{"tools":[],"next_cursor":"2"}}'],
    ["a scope in another case of words", '{"id":1,"result":{"tools":[],"cache_scope":"public"}}'],
    ["a name that is no UTF-8", Buffer.from([...Buffer.from('{"id":1,"result":{"tools":[{"name":"'), 0xff, 0x22])],
    ["depth", `{"id":1,"result":{"tools":[{"name":"a","x":${"[".repeat(80)}${"]".repeat(80)}}]}}`],
    ["too many items", `{"id":1,"result":{"tools":[${Array.from({ length: 10_001 }, () => "{}").join(",")}]}}`],
  ])("cannot read %s", (_, text) => {
    expect(readListAnswer(Buffer.from(text))).toBe("unreadable");
  });

  test("keeps the id as it was written", () => {
    expect(read('{"id":9007199254740993,"result":{"tools":[]}}').id).toBe("9007199254740993");
    expect(read('{"result":{"prompts":[]},"id":"a\\u0062"}').id).toBe('"a\\u0062"');
    expect(read('{"result":{"resources":[]}}').id).toBeUndefined();
  });
});

describe("filterAnswer()", () => {
  const tools = '{"name":"a", "x":1.0e2},{"y":[{"name":"c"}],"name":"b"},{"name":"c","description":"é\\n"}';

  test.each([
    [["a", "b", "c"], tools],
    [["b"], '{"y":[{"name":"c"}],"name":"b"}'],
    [["c", "a"], '{"name":"a", "x":1.0e2},{"name":"c","description":"é\\n"}'],
    [[], ""],
  ])("keeps %j byte for byte", (keep, left) => {
    const around = (items: string): string =>
      `{ "jsonrpc":"2.0","result":{"_meta":{"a":1},"tools": [${items}],"nextCursor":""},"id":1 }`;
    expect(filter(around(tools), keep)).toBe(around(left));
  });

  test("hides an item without a name, and one that other readers find elsewhere", () => {
    const items = [
      '{"title":"a"}',
      '{"name":1}',
      '"a"',
      "null",
      '{"name":"a","NAME":"z"}',
      '{"NAME":"a"}',
      '{"name":"a","name\\u0000":"z"}',
      '{"name":"a","\u3381me":"z"}',
      '{"name":"a","é":1,"è":1,"ê":1,"ë":1,"ē":1}',
      '{"name":"a"}',
    ];
    expect(filter(`{"id":1,"result":{"tools":[${items.join(" , ")}]}}`, ["a"])).toBe(
      '{"id":1,"result":{"tools":[{"name":"a"}]}}',
    );
  });

  test("knows prompts, resources and templates by what names them, and all lists of one answer", () => {
    const text =
      '{"id":1,"result":{"prompts":[{"name":"p"},{"name":"q"}],"resources":[{"uri":"x:1","name":"p"},{"uri":"x:2"}],' +
      '"resourceTemplates":[{"uriTemplate":"x:{a}"},{"uriTemplate":"y:{a}"}]}}';
    expect(filter(text, ["p", "x:2", "y:{a}"])).toBe(
      '{"id":1,"result":{"prompts":[{"name":"p"}],"resources":[{"uri":"x:2"}],"resourceTemplates":[{"uriTemplate":"y:{a}"}]}}',
    );
  });

  test("hides templates with a name in another case of words", () => {
    const items = [
      '{"uriTemplate":"x:{a}","uri_template":"y:{a}"}',
      '{"uri_template":"x:{a}"}',
      '{"uriTemplate":"x:{a}"}',
    ];
    expect(filter(`{"id":1,"result":{"resourceTemplates":[${items.join(",")}]}}`, ["x:{a}", "y:{a}"])).toBe(
      '{"id":1,"result":{"resourceTemplates":[{"uriTemplate":"x:{a}"}]}}',
    );
  });

  test("names in escapes are the same names", () => {
    expect(filter('{"id":1,"result":{"tools":[{"n\\u0061me":"\\u0061"},{"name":"b"}]}}', ["a"])).toBe(
      '{"id":1,"result":{"tools":[{"n\\u0061me":"\\u0061"}]}}',
    );
  });

  test.each([
    ['"cacheScope":"public","ttlMs":300000', '"cacheScope":"private","ttlMs":60000'],
    ['"ttlMs":5,"cacheScope":"private"', '"ttlMs":5,"cacheScope":"private"'],
    ['"cacheScope":null,"ttlMs":"soon"', '"cacheScope":"private","ttlMs":60000'],
    ['"cacheScope":"p\\u0075blic","ttlMs":1e9', '"cacheScope":"private","ttlMs":60000'],
  ])("limits the cache scope for modern clients, on every page: %s", (written, left) => {
    const page = (hints: string): string => `{"id":1,"result":{${hints},"tools":[{"name":"a"}]}}`;
    expect(filter(page(written), ["a"], true)).toBe(page(left));
    expect(filter(page(written), ["a"], false)).toBe(page(written));
  });

  test("a modern page without a scope is made private", () => {
    expect(filter('{"id":1,"result":{"tools":[]}}', [], true)).toBe(
      '{"id":1,"result":{"cacheScope":"private","tools":[]}}',
    );
  });

  test("gives the same result as JSON.parse and a filter, in any context", () => {
    const name = fc.constantFrom("a", "b", "\u00e9", 'q"', "\\");
    const item = fc
      .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
      .chain((rest) => name.map((own) => ({ ...rest, name: own })));
    const answer = fc.record({
      tools: fc.array(item, { maxLength: 6 }),
      _meta: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    });
    fc.assert(
      fc.property(answer, fc.boolean(), (result, isPretty) => {
        const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result }, null, isPretty ? 2 : undefined);
        const found = readListAnswer(Buffer.from(text));
        // Keys that somebody could take for known ones come up as well.
        if (typeof found === "string") return;
        const { bytes } = filterAnswer(Buffer.from(text), found, {
          keeps: (each) => "name" in each && each.name !== "a",
          isModern: false,
        });
        const kept = result.tools.filter(
          (each) => each.name !== "a" && !Object.keys(each).some((key) => key !== "name" && /^name$/i.test(key)),
        );
        expect(JSON.parse(bytes.toString())).toEqual(
          JSON.parse(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { ...result, tools: kept } })),
        );
      }),
      { seed: 15, numRuns: 150 },
    );
  });
});

/** Items in forms that could mislead a reader, without keys that look alike. */
const ITEMS = [
  '{"name":"a"}',
  '{ "name" : "b" }',
  '{"name":"\\u0061"}',
  '{"n\\u0061me":"b","title":"\\ud800"}',
  '{"name":"\\ud83d\\ude00"}',
  '{"name":"\\ud800"}',
  '{"name":"é","x":-1.50e+300,"y":123456789012345678901234567890}',
  '{"x":{"name":"a","tools":[{"name":"a"}]},"name":"c"}',
  '{"description":"},{\\"name\\":\\"a\\"","name":"b"}',
  '{"name":"c","inputSchema":{"properties":{"name":{"type":"string"}}}}',
  '{"name":null}',
  "{}",
  "[]",
  "null",
  '"a"',
];
const SHAPES = [
  (id: string, items: string) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${items}]}}`,
  (id: string, items: string) => `{"result":{"_meta":{"tools":[{"name":"a"}]},"tools":[${items}]},"id":${id}}\n`,
  (id: string, items: string) => ` { "result" : { "tools" : [ ${items} ], "nextCursor":"\\u0032" } , "id" : ${id} } `,
];
const SHAPE = fc.constantFrom(...SHAPES);
const LIST = fc.array(fc.tuple(fc.constantFrom(...ITEMS), fc.constantFrom(",", " , ", ",\n\t")), { maxLength: 8 });
const ID = fc.constantFrom("1", "7", "10", "11", '"a"', '"b"', '"\\u0061"', '"é"', '"ab"');

function listed(items: readonly (readonly [string, string])[]): string {
  return items.map(([item, after], index) => (index === items.length - 1 ? item : item + after)).join("");
}

test("a filtered list means the same as a parsed, filtered and written one", () => {
  fc.assert(
    fc.property(SHAPE, ID, LIST, fc.subarray(["a", "b", "c", "é", "😀", "\ud800"]), (shape, id, items, keep) => {
      const text = shape(id, listed(items));
      const expected = JSON.parse(text) as { readonly result: { tools: { readonly name?: unknown }[] } };
      expected.result.tools = expected.result.tools.filter((item) => keep.some((name) => item?.name === name));
      expect(JSON.parse(filter(text, keep))).toEqual(expected);
    }),
    { seed: 3, numRuns: 300 },
  );
});

test("a remembered list is read like any other, whatever differs from the one before", () => {
  const known = new KnownLists();
  const change = fc.record({ at: fc.nat(), put: fc.constantFrom(...Buffer.from('019ab"\\{}[],: \xe9', "latin1")) });
  fc.assert(
    fc.property(SHAPE, ID, ID, LIST, fc.option(change), (shape, id, other, items, changed) => {
      const [first, second, third] = [id, other, other].map((each) => Buffer.from(shape(each, listed(items))));
      if (changed && third) third[changed.at % third.length] = changed.put;
      for (const bytes of [first, second, third, second, first]) {
        for (const asked of [id, other])
          expect(known.read("route", bytes as Buffer, asked)).toEqual(readListAnswer(bytes as Buffer));
      }
    }),
    { seed: 4, numRuns: 300 },
  );
});

test("only a list with another ID of the same length is not read again", () => {
  const known = new KnownLists();
  const read = (route: string, id: string, asked = id): unknown => {
    const answer = known.read(route, Buffer.from(`{"id":${id},"result":{"tools":[{"name":"a"}]}}`), asked);
    return typeof answer === "string" ? answer : answer.lists;
  };
  const first = read("one", "10");
  expect([read("one", "10"), read("one", "99")].every((lists) => lists === first)).toBe(true);
  for (const lists of [read("two", "10"), read("one", "100"), read("one", "10", "1")]) expect(lists).not.toBe(first);
  // As long as 5,000 tools with descriptions.
  const long = (count: number): unknown[] => {
    const tools = Array.from({ length: count }, (_, at) => `{"name":"${at}","description":"${"x".repeat(400)}"}`);
    const bytes = Buffer.from(`{"id":1,"result":{"tools":[${tools.join(",")}]}}`);
    return [1, 2].map(() => (known.read("long", bytes, "1") as ListAnswer).lists);
  };
  const [one, again] = long(5000);
  expect(again).toBe(one);
  const [longer, twice] = long(9000);
  expect(twice).not.toBe(longer);
});

describe("EventBlocks", () => {
  function all(text: string, cuts: readonly number[] = []): EventBlock[] {
    const bytes = Buffer.from(text);
    const blocks = new EventBlocks(10_000);
    const ends = [...new Set(cuts.filter((cut) => cut > 0 && cut < bytes.length)), bytes.length].sort(
      (one, other) => one - other,
    );
    let start = 0;
    return ends.flatMap((end) => {
      const read = blocks.push(bytes.subarray(start, end)) ?? [];
      start = end;
      return [...read];
    });
  }
  const dataOf = (blocks: readonly EventBlock[]): string[] =>
    blocks.flatMap((block) => (block.kind === "event" ? [block.data.toString()] : []));

  test.each([
    ["LF", "\n"],
    ["CR", "\r"],
    ["CRLF", "\r\n"],
  ])("reads events with %s", (_, end) => {
    const text = [
      ": hi",
      "",
      "id: 7",
      "event: message",
      "data: {",
      "data:}",
      "retry: 5",
      "",
      "data",
      "",
      "data: x",
      "",
    ].join(end);
    const blocks = all(`${text}${end}`);
    expect(blocks.map(({ kind }) => kind)).toEqual(["filler", "filler", "event", "event", "event"]);
    expect(dataOf(blocks)).toEqual(["{\n}", "", "x"]);
    expect(blocks[2]).toMatchObject({ others: ["id: 7", "event: message", "retry: 5"] });
  });

  test("reads the same however the bytes are split", () => {
    const text = "\ufeffdata: a\r\n\r\n: c\r\rid: 1\ndata: b\ndata: \u00e9\n\r\ndata: d\r\n\r\n";
    const whole = all(text);
    expect(dataOf(whole)).toEqual(["a", "b\n\u00e9", "d"]);
    const size = Buffer.byteLength(text);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: size }), { maxLength: size }), (cuts) => {
        const blocks = all(text, cuts);
        expect(dataOf(blocks)).toEqual(dataOf(whole));
        expect(Buffer.concat(blocks.map(({ raw }) => raw))).toEqual(Buffer.concat(whole.map(({ raw }) => raw)));
      }),
    );
    expect(
      dataOf(
        all(
          text,
          Array.from({ length: size }, (_, index) => index),
        ),
      ),
    ).toEqual(dataOf(whole));
  });

  test.each([
    ["a comment", ": x\u2028\u2028data: {}\u2028\u2028\n", ":\n"],
    ["another field", "id: 1\u0085data: {}\ndata: 1\n\n", "data: 1\n\n"],
    ["a field nobody knows", " data: {}\ndata: 1\nx: {}\n\n", "data: 1\n\n"],
    ["a text", 'id: 1\ndata: "\u2028data: {}\u2029"\n\n', 'id: 1\ndata: "\\u2028data: {}\\u2029"\n\n'],
  ])("is unambiguous to clients that end lines elsewhere: %s", (_, text, raw) => {
    expect(Buffer.concat(all(text).map((block) => block.raw)).toString()).toBe(raw);
  });

  test("the last of several types counts", () => {
    expect(all("event: endpoint\nevent: message\ndata: {}\n\n")).toMatchObject([{ type: "message" }]);
  });

  // Joining what is held at every byte took minutes for this.
  test("accepts bytes that arrive one by one", () => {
    const blocks = new EventBlocks(1024 * 1024);
    const byte = Buffer.from("x");
    for (let count = 0; count < 300_000; count += 1) blocks.push(byte);
    expect(blocks.push(Buffer.from("\n\n"))).toHaveLength(1);
    expect(blocks.push(Buffer.from("data\n".repeat(10_001)))).toBeUndefined();
  });

  test("passes comments before the blank line, drops an event without one, and bounds each", () => {
    const blocks = new EventBlocks(64);
    expect(blocks.push(Buffer.from(": ping\n"))).toEqual([{ kind: "filler", raw: Buffer.from(": ping\n") }]);
    expect(blocks.push(Buffer.from("data: x\n"))).toEqual([]);
    expect(blocks.push(Buffer.from(`data: ${"y".repeat(64)}`))).toBeUndefined();
    expect(new EventBlocks(8).push(Buffer.from("data: 1\n\ndata: 2\n\n"))).toHaveLength(2);
    // Also one that comes whole.
    const whole = new EventBlocks(8);
    expect(whole.push(Buffer.from("data: 1\n\ndata: 12\n\n"))).toBeUndefined();
    expect(whole.takeRest().toString()).toBe("data: 1\n\ndata: 12\n\n");
  });

  test("renderEvent() gives data back that reads as the same", () => {
    const data = '{\r"a":\n1,\r\n"b":2}';
    const [block] = all(renderEvent(["id: 7"], data).toString());
    expect(block).toMatchObject({ kind: "event", others: ["id: 7"] });
    expect(JSON.parse(dataOf(block ? [block] : [])[0] ?? "")).toEqual({ a: 1, b: 2 });
  });
});
