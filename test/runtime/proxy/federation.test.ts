/** A federated route (`mcp.server.members`) with the official SDKs on both sides. */
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import {
  connectV1,
  connectV2,
  startLegacyMember,
  startModernMember,
  type MemberServer,
} from "../../support/federation.ts";
import { createSafeFetch } from "../../../runtime/http/fetch/safe-fetch.ts";
import { startVictim } from "../../support/victim.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { toolCallBody } from "../../support/mcp.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";

let old: MemberServer;
let fresh: MemberServer;
let pipeline: Pipeline;

const configured = (
  more: { all?: string; old?: string; fresh?: string; to?: string; server?: string } = {},
): string => `
runtime_flags: { mcp: true }
routes:
  - name: all
    from: http://localhost:${pipeline.port}
    prefix: /all
    mcp: { server: { members: { old: old, new: new } } }
    policy: [{ allow: { and: [{ domain: example.com }] } }${more.all ?? ""}]
  - name: old
    from: http://localhost:${pipeline.port}
    prefix: /old
    to: ${more.to ?? old.origin}
    mcp: { server: {${more.server ?? ""}} }
    policy: [{ allow: { and: [{ domain: example.com }] } }${more.old ?? ""}]
  - name: new
    from: http://localhost:${pipeline.port}
    prefix: /new
    to: ${fresh.origin}
    mcp: { server: {${more.server ?? ""}} }
    policy: [{ allow: { and: [{ domain: example.com }] } }${more.fresh ?? ""}]
`;

beforeAll(async () => {
  [old, fresh] = await Promise.all([startLegacyMember(), startModernMember()]);
});
afterAll(() => Promise.all([old.close(), fresh.close()]));
beforeEach(async () => {
  pipeline = await startPipeline("routes: []", { guardrailFetch: createSafeFetch({ development: true }) });
  pipeline.swap(configured());
});
afterEach(async () => {
  await pipeline.close();
  old.seen.length = 0;
  fresh.seen.length = 0;
});

const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join(" ");
const TOOLS = [
  "new__echo",
  "new__sum",
  "old__ask",
  "old__confirm",
  "old__echo",
  "old__secret",
  "old__steps",
  "old__touch",
];

describe.each(["2025-11-25", "2026-07-28"] as const)("a client of revision %s", (revision) => {
  test("uses tools, prompts, resources and completions of members of both revisions", async () => {
    const { client } = await connectV2(pipeline, revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS);
    expect(textOf(await client.callTool({ name: "old__echo", arguments: { text: "a" } }))).toBe("old a");
    expect(textOf(await client.callTool({ name: "new__echo", arguments: { text: "b" } }))).toBe("new b");
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name).toSorted()).toEqual(["new__greet", "old__greet"]);
    expect(JSON.stringify(await client.getPrompt({ name: "old__greet", arguments: { who: "x" } }))).toContain(
      "old hello x",
    );
    expect(JSON.stringify(await client.getPrompt({ name: "new__greet", arguments: { who: "y" } }))).toContain(
      "new hello y",
    );
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual(["new://notes/1", "old://notes/1"]);
    for (const [uri, text] of [
      ["old://notes/1", "old note"],
      ["new://notes/1", "new note"],
      ["old://files/a", "old file"],
    ] as const)
      expect(JSON.stringify(await client.readResource({ uri }))).toContain(text);
    await expect(client.readResource({ uri: "other://notes/1" })).rejects.toThrow("not found");
    const ref = { type: "ref/prompt", name: "old__greet" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "who", value: "" } });
    expect(completion.values).toEqual(["ann", "bob"]);
    expect(client.getInstructions()).toMatch(/New files\./);
    await client.close();
  });

  test("has its calls checked by the guardrails of members, as if it called them directly", async () => {
    const asked: unknown[] = [];
    const hook = await startVictim(({ body }, socket) => {
      const { phase, route, tool, arguments: given } = JSON.parse(body.toString()) as Record<string, unknown>;
      asked.push([phase, route, tool]);
      const isDenied = JSON.stringify(given ?? "").includes("bad");
      const changed = isDenied ? { verdict: "deny", reason: "bad" } : { verdict: "mutate", arguments: { text: "b" } };
      const result = { verdict: "mutate", result: { content: [{ type: "text", text: "checked" }] } };
      const text = JSON.stringify(phase === "request" ? changed : result);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
    });
    const key = Buffer.alloc(32, 5).toString("base64");
    const guardrail = `guardrail: { url: "${hook.origin}", secret: ${key}, results: true, timeout: 1m }`;
    pipeline.swap(configured({ server: guardrail }));
    const { client } = await connectV2(pipeline, revision);
    for (const name of ["old", "new"]) {
      expect(textOf(await client.callTool({ name: `${name}__echo`, arguments: { text: "a" } }))).toBe("checked");
      await expect(client.callTool({ name: `${name}__echo`, arguments: { text: "bad" } })).rejects.toThrow(
        /denied by the guardrail: bad/,
      );
    }
    expect(asked).toEqual(
      ["old", "new"].flatMap((name) =>
        ["request", "response", "request"].map((phase) => [phase, `default/${name}`, "echo"]),
      ),
    );
    await client.close();
    asked.length = 0;
    pipeline.swap(configured({ server: guardrail }).replace("new: new }", "new: new }, search_tools_above: 1"));
    const { client: finder } = await connectV2(pipeline, revision);
    const use = (text: string) =>
      finder.callTool({ name: "use_tool", arguments: { name: "old__echo", arguments: { text } } });
    expect(textOf(await use("a"))).toBe("checked");
    await expect(use("bad")).rejects.toThrow(/denied by the guardrail: bad/);
    expect(asked).toEqual(["request", "response", "request"].map((phase) => [phase, "default/old", "echo"]));
    await finder.close();
    await hook.close();
  });
});

describe("SDK v1", () => {
  test("progress and log messages come before the response, and a member asks the user through the gateway", async () => {
    const { client } = await connectV1(pipeline, { elicitation: {} });
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: "decline" as const };
    });
    const progress: number[] = [];
    const steps = await client.callTool({ name: "old__steps", arguments: {} }, undefined, {
      onprogress: (step) => progress.push(step.progress),
    });
    expect([textOf(steps), progress]).toEqual(["done", [1]]);
    expect(textOf(await client.callTool({ name: "old__confirm", arguments: {} }))).toBe("the user said decline");
    expect(asked).toEqual(["Sure?"]);
    await client.close();
  });

  test("what members with sessions tell outside of calls comes in the stream of the session", async () => {
    const { client } = await connectV1(pipeline, { elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "cancel" as const }));
    const updated = new Set<string>();
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.add(params.uri));
    await client.subscribeResource({ uri: "old://notes/1" });
    // The client opens its stream when it likes.
    const touch = async (): Promise<readonly string[]> => {
      await client.callTool({ name: "old__touch", arguments: {} });
      return [...updated];
    };
    await expect.poll(touch).toEqual(["old://notes/1"]);
    expect(textOf(await client.callTool({ name: "old__ask", arguments: {} }))).toBe("the user said cancel");
    await client.close();
  });

  test("one session of a member serves all requests of a client's session, and ends with it", async () => {
    const before = old.sessions.size;
    const { client, transport } = await connectV1(pipeline);
    await client.callTool({ name: "old__echo", arguments: { text: "a" } });
    await client.callTool({ name: "old__echo", arguments: { text: "b" } });
    expect(old.sessions.size).toBe(before + 1);
    expect(old.seen.filter((method) => method === "initialize")).toHaveLength(1);
    await transport.terminateSession();
    expect(old.sessions.size).toBe(before);
    await client.close();
  });

  test("a member that has lost the session gets another one for the call", async () => {
    const { client } = await connectV1(pipeline);
    old.forget();
    expect(textOf(await client.callTool({ name: "old__echo", arguments: { text: "a" } }))).toBe("old a");
    await client.close();
  });

  test("another user's session is unknown, and so is one of the member's own route", async () => {
    const { client, transport } = await connectV1(pipeline);
    const direct = await connectV1({ port: pipeline.port, path: "/old" });
    for (const [session, user] of [
      [transport.sessionId, "bob"],
      [direct.transport.sessionId, "alice"],
    ] as const) {
      const answer = await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { user, session });
      expect([answer.status, answer.body.error?.code]).toEqual([404, -32001]);
    }
    expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { session: transport.sessionId })).status).toBe(200);
    await Promise.all([client.close(), direct.client.close()]);
  });

  test("a client without a session is served, with a session of the member for each call", async () => {
    const before = old.sessions.size;
    const { body } = await post(toolCallBody("old__echo", { text: "x" }));
    expect(textOf(body.result)).toBe("old x");
    await expect.poll(() => old.sessions.size).toBe(before);
  });
});

describe("names and values", () => {
  test.each(["echo", "__echo", "other__echo", "old_echo", "old__"])("%s is not a name here", async (name) => {
    const { body } = await post(toolCallBody(name, {}));
    expect(body.error).toMatchObject({ code: -32602, message: `Unknown name: ${name}` });
    expect([...old.seen, ...fresh.seen]).toEqual([]);
  });

  test("methods that are not served, other revisions and the wrong HTTP method say so", async () => {
    const list = await post({ jsonrpc: "2.0", id: 1, method: "tasks/list", params: {} });
    expect(list.body.error?.code).toBe(-32601);
    const version = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { version: "2024-01-01" });
    expect([version.status, version.body.error?.code]).toEqual([400, -32022]);
    expect((await send("GET", undefined, {})).status).toBe(405);
  });
});

describe("policy", () => {
  test("a member's own policy hides and denies, and its record names the federated call", async () => {
    pipeline.swap(configured({ old: ", { deny: { and: [{ mcp_tool: secret }] } }" }));
    const { client } = await connectV2(pipeline);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("old__secret");
    await expect(client.callTool({ name: "old__secret", arguments: {} })).rejects.toThrow("denied by policy");
    const federated = { route: "default/all", name: "old__secret" };
    expect(pipeline.records).toContainEqual(expect.objectContaining({ allow: false, "mcp-tool": "secret", federated }));
    await client.close();
  });

  test("the federated route's policy names advertised tools", async () => {
    pipeline.swap(
      configured({ all: ", { deny: { or: [{ mcp_tool: old__secret }, { mcp_tool: { starts_with: new__ } }] } }" }),
    );
    const { client } = await connectV2(pipeline);
    expect((await client.listTools()).tools.map(({ name }) => name).toSorted()).toEqual([
      "old__ask",
      "old__confirm",
      "old__echo",
      "old__steps",
      "old__touch",
    ]);
    const before = [...old.seen, ...fresh.seen].filter((method) => method === "tools/call").length;
    for (const name of ["old__secret", "new__echo"])
      await expect(client.callTool({ name, arguments: {} })).rejects.toThrow("denied by policy");
    expect([...old.seen, ...fresh.seen].filter((method) => method === "tools/call")).toHaveLength(before);
    await client.close();
  });
});

describe("members that fail", () => {
  test("a dead member takes only its own tools away, and the list, the log and its calls say so", async () => {
    const lines: object[] = [];
    const log = Object.assign(silentLog(), { warn: (fields: object, msg: string) => lines.push({ ...fields, msg }) });
    await pipeline.close();
    pipeline = await startPipeline("routes: []", { log });
    pipeline.swap(configured({ to: "http://127.0.0.1:9" }));
    const { client } = await connectV2(pipeline);
    expect(client.getInstructions()).toContain("old (old) is unavailable at the moment");
    const list = await client.listTools();
    expect(list.tools.map(({ name }) => name).toSorted()).toEqual(["new__echo", "new__sum"]);
    expect(list._meta?.["gateform/unavailable"]).toEqual([{ member: "old", reason: "unavailable" }]);
    expect(textOf(await client.callTool({ name: "new__echo", arguments: { text: "b" } }))).toBe("new b");
    await expect(client.callTool({ name: "old__echo", arguments: {} })).rejects.toThrow("old is unavailable");
    const msg = "member of federated route has no part in response";
    const told = { route: "default/all", member: "default/old", reason: "unavailable", msg };
    expect(lines.filter((line) => "member" in line)).toEqual([expect.objectContaining(told)]);
    await client.close();
  });

  test("a member that is not connected keeps its tools' errors to itself, with the address to connect it", async () => {
    const tokens = { attach: () => ({ kind: "connect" }) as const };
    const refusals = { concerns: () => false, passed: () => {}, handle: () => Promise.reject(new Error("never")) };
    await pipeline.close();
    pipeline = await startPipeline("routes: []", { upstream: { tokens, refusals } });
    pipeline.swap(configured());
    const { client } = await connectV1(pipeline);
    expect(client.getInstructions()).toContain(
      `is not connected: its user connects it at http://localhost:${pipeline.port}/.gateway/`,
    );
    expect((await client.listTools()).tools).toEqual([]);
    const { body } = await post(toolCallBody("old__echo", { text: "x" }));
    expect(body.error).toMatchObject({ code: -31401, data: { reason: "not-connected", member: "old" } });
    await client.close();
  });
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: { result?: unknown; error?: { code: number; message: string; data?: unknown } };
}

function post(message: object | string, more: More = {}): Promise<Answer> {
  return send("POST", typeof message === "string" ? message : JSON.stringify(message), more);
}

interface More {
  readonly user?: string;
  readonly session?: string | undefined;
  readonly version?: string;
}

async function send(
  method: string,
  body: string | undefined,
  { user = "alice", session, version }: More,
): Promise<Answer> {
  const answer = await fetch(`http://localhost:${pipeline.port}/all`, {
    method,
    headers: {
      authorization: `Bearer gwt_${user}`,
      accept: "application/json",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(session !== undefined && { "mcp-session-id": session }),
      ...(version !== undefined && { "mcp-protocol-version": version }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await answer.text();
  return { status: answer.status, text, body: text === "" ? {} : (JSON.parse(text) as Answer["body"]) };
}
