/** The member that a resource belongs to: how often members are asked for it, and which callers share the result. */
import { beforeEach, expect, test } from "vitest";

import { Owners, type Collect } from "../../../runtime/proxy/federation/lists/owners.ts";
import type { AskingClient, Collected } from "../../../runtime/proxy/federation/lists/collect.ts";
import type { RequestContext } from "../../../runtime/proxy/request-context.ts";
import { testPrincipal } from "../../support/pipeline.ts";

const CLIENT = {} as AskingClient;
const route = { key: "all", mcp: { kind: "server", resourcePrefixes: [["file:///wiki/", "wiki"]] } };

let now = 0;
/** Users whose members were asked for a list, in order. */
let asked: string[] = [];
/** Lists that are not answered yet. */
let open: (() => void)[] = [];
let resources: Readonly<Record<string, readonly string[]>> = {};
let gaps: Collected["gaps"] = [];

beforeEach(() => {
  [now, asked, open, resources, gaps] = [0, [], [], { alice: ["a://1"] }, []];
});

const collect: Collect = async (caller, method) => {
  const name = caller.principal?.user.name ?? "";
  asked.push(name);
  await new Promise<void>((resolve) => open.push(resolve));
  const uris = method === "resources/list" ? (resources[name] ?? []) : [];
  return {
    lists: [{ prefix: "one", items: uris.map((uri) => ({ uri })), ttlMs: 0, failure: undefined, bytes: 1 }],
    gaps,
  };
};

const owners = (): Owners => new Owners({ clock: { now: () => now }, collect });
const of = (name: string, clientId = "c", onClose: (listener: () => void) => void = () => {}) =>
  ({
    principal: testPrincipal(name, 1, { kind: "grant", clientId }),
    prepared: { route },
    exchange: { onClose },
  }) as unknown as RequestContext;

/** Members answer until all are done. */
async function answered<T>(found: Promise<T>): Promise<T> {
  const answers = setInterval(() => {
    for (const answer of open.splice(0)) answer();
  });
  return found.finally(() => clearInterval(answers));
}

test("URIs with a configured start, and those of apps, ask no member", async () => {
  const known = owners();
  expect(await known.find(of("alice"), CLIENT, "file:///wiki/a")).toEqual({ prefix: "wiki" });
  expect(await known.find(of("alice"), CLIENT, "ui://x/app")).toEqual({ prefix: "x" });
  expect(asked).toEqual([]);
});

test("any number of unknown URIs at once ask each member once for each kind of list", async () => {
  const known = owners();
  const found = Array.from({ length: 100 }, (_, index) => known.find(of("alice"), CLIENT, `a://${index}`));
  const all = await answered(Promise.all(found));
  expect(asked).toHaveLength(3);
  expect(all.map((owner) => (typeof owner === "string" ? owner : owner.prefix))).toEqual(
    all.map((_, index) => (index === 1 ? "one" : "none")),
  );
});

test("in vain they are asked again after 2 seconds, then later each time; a new resource is found then", async () => {
  const known = owners();
  const waits: number[] = [];
  await answered(known.find(of("alice"), CLIENT, "a://none"));
  for (let last = 0, count = asked.length; now < 60_000; now += 500) {
    expect(await answered(known.find(of("alice"), CLIENT, "a://none"))).toBe("none");
    if (asked.length === count) continue;
    waits.push(now - last);
    [last, count] = [now, asked.length];
  }
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 16_000]);
  resources = { alice: ["a://none"] };
  now += 16_000;
  expect(await answered(known.find(of("alice"), CLIENT, "a://none"))).toEqual({ prefix: "one" });
});

test("while a member is unavailable they are asked again after 2 seconds each time", async () => {
  const known = owners();
  gaps = [{ member: { prefix: "two", prepared: { route } } as never, reason: "unavailable" }];
  for (let round = 1; round <= 4; round += 1, now += 2_000) {
    await answered(known.find(of("alice"), CLIENT, "a://none"));
    expect(asked).toHaveLength(3 * round);
  }
});

test("what one user cannot see says nothing about another, nor about one whose groups have changed", async () => {
  const known = owners();
  expect(await answered(known.find(of("bob"), CLIENT, "a://1"))).toBe("none");
  expect(await answered(known.find(of("alice"), CLIENT, "a://1"))).toEqual({ prefix: "one" });
  expect(await answered(known.find(of("bob"), CLIENT, "a://1"))).toBe("none");
  const changed = of("alice");
  const { principal } = changed;
  changed.principal = { ...principal, user: { ...principal?.user, version: 2, name: "alice" } } as typeof principal;
  resources = {};
  expect(await answered(known.find(changed, CLIENT, "a://1"))).toBe("none");
  expect(await answered(known.find(of("alice"), CLIENT, "a://1"))).toEqual({ prefix: "one" });
});

test("a client that leaves while members are asked leaves no wrong answer to others of its user", async () => {
  const known = owners();
  let leave = (): void => {};
  const full = resources;
  resources = {};
  const first = known.find(
    of("alice", "c", (listener) => (leave = listener)),
    CLIENT,
    "a://1",
  );
  const second = known.find(of("alice"), CLIENT, "a://1");
  leave();
  for (const answer of open.splice(0)) answer();
  expect(await first).toBe("none");
  resources = full;
  expect(await answered(second)).toEqual({ prefix: "one" });
  expect(asked).toHaveLength(6);
});

test("two clients of a user are served at once, and a third one has to wait", async () => {
  const known = owners();
  const two = ["1", "2"].map((client) => known.find(of("alice", client), CLIENT, "a://1"));
  expect(await known.find(of("alice", "3"), CLIENT, "a://1")).toBe("busy");
  const other = known.find(of("bob"), CLIENT, "a://1");
  expect(await answered(Promise.all([...two, other]))).toEqual([{ prefix: "one" }, { prefix: "one" }, "none"]);
  expect(await answered(known.find(of("alice", "3"), CLIENT, "a://1"))).toEqual({ prefix: "one" });
});
