import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { createKeys } from "../../../runtime/shared/keys.ts";
import { createMcpSessions } from "../../../runtime/mcp/mcp-sessions.ts";
import type { SessionBinding } from "../../../runtime/mcp/mcp-sessions.ts";

const secret = Buffer.alloc(32, 1);
const sessions = createMcpSessions({ keys: createKeys([secret]) });
const binding: SessionBinding = { userId: "user-1", clientId: "client-1", route: "acme/github" };

function sealed(id: string, to: SessionBinding = binding): string {
  const text = sessions.seal(id, to);
  if (text === undefined) throw new Error("not sealed");
  return text;
}

describe("createMcpSessions()", () => {
  test("opens what it sealed, and the sealed id is visible ASCII that hides the upstream's", () => {
    const text = sealed("upstream-session-42");
    expect(text).toMatch(/^[\x21-\x7e]+$/);
    expect(text).not.toContain("upstream");
    expect(sessions.open(text, binding)).toBe("upstream-session-42");
  });

  test.each<[string, SessionBinding]>([
    ["another user", { ...binding, userId: "user-2" }],
    ["another client", { ...binding, clientId: "client-2" }],
    ["no client", { ...binding, clientId: "" }],
    ["another route", { ...binding, route: "acme/gitlab" }],
    ["parts that run together", { userId: 'user-1","client-1', clientId: "", route: "acme/github" }],
  ])("does not open for %s", (_, other) => {
    expect(sessions.open(sealed("s"), other)).toBeUndefined();
  });

  test("opens on another replica and after a key rotation, not under foreign keys", () => {
    const text = sealed("s");
    const next = Buffer.alloc(32, 2);
    expect(createMcpSessions({ keys: createKeys([secret]) }).open(text, binding)).toBe("s");
    expect(createMcpSessions({ keys: createKeys([next, secret]) }).open(text, binding)).toBe("s");
    expect(createMcpSessions({ keys: createKeys([next]) }).open(text, binding)).toBeUndefined();
  });

  test("a seal for another purpose does not open", () => {
    const other = createKeys([secret]).sealer("external-token");
    expect(
      sessions.open(other.seal("s", JSON.stringify(["user-1", "client-1", "acme/github"])), binding),
    ).toBeUndefined();
  });

  test("whatever a client sends: nothing opens, nothing throws", () => {
    fc.assert(fc.property(fc.string(), (text) => sessions.open(text, binding) === undefined));
    const good = sealed("s");
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.constantFrom("A", "_", "=", " ", "é"), (at, letter) => {
        const changed = good.slice(0, at) + letter + good.slice(at + 1);
        if (changed !== good) expect(sessions.open(changed, binding)).toBeUndefined();
      }),
    );
    expect(sessions.open("", binding)).toBeUndefined();
    expect(sessions.open(`${good}, ${good}`, binding)).toBeUndefined();
    expect(sessions.open("A".repeat(1_000_000), binding)).toBeUndefined();
  });

  test("the same session keeps the text that the client already has", () => {
    const first = sealed("s");
    expect(sessions.seal("s", binding, first)).toBe(first);
    const renewed = sessions.seal("t", binding, first);
    expect(renewed).not.toBe(first);
    expect(sessions.open(renewed ?? "", binding)).toBe("t");
    expect(sessions.seal("s", binding, "foreign")).not.toBe("foreign");
  });

  test.each(["", "a b", "a\r\nset-cookie: x", "é", "\u0000", "x".repeat(1025)])(
    "an upstream id that no client accepts is not sealed: %j",
    (id) => {
      expect(sessions.seal(id, binding)).toBeUndefined();
    },
  );

  test("the longest id that is sealed also opens", () => {
    expect(sessions.open(sealed("x".repeat(1024)), binding)).toBe("x".repeat(1024));
  });
});
