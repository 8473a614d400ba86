/** Retries of calls that wait for an approval: how long they are held, and what lets them go. */
import { request } from "node:http";

import { afterEach, beforeEach, expect, test } from "vitest";

import { createApprovals } from "../../../runtime/approvals/approvals.ts";
import type { Approvals } from "../../../runtime/approvals/interfaces.ts";
import { MemoryHistory } from "../../../runtime/limits/history/memory-history.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock, type Clock } from "../../../runtime/shared/clock.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { modernHeaders, modernMeta } from "../../support/mcp.ts";
import { createTestClock } from "../../support/clock.ts";
import { startPipeline, testPrincipal, type Pipeline } from "../../support/pipeline.ts";
import { startEchoUpstream, type EchoUpstream } from "../../support/echo-upstream.ts";

let upstream: EchoUpstream;
let pipeline: Pipeline;
let approvals: Approvals;
/** Ends when the last one that was held is let go. */
let lastHeld: Promise<void>;
/** Resolves once so many calls have been held. */
let whenHeld: (count: number) => Promise<void>;

async function start(
  approvalHoldMs?: number,
  clock: Clock = systemClock,
  yaml = configured("{ approve: { and: [{ mcp_tool: write }] } }"),
): Promise<void> {
  const store = createMemoryStore({ clock: systemClock });
  const real = createApprovals({
    store,
    keys: createKeys([Buffer.alloc(32, 7)]),
    revocations: { isRevoked: () => false },
    log: silentLog(),
    clock: systemClock,
  });
  let held = 0;
  let wake = (): unknown => undefined;
  whenHeld = (count) =>
    new Promise<void>((resolve) => {
      wake = () => held >= count && resolve();
      wake();
    });
  const wait = real.wait.bind(real);
  approvals = Object.assign(real, {
    wait(...of: Parameters<typeof wait>) {
      const waiting = wait(...of);
      lastHeld = waiting;
      held += 1;
      wake();
      return waiting;
    },
  });
  pipeline = await startPipeline(yaml, {
    approvals,
    history: new MemoryHistory(),
    clock,
    ...(approvalHoldMs !== undefined && { approvalHoldMs }),
  });
}

const configured = (rule: string, name = "mcp", server = ""): string => `
runtime_flags: { mcp: true }
authenticate_service_url: https://auth.example
idp_provider_url: https://idp.example
idp_client_id: gateway
idp_client_secret: secret
routes:
  - name: ${name}
    from: https://${name}.example
    to: ${upstream.origin}
    mcp: { server: {${server}} }
    policy: [{ allow: { and: [{ domain: example.com }] } }${rule && `, ${rule}`}]
`;

beforeEach(async () => {
  upstream = await startEchoUpstream();
});

afterEach(async () => {
  await pipeline?.close();
  await upstream?.close();
});

interface Reply {
  readonly result?: { readonly resultType?: string; readonly requestState?: string; readonly inputRequests?: object };
}

function call(requestState?: string, signal?: AbortSignal, name = "write"): Promise<Reply> {
  const meta = { ...modernMeta(), "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } } };
  const retry = requestState === undefined ? {} : { requestState, inputResponses: { approval: { action: "accept" } } };
  const params = { _meta: meta, name, arguments: { n: 1 }, ...retry };
  const headers = [...modernHeaders("tools/call", name), "Host", "mcp.example", "Authorization", "Bearer gwt_alice"];
  return new Promise((resolve, reject) => {
    const options = { port: pipeline.port, method: "POST", headers, ...(signal && { signal }) };
    const sent = request(options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as Reply));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  });
}

const alice = testPrincipal("alice", 0);
const idOf = async (): Promise<string> =>
  (await approvals.listWaiting("alice"))[0]?.key.slice("approval:".length) ?? "";

test("a user who waited long enough retries, and is not asked a second time", async () => {
  await start(1);
  const first = await call();
  expect(first.result).toMatchObject({ resultType: "input_required", inputRequests: { approval: {} } });
  const { result } = await call(first.result?.requestState);
  expect([result?.resultType, result?.inputRequests]).toEqual(["input_required", undefined]);
  expect(await approvals.decide(await idOf(), alice, "approved")).toBe(true);
  expect((await call(result?.requestState)).result).toEqual({});
  const [seen] = upstream.seen;
  expect(upstream.seen).toHaveLength(1);
  // The request state between gateway and client does not reach the upstream.
  expect(JSON.parse(seen?.body ?? "")).toMatchObject({ id: 1, params: { name: "write", arguments: { n: 1 } } });
  expect(seen?.body).not.toMatch(/requestState|inputResponses/);
});

test("a call is held for a history rule that lets its user confirm it, and runs once", async () => {
  const rule =
    "{ name: no-leaks, calls: { or: [{ mcp_tool: write }] }, not_after: { calls: { or: [{ mcp_tool: browse }] }, within: 1h, unless_approved: true } }";
  await start(3_600_000, systemClock, configured("", "mcp", ` history_rules: [${rule}] `));
  expect((await call()).result).toEqual({});
  expect((await call(undefined, undefined, "browse")).result).toEqual({});
  const first = await call();
  expect(first.result).toMatchObject({ resultType: "input_required", inputRequests: { approval: {} } });
  const held = call(first.result?.requestState);
  await whenHeld(1);
  expect(upstream.seen).toHaveLength(2);
  expect(await approvals.decide(await idOf(), alice, "approved")).toBe(true);
  expect((await held).result).toEqual({});
  expect(upstream.seen).toHaveLength(3);
  expect((await call()).result?.resultType).toBe("input_required");
});

test("rejected parallel retries of an approved call do not count for a history rule", async () => {
  const rule = "{ name: two, calls: { or: [{ mcp_tool: write }] }, at_most: { count: 2, within: 1h } }";
  await start(
    3_600_000,
    systemClock,
    configured("{ approve: { and: [{ mcp_tool: write }] } }", "mcp", ` history_rules: [${rule}] `),
  );
  for (const made of [1, 2]) {
    const first = await call();
    expect(first.result).toMatchObject({ resultType: "input_required" });
    const retries = Array.from({ length: 5 }, () => call(first.result?.requestState));
    await whenHeld(5 * made);
    expect(await approvals.decide(await idOf(), alice, "approved")).toBe(true);
    await Promise.all(retries);
    expect(upstream.seen).toHaveLength(made);
  }
});

test("our request state never reaches the upstream, even when the rule that asked is gone", async () => {
  await start();
  const first = await call();
  pipeline.swap(configured("{ deny: { and: [{ mcp_tool: other }] } }"));
  expect((await call(first.result?.requestState)).result).toEqual({});
  expect(upstream.seen).toHaveLength(1);
  expect(upstream.seen[0]?.body).not.toMatch(/requestState|inputResponses/);
});

test("a call that waits for its approval is made although its token expires meanwhile", async () => {
  const clock = createTestClock(Date.now());
  await start(undefined, clock);
  const first = await call();
  const held = call(first.result?.requestState);
  await whenHeld(1);
  clock.advance(3_601_000);
  expect(await approvals.decide(await idOf(), alice, "approved")).toBe(true);
  expect((await held).result).toEqual({});
  expect(upstream.seen).toHaveLength(1);
});

test.each<[string, () => void, object]>([
  ["a revocation", () => pipeline.revocations.revokeNow("session:session-alice"), { error: "unauthorized" }],
  ["the end of its route", () => pipeline.swap(configured("", "other")), { result: { resultType: "input_required" } }],
])("a held call is answered at once after %s", async (_, end, reply) => {
  await start(3_600_000);
  const first = await call();
  const held = call(first.result?.requestState);
  await whenHeld(1);
  end();
  expect(await held).toMatchObject(reply);
  expect(upstream.seen).toEqual([]);
});

test("no call is held while the process stops", async () => {
  await start();
  const first = await call();
  const held = call(first.result?.requestState);
  await whenHeld(1);
  pipeline.proxy.drain();
  expect((await held).result?.resultType).toBe("input_required");
  expect((await call(first.result?.requestState)).result?.resultType).toBe("input_required");
});

test("a client that leaves while it is held consumes no approval", async () => {
  await start();
  const first = await call();
  const gone = new AbortController();
  const held = call(first.result?.requestState, gone.signal).catch(() => "gone");
  await whenHeld(1);
  gone.abort();
  expect(await held).toBe("gone");
  // The gateway has seen it, too.
  await lastHeld;
  expect(await approvals.decide(await idOf(), alice, "approved")).toBe(true);
  expect((await call(first.result?.requestState)).result).toEqual({});
  expect(upstream.seen).toHaveLength(1);
});

test("holds a limited number of one user's calls; one decision releases all, and one of them goes upstream", async () => {
  await start();
  const first = await call();
  const held = Array.from({ length: 16 }, () => call(first.result?.requestState));
  await whenHeld(16);
  expect((await call(first.result?.requestState)).result?.resultType).toBe("input_required");
  expect(await approvals.decide(await idOf(), alice, "approved")).toBe(true);
  const results = (await Promise.all(held)).map(({ result }) => result?.resultType ?? (result ? "complete" : "error"));
  expect(results.filter((each) => each === "complete")).toHaveLength(1);
  expect(upstream.seen).toHaveLength(1);
});
