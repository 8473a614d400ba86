/** Expensive slices: excess is detected before anything is built from it, and reported in a few lines. */
import { expect, test, vi } from "vitest";

import { fewOfEach } from "../../runtime/bundle/validation/validate-reading.ts";
import { heapLimits } from "../../runtime/bundle/validation/heap-limits.ts";
import { createTurns } from "../../runtime/bundle/validation/turns.ts";
import { findProblems } from "../../runtime/config/load.ts";
import { readSource } from "../../runtime/settings/source.ts";
import { mayStall } from "../support/stall-limit.ts";
import { parseSlice } from "../../runtime/bundle/validation/validation.ts";

// The validating thread's work, which has limits of its own, runs in the thread of the test here.
mayStall(2000);

const MIB = 1024 * 1024;
const messagesOf = (text: string): readonly string[] =>
  readSource("slice", text).problems.map(({ message }) => message);

test.each([
  ["blocks", `{"version":1,"routes":[${"{},".repeat((14.3 * MIB) / 3)}{}]}`, "has more than 2000000 values"],
  ["lists, without an end", `{"a":${"[],".repeat((7.6 * MIB) / 3)}`, "has more than 2000000 values"],
  ["members", `{${'"a":1,'.repeat(2.1e6)}"a":1}`, "has more than 2000000 values"],
  ["brackets in JSON", `{"a":${"[".repeat(7.6 * MIB)}`, "is nested too deeply, at most 64 levels are read"],
  [
    "brackets, closed",
    `{"a":${"[".repeat(4.5 * MIB)}${"]".repeat(4.5 * MIB)}}`,
    "is nested too deeply, at most 64 levels are read",
  ],
])("JSON of many %s is refused before any of it is made", (_what, text, message) => {
  const parsed = vi.spyOn(JSON, "parse");
  expect(messagesOf(text)).toEqual([message]);
  expect(parsed).not.toHaveBeenCalled();
  parsed.mockRestore();
});

test.each([
  ["brackets", "[".repeat(7.6 * MIB), "is nested too deeply, at most 64 levels are read"],
  ["braces", "{".repeat(MIB), "is nested too deeply, at most 64 levels are read"],
  ["dashes", "- ".repeat(MIB), "is nested too deeply, at most 64 levels are read"],
  ["question marks", "? ".repeat(MIB), "is nested too deeply, at most 64 levels are read"],
  ["items", `a: [${"[],".repeat(2 * MIB)}]`, "has more than 500000 tokens of YAML, must be smaller or JSON"],
  ["lines", "a: 1\n".repeat(MIB), "has more than 500000 tokens of YAML, must be smaller or JSON"],
  ["comments", "#\n".repeat(2 * MIB), "has more than 500000 tokens of YAML, must be smaller or JSON"],
])("YAML of many %s is read no further than the limit", (_what, text, message) => {
  expect(messagesOf(text)).toEqual([message]);
});

test("a published slice has at most a million values", () => {
  const text = `{"version":1,"owner":"team","routes":[${"0,".repeat(1e6)}0]}`;
  expect(parseSlice(text, "team")).toMatchObject({
    ok: false,
    problems: [{ message: "has more than 1000000 values" }],
  });
});

const problemsOf = (slice: object) =>
  fewOfEach(
    findProblems([{ file: "s.json", boot: false, text: JSON.stringify({ version: 1, owner: "team", ...slice }) }]),
  );
const suggestionsIn = (problems: readonly { readonly message: string }[]): number =>
  problems.filter(({ message }) => message.includes("did you mean")).length;

/** Nearly a known word, so that each gets a suggestion. */
const typos = (word: string) => Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`${word}${at}`, 1]));

test.each([
  ["settings", { settings: typos("cookie_expiratio"), routes: {} }],
  [
    "settings of a route",
    { routes: { a: { from: "https://a.example.com", to: "https://b.internal", ...typos("idle_timeou") } } },
  ],
  ["members of the slice", { ...typos("setting"), routes: {} }],
])("of 40,000 unknown %s a hundred are reported, five with a suggestion", (_what, slice) => {
  const problems = problemsOf(slice);
  expect(problems).toHaveLength(101);
  expect(suggestionsIn(problems)).toBe(5);
  expect(problems.at(-1)?.message).toMatch(/^and 39,?9\d\d more problems$/);
});

test("of 4,000 unknown criteria five get a suggestion, and the others no list of all that are known", () => {
  const policy = [{ allow: { or: Array.from({ length: 4_000 }, (_, at) => ({ [`emial${at % 10}`]: { is: "a" } })) } }];
  const problems = problemsOf({ routes: { a: { from: "https://a.example.com", to: "https://b.internal", policy } } });
  expect(problems.at(-1)?.message).toBe("and 3900 more problems");
  expect(problems.filter(({ message }) => /did you mean|must be one of/.test(message))).toHaveLength(5);
});

test("after a hundred problems no more routes are looked at", () => {
  const routes = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`r${at}`, { from: 1, to: "" }]));
  const messages = problemsOf({ routes }).map(({ message }) => message);
  expect(messages.join("\n")).toMatch(/has 4,?9\d\d more routes, not checked: there are too many problems/);
});

test("the validating thread has a third of the container's memory", () => {
  const oldMib = (container: number, machine: number): number | undefined =>
    heapLimits(container * MIB, machine * MIB).maxOldGenerationSizeMb;
  expect(oldMib(512, 64_000)).toBe(170);
  expect(oldMib(0, 3_000)).toBe(1_000);
  expect(oldMib(2 ** 44, 64_000)).toBe(2_048);
  expect(oldMib(128, 64_000)).toBe(96);
});

test("owners are served in turn: the least recently served first, and the operator before all", async () => {
  let now = 0;
  const turns = createTurns(() => now);
  const order: string[] = [];
  const ask = (who: string, tookMs: number): Promise<void> =>
    turns.take(who, async () => {
      order.push(who);
      now += tookMs;
    });
  await Promise.all([ask("greedy", 500), ask("greedy", 500), ask("team", 1), ask("team", 1), ask("", 9)]);
  expect(order).toEqual(["greedy", "", "team", "team", "greedy"]);
  now += 61_000;
  order.length = 0;
  await Promise.all([ask("team", 1), ask("greedy", 1)]);
  expect(order).toEqual(["team", "greedy"]);
  await expect(turns.take("team", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await turns.take("team", () => Promise.resolve(1))).toBe(1);
});
