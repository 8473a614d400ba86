import { describe, expect, test } from "vitest";

import { buildRouteTable, type RouteTable } from "../../../runtime/proxy/find-route.ts";
import { snapshotFrom } from "../../support/config.ts";

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

function find(routes: RouteTable, host: string, path: string): string {
  const found = routes.findHost(host)?.findRoute(path);
  if (!found) return "no-host";
  return found.ok ? found.plan.route.name : found.reason;
}

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

  test("knows the authenticate host, which serves no route", () => {
    const routes = table(ROUTES, "authenticate_service_url: https://auth.example");
    expect(find(routes, "auth.example", "/")).toBe("no-route");
  });

  test("keeps the plan of a route that did not change", () => {
    const snapshot = snapshotFrom(`routes:\n${ROUTES.join("\n")}`);
    const planIn = (routes: RouteTable) => {
      const found = routes.findHost("app.example")?.findRoute("/admin");
      return found?.ok === true ? found.plan : undefined;
    };
    const first = planIn(buildRouteTable(snapshot));
    expect(first?.route.name).toBe("admin");
    expect(planIn(buildRouteTable({ ...snapshot, generation: 2 }))).toBe(first);
    const changed = planIn(buildRouteTable({ ...snapshot, settings: { ...snapshot.settings } }));
    expect(changed?.route).toBe(first?.route);
    expect(changed).not.toBe(first);
  });

  test("a path of very many segments costs no more than the prefixes are deep", () => {
    const routes = table(ROUTES);
    expect(find(routes, "app.example", "/a".repeat(4000))).toBe("root");
    expect(find(routes, "app.example", `/admin${"/a".repeat(4000)}`)).toBe("admin");
  });
});
