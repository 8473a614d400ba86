import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { createRouteMemory, findProblems, loadSlices, type SliceSource } from "../../../runtime/config/load.ts";
import { formatPath } from "../../../runtime/settings/problem.ts";
import { readRoute } from "../../../runtime/config/read-route.ts";

/** Settings that routes are validated beside: each makes some of them wrong that are sound under another. */
const bootTexts = [
  "",
  "insecure_server: true\n",
  "insecure_server: true\nruntime_flags: { mcp: true }\n",
  "insecure_server: true\nauthenticate_service_url: http://a.example.com\n",
  "insecure_server: true\nowners: { one: { allowed_from: [a.example.com], allowed_refs: [] }, two: {} }\n",
  'insecure_server: true\njwt_claims_headers: { X-Email: email }\naddress: "127.0.0.1:9000"\n',
  "insecure_server: true\nmcp_allowed_as_metadata_domains: [up.internal]\n",
  "insecure_server: maybe\n",
];

/** As a compact JWE for one owner begins. */
const sealed = `${Buffer.from('{"owner":"one"}').toString("base64url")}.a.b.c.d`;

/** Sound, doubtful and bad routes, some of which are only wrong beside others, in one place, or of one owner. */
const routes = [
  { from: "http://a.example.com", to: "http://up.internal", policy: [{ allow: { or: [{ accept: true }] } }] },
  { from: "http://A.example.com/", to: ["http://up.internal"], policy: [] },
  { name: "x", from: "http://b.example.com", to: "http://127.0.0.1:8080", policy: [] },
  { name: "a", from: "http://c.example.com", to: "http://a.example.com" },
  { from: "http://d.example.com", to: "http://up.internal", policy: [], tls_custom_ca: "plain" },
  { from: "http://d.example.com", to: "http://up.internal", policy: [], tls_custom_ca_sealed: sealed },
  { policy: [], tls_custom_ca_ref: "file:/etc/ca.pem", to: "http://up.internal", from: "http://d.example.com" },
  { from: "http://e.example.com", to: "http://up.internal", policy: [], mcp: { server: { path: "/mcp" } } },
  { from: "http://f.example.com", to: "http://up.internal", colour: "red", policy: [] },
  { from: "http://g.example.com", policy: [{ allow: { and: [{ mcp_tool: { is: "x" } }] } }] },
  { from: "http://h.example.com", to: "http://up.internal", set_request_headers: { "x-email": "a" }, policy: [] },
  { set_request_headers: { "X-Email": "a" }, policy: [], to: "http://up.internal", from: "http://h.example.com" },
  {
    from: "http://i.example.com",
    to: ["http://up.internal", "http://up2.internal"],
    policy: [],
    load_balancing_policy: "maglev",
    maglev_lb_config: { table_size: 4 },
  },
  { from: 7 },
  "no route",
];

/** Lines above, so that the same route stands elsewhere. */
const above = fc.constantFrom("", "\n", "# About it.\n\n");
const indent = fc.constantFrom(undefined, 1, 4);
const label = fc.constantFrom("a", "b", "c", "x", "9");
const named = fc.dictionary(label, fc.constantFrom(...routes), { noNullPrototype: true });

const slice = (file: string): fc.Arbitrary<SliceSource> =>
  fc
    .record({
      owner: fc.constantFrom<unknown>("one", "two", "one", "default", "", "a b", 7),
      settings: fc.constantFrom({}, { runtime_flags: { mcp: true } }, { address: ":1" }, { colour: "red" }),
      named,
      indent,
      isNew: fc.boolean(),
    })
    .map((each) => ({
      file,
      boot: false,
      isNew: each.isNew,
      text: JSON.stringify(
        { version: 1, owner: each.owner, settings: each.settings, routes: each.named },
        undefined,
        each.indent,
      ),
    }));
const yamlSlice: fc.Arbitrary<SliceSource> = fc
  .tuple(above, fc.constantFrom(...routes), named, fc.constantFrom("", "  a: {}\n", "  z: { <<: *twice }\n"))
  .map(([top, twice, others, more]) => {
    const lines = Object.entries(others).map(([name, route]) => `  n${name}: ${JSON.stringify(route)}\n`);
    const text = `${top}version: 1\nowner: one\nroutes:\n  y: &twice ${JSON.stringify(twice)}\n  z: *twice\n`;
    return { file: "slice.yaml", boot: false, text: `${text}${lines.join("")}${more}` };
  });
const file = fc
  .tuple(fc.array(fc.constantFrom(...routes), { maxLength: 4 }), indent)
  .map(([list, width]): SliceSource => ({
    file: "more.json",
    boot: false,
    text: JSON.stringify({ routes: list }, undefined, width),
  }));
const boot = fc
  .tuple(above, fc.constantFrom(...bootTexts), fc.array(fc.constantFrom(...routes), { maxLength: 3 }))
  .map(([top, settings, list]): SliceSource => ({
    file: "gateway.yaml",
    boot: true,
    text: `${top}${settings}routes:${list.map((route) => `\n  - ${JSON.stringify(route)}`).join("") || " []"}\n`,
  }));

describe("loadSlices() with a memory", () => {
  test("returns the same as without one, whatever was loaded or read before", () => {
    const sources = fc
      .tuple(boot, slice("published:one"), slice("published:two"), file, yamlSlice, fc.integer({ min: 1, max: 31 }))
      .map(([first, one, two, more, yaml, mask]) =>
        [first, one, two, more, yaml].filter((_, at) => (mask & (1 << at)) !== 0),
      );
    fc.assert(
      fc.property(fc.array(fc.tuple(sources, fc.boolean()), { minLength: 2, maxLength: 5 }), (loads) => {
        const memory = createRouteMemory();
        for (const [each, looksOnly] of loads) {
          if (looksOnly) expect(findProblems(each, memory)).toEqual(findProblems(each));
          else expect(loadSlices(each, memory)).toEqual(loadSlices(each));
        }
      }),
      { numRuns: 250 },
    );
  });

  test("reports problems of an unchanged route each time, at its current position", () => {
    const memory = createRouteMemory();
    const text = "version: 1\nowner: one\nroutes:\n  a: { from: 7 }\n";
    const lines = ["", "# One.\n", "# One.\n# Two.\n", ""].map((top) => {
      const { problems } = loadSlices([{ file: "a.yaml", boot: false, text: `${top}${text}` }], memory);
      return problems.map(({ path, line }) => `${formatPath(path)} ${line}`);
    });
    expect(lines[0]).not.toEqual([]);
    expect(lines[3]).toEqual(lines[0]);
    expect(lines.map(([first]) => first)).toEqual([4, 5, 6, 4].map((line) => expect.stringMatching(` ${line}$`)));
  });
});

describe("readRoute()", () => {
  test("caches a route while it is used, and drops it otherwise", () => {
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

  test("reads members of routes once, but reports their problems each time", () => {
    const memory = createRouteMemory();
    const read = (host: string, policy: unknown) =>
      readRoute({ from: `http://${host}`, to: ["http://up.internal"], policy }, "one", memory);
    const open = (criterion: object): object[] => [{ allow: { or: [criterion] } }];
    const [one, other] = ["a.example.com", "b.example.com"].map((host) => read(host, open({ accept: true })));
    expect(other?.valid.policy).toBe(one?.valid.policy);
    expect(other?.upstreams).toBe(one?.upstreams);
    expect(other?.canonical("x").doc.policy).toBe(one?.canonical("x").doc.policy);
    expect(other?.canonical("x").doc.from).toBe("http://b.example.com");
    const wrong = ["c.example.com", "d.example.com"].map((host) => read(host, open({ acept: true })).problems);
    expect(wrong[0]).not.toEqual([]);
    expect(wrong[1]).toEqual(wrong[0]);
  });

  test("distinguishes equal members by name", () => {
    const memory = createRouteMemory();
    const route = { from: "http://a.example.com", to: ["http://up.internal"], policy: [] };
    const names = ["http://up.internal"];
    expect(readRoute(route, "one", memory).problems).toEqual([]);
    const problems = readRoute({ ...route, remove_request_headers: names }, "one", memory).problems;
    expect(problems).toEqual([expect.objectContaining({ path: ["remove_request_headers", 0] })]);
  });

  test("distinguishes owners, and the operator", () => {
    const memory = createRouteMemory();
    const [, , , , secret] = routes;
    expect(readRoute(secret, undefined, memory).problems).toEqual([]);
    expect(readRoute(secret, "one", memory).problems).toEqual([expect.objectContaining({ severity: "warning" })]);
    expect(readRoute(secret, "two", memory)).not.toBe(readRoute(secret, "one", memory));
  });

  test.each(["", "default", "undefined", "null"])("tells the operator from one who calls himself %j", (owner) => {
    const memory = createRouteMemory();
    const [, , , , secret] = routes;
    expect(readRoute(secret, owner, memory).problems).toHaveLength(1);
    expect(readRoute(secret, undefined, memory).problems).toEqual([]);
  });

  test("returns the document under the requested name", () => {
    const { canonical } = readRoute(routes[2], "one");
    expect(canonical("x").doc.name).toBeUndefined();
    expect(canonical("other").doc.name).toBe("x");
    expect(canonical("x").doc.name).toBeUndefined();
  });
});
