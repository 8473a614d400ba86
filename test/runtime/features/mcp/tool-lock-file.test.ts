import { createHash } from "node:crypto";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  digestsOf,
  formatToolLock,
  hasUnseen,
  parseToolLock,
  toolOf,
  visibleJson,
  type LockedTool,
} from "../../../../runtime/features/mcp/tool-lock-file.ts";
import { parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";

const NOTES = "https://notes.example.com/mcp";

function tool(text: string): LockedTool {
  const value = parseExactJson(text);
  const read = value === undefined ? undefined : toolOf(value);
  if (!read) throw new Error(text);
  return read;
}

const READ =
  '{"inputSchema":{"type":"object","required":["id","at"],"properties":{"id":{"maximum":1.0e3}}},"name":"read","description":"Reads.\\n"}';

function parse(text: string): ReturnType<typeof parseToolLock> {
  return parseToolLock(text);
}

describe("formatToolLock()", () => {
  test("puts what people read first, and keeps numbers as they were written", () => {
    expect(formatToolLock(new Map([[NOTES, [tool(READ)]]]))).toBe(`{
  "version": 1,
  "servers": {
    "https://notes.example.com/mcp": {
      "tools": [
        {
          "digest": "${tool(READ).digest}",
          "definition": {
            "name": "read",
            "description": "Reads.\\n",
            "inputSchema": {
              "properties": {
                "id": {
                  "maximum": 1.0e3
                }
              },
              "required": ["id", "at"],
              "type": "object"
            }
          }
        }
      ]
    }
  }
}
`);
  });

  test("digests are what other programs make of ordinary definitions", () => {
    // jq -cS . | tr -d '\n' | sha256sum
    const text = '{"description":"d","name":"a"}';
    const expected = createHash("sha256").update(text).digest("hex");
    expect(tool('{"name":"a", "description":"d"}').digest).toBe(`sha256:${expected}`);
  });

  test("shows characters that nobody would see, and they are part of the digest", () => {
    const plain = tool('{"name":"a","description":"Reads a note"}');
    for (const char of ["\u200b", "\u202e", "\u{e0041}", "\u00ad", "\u00a0", "\u3164", "\ufe0f"]) {
      const marked = tool(JSON.stringify({ name: "a", description: `Reads${char} a note` }));
      expect(marked.digest).not.toBe(plain.digest);
      const text = formatToolLock(new Map([[NOTES, [marked]]]));
      expect(text).toMatch(/^[\x20-\x7e\n]*$/);
      expect(parse(text)).toMatchObject({ ok: true });
      expect(hasUnseen(`x${char}y`)).toBe(true);
    }
    expect(hasUnseen("Größe\n\tnaïve 😀 日本")).toBe(false);
    expect(visibleJson("日本")).toBe('"日本"');
  });

  test("is the same for the same tools in any order, and reads as what was written", () => {
    const definition = fc
      .tuple(
        fc.constantFrom("a", "b", "__proto__", "constructor"),
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
      )
      .map(([name, rest]) => tool(JSON.stringify({ ...rest, name })));
    fc.assert(
      fc.property(fc.array(definition, { maxLength: 6 }), (tools) => {
        const text = formatToolLock(new Map([[NOTES, tools]]));
        expect(formatToolLock(new Map([[NOTES, tools.toReversed()]]))).toBe(text);
        const reading = parse(text);
        if (!reading.ok) throw new Error(reading.problem);
        const read = reading.servers.get(NOTES) ?? [];
        expect(digestsOf(read)).toEqual(digestsOf(tools));
        expect(formatToolLock(reading.servers)).toBe(text);
      }),
      { seed: 16, numRuns: 300 },
    );
  });
});

describe("parseToolLock()", () => {
  const good = formatToolLock(new Map([[NOTES, [tool(READ)]]]));

  test.each([
    ["no JSON", "", "is no JSON in which every member stands once"],
    ["a member twice", good.replace('"name"', '"name": "x", "name"'), "is no JSON in which every member stands once"],
    [
      "another version",
      good.replace('"version": 1', '"version": 2'),
      'is no tool lock of "version" 1, must be written by "gateway tools lock"',
    ],
    ["no servers", '{"version":1}', 'lacks "servers"'],
    ["a server without tools", '{"version":1,"servers":{"x":{}}}', 'lacks the "tools" of "x"'],
    ["a tool without a name", good.replace('"name": "read"', '"name": 1'), `has a tool without a name of "${NOTES}"`],
    [
      "a definition that somebody has changed",
      good.replace("1.0e3", "1000"),
      `has a definition of "read" of "${NOTES}" that is not the one of its digest, must be as "gateway tools lock" wrote it`,
    ],
  ])("refuses %s", (_, text, problem) => {
    expect(parse(text)).toEqual({ ok: false, problem });
  });
});
