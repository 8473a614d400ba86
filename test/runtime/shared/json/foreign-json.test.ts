/** One bound for JSON of other parties: depth, values, strict UTF-8; and that each reader of such JSON has it. */
import { globSync, readFileSync } from "node:fs";

import { expect, test } from "vitest";

import {
  isShallow,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
  parseForeignJson,
} from "../../../../runtime/shared/json/foreign-json.ts";

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

test.each([
  ["a value", '{"a":[1,"]}",{"b":"\\\\"}]}', { a: [1, "]}", { b: "\\" }] }],
  ["as deep as all readers go", nested(MAX_JSON_DEPTH + 1), JSON.parse(nested(MAX_JSON_DEPTH + 1))],
  ["brackets in texts", JSON.stringify("[".repeat(1000)), "[".repeat(1000)],
])("reads %s", (_, text, value) => {
  expect(parseForeignJson(Buffer.from(text))).toEqual(value);
});

test.each([
  ["deeper", Buffer.from(nested(MAX_JSON_DEPTH + 2))],
  ["20,000 deep", Buffer.from(nested(20_000))],
  ["with too many values", Buffer.from(`[${"0,".repeat(MAX_JSON_VALUES + 1)}0]`)],
  ["with a byte order mark", Buffer.from("\ufeff{}")],
  ["that is not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
  ["that does not end", Buffer.from('{"a')],
])("rejects JSON %s", (_, bytes) => {
  expect(parseForeignJson(bytes)).toBeUndefined();
});

test("finds deep values that were read elsewhere, without going as deep", () => {
  expect(isShallow({ a: JSON.parse(nested(60)) as unknown })).toBe(true);
  expect(isShallow({ a: JSON.parse(nested(20_000)) as unknown })).toBe(false);
});

test("parsers of other parties' documents are this one", () => {
  const files = globSync("runtime/{oauth,identity,webhook}/**/*.ts", {
    cwd: new URL("../../../../", import.meta.url),
  });
  expect(files.length).toBeGreaterThan(100);
  // JSON.parse of what is our own: sealed by us, or stored.
  const own = /JSON\.parse\((?:opened\.toString\(\)|bytes\.toString\(\)|sealed\.toString\(\)|text|literal|value)\)/;
  const others = files.flatMap((file) =>
    readFileSync(new URL(`../../../../${file}`, import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line.includes("JSON.parse(") && !own.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(others).toEqual([]);
});
