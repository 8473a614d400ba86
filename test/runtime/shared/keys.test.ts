import { expect, test } from "vitest";

import { randomHandle } from "../../../runtime/shared/keys.ts";

test("randomHandle() never looks like an option of a command", () => {
  const handles = Array.from({ length: 3_000 }, () => randomHandle(16));
  expect(handles.filter((handle) => !/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/.test(handle))).toEqual([]);
  expect(new Set(handles).size).toBe(3_000);
});
