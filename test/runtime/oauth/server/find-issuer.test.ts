import { describe, expect, test } from "vitest";

import {
  findAudience,
  findIssuer,
  findResourceByPath,
  findServer,
  routesOfAudience,
  type Issuer,
} from "../../../../runtime/oauth/server/find-issuer.ts";
import { snapshotFrom } from "../../../support/config.ts";

const policy = "policy: [{ allow: { and: [authenticated_user: true] } }]";
const yaml = `
runtime_flags: { mcp: true }
routes:
  - { name: whole, from: https://whole.example.com, to: http://127.0.0.1:9, ${policy}, mcp: { server: { path: /mcp } } }
  - { name: github, from: https://many.example.com, prefix: /github, to: http://127.0.0.1:9, ${policy}, mcp: { server: { path: /mcp } } }
  - { name: jira, from: https://many.example.com, prefix: /jira, to: http://127.0.0.1:9, ${policy}, mcp: { server: {} } }
  - { name: app, from: https://app.example.com, to: http://127.0.0.1:9, ${policy}, mcp: { client: {} } }
  - { name: web, from: https://web.example.com, to: http://127.0.0.1:9, ${policy} }
`;

function issuer(host: string, text = yaml): Issuer {
  const found = findIssuer(snapshotFrom(text), host);
  if (!found) throw new Error(`no issuer at ${host}`);
  return found;
}

describe("findIssuer()", () => {
  test("is the origin of hosts with an MCP server route", () => {
    expect(issuer("whole.example.com")).toMatchObject({ origin: "https://whole.example.com" });
    expect(issuer("many.example.com").routes.map((route) => route.name)).toEqual(["github", "jira"]);
  });

  test.each(["app.example.com", "web.example.com", "WHOLE.example.com", "other.example.com"])(
    "finds none at %s",
    (host) => {
      expect(findIssuer(snapshotFrom(yaml), host)).toBeUndefined();
    },
  );

  test("finds none while the flag is off", () => {
    expect(findIssuer(snapshotFrom(yaml.replace("mcp: true", "mcp: false")), "whole.example.com")).toBeUndefined();
  });
});

describe("findResourceByPath()", () => {
  test.each([
    ["whole.example.com", "/mcp", "https://whole.example.com/mcp"],
    ["whole.example.com", "/mcp/", "https://whole.example.com/mcp"],
    ["whole.example.com", "", "https://whole.example.com"],
    ["many.example.com", "/github/mcp", "https://many.example.com/github/mcp"],
    ["many.example.com", "/github", "https://many.example.com/github"],
    ["many.example.com", "/jira", "https://many.example.com/jira"],
  ])("%s%s is %s", (host, path, resource) => {
    expect(findResourceByPath(issuer(host), path)?.resource).toBe(resource);
  });

  test.each(["/gith", "/github/mcp/x", "/GITHUB", "", "/", "/github//", "/github/mcp//"])("%s is no route", (path) => {
    expect(findResourceByPath(issuer("many.example.com"), path)).toBeUndefined();
  });
});

describe("findAudience()", () => {
  const whole = "https://whole.example.com/mcp";
  test.each([
    undefined,
    whole,
    `${whole}/`,
    "HTTPS://WHOLE.EXAMPLE.COM/mcp",
    "https://whole.example.com:443/mcp",
    "https://whole.example.com",
    "https://whole.example.com/",
  ])("%s means the only route of the host", (resource) => {
    expect(findAudience(issuer("whole.example.com"), resource)).toBe(whole);
  });

  test.each([
    "https://whole.example.com/mcp#x",
    "https://whole.example.com/mcp?x",
    "https://user@whole.example.com/mcp",
    "http://whole.example.com/mcp",
    "https://whole.example.com:8443/mcp",
    "https://many.example.com/github",
    "https://whole.example.com.evil.example/mcp",
    "https://whole.example.com/mcp2",
    "https://whole.example.com/MCP",
    "/mcp",
    "not a url",
  ])("%s is no target", (resource) => {
    expect(findAudience(issuer("whole.example.com"), resource)).toBeUndefined();
  });

  test("with several routes on the host, the origin or no resource means the host", () => {
    const many = issuer("many.example.com");
    expect(findAudience(many, undefined)).toBe("https://many.example.com");
    expect(findAudience(many, "https://many.example.com/")).toBe("https://many.example.com");
    expect(findAudience(many, "https://many.example.com/github")).toBe("https://many.example.com/github/mcp");
    expect(findAudience(many, "https://many.example.com/jira")).toBe("https://many.example.com/jira");
  });
});

describe("routesOfAudience()", () => {
  test("returns every route for the host, one for a resource, none for a removed one", () => {
    const many = issuer("many.example.com");
    const names = (audience: string) => routesOfAudience(many, audience).map((route) => route.name);
    expect(names("https://many.example.com")).toEqual(["github", "jira"]);
    expect(names("https://many.example.com/jira")).toEqual(["jira"]);
    expect(names("https://many.example.com/gone")).toEqual([]);
  });
});

describe("findServer()", () => {
  const root = `
runtime_flags: { mcp: true }
routes:
  - { name: root, from: https://root.example.com, to: http://127.0.0.1:9, ${policy}, mcp: { server: {} } }
`;
  const other = `  - { name: other, from: https://root.example.com, prefix: /b, to: http://127.0.0.1:9, ${policy}, mcp: { server: {} } }`;

  test("is a server at the bare origin only while the host has no other one, which a token for it would open", () => {
    const origin = "https://root.example.com";
    expect(findServer(issuer("root.example.com", root), origin)).toBe(origin);
    const both = issuer("root.example.com", root + other);
    expect(findServer(both, origin)).toBeUndefined();
    expect(findServer(both, `${origin}/b`)).toBe(`${origin}/b`);
    expect(findServer(issuer("many.example.com"), "https://many.example.com")).toBeUndefined();
  });
});
