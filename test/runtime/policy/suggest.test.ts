import { expect, test } from "vitest";

import { nearestWord } from "../../../runtime/policy/suggest.ts";

test.each([
  ["emial", ["user", "email"], "email"],
  ["emal", ["email", "user"], "email"],
  ["EMAILL", ["user", "email"], "email"],
  ["ab", ["cd"], undefined],
  ["mail", ["the-mail", "email"], "email"],
  ["mail", ["thunderbird-mail"], undefined],
  ["x".repeat(65), ["x".repeat(65)], undefined],
])("nearestWord(%j) of %j is %j", (word, known, nearest) => {
  expect(nearestWord(word, known)).toBe(nearest);
});
