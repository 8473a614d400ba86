/**
 * What single steps of a decision cost: reading a message, asking the policy, making the record. CPU time, best and median
 * of several rounds. `node test/bench/steps-message.ts`
 */
import { readMessageHeaders } from "../../runtime/mcp/message-headers.ts";
import { parseMessage, toolArguments } from "../../runtime/mcp/message.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS, formatRecord } from "../../runtime/audit/record.ts";
import { alice, asAlice, plainHttp, toolCall } from "../support/facts.ts";
import { toolCallBody } from "../support/mcp.ts";

const ROUNDS = 9;
const ROUND_MS = 60;

/** As real clients send them: some fifteen headers, of which a few matter here. */
const headers = Object.entries({
  Host: "mcp.example.com",
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
  Authorization: `Bearer ${"a".repeat(340)}`,
  "User-Agent": "node",
  "Accept-Encoding": "gzip, br",
  "Mcp-Session-Id": "s".repeat(90),
  "MCP-Protocol-Version": "2025-11-25",
  "Content-Length": "95",
  Connection: "keep-alive",
  "Accept-Language": "*",
  "Sec-Fetch-Mode": "cors",
}).flat();

const bodies: Readonly<Record<string, Buffer>> = {
  "95 B tools/call": text(toolCallBody("search", { query: "x" })),
  "4 KiB, 57 objects": text(
    toolCallBody("search", {
      list: Array.from({ length: 57 }, (_, id) => ({ id, name: `item number ${id}`, tags: ["a", "b"], ok: true })),
    }),
  ),
  "4 KiB, one text": text(toolCallBody("search", { text: "x".repeat(4000) })),
  "4 KiB, 300 keys": text(
    toolCallBody("search", Object.fromEntries(Array.from({ length: 300 }, (_, id) => [`key-${id}`, id]))),
  ),
};

for (const [name, bytes] of Object.entries(bodies)) {
  measure(`read ${name}`, () => parseMessage(bytes, readMessageHeaders(headers)).ok);
  measure(`  (JSON.parse of the same)`, () => JSON.parse(bytes.toString()) !== undefined);
}

const policy = compilePolicy({
  allow: { and: [{ domain: "example.com" }, { groups: "engineering" }], or: [{ email: "root@example.com" }] },
  deny: { or: [{ mcp_tool: { starts_with: "delete_" } }, { mcp_tool: { in: ["drop", "purge"] } }] },
});
const facts = asAlice(toolCall("search"));
measure("evaluate 5 criteria", () => evaluate(policy, facts).allowed);

const message = parseMessage(text(toolCallBody("search", { query: "x" })), readMessageHeaders(headers));
const input = {
  timeMs: Date.now(),
  decision: evaluate(policy, facts),
  requestId: "01890a5d-ac96-774b-bcce-b302099a8057",
  bundleDigest: "0".repeat(64),
  route: "acme/github",
  http: plainHttp,
  user: alice,
  mcp: toolCall("search"),
  toolArguments: () => (message.ok ? toolArguments(message) : undefined),
};
measure("record, fields by default", () => formatRecord(DEFAULT_RECORD_FIELDS, input) !== "");
measure("record, every field", () => formatRecord(RECORD_FIELDS, input) !== "");

function text(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function measure(name: string, step: () => boolean): void {
  let count = 1;
  while (microseconds(step, count) * count < ROUND_MS * 1000) count *= 2;
  const rounds = Array.from({ length: ROUNDS }, () => microseconds(step, count)).sort((a, b) => a - b);
  const median = rounds[Math.floor(ROUNDS / 2)] ?? 0;
  console.log(
    `${name.padEnd(32)} best ${(rounds[0] ?? 0).toFixed(2).padStart(7)} µs  median ${median.toFixed(2).padStart(7)} µs`,
  );
}

/** CPU time of one step. */
function microseconds(step: () => boolean, count: number): number {
  const start = process.cpuUsage();
  for (let i = 0; i < count; i++) if (!step()) throw new Error("The step failed");
  const { user, system } = process.cpuUsage(start);
  return (user + system) / count;
}
