/**
 * `npm run bench -- --guard OLD_CHECKOUT`: the gateway of another checkout beside the one of this checkout, CPU a request.
 *
 * Both are asked at the same time and share one core, so that what the machine does within milliseconds hits both. Two processes
 * of the same code differ by a tenth for as long as they run (what was compiled when, what lies where), whatever the number of
 * rounds: only many starts tell, each with few rounds.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { type Child, REST_CORE, startChild } from "../common/child.ts";
import { startGateway } from "../common/gateway.ts";
import { load } from "../common/load.ts";
import { mcpRequest, messageRequest, webRequest } from "../common/requests.ts";
import { type Case, measureRounds } from "../common/rounds.ts";
import { formatTable } from "../common/table.ts";
import { commitOf, lookAround, othersShare } from "../report/machine.ts";
import { startProgress } from "../report/progress.ts";
import { type GuardFigure, judge, MOST, type Start, verdictOf } from "./verdict.ts";

export interface GuardArguments {
  readonly old: string;
  /** Of each start. */
  readonly rounds: number;
  readonly durationMs: number;
  readonly connections: number;
}

const ROOT = resolve(import.meta.dirname, "../../..");
/** Even: each side is started first, and asked first, in half of them. */
const STARTS = 24;
/** All cases at once. What is measured before V8 has compiled everything shows the size of the code, not its speed. */
const WARM_UP_MS = 12_000;
const CASES = [
  { name: "get", title: "GET with session" },
  { name: "mcp-get", title: "MCP GET with External Token" },
  { name: "mcp-post", title: "POST tools/call of 4 KiB" },
] as const;

interface Side {
  readonly name: "old" | "now";
  readonly checkout: string;
}

export async function runGuard(args: GuardArguments): Promise<void> {
  const old = resolve(args.old);
  for (const file of ["runtime/gateway.ts", "node_modules"]) {
    if (!existsSync(join(old, file))) {
      throw new Error(`Cannot compare with "${args.old}": it has no ${file}, must be a checkout after npm ci`);
    }
  }
  if (existsSync("/usr/bin/taskset")) {
    execFileSync("/usr/bin/taskset", ["-acp", REST_CORE, String(process.pid)], { stdio: "ignore" });
  }
  const progress = startProgress();
  const before = lookAround();
  const sides: readonly Side[] = [
    { name: "old", checkout: old },
    { name: "now", checkout: ROOT },
  ];
  const starts = CASES.map((): Start[] => []);
  for (let start = 1; start <= STARTS; start += 1) {
    const show = (what: string): void => progress.show(`start ${start} of ${STARTS}: ${what}`);
    const found = await measureStart(start % 2 === 1 ? sides : sides.toReversed(), args, show);
    for (const [index, each] of found.entries()) starts[index]?.push(each);
  }
  progress.end();
  const figures = CASES.map(({ title }, index) => judge(title, starts[index] ?? []));
  describe(figures, old, othersShare(before, lookAround()));
  if (figures.some((figure) => figure.ratio.median > MOST)) process.exitCode = 1;
}

/** Both, started now; a figure for each of CASES. */
async function measureStart(
  sides: readonly Side[],
  { rounds, durationMs, connections }: GuardArguments,
  show: (what: string) => void,
): Promise<readonly Start[]> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    closers.unshift(() => child.stop());
    return child;
  };
  show("starting");
  try {
    const upstream = await start("rest", process.execPath, join(ROOT, "test/bench/common/upstream.ts"));
    const origin = `http://127.0.0.1:${upstream.port}`;
    const gateways: (Awaited<ReturnType<typeof startGateway>> & Pick<Side, "name">)[] = [];
    for (const { name, checkout } of sides) {
      const gateway = await startGateway({ directory, name, upstream: origin, start, checkout, logLevel: "error" });
      closers.unshift(gateway.close);
      gateways.push({ name, ...gateway });
    }
    const cases = CASES.map(({ name }) =>
      gateways.map(({ name: side, child: { pid, port }, cookie, bearer }): Case => {
        const request = {
          get: () => webRequest(port, cookie),
          "mcp-get": () => mcpRequest(port, bearer),
          "mcp-post": () => messageRequest(port, bearer),
        }[name]();
        return { name: side, pid, run: (ms) => load({ port, request, connections, durationMs: ms }) };
      }),
    );
    show("warming up");
    await Promise.all(cases.flat().map((each) => each.run(WARM_UP_MS)));
    const found: Start[] = [];
    for (const [index, { title }] of CASES.entries()) {
      show(title);
      const options = { rounds, durationMs, warmUpMs: 500, isTogether: true };
      const measured = await measureRounds(cases[index] ?? [], options);
      const [before, now] = ["old", "now"].map((side) => measured.find((each) => each.name === side));
      if (!before || !now || before.errors + now.errors > 0) {
        throw new Error(`${title}: ${before?.errors} requests failed in the old checkout, ${now?.errors} in this one`);
      }
      found.push({ old: before.cpuMicros, now: now.cpuMicros });
    }
    return found;
  } finally {
    for (const close of closers) await close();
  }
}

function describe(figures: readonly GuardFigure[], old: string, others: number): void {
  const two = (value: number): string => value.toFixed(3);
  const rows = figures.map((figure) => [
    figure.title,
    figure.old.median.toFixed(1),
    figure.now.median.toFixed(1),
    two(figure.ratio.median),
    `${two(figure.ratio.low)} – ${two(figure.ratio.high)}`,
    `${two(figure.interval.low)} – ${two(figure.interval.high)}`,
    verdictOf(figure),
  ]);
  const header = ["", "old, CPU µs", "now", "now ÷ old", "half of the rounds", "median in 95 of 100", ""];
  console.log(`${old} (${commitOf(old)}) and ${ROOT} (${commitOf(ROOT)})\n${formatTable(header, rows)}`);
  const busy = others > 0.1 ? ": no figure is sure then; measure again when it is quiet" : "";
  console.log(`Others used ${Math.round(others * 100)} % of the machine meanwhile${busy}.`);
}
