import { expect, test } from "vitest";

import { gatherReads } from "../../../runtime/store/gather-reads.ts";
import type { RawRecord } from "../../../runtime/store/record.ts";

function record(key: string): RawRecord {
  return { key, text: JSON.stringify(key), version: 1, expiresAt: null, tags: [] };
}

test("reads of one turn are one query, in which each key is once", async () => {
  const queries: (readonly string[])[] = [];
  const get = gatherReads(async (keys) => {
    queries.push(keys);
    return keys.filter((key) => key !== "missing").map(record);
  });
  const found = await Promise.all(["a", "b", "a", "missing"].map((key) => get(key)));
  expect(found.map((each) => each?.key)).toEqual(["a", "b", "a", undefined]);
  expect(await get("c")).toEqual(record("c"));
  expect(queries).toEqual([["a", "b", "missing"], ["c"]]);
});

test("a query has at most 100 keys, and a failed one fails its own reads only", async () => {
  const sizes: number[] = [];
  const get = gatherReads(async (keys) => {
    sizes.push(keys.length);
    if (keys.includes("key-0")) throw new Error("the database is locked");
    return keys.map(record);
  });
  const found = await Promise.allSettled(Array.from({ length: 150 }, (_, index) => get(`key-${index}`)));
  expect(sizes).toEqual([100, 50]);
  expect(found.map(({ status }) => status)).toEqual([
    ...Array<string>(100).fill("rejected"),
    ...Array<string>(50).fill("fulfilled"),
  ]);
  expect(await get("key-1")).toEqual(record("key-1"));
});
