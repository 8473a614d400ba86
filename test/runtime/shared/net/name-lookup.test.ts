/** How look-ups of names are divided among those who chose them: a resolver with eight threads, whose responses the test gives. */
import { expect, test } from "vitest";

import { type AddressesFound, NameLookups } from "../../../../runtime/shared/net/name-lookup.ts";

const ADDRESSES = [{ address: "10.0.0.1", family: 4 }];

function createResolver() {
  let now = 0;
  const running = new Map<string, AddressesFound>();
  let asked = 0;
  const found: string[] = [];
  const lookups = new NameLookups(
    8,
    (name, answer) => {
      asked += 1;
      expect(running.size).toBeLessThan(8);
      running.set(name, answer);
    },
    () => now,
  );
  return {
    running,
    get asked() {
      return asked;
    },
    found,
    look: (party: string, name: string): void =>
      lookups.find(party, name, (error, addresses) => found.push(`${name} ${error?.code ?? addresses[0]?.address}`)),
    lookAll(party: string, count: number, prefix = party): void {
      for (let index = 0; index < count; index += 1) this.look(party, `${prefix}${index}`);
    },
    /** Answers one, or all that run now. */
    async answer(name?: string): Promise<void> {
      for (const [each, answer] of name === undefined ? [...running] : [[name, running.get(name)] as const]) {
        running.delete(each);
        answer?.(null, ADDRESSES);
      }
      await new Promise(setImmediate);
    },
    pass: (ms: number) => void (now += ms),
  };
}

test("a party's names have half of the look-ups, and leave some for every other party", async () => {
  const resolver = createResolver();
  resolver.lookAll("bad", 1_000);
  expect(resolver.running.size).toBe(4);
  resolver.lookAll("worse", 1_000);
  expect(resolver.running.size).toBe(6);
  resolver.look("good", "good.example");
  await resolver.answer("good.example");
  expect(resolver.found).toEqual(["good.example 10.0.0.1"]);
});

test("names that were slow last time leave look-ups for the other names of their party, and half of all for others", async () => {
  const resolver = createResolver();
  for (const party of ["a", "b", "c", "d"]) {
    resolver.lookAll(party, 4);
    resolver.pass(5_000);
    await resolver.answer();
  }
  resolver.lookAll("a", 4);
  expect([...resolver.running.keys()]).toEqual(["a0", "a1", "a2"]);
  resolver.look("a", "quick.example");
  expect(resolver.running.size).toBe(4);
  await resolver.answer("quick.example");
  expect(resolver.found.at(-1)).toBe("quick.example 10.0.0.1");
  for (const party of ["b", "c", "d"]) resolver.lookAll(party, 4);
  expect([...resolver.running.keys()]).toEqual(["a0", "a1", "a2", "b0"]);
  // All respond quickly now, and are ordinary names again.
  while (resolver.running.size > 0) await resolver.answer();
  resolver.lookAll("a", 4);
  expect(resolver.running.size).toBe(4);
});

test("equal names in progress are looked up once, for all parties", async () => {
  const resolver = createResolver();
  for (let count = 0; count < 100; count += 1) resolver.look(`party-${count % 3}`, "one.example");
  expect(resolver.asked).toBe(1);
  await resolver.answer("one.example");
  expect(resolver.found.length).toBe(100);
  // What one party keeps waiting is not joined: another one's turn may be earlier.
  resolver.lookAll("bad", 8);
  resolver.look("good", "bad7");
  expect(resolver.running.has("bad7")).toBe(true);
  await resolver.answer();
  await resolver.answer();
  expect([resolver.asked, resolver.found.length]).toEqual([9, 109]);
});

test("parties take turns, and a look-up that waited longer than connections do is skipped", async () => {
  const resolver = createResolver();
  for (let party = 0; party < 20; party += 1) resolver.lookAll(`p${party}-`, 2);
  for (let turn = 0; turn < 20; turn += 1) {
    expect(resolver.found).not.toContain("p0-1 10.0.0.1");
    const [first = ""] = [...resolver.running.keys()].filter((name) => name.endsWith("-0"));
    if (first === "") break;
    await resolver.answer(first);
  }
  resolver.pass(10_001);
  await resolver.answer();
  expect(resolver.found.filter((each) => each.endsWith("ETIMEDOUT")).length).toBe(40 - resolver.asked);
  expect(resolver.found.length).toBe(40);
});
