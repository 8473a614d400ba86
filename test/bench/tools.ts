/**
 * What governing tools costs, beside `JSON.parse` of the same bytes, in CPU time: `node test/bench/tools.ts`. Exit code 1
 * above a bound: ten rules about arguments 5 µs a call, filtering a list of 500 tools twice the parsing of it.
 */
import { filterAnswer } from "../../runtime/mcp/lists/filter-answer.ts";
import { readListAnswer } from "../../runtime/mcp/lists/list-answer.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { readArguments } from "../../runtime/policy/mcp/argument-values.ts";
import { mayUse } from "../../runtime/policy/reach.ts";
import { alice, asAlice } from "../support/facts.ts";
import { formatTable, median } from "./table.ts";

const ROUNDS = 9;
const ROUND_MS = 120;
const MAX_RULES_MICROS = 5;
const MAX_TIMES_PARSING = 2;

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

const steps: readonly (readonly [name: string, run: () => unknown])[] = [
  ["JSON.parse of a list of 500 tools", () => JSON.parse(list.toString())],
  ["reading and filtering it by ten rules", filterList],
  ["JSON.parse of the arguments", () => JSON.parse(args)],
  ["ten rules about arguments", () => evaluate(tenArguments, call())],
];
// Interleaved, so that what else the machine does falls on all of them.
const rounds = Array.from({ length: ROUNDS }, () => steps.map(([, run]) => microsOf(run)));
const [parse = 0, filter = 0, parseArguments = 0, rules = 0] = steps.map((_, step) =>
  median(rounds.map((round) => round[step] ?? 0)),
);
const rows = [parse, filter, parseArguments, rules].map((micros, step) => [steps[step]?.[0] ?? "", micros.toFixed(1)]);
console.log(formatTable([`${list.length} and ${args.length} bytes`, "µs"], rows));
console.log(`filtering: ${(filter / parse).toFixed(2)} times parsing (bound ${MAX_TIMES_PARSING})`);
console.log(`ten rules: ${rules.toFixed(1)} µs (bound ${MAX_RULES_MICROS})`);
process.exitCode = filter > MAX_TIMES_PARSING * parse || rules > MAX_RULES_MICROS ? 1 : 0;

function filterList(): number {
  const answer = readListAnswer(list);
  if (typeof answer === "string") throw new Error(`the list is ${answer}`);
  return filterAnswer(list, answer, { keeps: (item) => mayUse(tenTools, alice, item), isModern: true }).hidden;
}

/** CPU time of one run. */
function microsOf(run: () => unknown): number {
  const endMs = performance.now() + ROUND_MS;
  const before = process.cpuUsage();
  let count = 0;
  for (; performance.now() < endMs; count += 1) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}
