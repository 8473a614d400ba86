import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { memoryReader, MEMORY_MARK, watchMemory } from "../../../../runtime/http/admission/memory.ts";

describe("watchMemory()", () => {
  test("is short at the second look above the mark, and no longer at the first below", () => {
    let now = 0;
    let heap = 0.5;
    let group: number | undefined;
    let looks = 0;
    const isShort = watchMemory(
      () => {
        looks += 1;
        return { heap, group };
      },
      () => now,
    );
    const lookNext = (): boolean => {
      now += 250;
      return isShort();
    };
    expect(lookNext()).toBe(false);
    heap = MEMORY_MARK;
    expect([lookNext(), isShort(), lookNext()]).toEqual([false, false, true]);
    expect(looks).toBe(3);
    heap = 0.1;
    group = 0.95;
    expect(lookNext()).toBe(true);
    group = 0.5;
    expect(lookNext()).toBe(false);
  });
});

describe("memoryReader()", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "memory-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const STAT = "anon 750\nfile 100000\nanon_thp 5\ntotal_rss 250\n";

  test.each([
    ["a unit's group", "0::/system.slice/gateway.service\n", "system.slice/gateway.service/", "memory.max", 0.75],
    ["a container, which sees its own group as the root", "0::/docker/abc\n", "", "memory.max", 0.75],
    ["the older hierarchy", "11:cpu:/x\n5:memory:/x\n", "memory/x/", "memory.limit_in_bytes", 0.25],
  ])("reads %s, without the file cache", (_, own, directory, limit, expected) => {
    const used = expected === 0.25 ? STAT.replace("anon 750\n", "") : STAT;
    write(`${directory}${limit}`, "1000\n");
    write(`${directory}memory.stat`, used);
    expect(memoryReader(root, own)().group).toBe(expected);
  });

  test.each([
    ["no limit", "max\n"],
    ["a limit that is none", "9223372036854771712\n"],
    ["nothing that can be read", ""],
  ])("knows no group with %s", (_, limit) => {
    write("memory.max", limit);
    write("memory.stat", STAT);
    expect(memoryReader(root, "0::/\n")().group).toBeUndefined();
    expect(memoryReader(root, undefined)().group).toBeUndefined();
  });

  test("reads the heap of this process", () => {
    const { heap } = memoryReader(root, "0::/\n")();
    expect(heap).toBeGreaterThan(0);
    expect(heap).toBeLessThan(1);
  });
});
