/**
 * History rules over two replicas on one PostgreSQL (SQLite if there is no server): what users who want to get around a
 * rule can change, calls at the same time, and a replica that is killed between its permit and the outcome.
 */
import { randomUUID } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { type Answer, createSend } from "../support/browser.ts";
import { clientProof, signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { findPostgres, startPostgres, type Postgres } from "../support/postgres.ts";
import { runGateway, type RunningGateway } from "../support/run-gateway.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

const found = findPostgres();
let postgres: Postgres | undefined;
let directory: string;
let upstream: Server;
let world: SignInGateway;
let origin: string;
/** Replica in a process of its own. */
let other: RunningGateway;
/** Responses that the upstream holds back, of the tools in `isHeld`. */
const held: ServerResponse[] = [];
let isHeld = false;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-history-"));
  [postgres, upstream] = await Promise.all([
    "missing" in found ? undefined : startPostgres(found.bin),
    startUpstream(),
  ]);
  const boot = { storage_url: postgres?.url ?? `sqlite:${join(directory, "gateway.db")}` };
  world = await startSignInGateway({ boot, yaml: settings() });
  ({ origin } = world.gateway);
  other = await runGateway({ boot, yaml: world.withProvider(settings()).replaceAll("{origin}", origin) });
});

afterAll(async () => {
  for (const each of held) each.destroy();
  await other?.close();
  await world?.close();
  upstream?.close();
  await postgres?.close();
  await rm(directory, { recursive: true, force: true });
});

async function startUpstream(): Promise<Server> {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const { id, method } = JSON.parse(text) as { id: unknown; method: string };
      response.setHeader("content-type", "application/json");
      if (method === "initialize") response.setHeader("mcp-session-id", randomUUID());
      if (isHeld) held.push(response);
      else response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function settings(): string {
  const { port } = upstream.address() as AddressInfo;
  const rule = (name: string, tool: string, effect: string): string =>
    `          - { name: ${name}, calls: { or: [{ mcp_tool: ${tool} }] }, ${effect} }`;
  return `
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: "http://127.0.0.1:${port}"
    policy: { allow: { and: [authenticated_user: true] } }
    mcp:
      server:
        history_rules:
${rule("reviewed", "publish", "after: { calls: { or: [{ mcp_tool: review }] }, within: 1h }")}
${rule("no-leaks", "send", "not_after: { calls: { or: [{ mcp_tool: browse }] }, within: 1h }")}
${rule("refunds", "refund", 'total: { argument: /amount, limit: "10", within: 1h }')}
${rule("few", "search", "at_most: { count: 5, within: 1h }")}
${rule("many", "look", "at_most: { count: 40, within: 1h }")}
`;
}

type At = "here" | "there";
const signIn = (user: string): Promise<SignedInClient> => signInClient({ resource: `${origin}/tools`, user });

function post(token: string, at: At, message: object, session?: string): Promise<Answer> {
  const via = at === "here" ? world.gateway.port : Number(new URL(other.origin).port);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(session !== undefined && { "mcp-session-id": session }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  return createSend({ via })({ method: "POST", url: `${origin}/tools`, headers, body });
}

/** @returns reason of the denial; "" if the call was permitted */
async function call(token: string, at: At, tool: string, given: object = {}, session?: string): Promise<string> {
  const answer = await post(token, at, { method: "tools/call", params: { name: tool, arguments: given } }, session);
  expect(answer.status, answer.text).toBe(200);
  const { error } = answer.json() as { error?: { data: { reason: string } } };
  return error?.data.reason ?? "";
}

/** ID of a new MCP session. */
async function initialize(token: string, at: At): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const { headers } = await post(token, at, { method: "initialize", params });
  return headers["mcp-session-id"] ?? "";
}

test("neither a new session, client, token, sign-in nor replica resets the rules of a user", async () => {
  const first = await signIn("alice@example.com");
  expect(
    await call(first.tokens.access_token, "here", "browse", {}, await initialize(first.tokens.access_token, "here")),
  ).toBe("");
  expect(await call(first.tokens.access_token, "here", "refund", { amount: 6 })).toBe("");
  const stopped = async ({ tokens }: SignedInClient): Promise<void> => {
    for (const at of ["here", "there"] as const) {
      const session = await initialize(tokens.access_token, at);
      expect(await call(tokens.access_token, at, "send", {}, session)).toBe("history-not-after");
      expect(await call(tokens.access_token, at, "refund", { amount: 4.1 })).toBe("history-total");
    }
  };
  await first.refresh();
  await stopped(first);
  const proof = clientProof(first.registration);
  expect((await first.oauth.sendRevocation({ token: first.tokens.refresh_token ?? "", ...proof })).status).toBe(200);
  const again = await signIn("alice@example.com");
  expect(again.registration.client_id).not.toBe(first.registration.client_id);
  await stopped(again);
  expect(await call(again.tokens.access_token, "there", "refund", { amount: 4 })).toBe("");
});

test("parallel calls at both replicas exceed no total and no small limit, and a larger one by the stated excess at most", async () => {
  const { tokens } = await signIn("bob@example.com");
  const permitted = async (count: number, tool: string, given?: object): Promise<number> => {
    const all = Array.from({ length: count }, (_, at) =>
      call(tokens.access_token, at % 2 === 0 ? "here" : "there", tool, given),
    );
    const reasons = await Promise.all(all);
    expect(new Set(reasons).size).toBe(2);
    return reasons.filter((reason) => reason === "").length;
  };
  expect(await permitted(50, "refund", { amount: 0.3 })).toBe(33);
  expect(await permitted(50, "search")).toBe(5);
  // One percent, rounded up, of each process.
  const many = await permitted(80, "look");
  expect(many).toBeGreaterThanOrEqual(38);
  expect(many).toBeLessThanOrEqual(42);
});

test("a replica that is killed between permit and outcome: permits count, and the outcome permits nothing", async () => {
  const { tokens } = await signIn("carol@other.example");
  const token = tokens.access_token;
  isHeld = true;
  const calls = (
    [
      ["review", {}],
      ["browse", {}],
      ["refund", { amount: 6 }],
      ["search", {}],
    ] as const
  ).map(([tool, given]) => call(token, "there", tool, given).catch(() => "killed"));
  await expect.poll(() => held.length).toBe(4);
  other.process.kill("SIGKILL");
  await other.ended;
  isHeld = false;
  expect(await Promise.all(calls)).toEqual(["killed", "killed", "killed", "killed"]);
  expect(await call(token, "here", "publish")).toBe("history-after");
  expect(await call(token, "here", "send")).toBe("history-not-after");
  expect(await call(token, "here", "refund", { amount: 4.1 })).toBe("history-total");
  for (const reason of ["", "", "", "", "history-at-most"]) expect(await call(token, "here", "search")).toBe(reason);
  expect(await call(token, "here", "review")).toBe("");
  expect(await call(token, "here", "publish")).toBe("");
});
