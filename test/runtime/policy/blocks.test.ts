import { describe, expect, test } from "vitest";

import { blockedDecision, blocksTools, findBlock, indexBlocks, type Block } from "../../../runtime/policy/blocks.ts";

const NOW = 1_800_000_000;
const said = { reason: "", since: NOW, by: "root" };
const block = (kind: Block["kind"], name: string, more: Partial<Block> = {}): Block => ({
  kind,
  name,
  ...said,
  ...more,
});
const alice = { id: "u-alice", email: "Alice@Example.com" };

describe("findBlock()", () => {
  test.each([
    ["a user by id", block("user", "u-alice"), { user: alice }, true],
    ["a user by an address in other letters", block("user", "ALICE@example.COM"), { user: alice }, true],
    ["a user with an address as ID", block("user", "a@b.c"), { user: { id: "a@b.c", email: "" } }, true],
    ["not a user without an address", block("user", "x@example.com"), { user: { id: "u", email: "" } }, false],
    ["not another user", block("user", "u-bob"), { user: alice }, false],
    ["not a client that is called like the user", block("user", "u-alice"), { clientId: "u-alice" }, false],
    ["a client", block("client", "https://c.example/id"), { clientId: "https://c.example/id" }, true],
    ["a grant", block("grant", "g"), { grantId: "g" }, true],
    ["a route", block("route", "main/git"), { routeKey: "main/git" }, true],
    ["not a longer route", block("route", "main/git"), { routeKey: "main/git2" }, false],
    ["a tool on every route", block("tool", "rm"), { routeKey: "main/git", tool: "rm" }, true],
    ["a tool on its route", block("tool", "rm", { route: "main/git" }), { routeKey: "main/git", tool: "rm" }, true],
    ["not a tool on another route", block("tool", "rm", { route: "main/git" }), { routeKey: "a/b", tool: "rm" }, false],
    ["not a tool in other letters, as policy", block("tool", "rm"), { routeKey: "main/git", tool: "RM" }, false],
    ["not a message without a tool", block("tool", "rm"), { routeKey: "main/git" }, false],
    ["what has time left", block("user", "u-alice", { until: NOW + 1 }), { user: alice }, true],
    ["not what is over", block("user", "u-alice", { until: NOW }), { user: alice }, false],
    ["not nobody", block("user", "u-alice"), {}, false],
    [
      "nothing of an object's own",
      block("user", "u-alice"),
      { user: { id: "constructor", email: "__proto__" } },
      false,
    ],
  ])("finds %s", (_, one, subject, isFound) => {
    expect(findBlock(indexBlocks([one]), subject, NOW)).toBe(isFound ? one : undefined);
  });

  test("finds the active one next to an expired one", () => {
    const over = block("user", "u-alice", { until: NOW - 1 });
    const byEmail = block("user", "alice@example.com");
    expect(findBlock(indexBlocks([over, byEmail]), { user: alice }, NOW)).toBe(byEmail);
    const everywhere = block("tool", "rm", { until: NOW - 1 });
    const here = block("tool", "rm", { route: "main/git" });
    expect(findBlock(indexBlocks([everywhere, here]), { routeKey: "main/git", tool: "rm" }, NOW)).toBe(here);
  });
});

test("blocksTools() depends on the route that a tool is blocked on", () => {
  const index = indexBlocks([block("tool", "rm", { route: "main/git" })]);
  expect([blocksTools(index, "main/git"), blocksTools(index, "a/b")]).toEqual([true, false]);
  expect(blocksTools(indexBlocks([block("tool", "rm")]), "a/b")).toBe(true);
});

test("blockedDecision() denies, and names the blocked target", () => {
  expect(blockedDecision(block("tool", "rm"))).toMatchObject({
    allowed: false,
    allowWhyFalse: ["blocked", "blocked-tool", "mcp-tool-unauthorized"],
  });
});
