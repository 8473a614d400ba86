/** `mcp_tool_class`: decided with the reviewed classes of a route's tool lock. */
import { describe, expect, test } from "vitest";

import { parseToolLock, formatToolLock, toolOf } from "../../../../runtime/features/mcp/tool-lock-file.ts";
import { compilePolicy, evaluate } from "../../../../runtime/policy/evaluate.ts";
import type { Facts } from "../../../../runtime/policy/facts.ts";
import { bindToolClasses } from "../../../../runtime/policy/bind-tool-classes.ts";
import { parsePolicy } from "../../../../runtime/policy/parse.ts";
import { mayUse } from "../../../../runtime/policy/reach.ts";
import { parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";
import { keepClasses, proposalsFor } from "../../../../runtime/tools/lock/propose-classes.ts";
import { snapshotFrom } from "../../../support/config.ts";

const user = { id: "u", email: "u@example.com", name: "", groups: [], claims: {} };
const callOf = (tool: string): Facts => ({
  user,
  http: { method: "POST", path: "/", host: "h", ip: "127.0.0.1" },
  mcp: { method: "tools/call", tool },
});
const CLASSES = new Map([
  ["fetch", ["read", "external"]],
  ["note", ["write"]],
]);

describe("mcp_tool_class", () => {
  const deny = bindToolClasses(
    compilePolicy([
      { allow: { and: [{ authenticated_user: true }] } },
      { deny: { or: [{ mcp_tool_class: "external" }] } },
    ]),
    CLASSES,
  );
  const allow = bindToolClasses(compilePolicy([{ allow: { and: [{ mcp_tool_class: { has: "read" } }] } }]), CLASSES);

  test("is decided by the reviewed classes; a tool without any is neither allowed nor spared by a deny rule", () => {
    expect(["fetch", "note", "new"].map((tool) => evaluate(deny, callOf(tool)).allowed)).toEqual([false, true, false]);
    expect(["fetch", "note", "new"].map((tool) => evaluate(allow, callOf(tool)).allowed)).toEqual([true, false, false]);
    expect(evaluate(deny, callOf("new")).allowWhyFalse).toEqual(["mcp-tool-class-unknown"]);
    expect(evaluate(deny, callOf("fetch")).denyWhyTrue).toEqual(["mcp-tool-unauthorized"]);
  });

  test("without a lock every tool is unknown, and lists show what a call may do", () => {
    const unbound = compilePolicy([{ allow: { and: [{ mcp_tool_class: "read" }] } }]);
    expect(evaluate(unbound, callOf("fetch")).allowed).toBe(false);
    for (const tool of ["fetch", "note", "new"])
      expect(mayUse(deny, user, { kind: "tool", name: tool })).toBe(evaluate(deny, callOf(tool)).allowed);
  });

  test("other names are problems of the policy", () => {
    expect(parsePolicy([{ deny: { or: [{ mcp_tool_class: "extern" }] } }])).toMatchObject({
      ok: false,
      problems: [{ path: "[0].deny.or[0].mcp_tool_class" }],
    });
  });
});

test("a route's policy and history rules use the classes of its lock", () => {
  const [route] = snapshotFrom(`
    runtime_flags: { mcp: true }
    routes:
      - from: https://mcp.example
        to: http://mcp.internal
        policy:
          - allow: { and: [{ authenticated_user: true }] }
          - deny: { or: [{ mcp_tool_class: destructive }] }
        mcp:
          server:
            tool_lock: { tools: {}, classes: { drop: [destructive], read: [read] } }
            history_rules:
              - { name: few, calls: { or: [{ mcp_tool_class: read }] }, at_most: { count: 1, within: 1m } }
  `).routes;
  expect(["drop", "read"].map((tool) => route && evaluate(route.policy, callOf(tool)).allowed)).toEqual([false, true]);
  const rules = route?.mcp?.kind === "server" ? route.mcp.historyRules : undefined;
  expect(["drop", "read"].map((tool) => rules?.[0] && evaluate(rules[0].calls, callOf(tool)).allowed)).toEqual([
    false,
    true,
  ]);
});

describe("the lock file", () => {
  const tool = (text: string) => {
    const found = toolOf(parseExactJson(text) ?? null);
    if (!found) throw new Error("no tool");
    return found;
  };
  const lockOf = (...items: readonly ReturnType<typeof tool>[]) =>
    formatToolLock(new Map([["https://a.example", { kinds: new Set(["tool" as const]), items }]]));

  test("keeps classes, and rejects unknown ones and variants of a tool with different ones", () => {
    const classified = { ...tool('{"name":"a"}'), classes: ["read", "external"] };
    const text = lockOf(classified);
    const read = parseToolLock(text);
    expect(read.ok && read.servers.get("https://a.example")?.items).toEqual([classified]);
    expect(read.ok && formatToolLock(read.servers)).toBe(text);
    expect(parseToolLock(text.replace('"read"', '"reads"'))).toMatchObject({ ok: false });
    expect(parseToolLock(lockOf(classified, tool('{"name":"a","title":"A"}')))).toMatchObject({ ok: false });
  });

  test("`gateway tools lock` keeps classes of unchanged tools alone, and proposes others from annotations", () => {
    const before = { ...tool('{"name":"a"}'), classes: ["read"] };
    const listed = keepClasses(
      [before, { ...tool('{"name":"b"}'), classes: ["read"] }],
      [
        tool('{"name":"a"}'),
        tool('{"name":"b","annotations":{"readOnlyHint":true,"openWorldHint":false}}'),
        tool('{"name":"c","annotations":{"destructiveHint":false}}'),
        tool('{"name":"d"}'),
      ],
    );
    expect(listed.map(({ classes }) => classes)).toEqual([["read"], undefined, undefined, undefined]);
    expect(proposalsFor(listed)).toEqual([
      'b: ["read"]',
      'c: ["write","external"]',
      'd: ["write","destructive","external"]',
    ]);
  });
});
