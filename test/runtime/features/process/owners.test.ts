/** Who an entry of the boot file's `owners` holds for. */
import { describe, expect, test } from "vitest";

import { loadSlices } from "../../../../runtime/config/load.ts";
import {
  findOwnerRights,
  isOwner,
  matchesOwner,
  ownerPatternProblem,
} from "../../../../runtime/features/process/owners.ts";

describe("findOwnerRights()", () => {
  const owners = { "kubernetes.*": 1, "kubernetes.team-a.*": 2, "kubernetes.team-b": 3, team: 4 };

  test.each([
    ["team", "team"],
    ["kubernetes.team-b", "kubernetes.team-b"],
    ["kubernetes.team-b.x", "kubernetes.*"],
    ["kubernetes.team-a", "kubernetes.*"],
    ["kubernetes.team-a.x", "kubernetes.team-a.*"],
    ["kubernetes", undefined],
    ["kubernetesx", undefined],
    ["team.x", undefined],
    ["constructor", undefined],
    ["tostring", undefined],
  ])("gives owner %s the entry %s", (owner, entry) => {
    expect(findOwnerRights(owners, owner)?.entry).toBe(entry);
  });

  test("uses the longest prefix in any order", () => {
    const turned = Object.fromEntries(Object.entries(owners).toReversed());

    expect(findOwnerRights(turned, "kubernetes.team-a.x")?.entry).toBe("kubernetes.team-a.*");
  });
});

describe("names of owners", () => {
  test("may be as long as an owner, a dot and a namespace", () => {
    expect(isOwner(`${"o".repeat(63)}.${"n".repeat(63)}`)).toBe(true);
    expect(isOwner("n".repeat(128))).toBe(false);
    expect(isOwner("gateway")).toBe(false);
  });

  test.each(["*", ".*", "team*", "team-*", "Team.*", "*.team", "te*am", "gateway"])("are no pattern as %s", (text) => {
    expect(ownerPatternProblem(text)).toContain("must be at most 127 lower-case letters");
  });

  test.each(["team", "team.*", "kubernetes.team-a.*"])("are a pattern as %s", (text) => {
    expect(ownerPatternProblem(text)).toBeUndefined();
  });

  test("match only whole prefixes", () => {
    expect(matchesOwner("team.*", "team.a")).toBe(true);
    expect(matchesOwner("team.*", "team")).toBe(false);
    expect(matchesOwner("team.*", "team-a")).toBe(false);
  });
});

describe("an owner with an entry for its prefix", () => {
  const NAMESPACE = `kubernetes.${"n".repeat(63)}`;

  function problemsOf(owner: string, host: string): readonly string[] {
    const boot = { insecure_server: true, owners: { "kubernetes.*": { allowed_from: ["*.k8s.example.com"] } } };
    const route = { from: `http://${host}`, to: "http://up.internal", policy: { allow: { or: [{ accept: true }] } } };
    return loadSlices([
      { file: "gateway.json", boot: true, text: JSON.stringify(boot) },
      { file: "slice.json", boot: false, text: JSON.stringify({ version: 1, owner, routes: { one: route } }) },
    ])
      .problems.filter(({ severity }) => severity === "error")
      .map(({ message }) => message);
  }

  test("publishes what that entry permits", () => {
    expect(problemsOf(NAMESPACE, "a.k8s.example.com")).toEqual([]);
  });

  test("publishes nothing else", () => {
    expect(problemsOf(NAMESPACE, "a.example.com")).toEqual([
      expect.stringMatching(/^is "http:\/\/a\.example\.com", which owner "kubernetes\.n+" may not serve$/),
    ]);
  });

  test.each(["team", "constructor"])("is not owner %s, which no entry names", (owner) => {
    expect(problemsOf(owner, "a.k8s.example.com")).toEqual([
      `is "${owner}", which is not in "owners" of the main configuration file`,
    ]);
  });
});
