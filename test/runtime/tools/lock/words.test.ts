import { describe, expect, test } from "vitest";

import { toolOf, type LockedTool } from "../../../../runtime/features/mcp/tool-lock-file.ts";
import { parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";
import { compareTools, union } from "../../../../runtime/mcp/tool-locks/tool-changes.ts";
import { changesJson, formatChanges, hasChanges } from "../../../../runtime/mcp/tool-locks/change-words.ts";
import { goldenPairs } from "../../../support/golden.ts";

function toolsOf(text: string): readonly LockedTool[] {
  const list = parseExactJson(text);
  if (!Array.isArray(list)) throw new Error(text);
  return list.map((each) => {
    const tool = toolOf(each);
    if (!tool) throw new Error("a tool without a name");
    return tool;
  });
}

const compare = (locked: string, listed: string) => compareTools(toolsOf(locked), toolsOf(listed));

describe("what `gateway tools diff` says", () => {
  test.each(goldenPairs("tools"))("$name", ({ sources, expected, update }) => {
    const [locked = "", listed = ""] = ["locked.json", "listed.json"].map(
      (name) => sources.find(({ file }) => file === name)?.text,
    );
    const server = { url: "https://notes.example.com/mcp", ...compare(locked, listed) };
    const text = formatChanges([server]);
    expect(`${text}\n\n${changesJson([server])}\n`).toBe(update(`${text}\n\n${changesJson([server])}`));
    expect(expected).not.toBe("");
    // oxlint-disable-next-line no-control-regex -- what a terminal obeys
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]/);
    expect(() => JSON.parse(changesJson([server])) as unknown).not.toThrow();
  });
});

describe("compareTools()", () => {
  test.each([
    ['{"readOnlyHint":true}', "{}", ["no longer says that it only reads"]],
    ["{}", '{"readOnlyHint":true}', ["says that it only reads"]],
    ['{"destructiveHint":false}', "{}", ["may destroy now"]],
    ["{}", '{"destructiveHint":true}', []],
    [
      '{"idempotentHint":true,"openWorldHint":false}',
      '{"title":"x"}',
      ["no longer says that it may be called twice", "may reach outside now"],
    ],
  ])("reads annotations as clients do, unset ones too: %s to %s", (before, after, notes) => {
    const change = compare(`[{"name":"a","annotations":${before}}]`, `[{"name":"a","annotations":${after}}]`);
    expect(change.changed.flatMap((each) => each.notes)).toEqual(notes);
  });

  test("annotations that went as a whole", () => {
    const change = compare('[{"name":"a","annotations":{"destructiveHint":false}}]', '[{"name":"a"}]');
    expect(change.changed[0]?.notes).toEqual(["may destroy now"]);
  });

  test("compares only the members' names, whatever objects inherit", () => {
    const change = compare('[{"name":"constructor"}]', '[{"name":"__proto__"},{"name":"toString"}]');
    expect(change.added.map(({ name }) => name)).toEqual(["__proto__", "toString"]);
    expect(change.removed.map(({ name }) => name)).toEqual(["constructor"]);
    expect(hasChanges(change)).toBe(true);
  });

  test("the union of what users see has each definition once, in one order", () => {
    const [one, other] = [
      toolsOf('[{"name":"b"},{"name":"a","title":"A"}]'),
      toolsOf('[{"title":"A","name":"a"},{"name":"a"}]'),
    ];
    const all = union([one, other]);
    expect(all.map(({ name }) => name)).toEqual(["a", "a", "b"]);
    expect(union([other, one])).toEqual(all);
  });
});
