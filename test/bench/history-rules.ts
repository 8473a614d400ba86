/**
 * `node test/bench/history-rules.ts [--seconds 1]`: processor time of history rules for one call, next to the lease: the
 * counts answer at once, so what the store and the way to it cost is not in it. Each row has calls of one kind, in
 * rounds that alternate with those of a route whose rules are about other tools.
 */
import { parseArgs } from "node:util";

import { compileHistoryRules } from "../../runtime/features/mcp/compile-history.ts";
import type { HistoryRuleDoc } from "../../runtime/features/mcp/history-rules.ts";
import { checkEarlier, countCall, markCall } from "../../runtime/limits/history/decide.ts";
import { planCall } from "../../runtime/limits/history/plan.ts";
import { StoreHistory } from "../../runtime/limits/history/store-history.ts";
import type { SharedCounts } from "../../runtime/limits/shared-counts.ts";
import { argumentsOf } from "../../runtime/policy/mcp/argument-values.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { spreadOf } from "./common/statistics.ts";
import { formatTable } from "./common/table.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "1" } } });
const ROUNDS = 9;
const BATCH = 2_000;

/** A store in this process, which always grants. */
const counts: SharedCounts = {
  holder: "bench",
  allot: (_, { wanted, limit, keepMs }) =>
    Promise.resolve({ granted: wanted, used: 1, entry: "e", freeInMs: keepMs, left: limit } as never),
  isUnavailable: () => false,
  shareOf: () => 0,
  lookAround: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

const calls = (tool: string) => ({ or: [{ mcp_tool: { is: tool } }] });
const RULES: Readonly<Record<string, readonly HistoryRuleDoc[]>> = {
  "not about the tool": [{ name: "r", calls: calls("other"), at_most: { count: 10, within: "1h" } }],
  "at_most, leased": [{ name: "r", calls: calls("t"), at_most: { count: 1_000_000_000, within: "1h" } }],
  "at_most, exact (asks the store)": [{ name: "r", calls: calls("t"), at_most: { count: 10, within: "1h" } }],
  "total (asks the store)": [
    { name: "r", calls: calls("t"), total: { argument: "/amount", limit: "1000000000", within: "1h" } },
  ],
  "after, met": [{ name: "r", calls: calls("t"), after: { calls: calls("u"), within: "1h" } }],
  "not_after, marks": [{ name: "r", calls: calls("other"), not_after: { calls: calls("t"), within: "1h" } }],
  "64 rules, not about the tool": Array.from({ length: 64 }, (_, at) => ({
    name: `r${at}`,
    calls: calls(`other-${at}`),
    at_most: { count: 10, within: "1h" },
  })),
};

const facts = {
  http: { method: "POST", path: "/", host: "h", ip: "127.0.0.1" },
  mcp: { method: "tools/call", tool: "t", arguments: argumentsOf({ amount: 0.25, text: "some text" }) },
};
const caller = { user: "alice", client: "c", grant: "g", run: undefined };

/** Microseconds of processor time for one call. */
async function measure(docs: readonly HistoryRuleDoc[], ms: number): Promise<number> {
  const history = new StoreHistory({ counts, clock: systemClock });
  const route = { key: "o/r", rules: compileHistoryRules(docs) ?? [] };
  const one = async (): Promise<void> => {
    const plan = planCall(route, facts, caller);
    if (plan === undefined) return;
    const { denials } = await checkEarlier(plan, history, true);
    const { denial } = await countCall(plan, history);
    const lost = await markCall(plan, history);
    if (denials.length > 0 || denial !== undefined || lost !== undefined) throw new Error("a call was denied");
  };
  await one();
  let done = 0;
  const before = process.cpuUsage();
  for (const end = performance.now() + ms; performance.now() < end; done += BATCH)
    for (let at = 0; at < BATCH; at += 1) await one();
  const { user, system } = process.cpuUsage(before);
  await history.close();
  return (user + system) / done;
}

const ms = (Number(values.seconds) * 1000) / 2;
const found = new Map(Object.keys(RULES).map((name) => [name, [] as number[]]));
for (let round = 0; round < ROUNDS; round += 1)
  for (const [name, docs] of Object.entries(RULES)) found.get(name)?.push(await measure(docs, ms));

const rows = [...found].map(([name, each]) => {
  // The first round compiles.
  const { median, low, high } = spreadOf(each.slice(1));
  return [name, median.toFixed(2), `${low.toFixed(2)} to ${high.toFixed(2)}`];
});
console.log(formatTable(["rule", "µs for a call", "quartiles"], rows));
