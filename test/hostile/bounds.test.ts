/** Bounds that keep one message from causing much work: each case fails without its bound. */
import { describe, expect, test, vi } from "vitest";

import { createRedactor } from "../../runtime/audit/redaction/redactor.ts";
import { itemKey } from "../../runtime/features/mcp/locked-items.ts";
import { toolDigest } from "../../runtime/features/mcp/tool-lock-file.ts";
import type { ToolLock } from "../../runtime/features/mcp/tool-lock.ts";
import { readResource, USER_SHAPE } from "../../runtime/directories/scim/attributes.ts";
import { readGroupPatch } from "../../runtime/directories/scim/members.ts";
import { changesOf, readOperations } from "../../runtime/directories/scim/patch.ts";
import { parseFilter } from "../../runtime/directories/scim/path.ts";
import { readListAnswer, type ListAnswer } from "../../runtime/mcp/lists/list-answer.ts";
import { checkTools, DigestMemory } from "../../runtime/mcp/tool-locks/check-tools.ts";
import { readChallenge } from "../../runtime/oauth/client/discovery/bearer-challenge.ts";
import { readArguments, UNCLEAR } from "../../runtime/policy/mcp/argument-values.ts";
import { readSource } from "../../runtime/settings/source.ts";
import { parseExactJson } from "../../runtime/shared/json/exact-json.ts";
import { mayStall } from "../support/stall-limit.ts";

// Texts of megabytes are made here.
mayStall(1000);

const MIB = 1024 * 1024;
const many = <T>(make: (index: number) => T, count: number): T[] => Array.from({ length: count }, (_, at) => make(at));

test("arguments in records: 128 digests, then one of all", () => {
  const redactor = createRedactor({ key: Buffer.alloc(32, 1) });
  const shown = (count: number): unknown => {
    const text = JSON.stringify(Object.fromEntries(many((at) => [`a${at}`, "x"], count)));
    const members = redactor.lineMembers({ digest: { "*": [""] } }, "deploy", text) ?? "";
    return (JSON.parse(`{${members.slice(1)}}`) as { "mcp-tool-parameters": unknown })["mcp-tool-parameters"];
  };
  expect(Object.keys(shown(128) as object)).toHaveLength(128);
  expect(shown(129)).toEqual(expect.stringMatching(/^o/));
});

describe("lists of MCP servers", () => {
  const answerOf = (items: readonly string[]): Buffer =>
    Buffer.from(`{"id":1,"result":{"tools":[${items.join(",")}]}}`);

  test("10,000 items", () => {
    expect(readListAnswer(answerOf(many(() => "{}", 10_000)))).toMatchObject({
      lists: [{ items: { length: 10_000 } }],
    });
    expect(readListAnswer(answerOf(many(() => "{}", 10_001)))).toBe("unreadable");
  });

  /** Which of the definitions were compared with the lock, all of which it has. */
  const reviewed = (definitions: readonly string[]): readonly boolean[] => {
    const names = definitions.map((_, at) => itemKey("tool", `t${at}`));
    const digests = definitions.map((text) => new Set([toolDigest(parseExactJson(text) ?? null)]));
    const items = new Map(names.map((name, at) => [name, digests[at] as Set<string>]));
    const lock = { kinds: new Set(["tool"]), items } as unknown as ToolLock;
    const bytes = answerOf(definitions);
    const check = checkTools(lock, new DigestMemory(), bytes, readListAnswer(bytes) as ListAnswer);
    return names.map((name) => check.reviewed.has(name));
  };

  test("2 MiB of definitions that were not seen before", () => {
    const tool = (at: number): string => `{"name":"t${at}","description":"${"x".repeat(MIB - 100)}"}`;
    expect(reviewed(many(tool, 3))).toEqual([true, true, false]);
  });

  test("100,000 values in them", () => {
    const tool = (at: number): string => `{"name":"t${at}","enum":[${"1,".repeat(49_000)}1]}`;
    expect(reviewed(many(tool, 3))).toEqual([true, true, false]);
  });

  test("2,000 remembered definitions, or twice as many as are locked", () => {
    const readTwice = (count: number, locked: number): number => {
      const texts = many((at) => `{"name":"t${at}"}`, count);
      const digests = texts.slice(0, locked).map((text) => new Set([toolDigest(parseExactJson(text) ?? null)]));
      const items = new Map(digests.map((each, at) => [itemKey("tool", `t${at}`), each]));
      const lock = { kinds: new Set(["tool"]), items } as unknown as ToolLock;
      const bytes = answerOf(texts);
      const memory = new DigestMemory();
      const read = vi.spyOn(memory, "digestOf");
      for (let time = 0; time < 2; time += 1)
        expect(checkTools(lock, memory, bytes, readListAnswer(bytes) as ListAnswer).reviewed.size).toBe(locked);
      return read.mock.calls.length;
    };
    expect([readTwice(2000, 2000), readTwice(5000, 5000)]).toEqual([2000, 5000]);
  });
});

test("arguments of one call: 32 MiB are looked at", () => {
  const names = many((at) => `n${at}`, 40);
  const numbers = names.map((name) => `"${name}":[12345678901234567]`).join(",");
  const given = readArguments(() => `{"text":"${"x".repeat(MIB)}",${numbers}}`);
  expect(names.map((name) => given.find([name], true) === UNCLEAR)).toEqual(many((at) => at >= 31, 40));
});

test("challenges of upstreams: 8,192 characters", () => {
  const after = (length: number): unknown => readChallenge(`${"a".repeat(length)}, Bearer error="invalid_token"`);
  expect(after(8_000)).toMatchObject({ kind: "bearer", challenge: { error: "invalid_token" } });
  expect(after(8_192)).toEqual({ kind: "other" });
});

describe("SCIM", () => {
  const patch = (operations: readonly object[]) => readOperations({ Operations: operations });
  const ids = (count: number, from = 0): { value: string }[] => many((at) => ({ value: `u${at + from}` }), count);

  test.each<[what: string, work: (isTooMuch: boolean) => unknown, message: RegExp]>([
    ["a text", (over) => readResource(USER_SHAPE, { userName: "x".repeat(over ? 2049 : 2048) }), /too long/],
    [
      "a resource",
      (over) =>
        readResource(USER_SHAPE, { userName: "a", emails: many((at) => `${at}${"x".repeat(over ? 1200 : 800)}`, 32) }),
      /too large/,
    ],
    [
      "operations",
      (over) => patch(many(() => ({ op: "add", path: "active", value: true }), over ? 1001 : 1000)),
      /More than 1000/,
    ],
    [
      "attributes without path",
      (over) => {
        const value = Object.fromEntries(many((at) => [`x${at}`, 1], over ? 1001 : 1000));
        return [
          ...changesOf(
            USER_SHAPE,
            patch([
              { op: "add", value },
              { op: "add", value: { ...value } },
            ]),
          ),
        ];
      },
      /Too many attributes/,
    ],
    ["a filter", (over) => parseFilter(USER_SHAPE, `userName eq "a"${" ".repeat(over ? 2034 : 2033)}`), /too long/],
    [
      "terms",
      (over) => parseFilter(USER_SHAPE, many(() => 'userName eq "a"', over ? 9 : 8).join(" and ")),
      /too many terms/,
    ],
    [
      "terms of an item",
      (over) => parseFilter(USER_SHAPE, `emails[${many(() => 'type eq "a"', over ? 9 : 8).join(" and ")}] eq "a"`),
      /too many terms/,
    ],
    [
      "members of one operation",
      (over) => readGroupPatch(patch([{ op: "add", path: "members", value: ids(over ? 100_001 : 100_000) }])),
      /Too many members/,
    ],
  ])("%s", (_, work, message) => {
    expect(() => work(true)).toThrow(message);
    work(false);
  });

  test("members of all operations", () => {
    const uuid = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
    const operations = [0, 60_000].map((from) => ({
      op: "add",
      path: "members",
      value: many((at) => ({ value: uuid(at + from) }), 60_000),
    }));
    expect(() => readGroupPatch(patch(operations))).toThrow("Too many members");
  });
});

describe("places of problems", () => {
  const locate = (text: string, severity: "error" | "warning"): object =>
    readSource("s.json", text).locate(["a"], severity);

  test("in 2 MiB, of warnings in 64 KiB", () => {
    const text = (length: number): string => `{"a":"${"x".repeat(length)}"}`;
    expect(locate(text(60_000), "warning")).toMatchObject({ line: 1 });
    expect(locate(text(66_000), "warning")).toEqual({});
    expect(locate(text(66_000), "error")).toMatchObject({ line: 1 });
    expect(locate(text(2 * MIB), "error")).toEqual({});
  });

  test("in 20,000 values", () => {
    const text = (count: number): string => `{"a":[${"1,".repeat(count)}1]}`;
    expect(locate(text(15_000), "error")).toMatchObject({ line: 1 });
    expect(locate(text(20_001), "error")).toEqual({});
  });
});
