/** With `audit`, the outcome of a request: a separate line once it is over. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { formatOutcome, type OutcomeInput } from "../../../runtime/audit/outcome-record.ts";
import type { RecordWriter } from "../../../runtime/audit/record-writer.ts";
import { createSafeFetch } from "../../../runtime/http/fetch/safe-fetch.ts";
import { endBroken } from "../../../runtime/http/end-broken.ts";
import type { Exchange } from "../../../runtime/http/exchange.ts";
import type { Decision } from "../../../runtime/policy/facts.ts";
import { followOutcome } from "../../../runtime/proxy/recording/outcome.ts";
import type { RequestContext } from "../../../runtime/proxy/request-context.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { openRaw, sendRaw } from "../../support/raw-client.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

type Line = Readonly<Record<string, unknown>>;

const TOOLS = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read"},{"name":"delete_all"},{"name":"write"}]}}';

let victim: Victim;
let gone: Victim;
let audited: Pipeline;
let plain: Pipeline;
const lines: Line[] = [];
let waiting: { readonly isThere: () => boolean; readonly resolve: () => void }[] = [];

const records: RecordWriter = {
  write(line) {
    lines.push(JSON.parse(line) as Line);
    for (const each of waiting) if (each.isThere()) each.resolve();
    waiting = waiting.filter(({ isThere }) => !isThere());
    return undefined;
  },
  thread: {
    isAudited: true,
    wantsExtra: false,
    get lastSeq() {
      return lines.length - 1;
    },
    writeOutcome: (outcome) => void records.write(formatOutcome(outcome)),
    declareArguments: () => {},
    canKeep: true,
    status: () => [],
  },
  flush: () => Promise.resolve(),
  reopen: () => {},
  close: () => Promise.resolve(),
};

beforeAll(async () => {
  victim = await startVictim(({ target }, socket) => {
    const answer = (status: string, body: string, length = body.length): void =>
      void socket.write(
        `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
      );
    if (target === "/missing") answer("404 Not Found", "{}");
    else if (target === "/broken") answer("500 Internal Server Error", "{}");
    else if (target === "/check") answer("200 OK", '{"verdict":"deny","reason":"private"}');
    else if (target === "/half") {
      answer("200 OK", "{}", 100);
      socket.destroySoon();
    } else if (target === "/slow") answer("200 OK", "{}", 100);
    else answer("200 OK", TOOLS);
  });
  gone = await startVictim();
  await gone.close();
  const yaml = `
    runtime_flags: { mcp: true }
    authorize_log_fields: [request-id]
    routes:
      - { from: https://app.example, to: ${victim.origin}, policy: [{ allow: { or: [{ accept: true }] }, deny: { or: [{ http_path: /closed }] } }] }
      - { from: https://gone.example, to: ${gone.origin}, policy: [{ allow: { or: [{ accept: true }] } }] }
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy:
          - allow: { and: [{ email: alice@example.com }] }
          - deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }
      - from: https://guarded.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ email: alice@example.com }] } }]
        mcp:
          server:
            guardrail: { url: "${victim.origin}/check", secret: ${"A".repeat(43)}=, results: true, shadow: true, timeout: 1m }
  `;
  audited = await startPipeline(yaml, { records, guardrailFetch: createSafeFetch({ development: true }) });
  plain = await startPipeline(yaml);
});
afterAll(async () => {
  await audited.close();
  await plain.close();
  await victim.close();
});

function get(host: string, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}.example\r\nConnection: close\r\n\r\n`;
}

const LIST = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`;
const list = [
  "POST / HTTP/1.1",
  "Host: mcp.example",
  "Connection: close",
  "Authorization: Bearer gwt_alice",
  "Content-Type: application/json",
  "Accept: application/json, text/event-stream",
  `Content-Length: ${LIST.length}`,
  "",
  LIST,
].join("\r\n");

/** The next outcome, and the record of its decision. */
async function outcomeOf(request: () => Promise<unknown>): Promise<{ readonly check: Line; readonly outcome: Line }> {
  const before = lines.length;
  const find = (): Line | undefined => lines.slice(before).find(({ message }) => message === "request outcome");
  await request();
  if (find() === undefined)
    await new Promise<void>((resolve) => waiting.push({ isThere: () => find() !== undefined, resolve }));
  const outcome = find() ?? {};
  const check = lines[Number(outcome["of"])] ?? {};
  expect(check).toMatchObject({ message: "authorize check", "request-id": outcome["request-id"] });
  return { check, outcome };
}

test.each([
  ["app", "/", { status: 200 }, { rule: "/0/allow/or" }],
  ["app", "/closed", { status: 302 }, { rule: "/0/deny/or" }],
  ["app", "/missing", { status: 404, "failed-by": "client" }, {}],
  ["app", "/broken", { status: 500, "failed-by": "upstream" }, {}],
  ["app", "/half", { status: 200, "failed-by": "upstream", failure: "reset" }, {}],
  ["gone", "/", { status: 502, "failed-by": "upstream", failure: "unreachable" }, {}],
])("the outcome of https://%s.example%s is %o", async (host, path, expected, decided) => {
  const { outcome, check } = await outcomeOf(() => sendRaw(audited.port, get(host, path)));
  const { "failed-by": failedBy, failure, status } = outcome;
  expect({ status, "failed-by": failedBy, failure }).toEqual({
    "failed-by": undefined,
    failure: undefined,
    ...expected,
  });
  expect(outcome["duration-ms"]).toBeGreaterThan(0);
  expect(outcome).not.toHaveProperty("list-hidden");
  expect(check).toMatchObject(decided);
});

test("the verdict of a guardrail about a call is in its record, the one about the result in its outcome", async () => {
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}`;
  const request = list
    .replace("mcp.example", "guarded.example")
    .replace(LIST, call)
    .replace(`: ${LIST.length}`, `: ${call.length}`);
  const { outcome, check } = await outcomeOf(() => sendRaw(audited.port, request));
  const guardrail = { verdict: "deny", reason: "private", shadow: true };
  expect([check, outcome]).toMatchObject([
    { guardrail, allow: true },
    { guardrail, status: 200 },
  ]);
});

test("an error of the gateway in the middle of a response is not the client's", () => {
  let close = (_isComplete: boolean): void => {};
  const exchange = {
    started: true,
    takeBack: () => false,
    status: 200,
    onClose: (listener: typeof close) => (close = listener),
    abort: () => close(false),
  } as unknown as Exchange;
  const written: OutcomeInput[] = [];
  const thread = { lastSeq: 0, writeOutcome: (outcome: OutcomeInput) => void written.push(outcome) };
  const context = { exchange, beganMs: 0 } as RequestContext;
  followOutcome(thread as never, systemClock, context, { allowed: true } as Decision);
  endBroken(exchange, new Error("a mistake"));
  expect(written).toMatchObject([{ status: 200, failedBy: "gateway" }]);
});

test("names a client that leaves in the middle", async () => {
  const { outcome } = await outcomeOf(async () => {
    const client = openRaw(audited.port, get("app", "/slow"));
    await client.contains("{}");
    client.socket.destroy();
  });
  expect(outcome).toMatchObject({ status: 200, "failed-by": "client" });
});

test("counts items hidden in lists", async () => {
  const { outcome } = await outcomeOf(() => sendRaw(audited.port, list));
  expect(outcome).toMatchObject({ status: 200, "list-hidden": 1, "list-shown": 2 });
});

test("without audit there is no such line, and nothing else in the others", async () => {
  await sendRaw(plain.port, get("app", "/"));
  await sendRaw(plain.port, list);
  expect(plain.records.map((record) => Object.keys(record))).toEqual([
    expect.not.arrayContaining(["rule", "instance", "seq"]),
    expect.not.arrayContaining(["rule", "instance", "seq"]),
  ]);
});
