import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { createRouteMemory, loadSlices, type SliceSource } from "../../../runtime/config/load.ts";
import { readRoute } from "../../../runtime/config/read-route.ts";

const boot: SliceSource = {
  file: "gateway.yaml",
  boot: true,
  text: 'address: "127.0.0.1:8080"\ninsecure_server: true\nruntime_flags: { mcp: true }\n',
};

/** Sound, doubtful and bad routes, some of which are only wrong beside others. */
const routes = [
  { from: "http://a.example.com", to: "http://up.internal", policy: [{ allow: { or: [{ accept: true }] } }] },
  { from: "http://A.example.com/", to: ["http://up.internal"], policy: [] },
  { name: "x", from: "http://b.example.com", to: "http://127.0.0.1:8080", policy: [] },
  { name: "a", from: "http://c.example.com", to: "http://a.example.com" },
  { from: "http://d.example.com", to: "http://up.internal", policy: [], tls_custom_ca: "plain" },
  { from: "http://e.example.com", to: "http://up.internal", policy: [], mcp: { server: { path: "/mcp" } } },
  { from: "http://f.example.com", to: "http://up.internal", colour: "red", policy: [] },
  { from: "http://g.example.com", policy: [{ allow: { and: [{ mcp_tool: { is: "x" } }] } }] },
  { from: 7 },
  "no route",
];

const slice = (owner: string): fc.Arbitrary<SliceSource> =>
  fc
    .dictionary(fc.constantFrom("a", "b", "c", "x"), fc.constantFrom(...routes), { noNullPrototype: true })
    .map((named) => ({
      file: `published:${owner}`,
      boot: false,
      text: JSON.stringify({ version: 1, owner, routes: named }),
    }));
const file = fc.array(fc.constantFrom(...routes), { maxLength: 4 }).map((list): SliceSource => ({
  file: "more.json",
  boot: false,
  text: JSON.stringify({ routes: list }, undefined, 1),
}));
const written = fc
  .array(fc.constantFrom(...routes), { maxLength: 3 })
  .map((list): SliceSource => ({ ...boot, text: `${boot.text}routes: ${JSON.stringify(list)}\n` }));

describe("loadSlices() with a memory", () => {
  test("gives what it gives without one, whatever was loaded before", () => {
    const sources = fc.tuple(fc.oneof(fc.constant(boot), written), slice("one"), slice("two"), file);
    fc.assert(
      fc.property(fc.array(sources, { minLength: 2, maxLength: 4 }), (loads) => {
        const memory = createRouteMemory();
        for (const each of loads) expect(loadSlices(each, memory)).toEqual(loadSlices(each));
      }),
      { numRuns: 300 },
    );
  });
});

describe("readRoute()", () => {
  test("reads a route once while it is asked for, and forgets it when it was not", () => {
    const memory = createRouteMemory();
    const [route] = routes;
    const first = readRoute(route, "one", memory);
    expect(readRoute({ ...(route as object) }, "one", memory)).toBe(first);
    memory.forgetOthers();
    expect(readRoute(route, "one", memory)).toBe(first);
    memory.forgetOthers();
    memory.forgetOthers();
    expect(readRoute(route, "one", memory)).not.toBe(first);
  });

  test("tells what one owner wrote from what another, or the operator, wrote", () => {
    const memory = createRouteMemory();
    const [, , , , secret] = routes;
    expect(readRoute(secret, undefined, memory).findings).toEqual([]);
    expect(readRoute(secret, "one", memory).findings).toEqual([expect.objectContaining({ severity: "warning" })]);
    expect(readRoute(secret, "two", memory)).not.toBe(readRoute(secret, "one", memory));
  });

  test.each(["", "default", "undefined", "null"])("tells the operator from one who calls himself %j", (owner) => {
    const memory = createRouteMemory();
    const [, , , , secret] = routes;
    expect(readRoute(secret, owner, memory).findings).toHaveLength(1);
    expect(readRoute(secret, undefined, memory).findings).toEqual([]);
  });

  test("gives the document under the name that is asked for", () => {
    const { canonical } = readRoute(routes[2], "one");
    expect(canonical("x").doc.name).toBeUndefined();
    expect(canonical("other").doc.name).toBe("x");
    expect(canonical("x").doc.name).toBeUndefined();
  });
});
