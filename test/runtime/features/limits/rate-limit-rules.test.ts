/** What may not be written in `rate_limits`. */
import { expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";

const problemsOf = (limits: readonly object[], more: object = {}): readonly string[] => {
  const route = {
    from: "https://app.example",
    to: "http://app",
    policy: [{ allow: { and: [{ accept: true }] } }],
    rate_limits: limits,
    ...more,
  };
  const text = JSON.stringify({ version: 1, owner: "team", routes: { app: route } });
  return loadSlices([{ file: "slice.json", text, boot: false }])
    .problems.filter(({ severity }) => severity === "error")
    .map(formatProblem);
};
const limit = { name: "a", requests: 5 };
const server = { mcp: { server: {} }, policy: [{ allow: { and: [{ authenticated_user: true }] } }] };

test("valid settings are accepted", () => {
  const all = ["user", "client", "tool"];
  const limits = [
    { ...limit, window: "1s" },
    { name: "b", concurrency: 1, without_store: "refuse" },
    { name: "c", requests: 1_000_000_000, window: "30d", per: all, tools: ["search"] },
  ];
  expect(problemsOf(limits, server)).toEqual([]);
  expect(problemsOf([])).toEqual([]);
});

test.each<[string, readonly object[], RegExp, object?]>([
  ["two limits of one name", [limit, limit], /is "a", the name of another limit/],
  ["neither way of counting", [{ name: "a" }], /must have "requests" or "concurrency"/],
  ["both ways of counting", [{ ...limit, concurrency: 1 }], /concurrency" cannot be combined with "requests"/],
  ["no request at all", [{ name: "a", requests: 0 }], /must be a whole number from 1 to/],
  ["a window that is too short", [{ ...limit, window: "999ms" }], /must be from "1s" to "30d"/],
  ["a window that is too long", [{ ...limit, window: "31d" }], /must be from "1s" to "30d"/],
  ["a window of no requests", [{ name: "a", concurrency: 2, window: "1m" }], /cannot be combined with "concurrency"/],
  ["a count for each invented tool name", [{ ...limit, per: ["tool"] }], /requires "tools"/, server],
  ["tools of a route without tools", [{ ...limit, tools: ["x"] }], /requires a route with "mcp.server"/],
  ["no tools", [{ ...limit, tools: [] }], /has 0 names, must have 1 to 100/, server],
  ["a tool without a name", [{ ...limit, tools: [""] }], /must be a name of 1 to 128 characters/, server],
  ["a key twice", [{ ...limit, per: ["user", "user"] }], /"user" is listed twice/],
  ["a key that is none", [{ ...limit, per: ["ip"] }], /must be "user", "client" or "tool"/],
  ["a name that would break a header", [{ ...limit, name: 'a";q=9' }], /must be at most 64 letters/],
  ["too many", Array.from({ length: 11 }, (_, index) => ({ ...limit, name: `l${index}` })), /has 11 limits/],
])("%s is refused", (_what, limits, expected, more = {}) => {
  const problems = problemsOf(limits, more);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(expected);
});
