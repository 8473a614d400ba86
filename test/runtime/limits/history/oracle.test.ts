/** History rules against a reference that reads the whole trace again for each call. */
import { expect, test } from "vitest";

import { compileHistoryRules } from "../../../../runtime/features/mcp/compile-history.ts";
import type { HistoryRuleDoc } from "../../../../runtime/features/mcp/history-rules.ts";
import {
  checkEarlier,
  countCall,
  markCall,
  markOutcomes,
  reasonText,
} from "../../../../runtime/limits/history/decide.ts";
import { MemoryHistory } from "../../../../runtime/limits/history/memory-history.ts";
import { planCall } from "../../../../runtime/limits/history/plan.ts";
import { argumentsOf } from "../../../../runtime/policy/mcp/argument-values.ts";
import { EXACT_BELOW } from "../../../../runtime/limits/gate.ts";

interface Call {
  readonly timeMs: number;
  readonly user: string;
  readonly client: string;
  readonly run: string | undefined;
  readonly tool: string;
  readonly doc: string | undefined;
  readonly amount: number | undefined;
  readonly succeeds: boolean;
  permitted?: boolean;
}

/** Deterministic; the tests' own. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const TOOLS = ["read", "send", "pay"] as const;
const KEYS = ["user", "client", "run"] as const;

function randomRules(random: (below: number) => number): readonly HistoryRuleDoc[] {
  const tool = (): string => TOOLS[random(TOOLS.length)] ?? "read";
  const calls = (name: string) => ({ or: [{ mcp_tool: { is: name } }] });
  return Array.from({ length: 1 + random(3) }, (_, index): HistoryRuleDoc => {
    const within = `${1 + random(4)}s`;
    const base = { name: `r${index}`, calls: calls(tool()), per: KEYS[random(KEYS.length)] ?? "user" } as const;
    switch (random(4)) {
      case 0:
        return {
          ...base,
          after: { calls: calls(tool()), within, ...(random(2) === 0 && { same_argument: "/doc" }) },
        };
      case 1:
        return { ...base, not_after: { calls: calls(tool()), within } };
      case 2:
        return { ...base, at_most: { count: 1 + random(4), within } };
      default:
        return { ...base, total: { argument: "/amount", limit: "0.4", within } };
    }
  });
}

function randomTrace(random: (below: number) => number): readonly Call[] {
  let timeMs = 1_000_000;
  return Array.from({ length: 18 }, () => {
    timeMs += random(700);
    return {
      timeMs,
      user: `u${random(2)}`,
      client: `c${random(2)}`,
      run: random(3) === 0 ? undefined : `r${random(2)}`,
      tool: TOOLS[random(TOOLS.length)] ?? "read",
      doc: random(6) === 0 ? undefined : `d${random(2)}`,
      amount: random(8) === 0 ? undefined : random(4),
      succeeds: random(4) !== 0,
    };
  });
}

const secondsOf = (within: string): number => Number(within.slice(0, -1)) * 1000;
const names = (doc: HistoryRuleDoc["calls"]): string =>
  (doc.or?.[0]?.["mcp_tool"] as { is: string } | undefined)?.is ?? "";

/** The reason of a denial by one rule, from the trace alone. */
function referenceDenial(rule: HistoryRuleDoc, before: readonly Call[], call: Call): string | undefined {
  if (names(rule.calls) !== call.tool) return undefined;
  const per = KEYS.find((key) => key === rule.per) ?? "user";
  if (call[per] === undefined) return undefined;
  const mine = before.filter((each) => each[per] === call[per] && each.permitted === true);
  const isWithin = (each: Call, withinMs: number): boolean => call.timeMs - each.timeMs <= withinMs;
  if (rule.after) {
    const { calls, within, same_argument: same } = rule.after;
    if (same !== undefined && call.doc === undefined) return "history-argument-unknown";
    const isMet = mine.some(
      (each) =>
        each.succeeds &&
        each.tool === names(calls) &&
        isWithin(each, secondsOf(within)) &&
        (same === undefined || each.doc === call.doc),
    );
    return isMet ? undefined : "history-after";
  }
  if (rule.not_after) {
    const { calls, within } = rule.not_after;
    const slack = secondsOf(within) / 10;
    return mine.some((each) => each.tool === names(calls) && isWithin(each, secondsOf(within) + slack))
      ? "history-not-after"
      : undefined;
  }
  if (rule.at_most) {
    const { count, within } = rule.at_most;
    const counted = mine.filter((each) => each.tool === call.tool && isWithin(each, secondsOf(within)));
    return counted.length >= count ? "history-at-most" : undefined;
  }
  if (call.amount === undefined) return "history-argument-unknown";
  const withinMs = secondsOf(rule.total?.within ?? "");
  const slotMs = withinMs / 100;
  const sum = mine
    .filter((each) => each.tool === call.tool)
    .filter((each) => (Math.floor(each.timeMs / slotMs) + 1) * slotMs + withinMs > call.timeMs)
    .reduce((total, each) => total + (each.amount ?? 0), 0);
  return sum + call.amount > 4 ? "history-total" : undefined;
}

test("10,000 random traces get the same verdicts as from a rescan of the whole trace, and both verdicts occur", async () => {
  const random = randomOf(43);
  const seen = new Map<string, number>();
  for (let trace = 0; trace < 10_000; trace += 1) {
    const docs = randomRules(random);
    const calls = randomTrace(random);
    const rules = compileHistoryRules(docs) ?? [];
    const state = new MemoryHistory();
    for (const [index, call] of calls.entries()) {
      const { tool, doc, amount, user, client, run } = call;
      const given = {
        ...(doc !== undefined && { doc }),
        // In tenths: sums of doubles would not be exact.
        ...(amount !== undefined && { amount: amount / 10 }),
      };
      const facts = {
        http: { method: "POST", path: "/", host: "h", ip: "127.0.0.1" },
        mcp: { method: "tools/call", tool, arguments: argumentsOf(given) },
      };
      state.nowMs = call.timeMs;
      const plan = planCall({ key: "o/r", rules }, facts, { user, client, run, grant: undefined });
      const denied = plan && (await verdict(plan, state));
      call.permitted = denied === undefined;
      if (plan && call.permitted && call.succeeds) await markOutcomes(plan.outcomes, state);
      const expected = docs.map((rule) => [rule, referenceDenial(rule, calls.slice(0, index), call)] as const);
      const reasons = expected.flatMap(([rule, reason]) => (reason === undefined ? [] : [`${reason}:${rule.name}`]));
      if (denied === undefined ? reasons.length > 0 : !reasons.includes(denied))
        expect.fail(`trace ${trace}, call ${index}: ${denied ?? "permitted"}, expected ${reasons.join(" or ")}`);
      const kind = denied?.slice(0, denied.indexOf(":")) ?? "permitted";
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
  }
  const kinds = ["permitted", "history-after", "history-not-after", "history-at-most", "history-total"];
  for (const kind of kinds) expect(seen.get(kind), kind).toBeGreaterThan(1_000);
});

async function verdict(
  plan: NonNullable<ReturnType<typeof planCall>>,
  state: MemoryHistory,
): Promise<string | undefined> {
  const [first] = (await checkEarlier(plan, state, true)).denials;
  if (first) return reasonText(first);
  const { denial } = await countCall(plan, state);
  if (denial) return reasonText(denial);
  await markCall(plan, state);
  return undefined;
}

test("a limit above the exact ones is never exceeded within its window, and a call is denied only when a longer window is full", async () => {
  const count = EXACT_BELOW + 10;
  const rules = compileHistoryRules([
    { name: "r", calls: { or: [{ mcp_tool: { is: "read" } }] }, at_most: { count, within: "10s" } },
  ]);
  const random = randomOf(7);
  const state = new MemoryHistory();
  const permitted: number[] = [];
  let denied = 0;
  for (let timeMs = 0; timeMs < 200_000; timeMs += random(400)) {
    state.nowMs = timeMs;
    const facts = {
      http: { method: "POST", path: "/", host: "h", ip: "" },
      mcp: { method: "tools/call", tool: "read" },
    };
    const plan = planCall({ key: "o/r", rules: rules ?? [] }, facts, {
      user: "u",
      client: "c",
      grant: "g",
      run: undefined,
    });
    if (plan === undefined) throw new Error("no rule applies");
    const isDenied = (await verdict(plan, state)) !== undefined;
    const within = (ms: number): number => permitted.filter((each) => timeMs - each <= ms).length;
    if (isDenied) {
      denied += 1;
      expect(within(11_000)).toBeGreaterThanOrEqual(count);
    } else {
      expect(within(10_000)).toBeLessThan(count);
      permitted.push(timeMs);
    }
  }
  expect(denied).toBeGreaterThan(20);
  expect(permitted.length).toBeGreaterThan(200);
});
