/** Approvals against askers, clients and tools that mean harm. */
import { beforeEach, describe, expect, test } from "vitest";

import { createApprovals, MAX_GIVEN, MOST_WAITING } from "../../runtime/approvals/approvals.ts";
import type { ApprovalState, Approvals, AskedCall } from "../../runtime/approvals/interfaces.ts";
import { showCall } from "../../runtime/approvals/show-call.ts";
import type { Principal } from "../../runtime/identity/principal.ts";
import { Streams } from "../../runtime/proxy/forwarding/streams.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { snapshotFrom } from "../support/config.ts";
import { createTestRevocations, testPrincipal, type TestRevocations } from "../support/pipeline.ts";
import { userId } from "../support/users.ts";

let clock: TestClock;
let revocations: TestRevocations;
let approvals: Approvals;

beforeEach(() => {
  clock = createTestClock();
  revocations = createTestRevocations();
  const keys = createKeys([Buffer.alloc(32, 7)]);
  approvals = createApprovals({ store: createMemoryStore({ clock }), keys, revocations, log: silentLog(), clock });
});

const person = (name: string, overrides: Partial<Principal> = {}): Principal =>
  testPrincipal(name, Number.MAX_SAFE_INTEGER, overrides);
const route = {
  key: "tools",
  name: "tools",
  server: "https://tools.example/mcp",
  query: "",
  to: ["http://127.0.0.1:1"],
};
const call = (overrides: Partial<AskedCall> = {}): AskedCall => ({
  principal: person("alice"),
  route,
  tool: "write",
  given: '{"arguments":{"n":1}}',
  approvers: [],
  page: "https://auth.example/.gateway/approval",
  ...overrides,
});
const idOf = (state: ApprovalState): string => ("id" in state ? state.id : state.state);

describe("approvers", () => {
  test("are never users with the caller's email address, from any provider", async () => {
    const asked = idOf(await approvals.ask(call({ approvers: [["admins"]] })));
    const twin = (email: string): Principal => {
      const found = person("alice");
      return { ...found, user: { ...found.user, id: userId("alice", "partner"), email } };
    };
    expect(await approvals.decide(asked, twin("ALICE@Example.com"), "approved")).toBe(false);
    expect(await approvals.decide(asked, twin("carol@example.com"), "approved")).toBe(true);
  });
});

test("the approver of a call is recorded for the audit", async () => {
  const recorded: unknown[] = [];
  const own = createApprovals({
    store: createMemoryStore({ clock }),
    keys: createKeys([Buffer.alloc(32, 7)]),
    revocations,
    log: silentLog(),
    clock,
    recordAction: (action) => recorded.push(action),
  });
  const asked = idOf(await own.ask(call({ approvers: [["admins"]] })));
  await own.decide(asked, person("bob"), "approved");
  expect(recorded).toEqual([]);
  const found = person("carol");
  await own.decide(asked, { ...found, user: { ...found.user, groups: ["admins"] } }, "approved");
  const target = `approval ${asked} of ${userId("alice")}: write on tools`;
  expect(recorded).toEqual([{ action: "approve", by: userId("carol"), target, before: "waiting", after: "approved" }]);
});

describe("an approval", () => {
  test("is for the server that the route led to", async () => {
    const asked = idOf(await approvals.ask(call()));
    await approvals.decide(asked, person("alice"), "approved");
    for (const changed of [
      { to: ["http://127.0.0.1:2"] },
      { server: "https://other.example/mcp" },
      { query: "?tenant=live" },
    ]) {
      const state = await approvals.ask(call({ route: { ...route, ...changed } }));
      expect([state.state, idOf(state) === asked]).toEqual(["waiting", false]);
    }
    expect((await approvals.ask(call())).state).toBe("approved");
  });

  test("is requested with readable names and arguments", async () => {
    const given = '{"arguments":{}}';
    expect(await approvals.ask(call({ given, tool: "t".repeat(MAX_GIVEN) }))).toEqual({ state: "too-long" });
  });
});

describe("a caller that requests and withdraws endlessly", () => {
  test("does not block other callers", async () => {
    const states: string[] = [];
    for (let index = 0; index < 1_100; index += 1) {
      const state = await approvals.ask(call({ given: `{"arguments":${index}}` }));
      states.push(state.state);
      if (state.state === "waiting") await approvals.withdraw(state.id, person("alice"));
    }
    expect(states.at(-1)).toBe("too-many");
    expect((await approvals.ask(call({ principal: person("bob") }))).state).toBe("waiting");
    clock.advance(120_000);
    expect((await approvals.ask(call({ given: "{}" }))).state).toBe("waiting");
  });

  test("can request again immediately after a sign-out, whose calls are dropped", async () => {
    for (let index = 0; index < MOST_WAITING; index += 1) {
      const principal = person("alice", {
        kind: "grant",
        clientId: `client-${index}`,
        revocationKeys: ["session:old"],
      });
      await approvals.ask(call({ principal }));
    }
    expect((await approvals.ask(call())).state).toBe("too-many");
    revocations.revokeNow("session:old");
    expect((await approvals.ask(call())).state).toBe("waiting");
  });
});

describe("the page", () => {
  const shown = (value: unknown): string =>
    (showCall(JSON.stringify({ arguments: value })).arguments ?? []).map(({ text }) => text).join("");

  test("shows marks that would cover other lines, and spaces that would move text away", () => {
    const tower = "\u0335".repeat(12);
    expect(shown({ note: `a${tower}` })).toContain(`a${"\\u0335".repeat(12)}`);
    expect(shown({ note: `a${" ".repeat(40)}b` })).toContain(`a${"\\u0020".repeat(40)}b`);
    expect(shown([`\u0301`])).toContain('"\\u0301"');
    // As people write: three marks on one letter, and indented code.
    const written = `o\u0302\u0323\u0301 if (x) {\n        y`;
    expect(shown(written)).toBe(JSON.stringify(written));
  });

  test("shows members that objects have by themselves", () => {
    const given = '{"__proto__":{"x":1.0},"arguments":{"__proto__":{"y":-0},"constructor":1e400}}';
    const { arguments: pieces = [], others } = showCall(given);
    expect(
      pieces
        .map(({ text }) => text)
        .join("")
        .replace(/\s+/g, ""),
    ).toBe('{"__proto__":{"y":-0},"constructor":1e400}');
    expect(others.map(({ name }) => name)).toEqual(["__proto__"]);
  });
});

describe("a reload during an approved call", () => {
  const config = (rule: string) =>
    snapshotFrom(
      `idp_provider_url: https://idp.example
idp_client_id: gateway
idp_client_secret: secret
runtime_flags: { mcp: true }
authenticate_service_url: https://auth.example
routes: [{ name: a, from: "https://a.example", to: "http://127.0.0.1:1", mcp: { server: {} }, policy: [{ allow: { and: [{ domain: { is: example.com } }] } }, ${rule}] }]`,
    );
  const writes = "approve: { and: [{ mcp_tool: { is: write } }] }";

  test("continues it if the approvers stay the same, and ends it if they change or disappear", () => {
    const before = config(`{ ${writes} }`);
    const isEnded = (rule: string, approvers?: readonly (readonly string[])[]): boolean => {
      let isOver = false;
      const streams = new Streams({ revocations, clock });
      const principal = person("alice");
      streams.add({
        routeKey: before.routes[0]?.key ?? "",
        snapshot: before,
        principal,
        facts: {
          user: principal.user,
          http: { method: "POST", path: "/", host: "a.example", ip: "127.0.0.1" },
          mcp: { method: "tools/call", tool: "write" },
        },
        approvers,
        isEndless: false,
        endsWithCredential: false,
        end: () => (isOver = true),
      });
      streams.reconsider(config(rule));
      const ended = isOver;
      streams.close();
      return ended;
    };
    expect(isEnded(`{ ${writes} }`, [])).toBe(false);
    expect(isEnded(`{ deny: { and: [{ mcp_tool: { is: other } }] } }`, [])).toBe(false);
    expect(isEnded(`{ ${writes}, approvers: [admins] }`, [])).toBe(true);
    expect(isEnded(`{ ${writes} }`)).toBe(true);
    expect(isEnded(`{ deny: { and: [{ mcp_tool: { is: write } }] } }`, [])).toBe(true);
  });
});
