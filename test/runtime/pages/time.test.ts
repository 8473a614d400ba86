import { expect, test } from "vitest";

import { span, time } from "../../../runtime/pages/time.ts";

test.each([
  [1, "1 second"],
  [90, "90 seconds"],
  [60, "1 minute"],
  [5400, "90 minutes"],
  [3600, "1 hour"],
  [129_600, "36 hours"],
  [86_400, "1 day"],
  [7_776_000, "90 days"],
  [86_401, "86401 seconds"],
])("span(%d) is %j", (seconds, text) => {
  expect(span(seconds)).toBe(text);
});

test("time() is read by people and by machines", () => {
  expect(time(new Date(Date.UTC(2026, 0, 2, 3, 4, 5))).toString()).toBe(
    '<time datetime="2026-01-02T03:04:05.000Z">2026-01-02 03:04 UTC</time>',
  );
});
