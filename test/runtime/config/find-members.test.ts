/** Members by label: which routes a federated route gets, whatever others publish. */
import { describe, expect, test } from "vitest";

import { loadSlices, type SliceSource } from "../../../runtime/config/load.ts";

const ALLOW = [{ allow: { and: [{ accept: true }] } }];

function gateway(owners: readonly string[], routes: Readonly<Record<string, object>> = {}): SliceSource {
  const text = JSON.stringify({
    runtime_flags: { mcp: true },
    ...(owners.length > 0 && { owners: Object.fromEntries(owners.map((owner) => [owner, {}])) }),
    routes: Object.entries(routes).map(([name, server]) => ({ name, ...route("default", name, server) })),
  });
  return { file: "gateway.yaml", text, boot: true };
}

function slice(owner: string, routes: Readonly<Record<string, object>>): SliceSource {
  const all = Object.fromEntries(Object.entries(routes).map(([name, server]) => [name, route(owner, name, server)]));
  return { file: `${owner}.json`, text: JSON.stringify({ version: 1, owner, routes: all }), boot: false };
}

function route(owner: string, name: string, server: object): object {
  const hasMembers = "members" in server || "members_by_label" in server;
  const from = `https://${name.toLowerCase()}.${owner}.example.com`;
  return { from, ...(!hasMembers && { to: `http://${name}.internal` }), mcp: { server }, policy: ALLOW };
}

/** Members of the route with this key. */
function membersOf(key: string, sources: readonly SliceSource[]): unknown {
  const { config, problems } = loadSlices(sources);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return config?.routes.find((each) => each.key === key)?.doc.mcp?.server?.members;
}

describe("findMembers()", () => {
  test("selects another owner's route only if both owners name each other", () => {
    const [yes, no] = [{ labels: ["crm"], allowed_applications: ["mine"] }, { labels: ["crm"] }];
    const sources = [
      gateway(["mine", "theirs", "evil"]),
      slice("mine", { all: { members_by_label: ["crm", "theirs/crm"] }, own: no }),
      slice("theirs", { yes, no }),
      slice("evil", { inserted: { ...yes, member_prefix: "own" }, other: yes }),
    ];

    expect(membersOf("mine/all", sources)).toEqual({ own: "mine/own", yes: "theirs/yes" });
  });

  test("selects the owner's own routes only where owners are not separated, unless it names another", () => {
    const sources = [
      gateway([]),
      slice("mine", { all: { members_by_label: ["crm"] }, both: { members_by_label: ["theirs/crm", "crm"] } }),
      slice("theirs", { theirs: { labels: ["crm"] } }),
    ];

    expect(membersOf("mine/all", sources)).toEqual({});
    expect(membersOf("mine/both", sources)).toEqual({ theirs: "theirs/theirs" });
  });

  test("gives a prefix to named members first, then in the order of labels, and each route one prefix", () => {
    const sources = [
      gateway([], { github: { labels: ["a", "b"] }, gh: { labels: ["b"], member_prefix: "github" } }),
      slice("aaa", { hub: { labels: ["a"], member_prefix: "github" }, wiki: { labels: ["a"] } }),
      slice("mine", {
        named: { members: { github: "default/gh", g: "default/github" }, members_by_label: ["aaa/a", "default/b"] },
        ordered: { members_by_label: ["default/a", "default/b", "aaa/a"] },
        last: { members_by_label: ["aaa/a", "default/b", "default/a"] },
      }),
    ];

    for (const order of [sources, sources.toReversed()]) {
      expect(membersOf("mine/named", order)).toEqual({
        github: "default/gh",
        g: "default/github",
        wiki: "aaa/wiki",
      });
      expect(membersOf("mine/ordered", order)).toEqual({ github: "default/github", wiki: "aaa/wiki" });
      expect(membersOf("mine/last", order)).toEqual({ github: "aaa/hub", wiki: "aaa/wiki" });
    }
  });

  test("has at most 50 members, named ones first, and warns of the rest", () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [`r${String(at).padStart(4, "0")}`, { labels: ["crm"] }]),
    );
    const sources = [
      gateway([]),
      slice("mine", { ...many, all: { members: { z: "r0999" }, members_by_label: ["crm"] } }),
    ];

    const { config, problems } = loadSlices(sources);

    const found = config?.routes.find(({ key }) => key === "mine/all")?.doc.mcp?.server?.members ?? {};
    expect(Object.keys(found)).toHaveLength(50);
    expect(found).toMatchObject({ z: "r0999", r0000: "mine/r0000", r0048: "mine/r0048" });
    expect(problems.map(({ message }) => message)).toContain(
      'is "crm", which selects more routes than the 50 that can be members',
    );
  });

  test("reports a label once for each federated route, however many routes have it", () => {
    const [servers, federated] = [300, 300].map((length, kind) =>
      Object.fromEntries(
        Array.from({ length }, (_, at) => [
          `r${kind}-${at}`,
          kind === 0 ? { labels: ["crm"], member_prefix: "same" } : { members_by_label: ["crm"] },
        ]),
      ),
    );
    const sources = [gateway([]), slice("mine", { ...servers, ...federated })];

    const { config, problems } = loadSlices(sources);

    expect(config?.routes.find(({ key }) => key === "mine/r1-7")?.doc.mcp?.server?.members).toEqual({
      same: "mine/r0-0",
    });
    const told = problems.filter(({ message }) => message.includes("crm"));
    expect(told).toHaveLength(600);
    expect(told[0]?.message).toBe(
      'is "crm", which selects "mine/r0-1", whose prefix "same" is that of "mine/r0-0", and 198 more with prefixes of other members',
    );
  });
});
