/** Approvals and blocks in the console: who sees and decides what, two who decide at once, and what is recorded. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { createMintedTokens } from "../../../runtime/admin-listener/minted-tokens.ts";
import { approvalKey } from "../../../runtime/approvals/approval-records.ts";
import { createApprovals } from "../../../runtime/approvals/approvals.ts";
import type { Approvals } from "../../../runtime/approvals/interfaces.ts";
import type { AdminAction } from "../../../runtime/audit/action-record.ts";
import { approvalsScreen } from "../../../runtime/console/approvals/approvals-screen.ts";
import { objectScreens } from "../../../runtime/console/objects/object-screen.ts";
import { consoleEndpoints } from "../../../runtime/console/console.ts";
import { createConsoleRequests } from "../../../runtime/console/console-requests.ts";
import { compileConsole } from "../../../runtime/features/access/console.ts";
import { readBlocks } from "../../../runtime/identity/block-records.ts";
import type { Principal } from "../../../runtime/identity/principal.ts";
import type { KeptRecord } from "../../../runtime/record-store/record-reader.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import type { UserId } from "../../../runtime/shared/user-id.ts";
import type { Page } from "../../support/scripted-browser.ts";
import { AUTH, benchConfig, startSessionBench, type SessionBench } from "../../support/session-bench.ts";

const APPROVALS = `${AUTH}/.gateway/console/approvals`;
const BLOCKS = `${AUTH}/.gateway/console/blocks`;
const ALICE = "alice@example.com";
const BOB = "bob@example.com";
const HOSTILE = "<img src=x onerror=alert(1)>\u202egnp";

const is = (email: string) => ({ allow: { and: [{ email: { is: email } }] } });
const settings = compileConsole({
  operator: is(ALICE),
  approver: is(ALICE),
  owners: { "team-*": {}, "team-a": { viewer: is(BOB), approver: is(BOB) } },
});

const store = createMemoryStore({ clock: systemClock });
let bench: SessionBench;
let approvals: Approvals;
let actions: AdminAction[] = [];
let kept: readonly KeptRecord[] | "away" = [];
const records = {
  find: () =>
    kept === "away" ? Promise.reject(new Error("away")) : Promise.resolve({ records: kept, isPartial: false }),
};

beforeAll(async () => {
  bench = await startSessionBench({
    store,
    endpoints: ({ session, keys, clock, log }) => {
      const recordAction = (action: AdminAction): void => void actions.push(action);
      const deviceProofs = { addressOf: () => undefined };
      const deps = { ...session, settings, keys, clock, log, recordAction, deviceProofs };
      approvals = createApprovals({ store, keys, revocations: session.revocations, log, clock, recordAction });
      const publishTokens = createMintedTokens({ store, clock });
      const objects = { store, clock, log, revocations: session.revocations, publishTokens, recordAction };
      const screens = [
        approvalsScreen({ approvals, records, identities: session.identities }),
        ...objectScreens(objects),
      ];
      return consoleEndpoints({ ...deps, visits: createConsoleRequests(deps), screens });
    },
  });
});
afterAll(() => bench?.close());
beforeEach(() => {
  actions = [];
  kept = [];
  bench.clock.advance(20_000);
});

interface Asked {
  readonly by?: string;
  readonly routeKey?: string;
  readonly tool?: string;
  readonly approvers?: readonly (readonly string[])[];
  readonly text?: string;
}

/** @returns id of a call that waits */
async function ask({
  by = "u-dave",
  routeKey = "team-a/db",
  tool = "drop",
  approvers = [["admins"]],
  text = "x",
}: Asked) {
  const user = { id: by as UserId, email: `${by}@example.com`, name: by, groups: [], claims: {} };
  const state = await approvals.ask({
    principal: { kind: "grant", user, grantId: "g", clientId: "c1", revocationKeys: [] } as unknown as Principal,
    route: { key: routeKey, name: routeKey, server: "https://mcp.example/db", query: "", to: ["http://127.0.0.1:9"] },
    tool,
    given: `{"arguments":{"text":${JSON.stringify(text)},"n":1.50}}`,
    approvers,
    page: "https://auth.example.com/.gateway/approval",
  });
  if (state.state !== "waiting") throw new Error(state.state);
  return state.id;
}

const stateOf = async (id: string): Promise<unknown> =>
  ((await store.get(approvalKey(id)))?.value as { state: string } | undefined)?.state;

async function open(user: string, url: string) {
  const browser = bench.browser();
  return { browser, page: await browser.signIn(url, user) };
}

describe("approvals", () => {
  it("lists what waits, visibly, and shows what a tool is given to who may decide", async () => {
    const id = await ask({ tool: HOSTILE, text: `${HOSTILE} secret` });
    const { browser, page } = await open(ALICE, APPROVALS);
    expect(page.text).toContain("&#60;img src=x onerror=alert(1)&#62;\\u202egnp");
    // The first one is open next to the list, for its approvers.
    expect(page.text).toContain("\\u202egnp secret");
    expect(page.text).toMatch(/class="split open inbox auto"/);
    expect((await open(BOB, `${APPROVALS}?view=others`)).page.text).not.toContain("secret");
    const one = await browser.open(`${APPROVALS}/${id}`);
    expect(one.text).toContain("1.50");
    expect(one.text).toContain("\\u202egnp secret");
    expect(one.text).not.toContain("<img");
    await approvals.withdraw(id, { user: { id: "u-dave" } } as Principal);
    expect((await browser.open(`${APPROVALS}/${id}`)).text).toMatch(/refused[^]*Back/);
    expect((await browser.open(`${APPROVALS}/${"A".repeat(22)}`)).status).toBe(404);
    expect((await browser.open(`${APPROVALS}/${id}/more`)).status).toBe(404);
  });

  it("is decided once, whoever is faster, and the other one is told", async () => {
    const id = await ask({ text: "twice" });
    const both = await Promise.all([open(ALICE, `${APPROVALS}/${id}`), open(ALICE, `${APPROVALS}/${id}`)]);
    const answers = await Promise.all(
      both.map(({ browser, page }, index) =>
        browser.submit(page, {
          button: index === 0 ? "Approve once" : "Refuse",
          values: { decision: index === 0 ? "approved" : "refused" },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.text).toContain("already decided by alice@example.com.");
    const decided = actions.filter(({ action }) => action !== "console");
    expect(decided).toHaveLength(1);
    expect(await stateOf(id)).toBe(answers[0]?.status === 200 ? "approved" : "refused");
    expect(decided[0]?.target).toBe(`approval ${id} of u-dave: drop on team-a/db`);
  });

  it("is not decided by who asks, nor without the role, nor by others than the policy names", async () => {
    const own = await ask({ by: "u-alice", text: "own" });
    const confirmed = await ask({ by: "u-alice", approvers: [], text: "confirm" });
    const forAdmins = await ask({ text: "admins" });
    const elsewhere = await ask({ routeKey: "team-b/db", approvers: [["sales"]], text: "elsewhere" });
    const cases: readonly (readonly [string, string, number, string])[] = [
      [ALICE, own, 409, "This is your own request"],
      [ALICE, confirmed, 409, "This is your own request"],
      [BOB, forAdmins, 409, "The policy names other approvers"],
      [BOB, elsewhere, 403, "requires the role approver"],
    ];
    for (const [user, id, status, text] of cases) {
      const { browser, page } = await open(user, `${APPROVALS}/${id}`);
      expect(page.text).not.toContain("Approve once");
      expect(page.text).not.toContain("1.50");
      // A form of one's own for another call has the right token.
      const mine = await ask({ approvers: [["sales", "admins"]], text: `mine ${id}` });
      const form = await browser.open(`${APPROVALS}/${mine}`);
      const sent = await browser.submit(form, {
        button: "Approve once",
        values: { request: id, decision: "approved" },
      });
      expect([sent.status, sent.text.includes(text)]).toEqual([status, true]);
      expect(await stateOf(id)).toBe("waiting");
      await approvals.withdraw(mine, { user: { id: "u-dave" } } as Principal);
      bench.clock.advance(20_000);
    }
    expect((await open(BOB, `${APPROVALS}/${elsewhere}`)).page.status).toBe(404);
    expect((await open(BOB, APPROVALS)).page.text).not.toContain("team-b");
  });

  it("is decided by an owner's approver whom the policy names, with a record", async () => {
    const id = await ask({ approvers: [["sales"]], text: "sales" });
    const { browser, page } = await open(BOB, `${APPROVALS}/${id}`);
    const long = await browser.submit(page, {
      button: "Refuse",
      values: { decision: "refused", note: "x".repeat(501) },
    });
    expect([long.status, await stateOf(id)]).toEqual([409, "waiting"]);
    const after = await browser.submit(page, {
      button: "Refuse",
      values: { decision: "refused", note: " already done " },
    });
    expect([after.url, after.text.includes("The call of drop is refused.")]).toEqual([APPROVALS, true]);
    expect(actions.filter(({ action }) => action !== "console")).toMatchObject([
      { action: "refuse", by: "u-bob", before: "waiting", after: "refused", reason: "already done" },
    ]);
    expect((await browser.open(`${APPROVALS}/${id}`)).text).toContain("already done");
  });

  it("says which rule asks for the approval, with the value that met it, and what was before", async () => {
    const policy = `[{ allow: { and: [{ accept: true }] } }, { approve: { and: [{ mcp_tool_argument: { tool: drop, argument: /n, gt: 1 } }] }, approvers: [sales] }]`;
    bench.configure(
      benchConfig(bench.idp.issuer).replace(
        "routes:",
        `routes:\n  - { name: db, from: "https://db.example.com", to: "http://127.0.0.1:9", mcp: { server: {} }, policy: ${policy} }`,
      ),
    );
    const id = await ask({ routeKey: "default/db", text: "why" });
    const target = `approval x of u-dave: drop on default/db`;
    kept = [
      { id: "d1", timeMs: 2, kind: "decision", outcome: "allowed", value: {} },
      {
        id: "a1",
        timeMs: 1,
        kind: "action",
        outcome: "allowed",
        value: { action: "refuse", by: "u-bob", target, reason: "twice" },
      },
    ];
    const { page } = await open(ALICE, `${APPROVALS}/${id}`);
    expect(page.text).toContain("Rule 1: n 1.5 is above 1.");
    expect(page.text).toMatch(/class="rule decides warn" open/);
    expect(page.text).toContain("Of the last 1 calls of this tool by this user, 1 were allowed.");
    expect(page.text).toMatch(/Refused[^]*by <bdi>u-bob<[^]*<q><bdi>twice</);
  });

  it("lists what was decided, of one's owners alone, and says when nobody can tell", async () => {
    const record = (action: string, target: string): KeptRecord => ({
      id: target,
      timeMs: 1,
      kind: "action",
      outcome: "allowed",
      value: { action, by: "u-alice", target },
    });
    kept = [
      record("approve", "approval x of u-dave: a on team-b/x on team-a/db"),
      record("refuse", "approval y of u-dave: b on team-b/db"),
      record("publish", "slice team-a"),
    ];
    expect((await open(ALICE, `${APPROVALS}?view=decided`)).page.text).toMatch(/approval x of[^]*approval y of/);
    const { page } = await open(BOB, `${APPROVALS}?view=decided`);
    expect(page.text).toContain("approval x of");
    expect(page.text).not.toContain("approval y of");
    kept = "away";
    expect((await open(BOB, `${APPROVALS}?view=decided`)).page.text).toContain("The record store is unavailable");
  });
});

describe("blocks", () => {
  const tokenIn = ({ text }: Page): string => /name="csrf_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const fill = { kind: "tool", name: "drop", route: "team-a/db", until: "2h", reason: "it drops" };

  it("are made and lifted by an operator, with reason, end and records", async () => {
    const { browser, page } = await open(ALICE, `${BLOCKS}/new?kind=tool&name=drop`);
    const after = await browser.submit(page, { button: "Block", values: fill });
    expect([after.url, after.text.includes("Blocked: tool &#34;drop&#34; on route &#34;team-a/db&#34;.")]).toEqual([
      BLOCKS,
      true,
    ]);
    const { blocks } = await readBlocks(store);
    expect(blocks).toMatchObject([{ kind: "tool", name: "drop", route: "team-a/db", by: ALICE, reason: "it drops" }]);
    const lifting = await browser.open(`${BLOCKS}/lift?kind=tool&name=drop&route=team-a%2Fdb`);
    const lifted = await browser.submit(lifting, { button: "Unblock", values: { reason: "mended" } });
    expect(lifted.text).toContain("No longer blocked");
    expect((await readBlocks(store)).blocks).toEqual([]);
    const target = 'tool "drop" on route "team-a/db"';
    expect(actions).toMatchObject([
      { action: "block", by: "u-alice", target, before: null, reason: "it drops" },
      { action: "unblock", by: "u-alice", target, after: null, reason: "mended" },
    ]);
    expect(actions[1]?.before).toBe(actions[0]?.after);
    const again = await browser.submit(lifting, { button: "Unblock", values: { reason: "again" } });
    expect([again.status, again.text.includes("is no longer blocked")]).toEqual([409, true]);
  });

  it.each([
    [{ kind: "planet" }, "must be one of user"],
    [{ name: "a\u0007" }, "without control characters"],
    [{ route: "nowhere" }, "must be a route"],
    [{ until: "yesterday" }, "must be in the future"],
    [{ reason: " " }, "a reason must be given"],
    [{ kind: "user" }, "is only for tools"],
  ])("are refused with %j", async (wrong, problem) => {
    const { browser, page } = await open(ALICE, `${BLOCKS}/new`);
    const sent = await browser.submit(page, { button: "Block", values: { ...fill, ...wrong } });
    expect([sent.status, sent.text.includes(problem)]).toEqual([409, true]);
    expect((await readBlocks(store)).blocks).toEqual([]);
  });

  it("are seen by a viewer as far as they are the owner's, and not changed", async () => {
    const { browser, page } = await open(ALICE, `${BLOCKS}/new`);
    await browser.submit(page, { button: "Block", values: { ...fill, name: HOSTILE, reason: HOSTILE } });
    const form = await browser.open(`${BLOCKS}/new`);
    await browser.submit(form, { button: "Block", values: { ...fill, kind: "user", name: "mallory", route: "" } });
    const found = await browser.open(`${BLOCKS}?kind=user&text=MALL`);
    expect(found.text).toContain("mallory");
    expect(found.text).not.toContain("&#60;img");
    const bob = await open(BOB, BLOCKS);
    expect(bob.page.text).toContain("&#60;img src=x onerror=alert(1)&#62;\\u202egnp");
    expect(bob.page.text).not.toMatch(/mallory|New block|\/lift\?/);
    expect((await bob.browser.open(`${BLOCKS}/new`)).status).toBe(404);
    expect((await bob.browser.open(`${BLOCKS}/lift?kind=user&name=mallory`)).status).toBe(404);
    // Another person's token is none.
    const body = new URLSearchParams({ ...fill, action: "block", csrf_token: tokenIn(form) }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const forged = await bob.browser.open(`${BLOCKS}/new`, { method: "POST", body, headers, from: BLOCKS });
    expect(forged.status).toBe(403);
    expect((await readBlocks(store)).blocks).toHaveLength(2);
  });
});
