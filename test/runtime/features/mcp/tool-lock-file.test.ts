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
  type ToolLockFile,
} from "../../../../runtime/features/mcp/tool-lock-file.ts";
import { itemKey, keyLabel, kindOfKey, nameOfKey } from "../../../../runtime/features/mcp/locked-items.ts";
import { parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";

const NOTES = "https://notes.example.com/mcp";

function tool(text: string): LockedTool {
  const value = parseExactJson(text);
  const read = value === undefined ? undefined : toolOf(value);
  if (!read) throw new Error(text);
  return read;
}

function lockOf(...items: readonly LockedTool[]): ToolLockFile {
  return new Map([[NOTES, { kinds: new Set(["tool", ...items.map(({ kind }) => kind)] as const), items }]]);
}

const READ =
  '{"inputSchema":{"type":"object","required":["id","at"],"properties":{"id":{"maximum":1.0e3}}},"name":"read","description":"Reads.\\n"}';

function parse(text: string): ReturnType<typeof parseToolLock> {
  return parseToolLock(text);
}

describe("formatToolLock()", () => {
  test("starts with what readers need first, and keeps numbers as written", () => {
    expect(formatToolLock(lockOf(tool(READ)))).toBe(`{
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

  test("digests equal those of other programs for ordinary definitions", () => {
    // jq -cS . | tr -d '\n' | sha256sum
    const text = '{"description":"d","name":"a"}';
    const expected = createHash("sha256").update(text).digest("hex");
    expect(tool('{"name":"a", "description":"d"}').digest).toBe(`sha256:${expected}`);
  });

  test("shows invisible characters, which are part of the digest", () => {
    const plain = tool('{"name":"a","description":"Reads a note"}');
    for (const char of ["\u200b", "\u202e", "\u{e0041}", "\u00ad", "\u00a0", "\u3164", "\ufe0f"]) {
      const marked = tool(JSON.stringify({ name: "a", description: `Reads${char} a note` }));
      expect(marked.digest).not.toBe(plain.digest);
      const text = formatToolLock(lockOf(marked));
      expect(text).toMatch(/^[\x20-\x7e\n]*$/);
      expect(parse(text)).toMatchObject({ ok: true });
      expect(hasUnseen(`x${char}y`)).toBe(true);
    }
    expect(hasUnseen("Größe\n\tnaïve 😀 日本")).toBe(false);
    expect(visibleJson("日本")).toBe('"日本"');
  });

  test("is the same for the same tools in any order, and reads back the same", () => {
    const definition = fc
      .tuple(
        fc.constantFrom("a", "b", "__proto__", "constructor"),
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
      )
      .map(([name, rest]) => tool(JSON.stringify({ ...rest, name })));
    fc.assert(
      fc.property(fc.array(definition, { maxLength: 6 }), (tools) => {
        const text = formatToolLock(lockOf(...tools));
        expect(formatToolLock(lockOf(...tools.toReversed()))).toBe(text);
        const reading = parse(text);
        if (!reading.ok) throw new Error(reading.problem);
        const read = reading.servers.get(NOTES)?.items ?? [];
        expect(digestsOf(read)).toEqual(digestsOf(tools));
        expect(formatToolLock(reading.servers)).toBe(text);
      }),
      { seed: 16, numRuns: 300 },
    );
  });
});

describe("sections", () => {
  const items = [
    tool(READ),
    toolOf(new Map([["name", "read"]]), "prompt"),
    toolOf(new Map([["uriTemplate", "file:///{x}"]]), "template"),
    toolOf("Read\u200b first.", "instructions"),
  ] as readonly LockedTool[];

  test("that are empty differ from absent ones", () => {
    const kinds = new Set(["tool", "prompt"] as const);
    const text = formatToolLock(new Map([[NOTES, { kinds, items: [] }]]));
    expect(JSON.parse(text)).toEqual({ version: 1, servers: { [NOTES]: { tools: [], prompts: [] } } });
    expect(parse(text)).toEqual({ ok: true, servers: new Map([[NOTES, { kinds, items: [] }]]) });
  });

  test("read back the same, and each item has its own key", () => {
    const text = formatToolLock(lockOf(...items));
    expect(text).toContain('"definition": "Read\\u200b first."');
    const reading = parse(text);
    if (!reading.ok) throw new Error(reading.problem);
    const { kinds, items: read } = reading.servers.get(NOTES) ?? { kinds: new Set(), items: [] };
    expect([...kinds]).toEqual(["tool", "prompt", "template", "instructions"]);
    expect([...digestsOf(read).keys()].map(keyLabel)).toEqual([
      "read",
      "prompt read",
      "resource template file:///{x}",
      "instructions",
    ]);
  });

  test("no tool name equals another item's key", () => {
    for (const name of ["\u0000x", "\u0001read", "\u0002prompt:read", ""]) {
      const key = itemKey("tool", name);
      expect([kindOfKey(key), nameOfKey(key)]).toEqual(["tool", name]);
      expect(["\0", "\u0001"]).not.toContain(key[0]);
      expect(key).not.toBe(itemKey("prompt", "read"));
    }
  });
});

describe("parseToolLock()", () => {
  const good = formatToolLock(lockOf(tool(READ)));

  test.each([
    ["no JSON", "", "is not JSON with unique members"],
    ["a member twice", good.replace('"name"', '"name": "x", "name"'), "is not JSON with unique members"],
    [
      "another version",
      good.replace('"version": 1', '"version": 2'),
      'is not a tool lock of "version" 1, must be written by "gateway tools lock"',
    ],
    ["no servers", '{"version":1}', 'lacks "servers"'],
    ["a server without tools", '{"version":1,"servers":{"x":{}}}', 'lacks the "tools" of "x"'],
    ["a tool without a name", good.replace('"name": "read"', '"name": 1'), `has a tool without a name of "${NOTES}"`],
    [
      "a section that is not a list",
      good.replace('"tools"', '"prompts": {}, "tools"'),
      `lacks the "prompts" of "${NOTES}"`,
    ],
    [
      "instructions that are not a text",
      good.replace('"tools"', '"instructions": [{ "definition": ["x"] }], "tools"'),
      `has instructions without a text of "${NOTES}"`,
    ],
    [
      "instructions that were changed",
      good.replace('"tools"', `"instructions": [{ "definition": "x", "digest": "${tool(READ).digest}" }], "tools"`),
      `has a definition of instructions of "${NOTES}" that is not the one of its digest, must be as "gateway tools lock" wrote it`,
    ],
    [
      "a resource template without a template",
      good.replace('"tools"', '"resourceTemplates": [{ "definition": { "name": "x" } }], "tools"'),
      `has a resource template without a name of "${NOTES}"`,
    ],
    [
      "a changed definition",
      good.replace("1.0e3", "1000"),
      `has a definition of "read" of "${NOTES}" that is not the one of its digest, must be as "gateway tools lock" wrote it`,
    ],
  ])("refuses %s", (_, text, problem) => {
    expect(parse(text)).toEqual({ ok: false, problem });
  });
});
