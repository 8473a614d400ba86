import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { buildRouteTable, prepareRouteTable, type RouteTable } from "../../../../runtime/proxy/route-table.ts";
import type { MatchedRequest } from "../../../../runtime/features/routing/conditions.ts";
import { snapshotFrom, TEST_SHARED_SECRET } from "../../../support/config.ts";

const policy = "policy: [{ allow: { and: [{ accept: true }] } }]";
const route = (name: string, from: string, match = ""): string =>
  `  - { name: ${name}, from: "https://${from}", to: "http://127.0.0.1:1", ${match === "" ? "" : `${match}, `}${policy} }`;

const ROUTES = [
  route("root", "app.example"),
  route("admin", "app.example", "prefix: /admin"),
  route("users", "app.example", "prefix: /admin/users"),
  route("health", "app.example", "path: /admin/health"),
  route("other", "other.example", "prefix: /only"),
];

function table(lines: readonly string[], extra = ""): RouteTable {
  return buildRouteTable(snapshotFrom(`${extra}\nroutes:\n${lines.join("\n")}`));
}

function find(routes: RouteTable, host: string, path: string, request?: MatchedRequest): string {
  const found = routes.findHost(host)?.findRoute(path, request);
  if (!found) return "no-host";
  return found.ok ? found.prepared.route.name : found.reason;
}

function sent(method: string, query = "", headers: Readonly<Record<string, string>> = {}): MatchedRequest {
  return { method, query, header: (name) => headers[name] };
}

describe("conditions of routes", () => {
  const lines = [
    route("whole", "app.example"),
    route("get", "app.example", "match_methods: [GET, HEAD]"),
    route("two-headers", "app.example", 'match_headers: { Color: blue, Version: "2" }'),
    route("blue", "app.example", "match_headers: { color: blue }"),
    route("version", "app.example", 'match_headers: { version: "2" }, match_priority_order: 5'),
    route("query", "app.example", "match_query: { animal: big whale }"),
    route("part", "app.example", 'prefix: /part, match_headers: { version: "2" }'),
    route("exact", "app.example", "path: /part/one, match_methods: [PUT]"),
    route("only", "only.example", "match_methods: [PUT]"),
  ];

  test.each([
    ["/", sent("POST"), "whole"],
    ["/", sent("GET", "", { color: "blue" }), "get"],
    ["/", sent("POST", "", { color: "blue", version: "2" }), "two-headers"],
    ["/", sent("POST", "", { color: "blue" }), "blue"],
    ["/", sent("POST", "?animal=big+whale", { color: "blue" }), "blue"],
    ["/", sent("POST", "?animal=big+whale&x"), "query"],
    ["/", sent("POST", "?animal=dolphin&animal=big+whale"), "whole"],
    ["/part/x", sent("POST", "", { version: "2" }), "part"],
    ["/part/x", sent("GET", "", { version: "3" }), "get"],
    ["/part/one", sent("PUT", "", { version: "2" }), "exact"],
    ["/part/one", sent("POST", "", { version: "2" }), "part"],
    ["/", undefined, "whole"],
  ] as const)("%s with %o → %s", (path, request, name) => {
    for (const routes of [lines, lines.toReversed()])
      expect(find(table(routes), "app.example", path, request)).toBe(name);
  });

  test("equally many conditions are tried by priority", () => {
    const both = [lines[3] ?? "", lines[4] ?? ""];
    expect(find(table(both), "app.example", "/", sent("GET", "", { color: "blue", version: "2" }))).toBe("version");
  });

  test("a host whose conditions are not met has no route", () => {
    expect(find(table(lines), "only.example", "/", sent("GET"))).toBe("no-route");
    expect(find(table(lines), "only.example", "/", sent("PUT"))).toBe("only");
  });

  test.each([
    [route("again", "app.example", "match_methods: [HEAD, GET]"), "leads to the same requests as"],
    [route("pattern", "app.example", "regex: /x, match_methods: [GET]"), 'cannot be combined with "regex"'],
    [route("lower", "app.example", "match_methods: [get]"), "must be a method in capitals"],
    [route("host", "app.example", "match_headers: { Host: x }"), "cannot be matched"],
    [route("none", "app.example", "match_priority_order: 1"), 'requires "match_methods"'],
    [route("mcp", "mcp.example", "mcp: { server: {} }, match_methods: [GET]"), 'cannot be combined with "mcp"'],
  ])("rejects %s", (line, problem) => {
    expect(() => table([...lines, line])).toThrow(problem);
  });

  test("takes nothing of an MCP server's address", () => {
    const server = route("server", "mcp.example", "prefix: /a, mcp: { server: {} }");
    const part = (path: string): string => route("part", "mcp.example", `${path}, match_methods: [POST]`);
    for (const path of ["prefix: /a", "path: /a"])
      expect(() => table([server, part(path)])).toThrow("takes a part of the requests to");
    const exact = route("exact", "mcp.example", "path: /a, mcp: { server: {} }");
    expect(find(table([exact, part("prefix: /a")]), "mcp.example", "/a", sent("POST"))).toBe("exact");
    expect(find(table([server, part("prefix: /b")]), "mcp.example", "/b", sent("POST"))).toBe("part");
  });
});

describe("buildRouteTable()", () => {
  const cases = [
    ["app.example", "/", "root"],
    ["app.example", "/administration", "root"],
    ["app.example", "/admin", "admin"],
    ["app.example", "/admin/", "admin"],
    ["app.example", "/admin/user", "admin"],
    ["app.example", "/admin/users", "users"],
    ["app.example", "/admin/users/1", "users"],
    ["app.example", "/admin/health", "health"],
    ["app.example", "/admin/health/", "admin"],
    ["app.example", "/ADMIN", "root"],
    ["app.example", "/x;v=1/y", "root"],
    ["app.example", "/admin;v=1", "ambiguous-path"],
    ["app.example", "/admin/users%3Bv", "ambiguous-path"],
    ["app.example", "/admin/users;v/1", "ambiguous-path"],
    ["other.example", "/", "no-route"],
    ["other.example", "/only/x", "other"],
    ["third.example", "/", "no-host"],
  ] as const;

  test.each(cases)("%s%s → %s", (host, path, name) => {
    expect(find(table(ROUTES), host, path)).toBe(name);
  });

  test("does not depend on the order of routes", () => {
    const turned = table(ROUTES.toReversed());
    for (const [host, path, name] of cases) expect(find(turned, host, path)).toBe(name);
  });

  test("knows the authenticate host, which has no route", () => {
    const routes = table(ROUTES, "authenticate_service_url: https://auth.example");
    expect(find(routes, "auth.example", "/")).toBe("no-route");
  });

  test("keeps the prepared form of an unchanged route", () => {
    const snapshot = snapshotFrom(`routes:\n${ROUTES.join("\n")}`);
    const planIn = (routes: RouteTable) => {
      const found = routes.findHost("app.example")?.findRoute("/admin");
      return found?.ok === true ? found.prepared : undefined;
    };
    const first = planIn(buildRouteTable(snapshot));
    expect(first?.route.name).toBe("admin");
    expect(planIn(buildRouteTable({ ...snapshot, generation: 2 }))).toBe(first);
    const changed = planIn(buildRouteTable({ ...snapshot, settings: { ...snapshot.settings } }));
    expect(changed?.route).toBe(first?.route);
    expect(changed).not.toBe(first);
  });

  test("a path of very many segments costs no more than the depth of prefixes", () => {
    const routes = table(ROUTES);
    expect(find(routes, "app.example", "/a".repeat(4000))).toBe("root");
    expect(find(routes, "app.example", `/admin${"/a".repeat(4000)}`)).toBe("admin");
  });
});

describe("routes with patterns", () => {
  const PATTERNS = [
    route("root", "app.example"),
    route("api", "app.example", "prefix: /api"),
    route("status", "app.example", "path: /api/v1/status"),
    route("versions", "app.example", 'regex: "/api/v[0-9]+/.*"'),
    route("items", "app.example", 'regex: "/api/v1/items/[^/]+"'),
    route("first", "app.example", 'regex: "/api/.*/first", regex_priority_order: 10'),
    route("images", "app.example", 'regex: ".*[.](png|jpg)"'),
    route("v1", "app.example", 'regex: "/api/v1/[a-z]+", regex_priority_order: 1'),
  ];
  const cases = [
    ["/", "root"],
    ["/api", "api"],
    ["/api/x", "api"],
    ["/api/v2/x", "versions"],
    ["/api/v2/x/y", "versions"],
    // The whole path, not a part of it.
    ["/xapi/v2/x", "root"],
    ["/api/v/x", "api"],
    ["/api/v1/items/7", "items"],
    ["/api/v1/items/7/parts", "versions"],
    // An exact path goes before patterns, and patterns before prefixes.
    ["/api/v1/status", "status"],
    ["/api/v1/other", "v1"],
    // Priority goes before the literal beginning.
    ["/api/v1/items/first", "first"],
    ["/logo.png", "images"],
    ["/api/logo.png", "images"],
    // Of equal priority the longer literal beginning.
    ["/api/v1/items/a.png", "items"],
    ["/api/v2/x;v=1", "versions"],
    // With and without the parameter another route is meant.
    ["/logo.png;x", "ambiguous-path"],
    ["/api/v1/other;x", "ambiguous-path"],
  ] as const;

  test.each(cases)("%s → %s", (path, name) => {
    expect(find(table(PATTERNS), "app.example", path)).toBe(name);
  });

  test("do not depend on the order of routes", () => {
    const turned = table(PATTERNS.toReversed());
    for (const [path, name] of cases) expect(find(turned, "app.example", path)).toBe(name);
  });

  test("are not tried on paths so long that they would cost too much, and such paths match nothing else", () => {
    const routes = table(PATTERNS);
    expect(find(routes, "app.example", `/${"a".repeat(2047)}`)).toBe("root");
    expect(find(routes, "app.example", `/${"a".repeat(2048)}`)).toBe("path-too-long");
    // Where no pattern could match, long paths are fine.
    expect(
      find(
        table([route("a", "app.example", 'regex: "/a/b/.*"'), route("root", "app.example")]),
        "app.example",
        `/${"a".repeat(4000)}`,
      ),
    ).toBe("root");
  });
});

describe("patterns with the same prefix", () => {
  const many = Array.from({ length: 40 }, (_, index) => [
    route(`n${index}`, "app.example", `regex: "/item-${index}-[a-z]+"`),
    route(`d${index}`, "app.example", `regex: "/team-${index}/v[0-9]+/.*"`),
  ]).flat();
  const PATTERNS = [
    ...many,
    route("root", "app.example"),
    route("any", "app.example", 'regex: "/item-[^/]*"'),
    route("one", "app.example", 'regex: "/item-1.*"'),
    route("fifth", "app.example", 'regex: "/item-5-x.*", regex_priority_order: 5'),
    route("word", "app.example", String.raw`regex: '/word\b.*'`),
    route("start", "app.example", 'regex: "/never^/x"'),
    route("line", "app.example", 'regex: "/a|/b"'),
    route("same-a", "app.example", 'regex: "/same/[a-m]+"'),
    route("same-b", "app.example", 'regex: "/same/[a-z]+"'),
    route("same-c", "app.example", 'regex: "/same/[a-z0-9]{3}", regex_priority_order: 1'),
    route("encoded", "app.example", 'regex: "/%61bc/x.*"'),
    route("double", "app.example", 'regex: "/dd//x.*"'),
  ];
  const cases = [
    ["/item-7-blue", "n7"],
    ["/item-39-blue", "n39"],
    // Of the same priority and the same literal segments: by their text.
    ["/item-3-", "any"],
    ["/item-41-blue", "any"],
    ["/item-17", "one"],
    ["/item-1", "one"],
    ["/item-5-xyz", "fifth"],
    ["/item-5-abc", "n5"],
    ["/item", "root"],
    ["/team-12/v1/x", "d12"],
    ["/team-12/vx/x", "root"],
    ["/team-1/v12/", "d1"],
    ["/team-40/v1/x", "root"],
    ["/word", "word"],
    ["/word-x", "word"],
    ["/words", "root"],
    ["/never/x", "root"],
    ["/a", "line"],
    ["/same/abcd", "same-a"],
    ["/same/wxyz", "same-b"],
    ["/same/abc", "same-c"],
    ["/same/abc1", "root"],
    ["/b", "line"],
    ["/abc/xyz", "root"],
    ["/dd/xyz", "root"],
  ] as const;

  test.each(cases)("%s → %s", (path, name) => {
    expect(find(table(PATTERNS), "app.example", path)).toBe(name);
    expect(find(table(PATTERNS.toReversed()), "app.example", path)).toBe(name);
  });
});

describe("prepareRouteTable()", () => {
  test("finds the same as a table built in one step, and yields meanwhile", async () => {
    const routes = Array.from({ length: 6_000 }, (_, index) => [
      route(`p${index}`, "app.example", `prefix: /team-${index}`),
      route(`x${index}`, "*.wild.example", `regex: "/team-${index}-[a-z]+"`),
    ]).flat();
    // As JSON: so many tokens of YAML are not read.
    const boot = { shared_secret: TEST_SHARED_SECRET, storage_url: "memory:", insecure_server: true };
    const text = JSON.stringify({ ...boot, routes: parse(routes.join("\n")) as unknown });
    const snapshot = snapshotFrom(text, { file: "test.json" });
    let limiter = 0;
    let isDone = false;
    const count = (): void => {
      limiter += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const prepared = await prepareRouteTable(snapshot);
    isDone = true;
    // 12,000 routes to sort, 6,000 to lay out on each of two hosts, 4,000 at a time.
    expect(limiter).toBeGreaterThanOrEqual(3);
    const atOnce = buildRouteTable(snapshot);
    for (let index = 0; index < 6_001; index += 97) {
      for (const [host, path] of [
        ["app.example", `/team-${index}/x`],
        ["a.wild.example", `/team-${index}-x`],
        ["a.wild.example", `/team-${index}`],
      ] as const) {
        expect(find(prepared, host, path)).toBe(find(atOnce, host, path));
      }
    }
    expect(find(prepared, "app.example", "/team-5999/x")).toBe("p5999");
    expect(find(prepared, "a.wild.example", "/team-5999-x")).toBe("x5999");
  });
});

describe("routes of wildcard hosts", () => {
  const WILDCARDS = [
    route("named", "app.example.com", "prefix: /only"),
    route("team", "*.team.example.com", "prefix: /team"),
    route("all", "*.example.com"),
    route("port", "*.example.com:8443"),
    route("deep", "*.a.b.example.com"),
  ];
  const cases = [
    ["x.example.com", "/", "all"],
    // The star stands for any number of labels, as in the reference system.
    ["x.y.example.com", "/", "all"],
    ["example.com", "/", "no-host"],
    ["xexample.com", "/", "no-host"],
    ["x.example.com.", "/", "no-host"],
    ["x.example.com.evil.test", "/", "no-host"],
    ["x.example.com:8443", "/", "port"],
    ["x.example.com:9443", "/", "no-host"],
    // A named host says in full what it serves.
    ["app.example.com", "/only", "named"],
    ["app.example.com", "/", "no-route"],
    // The longer wildcard goes first and leaves the rest to the shorter.
    ["x.team.example.com", "/team", "team"],
    ["x.team.example.com", "/", "all"],
    ["team.example.com", "/team", "all"],
    ["x.a.b.example.com", "/", "deep"],
    ["x.team.example.com", "/team;v=1", "ambiguous-path"],
  ] as const;

  test.each(cases)("%s%s → %s", (host, path, name) => {
    expect(find(table(WILDCARDS), host, path)).toBe(name);
    expect(find(table(WILDCARDS.toReversed()), host, path)).toBe(name);
  });

  test("never match the authenticate host", () => {
    const routes = table(WILDCARDS, "authenticate_service_url: https://auth.example.com");
    expect(find(routes, "auth.example.com", "/")).toBe("no-route");
  });
});
