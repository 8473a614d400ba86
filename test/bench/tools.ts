/**
 * What governing tools costs, beside `JSON.parse` of the same bytes, in CPU time: `node test/bench/tools.ts`. Exit code 1
 * above a bound: ten rules about arguments 5 µs a call, filtering a list of 500 tools twice the parsing of it, deciding
 * recorded calls again four times the parsing of their lines. Comparing a list with a lock has no bound: what it takes is said,
 * of a list that comes again and of one that nobody has seen before.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createReplayWriter } from "../../runtime/audit/replay/write-facts.ts";
import { formatRecord, RECORD_FIELDS } from "../../runtime/audit/record.ts";
import { filterAnswer } from "../../runtime/mcp/lists/filter-answer.ts";
import type { ToolLock } from "../../runtime/features/mcp/tool-lock.ts";
import { toolDigest } from "../../runtime/features/mcp/tool-lock-file.ts";
import { readListAnswer, type ListAnswer } from "../../runtime/mcp/lists/list-answer.ts";
import { checkTools, DigestMemory } from "../../runtime/mcp/tool-locks/check-tools.ts";
import { parseExactJson } from "../../runtime/shared/json/exact-json.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { readArguments } from "../../runtime/policy/mcp/argument-values.ts";
import { mayUse } from "../../runtime/policy/reach.ts";
import { replay } from "../../runtime/tools/replay/replay.ts";
import { checkedFrom } from "../support/config.ts";
import { alice, asAlice } from "../support/facts.ts";
import { formatTable, median } from "./common/table.ts";

const ROUNDS = 9;
const ROUND_MS = 120;
const MAX_RULES_MICROS = 5;
const MAX_TIMES_PARSING = 2;
const MAX_TIMES_PARSING_RECORDS = 4;
const RECORDS = 4_000;

const schema = (name: string): object => ({
  type: "string",
  description: `The ${name} of the repository that is meant`,
});
const tools = Array.from({ length: 500 }, (_, index) => ({
  name: `tool_${index}`,
  title: `Tool number ${index}`,
  description: "Reads issues of a repository, newest first, with their labels and who they are assigned to.",
  inputSchema: { type: "object", properties: { owner: schema("owner"), repo: schema("name") }, required: ["owner"] },
  annotations: { readOnlyHint: true, openWorldHint: false },
}));
const list = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }));
const allowed = { allow: { and: [{ domain: "example.com" }] } };
const tenTools = compilePolicy([
  allowed,
  { deny: { or: Array.from({ length: 10 }, (_, index) => ({ mcp_tool: `tool_${index * 7}` })) } },
]);

const args = JSON.stringify({ owner: "acme", repo: "web", labels: ["a", "b"], count: 5, body: "x".repeat(500) });
const tenArguments = compilePolicy([
  allowed,
  {
    deny: {
      or: Array.from({ length: 10 }, (_, index) => ({
        mcp_tool_argument: {
          tool: "create_issue",
          ...(index % 2 === 0 ? { argument: "/owner", is: `other-${index}` } : { argument: "/count", gt: 100 + index }),
        },
      })),
    },
  },
]);
const call = () => asAlice({ method: "tools/call", tool: "create_issue", arguments: readArguments(() => args) });

const KEY = Buffer.alloc(32, 1);
const recordWriter = createReplayWriter({ key: KEY, clearArguments: {}, asksForCertificates: false });
const recordLines = Array.from({ length: RECORDS }, (_, index) => recordLine(index));
const directory = mkdtempSync(join(tmpdir(), "bench-"));
const recordFile = join(directory, "records.log");
writeFileSync(recordFile, recordLines.join(""));
// As recorded: three of four calls are decided otherwise, some of them by what was an argument.
const newConfiguration = checkedFrom(`
runtime_flags: { mcp: true }
routes:
  - from: https://mcp.example.com
    to: http://mcp.internal
    mcp: { server: {} }
    policy:
      - allow: { and: [{ domain: example.com }, { groups: on-call }] }
      - deny: { or: [{ mcp_tool: { starts_with: delete_ } }, { claim/department: legal }] }
      - deny: { or: [{ mcp_tool_argument: { tool: create_issue, argument: /owner, is: acme } }] }
`);

const lock: ToolLock = {
  kinds: new Set(["tool"]),
  items: new Map(tools.map((tool) => [tool.name, new Set([toolDigest(parseExactJson(JSON.stringify(tool)) ?? null)])])),
  onDrift: "hide",
  onUnlisted: "pass",
  reviewed: undefined,
};
const memory = new DigestMemory();
const listAnswer = readList();

const steps: readonly (readonly [name: string, run: () => unknown])[] = [
  ["JSON.parse of a list of 500 tools", () => JSON.parse(list.toString())],
  ["reading and filtering it by ten rules", filterList],
  ["JSON.parse of the arguments", () => JSON.parse(args)],
  ["ten rules about arguments", () => evaluate(tenArguments, call())],
  ["reading, filtering and comparing it with a lock", () => filterList() + compareList(memory)],
  ["comparing it for the first time", () => compareList(new DigestMemory())],
  [`JSON.parse of ${RECORDS} records`, () => recordLines.map((line) => (JSON.parse(line) as object) !== null)],
  ["replay of them from a file", () => replay({ files: [recordFile], config: newConfiguration, key: KEY })],
];
// Interleaved, so that what else the machine does falls on all of them.
const rounds: number[][] = [];
while (rounds.length < ROUNDS) {
  const round: number[] = [];
  for (const [, run] of steps) round.push(await microsOf(run));
  rounds.push(round);
}
rmSync(directory, { recursive: true });
const [parse = 0, filter = 0, parseArguments = 0, rules = 0, locked = 0, first = 0, parseRecords = 0, replaying = 0] =
  steps.map((_, step) => median(rounds.map((round) => round[step] ?? 0)));
const rows = [parse, filter, parseArguments, rules, locked, first, parseRecords, replaying].map((micros, step) => [
  steps[step]?.[0] ?? "",
  micros.toFixed(1),
]);
console.log(formatTable([`${list.length} and ${args.length} bytes`, "µs"], rows));
console.log(`filtering: ${(filter / parse).toFixed(2)} times parsing (bound ${MAX_TIMES_PARSING})`);
console.log(`ten rules: ${rules.toFixed(1)} µs (bound ${MAX_RULES_MICROS})`);
console.log(
  `with a lock: ${(locked / parse).toFixed(2)} times parsing, for the first time ${((filter + first) / parse).toFixed(2)}`,
);
console.log(`replay: ${(replaying / parseRecords).toFixed(2)} times parsing (bound ${MAX_TIMES_PARSING_RECORDS})`);
const isTooSlow =
  filter > MAX_TIMES_PARSING * parse ||
  rules > MAX_RULES_MICROS ||
  replaying > MAX_TIMES_PARSING_RECORDS * parseRecords;
process.exitCode = isTooSlow ? 1 : 0;

/** Everything that a record can have, as a call with arguments writes it. */
function recordLine(index: number): string {
  const tool = ["create_issue", "delete_issue", "list_issues", "create_issue"][index % 4] ?? "";
  const given = index % 4 === 0 ? args.replace("acme", "other") : args;
  const facts = { ...asAlice({ method: "tools/call", tool }), http: { ...call().http, path: "/" } };
  return formatRecord(
    RECORD_FIELDS.filter((name) => name !== "mcp-tool-parameters"),
    {
      timeMs: 1_780_000_000_000 + index,
      decision: evaluate(tenTools, facts),
      requestId: `request-${index}`,
      bundleDigest: "d".repeat(64),
      route: "default/mcp",
      ...facts,
      replay: () => recordWriter.write({ facts, certificate: undefined, toolArguments: () => given }),
    },
  );
}

function readList(): ListAnswer {
  const answer = readListAnswer(list);
  if (typeof answer === "string") throw new Error(`the list is ${answer}`);
  return answer;
}

function compareList(digests: DigestMemory): number {
  return checkTools(lock, digests, list, listAnswer).reviewed.size;
}

function filterList(): number {
  return filterAnswer(list, readList(), { keeps: (item) => mayUse(tenTools, alice, item), isModern: true }).hidden;
}

/** CPU time of one run. */
async function microsOf(run: () => unknown): Promise<number> {
  const endMs = performance.now() + ROUND_MS;
  const before = process.cpuUsage();
  let count = 0;
  for (; performance.now() < endMs; count += 1) {
    const done = run();
    // Not where there is nothing to wait for, which would cost more than what is measured.
    if (done instanceof Promise) await done;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}
