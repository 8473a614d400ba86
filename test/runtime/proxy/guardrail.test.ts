/** `mcp.server.guardrail` on the wire: a service that allows, denies or changes calls and results, and one that attacks. */
import { createHmac } from "node:crypto";
import type { Socket } from "node:net";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createApprovals } from "../../../runtime/approvals/approvals.ts";
import type { Approvals } from "../../../runtime/approvals/interfaces.ts";
import { createReplayWriter } from "../../../runtime/audit/replay/write-facts.ts";
import { createSafeFetch } from "../../../runtime/http/fetch/safe-fetch.ts";
import { MemoryHistory } from "../../../runtime/limits/history/memory-history.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { compileRoute, compileSettings } from "../../../runtime/config/compile-settings.ts";
import { checkedFrom, secretsFrom, snapshotFrom } from "../../support/config.ts";
import { modernHeaders, modernMeta } from "../../support/mcp.ts";
import { blockWith, readPage } from "../../support/page-blocks.ts";
import { startPipeline, testPrincipal, type Pipeline } from "../../support/pipeline.ts";
import { openRaw, sendRaw as send } from "../../support/raw-client.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

const KEY = Buffer.alloc(32, 5);
const SECRET = KEY.toString("base64");
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

let upstream: Victim;
let hook: Victim;
let pipeline: Pipeline;
let approvals: Approvals;
let counted: string[];
/** The hook's next answers: JSON, or bytes of a whole response. */
let verdict: (question: Question) => object | string | undefined;
/** Response of the MCP server to a message with this ID. */
let answer: (id: unknown) => { readonly type?: string; readonly status?: string; readonly text: string | Buffer };

interface Question {
  readonly phase: "request" | "response";
  readonly tool?: string;
  readonly arguments?: Record<string, unknown>;
  readonly result?: { readonly content?: readonly { readonly text?: string }[] };
  readonly error?: object;
}

const http = (text: string, head = "200 OK\r\ncontent-type: application/json"): string =>
  `HTTP/1.1 ${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

/** Until the gateway closes: a response can pause for a verdict. */
const sendRaw = (port: number, bytes: string): ReturnType<typeof send> => send(port, bytes, 20_000);

function write(socket: Socket, text: string): void {
  if (!socket.destroyed) socket.write(text);
}

beforeEach(async () => {
  verdict = () => ({ verdict: "pass" });
  answer = (id) => ({
    text: JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } }),
  });
  counted = [];
  upstream = await startVictim(({ body }, socket) => {
    const { id } = JSON.parse(body.toString() || "{}") as { id?: unknown };
    const { text, type = "application/json", status = "200 OK" } = answer(id);
    const head = http("", `${status}\r\ncontent-type: ${type}`).replace(": 0", `: ${Buffer.byteLength(text)}`);
    if (!socket.destroyed) socket.write(Buffer.concat([Buffer.from(head), Buffer.from(text as string)]));
  });
  hook = await startVictim(({ body }, socket) => {
    const given = verdict(JSON.parse(body.toString()) as Question);
    if (given !== undefined) write(socket, typeof given === "string" ? given : http(JSON.stringify(given)));
  });
  open.push(upstream, hook);
});

const RULES = `
            history_rules:
              - { name: refunds, calls: { or: [{ mcp_tool: refund }] }, total: { argument: /amount, limit: "10", within: 1d } }
              - { name: few, calls: { or: [{ mcp_tool_argument: { tool: send, argument: /kind, is: paid } }] }, at_most: { count: 1, within: 1d } }`;

/** @param more settings of the guardrail */
const configured = (more = "", server = RULES): string => `
    runtime_flags: { mcp: true }
    authenticate_service_url: https://auth.example
    idp_provider_url: https://idp.example
    idp_client_id: gateway
    idp_client_secret: secret
    authorize_log_fields: [request-id, mcp-tool, mcp-tool-parameters, replay]
    routes:
      - name: mcp
        from: https://mcp.example
        to: ${upstream.origin}
        policy:
          - allow: { and: [{ domain: { is: example.com } }] }
          - deny: { or: [{ mcp_tool_argument: { tool: open, argument: /path, starts_with: /etc } }, { mcp_tool: never }] }
          - approve: { and: [{ mcp_tool: publish }] }
        mcp:
          server:
            max_request_bytes: 20000
            guardrail: { url: "${hook.origin}/check?a=b", secret: ${SECRET}${/timeout/.test(more) ? "" : ", timeout: 1m"}${more} }${server}
`;

async function start(more?: string, server?: string, maxHeldBytes?: number): Promise<void> {
  approvals = createApprovals({
    store: createMemoryStore({ clock: systemClock }),
    keys: createKeys([Buffer.alloc(32, 7)]),
    revocations: { isRevoked: () => false },
    log: silentLog(),
    clock: systemClock,
  });
  pipeline = await startPipeline("", {
    snapshot: snapshotFrom(configured(more, server)),
    ...(maxHeldBytes !== undefined && { maxHeldBytes }),
    guardrailFetch: createSafeFetch({ development: true }),
    countVerdict: (route, phase, kind) => counted.push(`${route} ${phase} ${kind}`),
    history: new MemoryHistory(),
    replay: createReplayWriter({ key: KEY, asksForCertificates: false }),
    approvals,
  });
  open.push({ close: () => pipeline.close({ timeoutMs: 100 }) });
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly body: {
    readonly result?: { readonly content?: readonly { readonly text?: string }[] };
    readonly error?: { readonly code: number; readonly message: string; readonly data: Record<string, unknown> };
  };
}

async function post(message: object, headers: readonly string[] = []): Promise<Reply> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, ...message });
  const { status, body: text } = await sendRaw(
    pipeline.port,
    [
      "POST / HTTP/1.1",
      "Host: mcp.example",
      "Connection: close",
      "Authorization: Bearer gwt_alice",
      "Cookie: account=cookie-sentinel",
      "Accept: application/json, text/event-stream",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...headers,
      "",
      body,
    ].join("\r\n"),
  );
  return { status, text, body: text.startsWith("{") ? (JSON.parse(text) as Reply["body"]) : {} };
}

const call = (name: string, args: object | undefined = {}): Promise<Reply> =>
  post({ method: "tools/call", params: { name, arguments: args } });

/** The same in revision 2026-07-28. */
function callModern(name: string, args: object, more: readonly string[] = []): Promise<Reply> {
  const flat = modernHeaders("tools/call", name);
  const lines = flat.flatMap((value, index) => (index % 2 === 0 ? [`${value}: ${flat[index + 1]}`] : []));
  const headers = [...lines.filter((line) => !/^content-type/i.test(line)), ...more];
  return post({ method: "tools/call", params: { _meta: modernMeta(), name, arguments: args } }, headers);
}

const denied = (reason: string) => ({ status: 200, body: { error: { code: -31403, data: { reason } } } });
const forwarded = (): readonly unknown[] =>
  upstream.requests.map(
    ({ body }) => (JSON.parse(body.toString()) as { params: { arguments: unknown } }).params.arguments,
  );
const records = (): readonly (Record<string, unknown> | undefined)[] =>
  pipeline.records.map(({ guardrail }) => guardrail as Record<string, unknown> | undefined);

describe("a call", () => {
  test("is asked about with a signature, and without headers, cookies and tokens of the request", async () => {
    await start();
    expect((await call("read", { path: "/tmp/a", n: 1 })).body.result).toBeDefined();
    const [asked] = hook.requests;
    expect(asked?.line).toBe("POST /check?a=b HTTP/1.1");
    expect(JSON.parse(asked?.body.toString() ?? "")).toEqual({
      version: 1,
      phase: "request",
      request_id: expect.any(String),
      route: "default/mcp",
      user: { id: expect.any(String), email: "alice@example.com" },
      method: "tools/call",
      tool: "read",
      arguments: { path: "/tmp/a", n: 1 },
    });
    const shown = blockWith(readPage("runtime/guide/guardrails.md"), "text", '"version"');
    expect(Object.keys(JSON.parse(shown) as object).filter((name) => name !== "client_id")).toEqual(
      Object.keys(JSON.parse(asked?.body.toString() ?? "") as object),
    );
    const [id, timestamp] = ["webhook-id", "webhook-timestamp"].map((name) => asked?.header(name));
    const signed = createHmac("sha256", KEY).update(`${id}.${timestamp}.${asked?.body.toString()}`).digest("base64");
    expect(asked?.header("webhook-signature")).toBe(`v1,${signed}`);
    expect(hook.received).not.toMatch(/gwt_|cookie-sentinel|authorization/i);
    expect(counted).toEqual(["default/mcp request pass"]);
    expect(records()).toEqual([{ verdict: "pass" }]);
  });

  test("is denied with the reason, on one line, in response and record", async () => {
    await start();
    verdict = () => ({ verdict: "deny", reason: `a secret\r\nX: \u202e${"long ".repeat(100)}` });
    const { body, ...reply } = await call("read");
    expect({ body, ...reply }).toMatchObject(denied("guardrail-denied"));
    expect(body.error?.message).toMatch(
      /^Tool call denied by the guardrail: a secret X: long [^\r\n\u202e]{150,210} \(request ID/,
    );
    expect(upstream.requests).toEqual([]);
    expect(pipeline.records[0]).toMatchObject({
      allow: false,
      "mcp-tool": "read",
      "allow-why-false": ["guardrail-denied"],
      guardrail: { verdict: "deny", reason: expect.stringMatching(/^a secret X:/) },
      // Another policy could not have allowed it.
      replay: { refused: true },
    });
  });

  test("is not shown when policy denies it, and other messages never are", async () => {
    await start();
    expect(await call("never")).toMatchObject(denied("mcp-tool-unauthorized"));
    await post({ method: "tools/list" });
    expect(hook.requests).toEqual([]);
    expect(upstream.requests).toHaveLength(1);
  });

  test("continues with other arguments: numbers as written, and only those reach server and record", async () => {
    await start();
    const text = `{"verdict":"mutate","reason":"secret removed","arguments":{"path":"/tmp/[removed]","n":12345678901234567890}}`;
    verdict = () => http(text);
    expect((await call("read", { path: "/tmp/secret-sentinel", n: 1 })).body.result).toBeDefined();
    expect(upstream.requests[0]?.body.toString()).toContain(
      '"arguments":{"path":"/tmp/[removed]","n":12345678901234567890}',
    );
    expect(upstream.received + JSON.stringify(pipeline.records)).not.toContain("secret-sentinel");
    expect(pipeline.records[0]).toMatchObject({ "mcp-tool-parameters": { path: "/tmp/[removed]" }, replay: { v: 1 } });
    const [note] = records();
    expect(note).toMatchObject({ verdict: "mutate", reason: "secret removed" });
    expect([note?.["digest-before"], note?.["digest-after"]]).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
    expect(note?.["digest-before"]).not.toBe(note?.["digest-after"]);
  });

  test("with changed arguments is decided again by policy", async () => {
    await start();
    verdict = () => ({ verdict: "mutate", arguments: { path: "/etc/passwd" } });
    expect(await call("open", { path: "/tmp" })).toMatchObject(denied("access-denied"));
    expect(upstream.requests).toEqual([]);
  });

  test("with changed arguments is counted by history rules", async () => {
    await start();
    verdict = () => ({ verdict: "mutate", arguments: { amount: 6 } });
    expect((await call("refund", { amount: 1 })).body.result).toBeDefined();
    expect(await call("refund", { amount: 1 })).toMatchObject(denied("history-total"));
    verdict = () => ({ verdict: "mutate", arguments: { kind: "paid" } });
    expect((await call("send", { kind: "free" })).body.result).toBeDefined();
    expect(await call("send", { kind: "free" })).toMatchObject(denied("history-at-most"));
    verdict = () => ({ verdict: "deny" });
    for (const _ of [1, 2]) expect(await call("refund", { amount: 4 })).toMatchObject(denied("guardrail-denied"));
    verdict = () => ({ verdict: "pass" });
    expect((await call("refund", { amount: 4 })).body.result).toBeDefined();
  });

  test.each([
    ["with sessions", call],
    ["of 2026-07-28", callModern],
  ])("%s is approved with its changed arguments", async (_, call) => {
    await start();
    verdict = ({ arguments: given }) => ({ verdict: "mutate", arguments: { ...given, to: "all@example.com" } });
    expect(await call("publish", { to: "x" })).toMatchObject(denied("approval-required"));
    const [waiting] = await approvals.listWaiting("alice");
    expect(waiting && approvals.given(waiting)).toContain("all@example.com");
    const id = waiting?.key.slice("approval:".length) ?? "";
    expect(await approvals.decide(id, testPrincipal("alice", 0), "approved")).toBe(true);
    // Another change needs another approval.
    verdict = () => ({ verdict: "mutate", arguments: { to: "other@example.com" } });
    expect(await call("publish", { to: "x" })).toMatchObject(denied("approval-required"));
    verdict = () => ({ verdict: "mutate", arguments: { to: "all@example.com" } });
    expect((await call("publish", { to: "x" })).body.result).toBeDefined();
    expect(forwarded()).toEqual([{ to: "all@example.com" }]);
  });

  test("of a user whose access ends meanwhile is not forwarded", async () => {
    await start();
    verdict = () => {
      pipeline.revocations.revokeNow("user:alice");
      return { verdict: "pass" };
    };
    expect((await call("read")).body.result).toBeUndefined();
    expect(upstream.requests).toEqual([]);
  });

  test("whose client disconnects ends the check, and does not count as a failure", async () => {
    await start();
    let closed: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => (closed = resolve));
    hook.raw((socket) => {
      socket.on("close", () => closed?.());
      client.socket.destroy();
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "read" } });
    const lines = ["POST / HTTP/1.1", "Host: mcp.example", "Authorization: Bearer gwt_alice"];
    const type = ["Content-Type: application/json", `Content-Length: ${body.length}`];
    const client = openRaw(pipeline.port, [...lines, ...type, "", body].join("\r\n"));
    await ended;
    expect([counted, records()]).toEqual([[], []]);
  });

  test("whose argument a header repeats cannot change it", async () => {
    await start();
    verdict = () => ({ verdict: "mutate", arguments: { region: "eu" } });
    const reply = await callModern("read", { region: "us" }, ["Mcp-Param-Region: us"]);
    expect(reply).toMatchObject(denied("guardrail-failed"));
    expect(upstream.requests).toEqual([]);
  });
});

describe("a guardrail that attacks or fails", () => {
  const large = `{"verdict":"pass","reason":"${"x".repeat(30_000)}"}`;
  const lies: Readonly<Record<string, object | string>> = {
    "another status": http('{"verdict":"pass"}', "204 No Content"),
    "a redirect": "HTTP/1.1 307 Temporary Redirect\r\nlocation: /pass\r\ncontent-length: 0\r\n\r\n",
    "an error with a verdict": http('{"verdict":"pass"}', "500 Broken"),
    "no JSON": http("pass"),
    "an empty body": http(""),
    "two verdicts": http('{"verdict":"deny","verdict":"pass"}'),
    "an unknown verdict": { verdict: "PASS" },
    "a verdict in a list": [{ verdict: "pass" }],
    "another tool": { verdict: "mutate", tool: "delete_all", arguments: {} },
    "another message": { verdict: "mutate", params: { name: "delete_all", arguments: {} } },
    "a pass with arguments": { verdict: "pass", arguments: {} },
    "arguments in a list": { verdict: "mutate", arguments: [1] },
    "a result for a call": { verdict: "mutate", result: {} },
    "a change without arguments": { verdict: "mutate" },
    "a repeated argument": http('{"verdict":"mutate","arguments":{"a":1,"a":2}}'),
    "arguments beyond the message limit": http(`{"verdict":"mutate","arguments":{"a":"${"x".repeat(20_000)}"}}`),
    "a large answer": http(large),
    "an answer that claims 100 MiB": "HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n" + " ".repeat(100_000),
    "a coded answer": http('{"verdict":"pass"}', "200 OK\r\ncontent-encoding: gzip"),
  };

  test.each(Object.entries(lies))("%s: denied", async (_, given) => {
    await start();
    verdict = () => given;
    expect(await call("read", { a: 0 })).toMatchObject(denied("guardrail-failed"));
    expect(upstream.requests).toEqual([]);
    expect(hook.requests).toHaveLength(1);
    expect(records()).toEqual([{ verdict: "error", reason: expect.any(String) }]);
    expect(counted.at(-1)).toBe("default/mcp request error");
    expect(JSON.stringify(pipeline.records)).not.toContain("xxxx");
  });

  test("a stream of 100 MiB ends at the limit: denied", async () => {
    await start();
    let sent = 0;
    let ended: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => (ended = resolve));
    const chunk = Buffer.alloc(65_536, 0x20);
    hook.raw((socket) => {
      socket.on("close", () => ended?.());
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      const more = (): void => {
        while (!socket.destroyed && sent < 100 * 1024 * 1024) {
          sent += chunk.length;
          if (!socket.write(Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]))) return;
        }
        if (!socket.destroyed) socket.end("0\r\n\r\n");
      };
      socket.on("drain", more);
      more();
    });
    expect(await call("read")).toMatchObject(denied("guardrail-failed"));
    await closed;
    expect(sent).toBeLessThan(50 * 1024 * 1024);
    expect(upstream.requests).toEqual([]);
  });

  test.each([
    ["hangs", ""],
    ["hangs in the middle", "HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\n{"],
  ])("%s: denied after the time limit", async (_, begun) => {
    await start(", timeout: 100ms");
    verdict = () => begun;
    expect(await call("read")).toMatchObject(denied("guardrail-failed"));
    expect(upstream.requests).toEqual([]);
  });

  test("is gone: denied, and recorded with its host only", async () => {
    await start();
    await hook.close();
    expect(await call("read")).toMatchObject(denied("guardrail-failed"));
    expect(records()[0]?.["reason"]).toMatch(/^127\.0\.0\.1:\d+: ECONNREFUSED/);
  });

  test("is at an address that the owner of the route may not reach: denied, and not asked", async () => {
    await start();
    await pipeline.close();
    const { routes, settings } = checkedFrom(configured());
    const secrets = secretsFrom({});
    const live = compileSettings(settings, secrets);
    const compiled = routes.map((route) => compileRoute({ ...route, reach: "network" }, live, secrets));
    const snapshot = { ...snapshotFrom(configured()), routes: compiled };
    pipeline = await startPipeline("", { snapshot, guardrailFetch: createSafeFetch({ development: true }) });
    expect(await call("read")).toMatchObject(denied("guardrail-failed"));
    expect(records()[0]?.["reason"]).toMatch(/is at 127\.0\.0\.1, /);
    expect(hook.requests).toEqual([]);
  });

  test("cannot be asked, as the process has no client for it: denied", async () => {
    await start();
    await pipeline.close();
    pipeline = await startPipeline(configured());
    expect(await call("read")).toMatchObject(denied("guardrail-failed"));
    expect(hook.requests).toEqual([]);
  });
});

describe("in shadow", () => {
  test.each([
    [
      { verdict: "deny", reason: "no" },
      { verdict: "deny", reason: "no", shadow: true },
    ],
    [
      { verdict: "mutate", arguments: { path: "/etc" } },
      { verdict: "mutate", shadow: true },
    ],
    [{ verdict: "lie" }, { verdict: "error", shadow: true }],
  ])("%j is recorded, and the call continues as it is", async (given, note) => {
    await start(", shadow: true, results: true");
    verdict = ({ phase }) => (phase === "request" ? given : { verdict: "deny" });
    expect((await call("read", { path: "/tmp" })).body.result).toBeDefined();
    expect(forwarded()).toEqual([{ path: "/tmp" }]);
    expect(records()).toEqual([expect.objectContaining(note)]);
  });

  test("a result that cannot be read continues, as does a stream of GET that is none", async () => {
    await start();
    pipeline.swap(configured(", shadow: true, results: true", "").replaceAll(/- (?:deny|approve):.*/g, ""));
    const text = "data: {}\n\n";
    answer = () => ({ text, type: "text/event-stream, application/json" });
    expect((await call("read")).text).toBe(text);
    answer = () => ({ text, type: "text/plain" });
    const lines = ["GET / HTTP/1.1", "Host: mcp.example", "Connection: close", "Authorization: Bearer gwt_alice"];
    const { body } = await sendRaw(pipeline.port, [...lines, "Accept: text/event-stream", "", ""].join("\r\n"));
    expect(body).toBe(text);
  });

  test("what comes after a result continues, however much it is while its verdict is awaited", async () => {
    await start(", shadow: true, results: true, timeout: 500ms");
    const note = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { text: "y".repeat(9_000) },
    });
    verdict = ({ phase }) => (phase === "request" ? { verdict: "pass" } : undefined);
    answer = (id) => ({
      type: "text/event-stream",
      text: `data: {"jsonrpc":"2.0","id":${Number(id)},"result":{}}\n\n${`data: ${note}\n\n`.repeat(300)}`,
    });
    const { text } = await call("read");
    expect(text.replaceAll(/[^y]/g, "")).toHaveLength(2_700_000);
    expect(text.match(/"result"/g)).toHaveLength(1);
  });

  test("a result that is too large continues unread", async () => {
    await start(", shadow: true, results: true");
    answer = (id) => ({ text: JSON.stringify({ jsonrpc: "2.0", id, result: { text: "y".repeat(1_100_000) } }) });
    expect((await call("read")).text.length).toBeGreaterThan(1_100_000);
    expect(counted).toEqual(["default/mcp request pass", "default/mcp response error"]);
  });
});

describe("with results, a result", () => {
  const events = (id: unknown, ...others: readonly object[]): { type: string; text: string } => ({
    type: "text/event-stream",
    text: [...others, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "secret-sentinel" }] } }]
      .map((each) => `event: message\ndata: ${JSON.stringify(each)}\n\n`)
      .join(""),
  });
  const json = (id: unknown) => ({
    text: JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "secret-sentinel" }] } }),
  });
  const forms = [
    ["in JSON", json],
    [
      "in an event stream",
      (id: unknown) => events(id, { jsonrpc: "2.0", method: "notifications/progress", params: {} }),
    ],
  ] as const;

  const onResults = (given: object | string | undefined) => {
    verdict = ({ phase }) => (phase === "request" ? { verdict: "pass" } : given);
  };

  test.each(forms)("%s is shown and passes", async (_, made) => {
    await start(", results: true");
    answer = made;
    expect((await call("read")).text).toContain("secret-sentinel");
    expect(JSON.parse(hook.requests[1]?.body.toString() ?? "")).toMatchObject({
      phase: "response",
      method: "tools/call",
      tool: "read",
      result: { content: [{ type: "text", text: "secret-sentinel" }] },
    });
    expect(counted).toEqual(["default/mcp request pass", "default/mcp response pass"]);
  });

  test.each(forms)("%s is replaced", async (_, made) => {
    await start(", results: true");
    answer = made;
    onResults(http('{"verdict":"mutate","result":{"content":[],"big":12345678901234567890}}'));
    const { text } = await call("read");
    expect(text).toContain('"id":7,"result":{"content":[],"big":12345678901234567890}');
    expect(text).not.toContain("secret-sentinel");
  });

  test.each(forms)("%s is denied, also when the verdict is a lie", async (_, made) => {
    await start(", results: true");
    answer = made;
    for (const [given, reason] of [
      [{ verdict: "deny", reason: "too private" }, "guardrail-denied"],
      [{ verdict: "mutate", arguments: {} }, "guardrail-failed"],
      ["HTTP/1.1 500 Broken\r\ncontent-length: 0\r\n\r\n", "guardrail-failed"],
    ] as const) {
      onResults(given);
      const { text } = await call("read");
      expect(text).not.toContain("secret-sentinel");
      expect(text).toMatch(
        /"id":7,"error":\{"code":-31403,"message":"The tool was called, but its result is denied by the/,
      );
      expect(text).toContain(`"reason":"${reason}"`);
    }
  });

  test.each(forms)("%s waits no longer than the time limit", async (_, made) => {
    await start(", results: true, timeout: 100ms");
    answer = made;
    onResults(undefined);
    expect((await call("read")).text).toContain('"reason":"guardrail-failed"');
  });

  test.each([
    ["in JSON", undefined],
    ["in an event stream", "text/event-stream"],
  ])("%s of more than 1 MiB is denied", async (_, type) => {
    await start(", results: true");
    answer = (id) => {
      const text = JSON.stringify({ jsonrpc: "2.0", id, result: { text: "y".repeat(1_100_000) } });
      return type === undefined ? { text } : { type, text: `data: ${text}\n\n` };
    };
    const { text } = await call("read");
    expect(text).toContain('"reason":"guardrail-failed"');
    expect(text).not.toContain("yyyy");
    expect(hook.requests).toHaveLength(1);
  });

  test("counts among the bytes that are held for a client while its verdict is awaited", async () => {
    await start(", results: true", undefined, 600_000);
    const given = (length: number) => (id: unknown) =>
      events(id, { jsonrpc: "2.0", id: 99, result: { text: "y".repeat(length) } });
    // Each in turn holds what the largest needs.
    answer = (id) => ({ type: "text/event-stream", text: given(20_000)(id).text.repeat(20) });
    expect((await call("read")).text.match(/y{20000}/g)).toHaveLength(20);
    answer = given(100_000);
    const { text } = await call("read");
    expect(text).toContain('"id":99,"error"');
    expect(text).not.toContain("yyyy");
    expect(text).toContain("secret-sentinel");
  });

  test("that is an error is checked, too", async () => {
    await start(", results: true");
    answer = (id) => ({ text: JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: "secret-sentinel" } }) });
    onResults({ verdict: "mutate", error: { code: 1, message: "[removed]" } });
    expect((await call("read")).body.error?.message).toBe("[removed]");
  });

  test.each([
    [
      "in two forms",
      (id: unknown) => ({ text: `{"jsonrpc":"2.0","id":${Number(id)},"result":{},"result":{"a":"secret-sentinel"}}` }),
    ],
    [
      "in a look-alike",
      (id: unknown) => ({ text: `{"jsonrpc":"2.0","id":${Number(id)},"Result":{"a":"secret-sentinel"}}` }),
    ],
    [
      "in a batch",
      (id: unknown) => ({ text: `[{"jsonrpc":"2.0","id":${Number(id)},"result":{"a":"secret-sentinel"}}]` }),
    ],
    [
      "with a method",
      (id: unknown) => ({ text: `{"jsonrpc":"2.0","id":${Number(id)},"method":"x","result":{"a":"secret-sentinel"}}` }),
    ],
    [
      "in UTF-16",
      (id: unknown) => ({ text: Buffer.from(`\ufeff{"jsonrpc":"2.0","id":${Number(id)},"result":{}}`, "utf16le") }),
    ],
    [
      "in UTF-16 with the first byte first",
      (id: unknown) => ({
        text: Buffer.from(`{"jsonrpc":"2.0","id":${Number(id)},"result":{}}`, "utf16le").swap16(),
      }),
    ],
    [
      "in an error of HTTP, in two forms",
      (id: unknown) => ({
        status: "400 Bad Request",
        text: `{"json\\u0072pc":"2.0","id":${Number(id)},"error":1,"error":{"code":1,"message":"secret-sentinel"}}`,
      }),
    ],
  ])("%s is denied unread", async (_, made) => {
    await start(", results: true");
    answer = made;
    const { text } = await call("read");
    expect(text).toContain('"reason":"guardrail-failed"');
    expect(text).not.toContain("secret-sentinel");
    expect(hook.requests).toHaveLength(1);
  });

  // Python's MCP SDK 1.x reads lines of events with httpx, which ends them there.
  test.each(["\v", "\f", "\x1c", "\x1d", "\x1e"])(
    "behind a line that only some clients end (%j) does not pass",
    async (end) => {
      await start(", results: true");
      answer = (id) => ({ type: "text/event-stream", text: `data: x${end}${events(id).text.replace(/^.*\n/, "")}` });
      const { text } = await call("read");
      expect(text).toContain('"reason":"guardrail-failed"');
      expect(text).not.toContain("secret-sentinel");
    },
  );

  test.each([
    ["with an HTTP status of an error", { status: "400 Bad Request" }],
    ["with an HTTP status of a redirect", { status: "300 Multiple Choices" }],
    ["in plain text", { type: "text/plain" }],
    ["in an error page", { status: "500 Broken", type: "text/html" }],
  ])("%s is checked", async (_, more) => {
    await start(", results: true");
    onResults({ verdict: "deny" });
    for (const part of ['"result":{"a":"secret-sentinel"}', '"error":{"code":1,"message":"secret-sentinel"}']) {
      answer = (id) => ({ text: `{"jsonrpc":"2.0","id":${Number(id)},${part}}`, ...more });
      expect((await call("read")).body.error?.data).toMatchObject({ reason: "guardrail-denied" });
    }
  });

  test.each([
    ["an error of OAuth", "400 Bad Request", "application/json", '{"error":"invalid_token"}'],
    ["an error page", "502 Bad Gateway", "text/html", "<h1>Bad gateway</h1>"],
    ["words", "200 OK", "text/plain", "Accepted"],
  ])("is not looked for in %s", async (_, status, type, text) => {
    await start(", results: true");
    answer = () => ({ status, type, text });
    expect((await call("read")).text).toBe(text);
    expect(hook.requests).toHaveLength(1);
  });

  test.each([
    ["words", "ping"],
    ["an object without a result", '{"jsonrpc":"2.0","ping":1}'],
    ["the address of an old server", "/messages?session=1"],
  ])("is not looked for in %s", async (_, data) => {
    await start(", results: true");
    answer = (id) => {
      const { type, text } = events(id);
      return { type, text: `event: endpoint\ndata: ${data}\n\n${text}` };
    };
    const { text } = await call("read");
    expect(text).toContain(`data: ${data}`);
    expect(text).toContain("secret-sentinel");
    expect(hook.requests).toHaveLength(2);
  });

  test("is found whatever the type of its event", async () => {
    await start(", results: true");
    onResults({ verdict: "deny" });
    answer = (id) => {
      const { type, text } = events(id);
      return { type, text: text.replace("event: message", "event: endpoint") };
    };
    expect((await call("read")).text).not.toContain("secret-sentinel");
  });

  test("in the response to another message is checked; that message's own is not", async () => {
    await start(", results: true");
    onResults({ verdict: "deny" });
    answer = () => json(99);
    expect((await post({ method: "ping" })).text).toContain('"reason":"guardrail-denied"');
    answer = (id) => ({ text: `{"jsonrpc":"2.0","id":${Number(id)},"result":null}` });
    expect((await post({ method: "ping" })).text).toContain('"result":null');
    answer = json;
    expect((await post({ method: "ping" })).text).toContain("secret-sentinel");
  });

  test("in the response to a client's own response is checked", async () => {
    await start(", results: true");
    onResults({ verdict: "deny" });
    answer = () => json(3);
    const reply = await post({ id: 3, result: {} });
    expect(reply.text).toContain('"id":3,"error"');
    expect(reply.text).not.toContain("secret-sentinel");
  });

  test.each([
    ["", ["Accept: text/event-stream"]],
    ["that the client did not ask for", ["Accept: */*"]],
    ["of a client that names no type", []],
  ])("in a stream of GET %s, where old servers answer calls, is checked", async (_, accept) => {
    await start(", results: true");
    onResults({ verdict: "mutate", result: { content: [] } });
    answer = () => {
      const { type, text } = events(7);
      return {
        type,
        text: `event: endpoint\ndata: /messages?session=1\n\n${text}data: {"jsonrpc":"2.0","id":8,"Result":{}}\n\n`,
      };
    };
    const lines = ["GET / HTTP/1.1", "Host: mcp.example", "Connection: close", "Authorization: Bearer gwt_alice"];
    const { body } = await sendRaw(pipeline.port, [...lines, ...accept, "", ""].join("\r\n"));
    expect(body).toContain('"id":7,"result":{"content":[]}');
    expect(body).toContain("event: endpoint");
    expect(body).not.toMatch(/secret-sentinel|Result/);
    expect(hook.requests).toHaveLength(1);
  });

  // MCP SDK 1.x reads any response to GET as events.
  test.each(["text/plain", "application/json", "text/event"])(
    "in a stream of GET whose type is %s does not pass",
    async (type) => {
      await start();
      // Without rules that hide tools, lists are not read.
      pipeline.swap(configured(", results: true", "").replaceAll(/- (?:deny|approve):.*/g, ""));
      answer = () => ({ ...events(7), type });
      const lines = ["GET / HTTP/1.1", "Host: mcp.example", "Connection: close", "Authorization: Bearer gwt_alice"];
      const { status, body } = await sendRaw(
        pipeline.port,
        [...lines, "Accept: text/event-stream", "", ""].join("\r\n"),
      );
      expect(status).toBe(502);
      expect(body).not.toContain("secret-sentinel");
    },
  );

  test("in events of another type, as the response to a call, does not pass", async () => {
    await start(", results: true");
    answer = (id) => ({ ...events(id), type: "text/plain" });
    const { text } = await call("read");
    expect(text).toContain('"reason":"guardrail-failed"');
    expect(text).not.toContain("secret-sentinel");
  });

  test("of a task is checked where it comes: in the task, and in a notification", async () => {
    await start(", results: true");
    onResults({ verdict: "deny" });
    const task = {
      jsonrpc: "2.0",
      method: "notifications/tasks",
      params: { taskId: "t", result: { a: "secret-sentinel" } },
    };
    answer = (id) => events(id, task, task);
    const { text } = await call("read");
    expect(text).not.toContain("secret-sentinel");
    expect(text).not.toContain("notifications/tasks");
    expect(hook.requests).toHaveLength(4);
  });

  test("is not looked for in other files of the server", async () => {
    await start(", results: true", `\n            extra_paths: [/files/*]${RULES}`);
    answer = () => ({ text: '{"any":"secret-sentinel"}' });
    const lines = ["GET /files/a.json HTTP/1.1", "Host: mcp.example", "Connection: close"];
    const { body } = await sendRaw(pipeline.port, [...lines, "Authorization: Bearer gwt_alice", "", ""].join("\r\n"));
    expect(body).toBe('{"any":"secret-sentinel"}');
  });

  test("keeps its place among events that come while its verdict is awaited", async () => {
    await start(", results: true");
    const note = (n: number) => ({ jsonrpc: "2.0", method: "notifications/message", params: { n } });
    answer = (id) => {
      const { type, text } = events(id, note(1));
      return { type, text: `${text}data: ${JSON.stringify(note(2))}\n\n` };
    };
    expect((await call("read")).text).toMatch(/"n":1[^]*secret-sentinel[^]*"n":2/);
  });
});
