import { expect, test } from "vitest";

import { nearest } from "../../../runtime/shared/suggest.ts";

test.each([
  ["emial", ["user", "email"], "email"],
  ["emal", ["email", "user"], "email"],
  ["EMAILL", ["user", "email"], "email"],
  ["ab", ["cd"], undefined],
  ["mail", ["the-mail", "email"], "email"],
  ["mail", ["thunderbird-mail"], undefined],
  ["x".repeat(101), ["x".repeat(101)], undefined],
])("nearest(%j) of %j is %j", (word, known, expected) => {
  expect(nearest(word, known)).toBe(expected);
});
