/** Which patterns are tried, and how many automata are kept. */
import { expect, test } from "vitest";

import { type Automata, createAutomata, PatternPlaces } from "../../../../runtime/features/routing/apply-patterns.ts";

/** Counts what is tried. */
function counted(): Automata & { readonly tried: string[] } {
  const automata = createAutomata();
  const tried: string[] = [];
  return {
    tried,
    match(key, patterns, text) {
      tried.push(`${patterns.join(" ")} on ${text}`);
      return automata.match(key, patterns, text);
    },
  };
}

test("of 10,000 patterns at one node only those are tried whose text continues the path", () => {
  const automata = counted();
  const places = new PatternPlaces<number>(automata, (a, b) => a - b);
  for (let index = 0; index < 10_000; index += 1) places.add(`/a-${index}-.*`, `/a-${index}-`, ".*", index);
  places.add("/a-77-b.*", "/a-77-b", ".*", 20_000);
  places.add(".*x", "", ".*x", 30_000);
  expect(places.find("/p/a-77-bx", 2, undefined)).toBe(77);
  expect(automata.tried.toSorted()).toEqual([".* on bx", ".* on x", ".*x on /a-77-bx"]);
  expect(places.find("/p/a-77-x", 2, 50)).toBe(50);
  expect(places.find("/p/b", 2, undefined)).toBeUndefined();
});

test("equal patterns share an automaton; others are distinct, whatever characters they have", () => {
  let compiled = 0;
  const automata = createAutomata(2);
  const patterns = (...sources: string[]): readonly string[] =>
    // Read only when it is compiled.
    new Proxy(sources, {
      get: (target, name) => {
        if (name === Symbol.iterator) compiled += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
  const match = (text: string, ...sources: string[]): number | undefined =>
    automata.match(JSON.stringify(sources), patterns(...sources), text);
  expect(match("/x", "/[a-z]")).toBe(0);
  expect(match("/y", "/[a-z]")).toBe(0);
  expect(compiled).toBe(1);
  expect(match("/b", "/a", "/b")).toBe(1);
  expect(match("/b", "/a\n/b")).toBeUndefined();
  expect(compiled).toBe(3);
  // Forgotten for another, and made anew.
  expect(match("/x", "/[a-z]")).toBe(0);
  expect(compiled).toBeGreaterThanOrEqual(3);
});
