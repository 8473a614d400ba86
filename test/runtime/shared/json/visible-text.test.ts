import { expect, test } from "vitest";

import { visibleText } from "../../../../runtime/shared/json/visible-text.ts";

test.each([
  ["bidirectional marks", "a\u202eb\u2066c\u061cd", "a\\u202eb\\u2066c\\u061cd"],
  ["zero width and joiners", "a\u200bb\u200dc\u2060d\ufeffe", "a\\u200bb\\u200dc\\u2060d\\ufeffe"],
  ["tags and variation selectors", "a\u{e0041}b\ufe0fc\u{e0100}", "a\\udb40\\udc41b\\ufe0fc\\udb40\\udd00"],
  ["spaces that look like one, and like none", "a\u00a0b\u2003c\u3164d\u2800e", "a\\u00a0b\\u2003c\\u3164d\\u2800e"],
  [
    "control characters, separators, what has no character",
    "\u0000\u007f\u2028\u{e000}\ud800",
    "\\u0000\\u007f\\u2028\\ue000\\ud800",
  ],
])("visibleText() shows %s", (_, text, shown) => {
  expect(visibleText(text)).toBe(shown);
  // In JSON it means what it meant.
  expect(JSON.parse(visibleText(JSON.stringify(text)))).toBe(text);
});

test("visibleText() leaves what can be seen", () => {
  const text = 'Ärger \u65e5\u672c \u0639\u0631\u0628 \u{1f600} <b> "\\\\u202e"';
  expect(visibleText(text)).toBe(text);
});
