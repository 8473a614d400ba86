/** Access changes in a plan, without Terraform: their limits, and unknown values. */
import { afterEach, describe, expect, test, vi } from "vitest";

import { UNKNOWN, type Value, type ValueMap } from "../../runtime/terraform/protocol/value.ts";
import { accessWarnings } from "../../runtime/terraform/resource/access-warnings.ts";

const allow = (...criteria: readonly object[]): string => JSON.stringify([{ allow: { or: criteria } }]);

function bundle(routes: Readonly<Record<string, Value>>): ValueMap {
  return { owner: "team", route: routes };
}

function route(name: string, policy: Value, more: ValueMap = {}): ValueMap {
  return { from: `https://${name}.example.com`, to: ["http://a.internal"], policy, ...more };
}

/** @param now by default no time passes, however slow the machine is */
async function linesOf(
  prior: ValueMap | null,
  planned: ValueMap | null,
  now: () => number = () => 0,
): Promise<readonly string[]> {
  const found = await accessWarnings(prior, planned, now);
  expect(found.every(({ severity, summary }) => severity === "warning" && summary === "Access changes")).toBe(true);
  expect(found.length).toBeLessThan(2);
  return found.flatMap(({ detail }) => detail.split("\n"));
}

afterEach(() => vi.unstubAllEnvs());

describe("accessWarnings()", () => {
  const ROUTES = { a: route("a", allow({ domain: "example.com" })), b: route("b", allow({ groups: "staff" })) };
  const before = bundle(ROUTES);

  test("reports gains before losses, also of creations and removals", async () => {
    const after = bundle({ b: route("b", allow({ authenticated_user: true })) });
    expect(await linesOf(before, after)).toEqual([
      '+ b: any signed-in user gains everything (could already: group "staff")',
      "- a: any user at example.com loses everything",
    ]);
    expect(await linesOf(null, after)).toEqual(["+ b: any signed-in user gains everything"]);
    expect(await linesOf(after, null)).toEqual(["- b: any signed-in user loses everything"]);
  });

  test("reports nothing when nothing changes for any user", async () => {
    const same = bundle({
      b: route("b", allow({ groups: { has: "staff" } }), { timeout: "5s", set_request_headers: { "X-A": "b" } }),
      a: route("a", allow({ domain: "example.com" }, { domain: { is: "example.com" } }), { to: ["http://b.internal"] }),
    });
    expect(await linesOf(before, same)).toEqual([]);
    expect(await linesOf(before, { ...same, owner: "other" })).toEqual([]);
    expect(await linesOf(null, null)).toEqual([]);
  });

  test.each<[string, Value, readonly string[]]>([
    ["a policy", { ...ROUTES, a: route("a", UNKNOWN) }, ["a: who may use it is not known before apply"]],
    [
      "an address",
      {
        ...ROUTES,
        a: { ...route("a", allow({ domain: "example.com" })), from: UNKNOWN },
      },
      ["a: who may use it is not known before apply"],
    ],
    ["a route", { ...ROUTES, a: UNKNOWN }, ["a: who may use it is not known before apply"]],
    [
      "all routes",
      UNKNOWN,
      ["a: who may use it is not known before apply", "b: who may use it is not known before apply"],
    ],
    [
      "something else",
      {
        ...ROUTES,
        a: route("a", allow({ domain: "example.com" }), { to: UNKNOWN, timeout: UNKNOWN }),
      },
      [],
    ],
  ])("does not guess at %s that is not known", async (_, routes, expected) => {
    expect(await linesOf(before, { owner: "team", route: routes })).toEqual(expected);
  });

  test("names no value of arguments, addresses and sensitive attributes", async () => {
    const pay = (limit: number): string =>
      JSON.stringify([
        { allow: { and: [{ groups: "staff" }] } },
        { deny: { and: [{ mcp_tool_argument: { tool: "pay", argument: "/to", matches: `iban-${limit}.*` } }] } },
        { deny: { and: [{ mcp_tool_argument: { tool: "pay", argument: "/n", gt: limit } }] } },
        { deny: { and: [{ source_ip: `10.9.${limit}.0/24` }] } },
      ]);
    const server = (limit: number): ValueMap =>
      bundle({
        a: route("a", pay(limit), {
          mcp: { server: {} },
          set_request_headers: { authorization: `Bearer s3cret-${limit}` },
        }),
      });

    const lines = await linesOf(server(77), server(88));

    expect(lines.join("\n")).toMatch(/group "staff" gains some .* loses others/);
    expect(lines.join("\n")).not.toMatch(/77|88|s3cret|iban/);
  });

  test("has at most 20 lines, however much changes", async () => {
    const names = Array.from({ length: 60 }, (_, at) => `r${at}`);
    const all = bundle(
      Object.fromEntries(names.map((name) => [name, route(name, allow({ groups: `${name}\u001b[2K\n` }))])),
    );
    const lines = await linesOf(null, all);
    expect(lines).toHaveLength(20);
    expect(lines.at(-1)).toBe(
      "… and 41 more lines. Run `gateway diff OLD NEW` on the published and the planned slice to see all of them.",
    );
    expect(lines.join("")).not.toContain("\u001b");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(260);
  });

  test("stops when its time is over, and says so", async () => {
    let time = 0;
    const lines = await linesOf(before, bundle({}), () => (time += 400));
    expect(lines).toEqual([
      "A plan has no time to compare everything. Run `gateway diff OLD NEW` on the published and the planned slice: it compares more and lists what is left.",
    ]);
  });

  test("does not stop a plan over a state that cannot be read, and can be switched off", async () => {
    expect(await linesOf(bundle({ a: route("a", "allow everybody") }), before)).toEqual([
      "Who gains or loses access could not be worked out.",
    ]);
    vi.stubEnv("GATEWAY_ACCESS_WARNINGS", "off");
    expect(await linesOf(null, before)).toEqual([]);
  });
});
