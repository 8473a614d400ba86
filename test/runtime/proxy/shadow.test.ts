/** G-17: policies that are tried on live traffic change no answer, and tell what they would have changed. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createMetrics, type Metrics } from "../../../runtime/admin-listener/metrics.ts";
import { NO_BLOCKS } from "../../../runtime/identity/blocks.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { sendRaw } from "../../support/raw-client.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

const TOOLS = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read"},{"name":"delete_all"},{"name":"write"}]}}';

let victim: Victim;
let pipeline: Pipeline;
let metrics: Metrics;

/** The active policy, with every kind of shadow policy. */
const SHADOW = `
          - { shadow: true, deny: { or: [{ mcp_tool: read }, { http_path: /web }] } }
          - { shadow: true, allow: { and: [{ accept: true }] } }
          - { shadow: true, deny: { or: [{ device: { approved: true } }, { email: { ends_with: .com } }] } }
        shadow_policy: [{ allow: { and: [{ email: bob@example.com }] } }]`;

const yaml = (shadow: string): string => `
    runtime_flags: { mcp: true }
    authorize_log_fields: [user]
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy:
          - allow: { and: [{ email: alice@example.com }] }
          - deny: { or: [{ http_path: /closed }] }${shadow.replace("{ mcp_tool: read }, ", "")}
      - from: https://public.example
        to: ${victim.origin}
        policy:
          - allow: { and: [{ accept: true }] }${shadow.replace("{ mcp_tool: read }, ", "")}
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy:
          - allow: { and: [{ email: alice@example.com }] }
          - deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }${shadow.replace("{ device: { approved: true } }, ", "")}
    `;

beforeEach(async () => {
  victim = await startVictim((_, socket) => {
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${TOOLS.length}\r\n\r\n${TOOLS}`,
    );
  });
  metrics = createMetrics();
  pipeline = await startPipeline(yaml(""), {
    metrics,
    blocks: {
      ...NO_BLOCKS,
      size: 1,
      find: ({ user }) =>
        user?.email === "mallory@example.com"
          ? { kind: "user", name: user.id, since: 0, by: "operator", reason: "" }
          : undefined,
    },
  });
});
afterEach(async () => {
  await pipeline.close();
  await victim.close();
});

interface Asked {
  readonly host: "app" | "public" | "mcp";
  readonly user?: string;
  /** By default "/" of the MCP server and "/web" of the others. */
  readonly path?: string;
  /** JSON-RPC message. */
  readonly message?: object;
}

async function ask({ host, user, path = host === "mcp" ? "/" : "/web", message }: Asked): Promise<string> {
  const body = message === undefined ? "" : JSON.stringify(message);
  const { text } = await sendRaw(
    pipeline.port,
    [
      `${message ? "POST" : "GET"} ${path} HTTP/1.1`,
      `Host: ${host}.example`,
      "Connection: close",
      ...(user === undefined
        ? []
        : [host === "mcp" ? `Authorization: Bearer gwt_${user}` : `Cookie: gateway_session=${user}`]),
      ...(message
        ? [
            "Accept: application/json, text/event-stream",
            "Content-Type: application/json",
            `Content-Length: ${Buffer.byteLength(body)}`,
          ]
        : []),
      "",
      body,
    ].join("\r\n"),
  );
  // Every answer has a time and a request id of its own.
  return text.replaceAll(/^date: .*$/gim, "date").replaceAll(/\b[0-9a-f]{32}\b/g, "ID");
}

const call = (name: string): object => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: {} },
});
const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

const ASKED: readonly Asked[] = [
  { host: "app", user: "alice" },
  { host: "app", user: "alice", path: "/closed" },
  { host: "app", user: "bob" },
  { host: "app", user: "mallory" },
  { host: "app" },
  { host: "public" },
  { host: "mcp", user: "alice", message: call("read") },
  { host: "mcp", user: "alice", message: call("delete_all") },
  { host: "mcp", user: "bob", message: call("read") },
  { host: "mcp", user: "alice", message: list },
  { host: "mcp", message: list },
];

describe("candidates in shadow", () => {
  test("leave every answer and every upstream request as it is without them", async () => {
    const before = [];
    for (const asked of ASKED) before.push(await ask(asked));
    const sent = victim.requests.map(({ line, body }) => [line, body.toString()]);
    expect(before.map((text) => Number(text.slice(9, 12)))).toEqual([
      200, 403, 403, 403, 302, 200, 200, 200, 200, 200, 401,
    ]);
    // Denied calls are JSON-RPC errors, and reach no upstream.
    expect(before.slice(7, 9).every((text) => text.includes('"error"'))).toBe(true);
    expect(sent).toHaveLength(4);
    expect(before.at(9)).toContain('{"tools":[{"name":"read"},{"name":"write"}]}');
    expect(pipeline.records.some((record) => "shadow" in record)).toBe(false);

    pipeline.swap(yaml(SHADOW));
    const after = [];
    for (const asked of ASKED) after.push(await ask(asked));
    expect(after).toEqual(before);
    expect(victim.requests.slice(sent.length).map(({ line, body }) => [line, body.toString()])).toEqual(sent);
    const verdicts = pipeline.records.map(({ allow, deny, "allow-why-false": why }) => [allow, deny, why]);
    expect(verdicts.slice(ASKED.length)).toEqual(verdicts.slice(0, ASKED.length));
  });

  test("are recorded with the changes that each would make", async () => {
    pipeline.swap(yaml(SHADOW));
    const flips = async (asked: Asked): Promise<unknown> => {
      await ask(asked);
      const shadow = pipeline.records.at(-1)?.["shadow"] as
        | readonly Record<"candidate" | "outcome" | "flip", string>[]
        | undefined;
      return shadow?.map(({ candidate, outcome, flip }) => `${candidate} ${outcome} ${flip}`);
    };
    expect(await flips({ host: "app", user: "alice" })).toEqual([
      "shadow_policy deny loses",
      "policy[2] deny loses",
      "policy[3] allow none",
      "policy[4] deny loses",
    ]);
    expect(await flips({ host: "app", user: "bob", path: "/other" })).toEqual([
      "shadow_policy allow gains",
      "policy[2] deny none",
      "policy[3] allow gains",
      "policy[4] deny none",
    ]);
    expect(await flips({ host: "mcp", user: "alice", message: call("read") })).toEqual([
      "shadow_policy deny loses",
      "policy[2] deny loses",
      "policy[3] allow none",
      "policy[4] deny loses",
    ]);
    expect(pipeline.records.at(-1)?.["shadow"]).toMatchObject({ 1: { reasons: ["mcp-tool-unauthorized"] } });
    // Refused before, or whatever a policy says: there is nothing that a candidate could change.
    expect(await flips({ host: "app", user: "mallory" })).toBeUndefined();
    expect(await flips({ host: "app" })).toBeUndefined();

    const counted = (await metrics.text()).split("\n").filter((line) => line.startsWith("gateway_shadow_"));
    expect(counted.toSorted()).toEqual([
      'gateway_shadow_decisions_total{candidate="rule",outcome="allow",flip="gains"} 1',
      'gateway_shadow_decisions_total{candidate="rule",outcome="allow",flip="none"} 2',
      'gateway_shadow_decisions_total{candidate="rule",outcome="deny",flip="loses"} 4',
      'gateway_shadow_decisions_total{candidate="rule",outcome="deny",flip="none"} 2',
      'gateway_shadow_decisions_total{candidate="shadow_policy",outcome="allow",flip="gains"} 1',
      'gateway_shadow_decisions_total{candidate="shadow_policy",outcome="deny",flip="loses"} 2',
    ]);
  });
});
