/** What operators are told of tools that rules do not decide about as people may think. */
import { beforeEach, expect, test } from "vitest";

import type { CompiledRoute } from "../../../runtime/config/compiled.ts";
import { createListedTools, knownToolsFor, type ListedTools } from "../../../runtime/mcp/listed-tools.ts";
import { createLog } from "../../../runtime/shared/log.ts";
import { snapshotFrom } from "../../support/config.ts";

let lines: Record<string, unknown>[];
let listed: ListedTools;
beforeEach(() => {
  lines = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  listed = createListedTools({ log: createLog({ destination: { write } }) });
});

function routeWith(deny: string): CompiledRoute {
  const { routes } = snapshotFrom(`
    runtime_flags: { mcp: true }
    routes:
      - { name: r, from: "https://mcp.example", to: "https://up.example", mcp: { server: {} },
          policy: [{ allow: { and: [{ domain: example.com }] } }, { deny: { or: [${deny}] } }] }`);
  return routes[0] ?? expect.unreachable();
}

/** Puts a route with this rule in force. */
function follow(deny: string): CompiledRoute {
  const route = routeWith(deny);
  listed.follow([route]);
  return route;
}

const messages = (): readonly unknown[] => lines.map(({ msg, tool, rule }) => [String(msg).slice(0, 12), tool, rule]);

test("a tool that a rule does not cover is reported once, also over reloads", () => {
  const route = follow("{ mcp_tool: delete_secret }");
  for (let round = 0; round < 3; round += 1)
    for (const tool of ["DELETE_SECRET", "delete_secret", "list"]) listed.found(route, tool, true);
  follow("{ mcp_tool: delete_secret }, { mcp_tool: other }");
  expect(listed.notesOf(route.key)).toEqual({
    unclear: [],
    uncovered: [{ tool: "DELETE_SECRET", rule: "delete_secret" }],
  });
  expect(messages()).toEqual([["tool not cov", "DELETE_SECRET", "delete_secret"]]);
});

test("what was listed before is compared with new rules when they are loaded", () => {
  const route = follow("{ mcp_tool: other }");
  listed.found(route, "DELETE_SECRET", true);
  expect(listed.notesOf(route.key)).toBeUndefined();
  follow("{ mcp_tool: delete_secret }");
  expect(listed.list()).toEqual([
    { route: route.key, unclear: [], uncovered: [{ tool: "DELETE_SECRET", rule: "delete_secret" }] },
  ]);
  follow("{ mcp_tool: { is: delete_secret, fold_case: true } }");
  expect(listed.list()).toEqual([]);
});

test("locked items are compared at load", () => {
  const route = routeWith("{ mcp_tool: delete_secret }");
  const toolLock = { items: new Map([["DELETE_SECRET", {}]]) };
  listed.follow([{ ...route, mcp: { ...route.mcp, toolLock } } as unknown as CompiledRoute]);
  expect(listed.notesOf(route.key)?.uncovered).toEqual([{ tool: "DELETE_SECRET", rule: "delete_secret" }]);
});

test("an unclear name is reported, and no longer once rules have changed until it is listed again", () => {
  const route = follow("{ mcp_tool: delete_secret }");
  listed.found(route, "Delete Secret", false);
  listed.found(route, "Delete Secret", false);
  expect(listed.notesOf(route.key)).toEqual({ unclear: ["Delete Secret"], uncovered: [] });
  expect(messages()).toEqual([["tool hidden,", "Delete Secret", undefined]]);
  const next = follow('{ mcp_tool: { in: [delete_secret, "Delete Secret"] } }');
  expect(listed.notesOf(route.key)).toBeUndefined();
  // A request that began under the earlier rules.
  listed.found(route, "other one", false);
  expect(listed.notesOf(route.key)).toBeUndefined();
  listed.found(next, "other one", false);
  expect(listed.notesOf(route.key)?.unclear).toEqual(["other one"]);
});

test("removed routes are dropped", () => {
  const route = follow("{ mcp_tool: delete_secret }");
  listed.found(route, "DELETE_SECRET", true);
  listed.follow([]);
  expect(listed.list()).toEqual([]);
});

test("a server that lists endlessly fills neither the log nor memory", () => {
  const route = follow("{ mcp_tool: delete_secret }");
  for (let index = 0; index < 5_000; index += 1) {
    listed.found(route, `${"-".repeat(index % 200)}delete_secret${"-".repeat(Math.floor(index / 200))}`, true);
    listed.found(route, `delete ${index} ${"x".repeat(10_000)}`, false);
  }
  const { unclear = [], uncovered = [] } = listed.notesOf(route.key) ?? {};
  expect([unclear.length, uncovered.length, lines.length]).toEqual([50, 50, 100]);
  for (const name of unclear) expect(name.length).toBeLessThanOrEqual(256);
});

test("a user's pages name tools of the lock, of the policy and of the user's own lists, not of another user's", () => {
  const route = follow(
    "{ mcp_tool: { in: [drop, purge] } }, { mcp_tool: { starts_with: admin_, not_in: [admin_help] } }",
  );
  for (const tool of ["a", "b"]) listed.served(route, "alice")(tool);
  listed.served(route, "bob")("b");
  listed.found(route, "of-nobody", true);
  expect(knownToolsFor(route, "alice", listed)).toEqual({ names: ["a", "b", "drop", "purge"], isComplete: true });
  expect(knownToolsFor(route, "bob", listed)).toEqual({ names: ["b", "drop", "purge"], isComplete: true });
  expect(knownToolsFor(route, "carol", listed)).toEqual({ names: ["drop", "purge"], isComplete: false });
  // Over a change of its rules, but not over the end of the route.
  follow("{ mcp_tool: other }");
  expect(listed.namesFor(route.key, "alice")).toEqual(["a", "b"]);
  listed.follow([]);
  listed.served(route, "alice")("a");
  follow("{ mcp_tool: other }");
  listed.served(route, "bob")("c");
  expect([listed.namesFor(route.key, "alice"), listed.namesFor(route.key, "bob")]).toEqual([[], ["c"]]);
});

test("what users were shown is bounded in names of a route", () => {
  const route = follow("{ mcp_tool: other }");
  for (let index = 0; index < 310; index += 1) listed.served(route, "alice")(`t${index}`);
  const names = listed.namesFor(route.key, "alice");
  expect([names.length, names.at(-1)]).toEqual([300, "t299"]);
});
