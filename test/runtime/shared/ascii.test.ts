import { expect, test } from "vitest";

import { lowerAscii, upperAscii } from "../../../runtime/shared/ascii.ts";

test.each([
  ["", "", ""],
  ["Alice@Example.COM", "alice@example.com", "ALICE@EXAMPLE.COM"],
  // Kelvin sign, long s, dotted I, dotless i, Angstrom sign: letters of their own.
  ["\u212A\u017F\u0130\u0131\u212B-aZ", "\u212A\u017F\u0130\u0131\u212B-az", "\u212A\u017F\u0130\u0131\u212B-AZ"],
  ["Ä-K", "Ä-k", "Ä-K"],
])("lowerAscii() and upperAscii() of %j change letters of ASCII alone", (text, lower, upper) => {
  expect([lowerAscii(text), upperAscii(text)]).toEqual([lower, upper]);
});
