import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { canonicalRoute } from "../../../runtime/config/canonical.ts";
import { type CheckedConfig, findProblems, loadSlices, type SliceSource } from "../../../runtime/config/load.ts";
import { formatPath, messageWithPath } from "../../../runtime/settings/problem.ts";
import { canonicalJson, digestOf } from "../../../runtime/shared/canonical-json.ts";
import { checkedFrom } from "../../support/config.ts";

const POLICY = { allow: { or: [{ accept: true }] } };

type TestSource = Partial<SliceSource> & { readonly value?: unknown };

function load(...sources: readonly TestSource[]) {
  return loadSlices(
    sources.map(({ value, ...source }, index) => ({
      file: `${index}.json`,
      text: JSON.stringify(value),
      boot: false,
      ...source,
    })),
  );
}

function good(...sources: readonly TestSource[]): CheckedConfig {
  const { config, problems } = load(...sources);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return config!;
}

const app = (host: string, more: object = {}) => ({
  from: `https://${host}`,
  to: "http://up.internal",
  policy: POLICY,
  ...more,
});

describe("loadSlices()", () => {
  test("treats a hand-written file and a slice of owner default the same", () => {
    const routes = { tools: app("tools.example.com"), notes: app("notes.example.com", { mcp: { client: {} } }) };
    const settings = { runtime_flags: { mcp: true } };
    const slice = good({ value: { version: 1, owner: "default", settings, routes } });
    const list = Object.entries(routes).map(([name, route]) => ({ name, ...route }));
    const file = good({ value: { ...settings, routes: list } });

    expect(file).toEqual(slice);
  });

  test("gives the same digest for the same configuration in YAML and JSON", () => {
    const yaml =
      "routes:\n  - name: a\n    from: https://a.example.com\n    to: http://a\n    policy:\n      allow:\n        or: [{ accept: true }]\n";

    const fromYaml = good({ text: yaml });
    const fromJson = good({
      value: { routes: [{ name: "a", from: "https://a.example.com", to: "http://a", policy: POLICY }] },
    });

    expect(fromYaml).toEqual(fromJson);
  });

  test("names unnamed routes by host and path, never by position", () => {
    const routes = [
      app("a.example.com"),
      app("a.example.com", { prefix: "/x" }),
      app("a.example.com", { path: "/x" }),
      app("b.example.com:8443", { prefix: "/y/z" }),
    ];
    const keys = (list: readonly object[]) => good({ value: { routes: list } }).routes.map(({ key }) => key);

    expect(keys(routes)).toEqual([
      "default/a.example.com",
      "default/a.example.com/x",
      "default/a.example.com/x/*",
      "default/b.example.com:8443/y/z/*",
    ]);
    expect(keys(routes.toReversed())).toEqual(keys(routes));
  });

  test("shows the route's own name if it differs from its label", () => {
    const value = { version: 1, owner: "team-a", routes: { tools: app("a.example.com", { name: "All tools" }) } };

    expect(good({ value }).routes).toMatchObject([{ key: "team-a/tools", owner: "team-a", name: "All tools" }]);
  });

  test("keeps empty blocks, which have a meaning", () => {
    const value = { routes: [{ name: "c", ...app("c.example.com", { mcp: { client: {} } }) }] };

    expect(good({ value }).routes[0]?.text).toContain('"mcp":{"client":{}}');
  });

  test("excludes static settings from the digest and includes dynamic ones", () => {
    const digest = (more: object) => good({ value: { routes: [], ...more }, boot: true }).digest;

    expect(digest({ drain_timeout: "1s" })).toBe(digest({}));
    expect(digest({ cookie_expiration: "1h" })).not.toBe(digest({}));
  });

  test("digests the documented text", () => {
    const { routes, settings, digest } = good({
      value: { cookie_name: "x", routes: [app("a.example.com"), app("b.example.com")] },
    });

    expect(digest).toBe(digestOf({ settings, routes: Object.fromEntries(routes.map(({ key, doc }) => [key, doc])) }));
  });

  test("joins lists and maps of several slices, whatever their order", () => {
    const one = {
      file: "1.json",
      value: {
        version: 1,
        owner: "a",
        settings: { mcp_allowed_client_id_domains: ["a.com", "b.com"], set_response_headers: { X: "1" } },
      },
    };
    const two = {
      file: "2.json",
      value: {
        version: 1,
        owner: "b",
        settings: { mcp_allowed_client_id_domains: ["b.com", "c.com"], set_response_headers: { Y: "2" } },
      },
    };

    const config = good(one, two);

    expect(config.settings).toEqual({
      mcp_allowed_client_id_domains: ["a.com", "b.com", "c.com"],
      set_response_headers: { X: "1", Y: "2" },
    });
    expect(good(two, one)).toEqual(config);
  });

  test("lets several hand-written files share the owner default", () => {
    const config = good({ value: { routes: [app("a.example.com")] } }, { value: { routes: [app("b.example.com")] } });

    expect(config.routes.map(({ key }) => key)).toEqual(["default/a.example.com", "default/b.example.com"]);
  });

  test("returns no configuration if anything is wrong, and reports everything", () => {
    const { config, problems } = load({ value: { adress: ":1", routes: [{ tto: 1 }] } }, { text: "{" });

    expect(config).toBeUndefined();
    expect(problems.length).toBeGreaterThan(4);
  });

  test("loads nothing from nothing", () => {
    expect(good()).toMatchObject({ routes: [], settings: {}, boot: {} });
  });

  test("finds the position of a problem in JSON and in YAML", () => {
    const json = '{\n  "routes": [\n    { "from": 1 }\n  ]\n}';
    const yaml = "routes:\n  - name: a\n    from: 1\n";
    const place = (text: string) => load({ text }).problems.find(({ path }) => formatPath(path) === "routes[0].from");

    expect(place(json)).toMatchObject({ line: 3, column: 7 });
    expect(place(yaml)).toMatchObject({ line: 3, column: 5 });
  });

  test("property: never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const { config, problems } = load({ text, boot: true });
        expect(config !== undefined || problems.length > 0).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("property: never throws, whatever YAML of likely words", () => {
    const words = [
      "routes:",
      "from:",
      "mcp:",
      "server:",
      "policy:",
      "\n",
      "  ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      "&a ",
      "*a",
      "<<: ",
      "? ",
      "!!binary ",
      "|",
      ">",
      '"',
      "'",
      "#",
      "${gateway.jwt}",
      "https://a.example.com",
      "---",
      "%YAML 1.1",
      ".nan",
      "~",
      ": ",
      ",",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 40 }), (parts) => {
        load({ text: parts.join(""), boot: true });
      }),
      { numRuns: 1000 },
    );
  });

  test("property: never throws, whatever value a setting has", () => {
    const names = [
      "from",
      "to",
      "prefix",
      "path",
      "policy",
      "mcp",
      "set_request_headers",
      "remove_request_headers",
      "host_rewrite",
      "rewrite_response_headers",
      "timeout",
      "name",
    ];
    const route = fc.dictionary(fc.constantFrom(...names), fc.jsonValue());
    const settings = [
      "owners",
      "runtime_flags",
      "shared_secret",
      "idp_provider_url",
      "mcp_allowed_as_metadata_domains",
      "address",
      "jwt_claims_headers",
      "authenticate_service_url",
    ];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...settings), fc.jsonValue()),
        fc.array(route, { maxLength: 3 }),
        (head, routes) => {
          load({ value: { ...head, routes }, boot: true });
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("survives texts that overflow other readers' stacks: nesting, and a problem at every character", () => {
    const many = 20_000;
    for (const text of [
      "[".repeat(many),
      "{a: ".repeat(many),
      "- ".repeat(many),
      `{"a":${"[".repeat(many)}${"]".repeat(many)}}`,
      `a:\n ${"!a ".repeat(many)}`,
      "&a ".repeat(many),
      `routes: [${"1: 1, ".repeat(many)}]`,
    ]) {
      expect(load({ text }).config).toBeUndefined();
    }
  });

  test.each([
    ["a number that no reader has exactly", `{"a": [${2 ** 53}]}`, /is a number that JSON cannot carry exactly/],
    ["nesting", `${'{"a":'.repeat(70)}{}${"}".repeat(70)}`, /is nested too deeply/],
    ["__proto__", '{"a": {"__proto__": {"b": 1}, "b": 1}}', /has the key "__proto__"/],
    ["none of these", '{"a": 1}', /is missing/],
  ])("holds a value that was read already to what texts are held to: %s", (_, nested, message) => {
    const text = `{"version": 1, "owner": "team", "settings": {}, "routes": {"r": {"set_request_headers": ${nested}}}}`;
    const said = (source: { text: string } | { value: unknown }): readonly string[] =>
      findProblems([{ file: "a", boot: false, ...source }])
        .map((problem) => messageWithPath(problem))
        .toSorted();
    const problems = said({ value: JSON.parse(text) as unknown });
    expect(problems).toEqual(said({ text }));
    expect(problems[0]).toMatch(message);
  });

  test("property: digest and configuration do not depend on the order of keys and routes", () => {
    const routes = ["a", "b", "c", "d"].map((name) => ({
      name,
      ...app(`${name}.example.com`, { set_request_headers: { "X-A": "1", "X-B": "2" } }),
    }));
    const expected = good({ value: { cookie_name: "x", pass_identity_headers: false, routes } });
    fc.assert(
      fc.property(fc.shuffledSubarray(routes, { minLength: 4 }), fc.infiniteStream(fc.nat()), (shuffled, random) => {
        const value = { cookie_name: "x", pass_identity_headers: false, routes: shuffled };
        expect(good({ value: shuffleKeys(value, () => random.next().value) })).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  test("reads ten thousand routes in time that grows with their number", () => {
    const slice = (count: number) => {
      const routes = Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `route-${index}`,
          app(`h${index}.example.com`, {
            prefix: "/a",
            set_request_headers: { "X-A": "${gateway.jwt}" },
            mcp: { server: { path: "/mcp" } },
          }),
        ]),
      );
      return JSON.stringify({ version: 1, owner: "team", routes });
    };
    const time = (count: number) => {
      const text = slice(count);
      // Of this thread's processor, which other processes do not lengthen.
      const started = process.threadCpuUsage();
      expect(load({ text }).config?.routes).toHaveLength(count);
      const { user, system } = process.threadCpuUsage(started);
      return user + system;
    };
    time(1000);
    const [small, large] = [Math.min(time(1000), time(1000), time(1000)), Math.min(time(10_000), time(10_000))];

    // Generous; quadratic growth would give a hundred times.
    expect(large / small).toBeLessThan(40);
  });
});

describe("canonicalRoute()", () => {
  test("is stable: what is canonical stays as it is", () => {
    const { routes } = checkedFrom(`
      routes:
        - { name: one, from: "https://APP.example.com:443/", prefix: /a/, to: "http://up", policy: { allow: { or: [ { email: ada@example.com } ] } } }
        - { from: "https://two.example.com", to: ["http://up"], policy: [] }
    `);

    for (const { doc, name } of routes) expect(canonicalRoute(doc, name)).toEqual(doc);
    expect(routes.map(({ doc }) => doc)).toMatchObject([
      { from: "https://app.example.com", prefix: "/a", to: ["http://up"] },
      { from: "https://two.example.com", to: ["http://up"] },
    ]);
  });
});

describe("canonicalJson()", () => {
  test("property: equals for equal values in any key order, and parses back", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.infiniteStream(fc.nat()), (value, random) => {
        const text = canonicalJson(value);
        expect(canonicalJson(shuffleKeys(value, () => random.next().value))).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });
});

/** The same value with the members of every block in another order. */
function shuffleKeys(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffleKeys(item, random));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => ({ name, member, at: random() }));
  entries.sort((a, b) => a.at - b.at);
  // Not an object literal: "__proto__" must stay a member.
  const shuffled: Record<string, unknown> = {};
  for (const { name, member } of entries) {
    Object.defineProperty(shuffled, name, {
      value: shuffleKeys(member, random),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return shuffled;
}

test("loadSlices() warns of an empty list next to another one, and adds nothing for it", () => {
  const policy = { allow: { and: [{ "claim/level": 5 }], or: [] } };
  const { config, problems } = load({
    value: { routes: [{ name: "tools", ...app("tools.example.com", { policy }) }] },
  });
  expect(problems.map(({ severity, path, message }) => [severity, formatPath(path), message])).toEqual([
    ["warning", "routes[0].policy.allow.or", "is an empty list without effect: remove it"],
  ]);
  expect(canonicalRoute(config!.routes[0]!.doc, "tools").policy).toEqual([
    { allow: { and: [{ "claim/level": { has: "5" } }] } },
  ]);
});
