import { describe, expect, test } from "vitest";

import {
  currentSlice,
  currentSlices,
  ownedBy,
  planRollback,
  realChanges,
  VERSIONS_KEPT,
  withChanges,
  type Publication,
  type RollbackRequest,
} from "../../../runtime/bundle/publication.ts";

const EMPTY: Publication = { schema: 1, id: "store", generation: 0, owners: [] };

/** Changes one after the other: `["a", "1"]` publishes content 1 of owner a, null removes it. */
function after(...changes: readonly (readonly [owner: string, digest: string | null])[]): Publication {
  return changes.reduce((publication, [owner, digest], index) => {
    return withChanges(publication, new Map([[owner, digest]]), 1_000 + index);
  }, EMPTY);
}

const digests = (publication: Publication): Record<string, string> =>
  Object.fromEntries(currentSlices(publication).map(({ owner, digest }) => [owner, digest]));

/** What would be in force after the rollback, or why there is none. */
function rolledBack(publication: Publication, request: RollbackRequest): Record<string, string> | string {
  const plan = planRollback(publication, request);
  return plan.ok ? digests(withChanges(publication, plan.changes, 2_000)) : plan.reason;
}

describe("withChanges()", () => {
  test("counts one generation for each change, whichever owner it concerns", () => {
    const publication = after(["a", "1"], ["b", "1"], ["a", "2"]);
    expect(publication.generation).toBe(3);
    expect(currentSlice(publication, "a")).toEqual({ owner: "a", generation: 3, digest: "2", at: 1_002 });
    expect(currentSlice(publication, "b")).toMatchObject({ generation: 2 });
  });

  test("remembers removals and keeps owners in order", () => {
    const publication = after(["b", "1"], ["a", "1"], ["b", null]);
    expect(digests(publication)).toEqual({ a: "1" });
    expect(publication.owners.map(({ owner }) => owner)).toEqual(["a", "b"]);
    expect(currentSlice(publication, "b")).toBeUndefined();
  });

  test("keeps a bounded number of versions of each owner", () => {
    const many = Array.from({ length: VERSIONS_KEPT + 3 }, (_, index) => ["a", String(index)] as const);
    const [history] = after(...many).owners;
    expect(history?.versions).toHaveLength(VERSIONS_KEPT);
    expect(history?.versions[0]?.generation).toBe(4);
    expect(history?.trimmed).toBe(true);
  });

  test("knows owners that are named like members of objects", () => {
    expect(currentSlice(EMPTY, "constructor")).toBeUndefined();
    expect(digests(after(["constructor", "1"]))).toEqual({ constructor: "1" });
  });
});

test("realChanges() omits changes without effect", () => {
  const publication = after(["a", "1"]);
  const wanted = new Map([
    ["a", "1"],
    ["b", null],
    ["c", "2"],
  ]);
  expect([...realChanges(publication, wanted)]).toEqual([["c", "2"]]);
});

describe("ownedBy()", () => {
  const by = (...programs: readonly (string | undefined)[]): ReturnType<typeof ownedBy> => {
    const published = programs.reduce((publication, program, index) => {
      const said = { by: "admin_token", program, isRollback: program === "rollback" };
      return withChanges(publication, new Map([["a", String(index)]]), 1_000 + index, said);
    }, EMPTY);
    return ownedBy(published.owners[0] ?? { versions: [] });
  };

  test.each([
    ["terraform", ["gateform-terraform"]],
    ["terraform", ["gateform-terraform", "curl", "curl"]],
    ["terraform", ["curl", undefined]],
    ["kubernetes", ["gateform-kubernetes", "curl"]],
    ["terraform", ["gateform-kubernetes", "gateform-terraform"]],
    [undefined, ["curl", "release-job"]],
    // Nobody publishes by going back.
    ["terraform", ["gateform-terraform", ...Array.from({ length: VERSIONS_KEPT + 1 }, () => "rollback")]],
    [undefined, ["curl", "rollback"]],
  ] as const)("is %s of what came from %j", (owner, programs) => {
    expect(by(...programs)).toBe(owner);
  });

  test("counts versions without a publishing tool as Terraform's", () => {
    expect(ownedBy(after(["a", "1"]).owners[0] ?? { versions: [] })).toBe("terraform");
  });

  test("stores the author of each version", () => {
    const said = { by: "alice", program: "curl", isRollback: false };
    const published = withChanges(after(["a", "1"]), new Map([["a", "2"]]), 5, said);
    const back = withChanges(published, new Map([["a", "1"]]), 6, { by: "root@host", isRollback: true });
    expect(back.owners[0]?.versions).toEqual([
      { generation: 1, digest: "1", at: 1_000 },
      { generation: 2, digest: "2", at: 5, by: "alice", program: "curl" },
      { generation: 3, digest: "1", at: 6, by: "root@host", program: "curl", isRollback: true },
    ]);
  });
});

describe("planRollback()", () => {
  const story = after(["a", "1"], ["b", "1"], ["a", "2"], ["b", null], ["c", "1"]);

  test.each<[string, RollbackRequest, Record<string, string>]>([
    ["everything to before the last change", {}, { a: "2" }],
    ["everything to a generation", { to: 2 }, { a: "1", b: "1" }],
    ["everything to a generation in which an owner had removed its slice", { to: 4 }, { a: "2" }],
    ["everything to before the first publication", { to: 0 }, {}],
    ["one owner to before its own last change", { owner: "a" }, { a: "1", c: "1" }],
    ["one owner to a generation", { owner: "b", to: 3 }, { a: "2", b: "1", c: "1" }],
    ["one owner to before its first slice", { owner: "c" }, { a: "2" }],
  ])("takes %s", (_name, request, expected) => {
    expect(rolledBack(story, request)).toEqual(expected);
  });

  test.each<[string, RollbackRequest, RegExp]>([
    ["the current generation", { to: 5 }, /generation 5 is not before the current one, which is 5/],
    ["a generation to come", { to: 6 }, /is not before the current one/],
    ["no generation", { to: -1 }, / is not valid/],
    ["half a generation", { to: 1.5 }, / is not valid/],
    ["an owner that never published", { owner: "x" }, /owner "x" never published a slice/],
  ])("refuses %s", (_name, request, reason) => {
    expect(rolledBack(story, request)).toMatch(reason);
  });

  test("rejects a rollback if nothing was ever published", () => {
    expect(rolledBack(EMPTY, {})).toBe("nothing was ever published");
  });

  test("rejects a rollback to a deleted version instead of treating it as absent", () => {
    const many = Array.from({ length: VERSIONS_KEPT + 3 }, (_, index) => ["a", String(index)] as const);
    expect(rolledBack(after(...many), { owner: "a", to: 3 })).toMatch(/is stored only from generation 4 on/);
    expect(rolledBack(after(...many), { owner: "a", to: 4 })).toEqual({ a: "3" });
  });

  test("of a rollback can be rolled back", () => {
    const there = withChanges(story, new Map([["a", "1"]]), 3_000);
    expect(rolledBack(there, { owner: "a" })).toMatchObject({ a: "2" });
  });
});
