/** What approvals promise over every store, with two processes at it. */
import { beforeEach, describe, expect, test } from "vitest";

import type { GatewayEvent } from "../../runtime/audit/events.ts";
import { createApprovals, MOST_WAITING, MOST_WAITING_BY_CLIENT } from "../../runtime/approvals/approvals.ts";
import type { Approvals, ApprovalState, AskedCall } from "../../runtime/approvals/interfaces.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import type { Store } from "../../runtime/store/store.ts";
import { testPrincipal } from "../support/pipeline.ts";

/** @param world two handles on the same data, and the clock of expiry in epoch seconds */
export function approvalContract(
  world: () => { readonly stores: readonly [Store, Store]; readonly now: () => number },
): void {
  const told: GatewayEvent[] = [];
  const open = (store: Store): Approvals =>
    createApprovals({
      notify: (event) => void told.push(event),
      store: withFormats(store, recordFormats),
      keys: createKeys([Buffer.alloc(32, 7)]),
      revocations: { isRevoked: () => false },
      log: silentLog(),
      clock: { now: () => world().now() * 1000 },
    });
  const both = (): readonly [Approvals, Approvals] => {
    const [one, other] = world().stores;
    return [open(one), open(other)];
  };
  const principal = (clientId: string) =>
    testPrincipal("alice", world().now() + 3600, { kind: "grant", clientId, grantId: `grant-${clientId}` });
  const call = (given = '{"arguments":{"n":1}}', clientId = "client"): AskedCall => ({
    principal: principal(clientId),
    route: { key: "tools", name: "tools", server: "https://tools.example/mcp", query: "", to: ["http://127.0.0.1:1"] },
    tool: "write",
    given,
    approvers: [],
    page: "https://auth.example/.gateway/approval",
  });
  const idOf = (state: ApprovalState): string => ("id" in state ? state.id : state.state);
  const approved = async (approvals: Approvals): Promise<Extract<ApprovalState, { state: "approved" }>> => {
    const state = await approvals.ask(call());
    expect(await approvals.decide(idOf(state), principal("browser"), "approved")).toBe(true);
    const now = await approvals.ask(call());
    if (now.state !== "approved") throw new Error(`it is ${now.state}`);
    return now;
  };

  describe("approvals", () => {
    beforeEach(() => void told.splice(0));

    test("one call that comes to two processes at once asks for one approval", async () => {
      const [one, other] = both();
      const states = await Promise.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).ask(call())),
      );
      expect(new Set(states.map(idOf)).size).toBe(1);
      expect(await one.listWaiting("alice")).toHaveLength(1);
      // Others are told once, and nothing of what the tool is given.
      const page = `https://auth.example/.gateway/approval?request=${states.map(idOf)[0]}`;
      const data = { page, route: "tools", tool: "write", requested_by: "alice@example.com", approvers: [] };
      expect(told).toEqual([{ type: "approval.waiting", subject: states.map(idOf)[0], data }]);
    });

    test("of 20 uses at once in two processes exactly one goes on, and the next call asks anew", async () => {
      const [one, other] = both();
      const { id } = await approved(one);
      const uses = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const at = index % 2 === 0 ? one : other;
          const state = await at.ask(call());
          return state.state === "approved" && (await at.use(state.found));
        }),
      );
      expect(uses.filter((used) => used)).toHaveLength(1);
      const found = await other.find(id);
      expect([found?.value.state, found?.value.outcome]).toEqual(["used", "unknown"]);
      const again = await other.ask(call());
      expect([again.state, idOf(again) === id]).toEqual(["waiting", false]);
      expect((await one.find(idOf(again)))?.value.afterUnknown).toBe(true);
      await one.answered(id);
      expect((await other.find(id))?.value.outcome).toBe("answered");
      expect(await other.decide(idOf(again), principal("browser"), "refused")).toBe(true);
    });

    test("of two decisions at once one counts", async () => {
      const [one, other] = both();
      const id = idOf(await one.ask(call()));
      const decided = await Promise.all([
        one.decide(id, principal("browser"), "approved"),
        other.decide(id, principal("browser"), "refused"),
      ]);
      expect(decided.filter((counts) => counts)).toHaveLength(1);
      expect((await one.ask(call())).state).toBe(decided[0] ? "approved" : "refused");
    });

    test("who waits goes on when another process has decided, and when the time is over", async () => {
      const [one, other] = both();
      const id = idOf(await one.ask(call()));
      const still = new AbortController();
      await one.wait(id, 1, still.signal);
      expect((await one.find(id))?.value.state).toBe("waiting");
      // Would end after a minute: longer than the test may take.
      const waiting = one.wait(id, 60_000, still.signal);
      expect(await other.decide(id, principal("browser"), "approved")).toBe(true);
      await waiting;
      expect((await one.ask(call())).state).toBe("approved");
      const gone = new AbortController();
      const second = idOf(await one.ask(call('{"arguments":{"n":2}}')));
      const left = one.wait(second, 60_000, gone.signal);
      gone.abort();
      await left;
    });

    test("so many wait and no more, and what is given stands nowhere in the clear", async () => {
      const [one] = both();
      const asked = async (client: string, count: number): Promise<readonly string[]> => {
        const states: string[] = [];
        for (let index = 0; index < count; index += 1)
          states.push((await one.ask(call(`{"arguments":{"secret":"hunter${index}"}}`, client))).state);
        return states;
      };
      const first = await asked("a", MOST_WAITING_BY_CLIENT + 2);
      expect(first.filter((state) => state === "waiting")).toHaveLength(MOST_WAITING_BY_CLIENT);
      expect(first.slice(-2)).toEqual(["too-many", "too-many"]);
      await asked("b", MOST_WAITING_BY_CLIENT);
      expect(await asked("c", 1)).toEqual(["too-many"]);
      const waiting = await one.listWaiting("alice");
      expect(waiting).toHaveLength(MOST_WAITING);
      expect(JSON.stringify(waiting)).not.toContain("hunter");
      expect(waiting.map((found) => one.given(found))).toContain('{"arguments":{"secret":"hunter0"}}');
    });
  });
}
