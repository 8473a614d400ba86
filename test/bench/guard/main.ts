/**
 * `npm run bench -- --guard OLD_CHECKOUT`: the gateway of another checkout beside the one of this checkout, CPU a request.
 *
 * Both are asked at the same time and share one core, so that what the machine does within milliseconds hits both. Two processes
 * of the same code differ by a tenth for as long as they run (what was compiled when, what lies where), whatever the number of
 * rounds: only many starts tell, each with few rounds.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";

import { trustedCertificate } from "../common/certificate.ts";
import { REST_CORE } from "../common/child.ts";
import { type GatewayStart, startGateway, tokenFor } from "../common/gateway.ts";
import { loadHttp2 } from "../common/load-http2.ts";
import { load } from "../common/load.ts";
import { mcpRequest, messageRequest, webRequest } from "../common/requests.ts";
import { type Case, measureRounds } from "../common/rounds.ts";
import { onStage, type Stage } from "../common/stage.ts";
import { formatTable } from "../common/table.ts";
import { everywhere, withoutCredentials } from "../gateways/contender.ts";
import { DENIED_PREFIX } from "../gateways/sizes.ts";
import { ask } from "../gateways/verify.ts";
import { bytesOf, questionOf, WORKS, wrongWith } from "../gateways/works.ts";
import { commitOf, lookAround, othersShare } from "../report/machine.ts";
import { startProgress } from "../report/progress.ts";
import { addToHistory } from "./history.ts";
import { type GuardFigure, judge, MOST, type Start, verdictOf } from "./verdict.ts";

export interface GuardArguments {
  readonly old: string;
  /** Even: each side is started first, and asked first, in half of them. */
  readonly starts: number;
  /** Of each start. */
  readonly rounds: number;
  readonly durationMs: number;
  readonly connections: number;
  /** Adds a row with it to the history. */
  readonly note: string | undefined;
}

const ROOT = resolve(import.meta.dirname, "../../..");
/** All cases at once. What is measured before V8 has compiled everything shows the size of the code, not its speed. */
const WARM_UP_MS = 12_000;
const CASES = ["GET", "MCP GET", "tools/call", "list", "SSE", "HTTP/2"] as const;
type CaseName = (typeof CASES)[number];

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
  for (let start = 1; start <= args.starts; start += 1) {
    const show = (what: string): void => progress.show(`start ${start} of ${args.starts}: ${what}`);
    const found = await measureStart(start % 2 === 1 ? sides : sides.toReversed(), args, show);
    for (const [index, each] of found.entries()) starts[index]?.push(each);
  }
  progress.end();
  const figures = CASES.map((title, index) => judge(title, starts[index] ?? []));
  const others = othersShare(before, lookAround());
  describe(figures, old, others);
  if (args.note !== undefined) await note(args.note, figures, old, others);
  if (figures.some((figure) => figure.ratio.median > MOST)) process.exitCode = 1;
}

/** Both, started now; a figure for each of CASES. */
function measureStart(
  sides: readonly Side[],
  { rounds, durationMs, connections }: GuardArguments,
  show: (what: string) => void,
): Promise<readonly Start[]> {
  return onStage(async (stage) => {
    show("starting");
    const upstreams = { plain: await startUpstream(stage, "common"), mcp: await startUpstream(stage, "gateways") };
    const tls = await trustedCertificate(stage.directory);
    const cases: Readonly<Record<CaseName, Case>>[] = [];
    for (const side of sides) cases.push(await startSide(stage, side, upstreams, tls, connections));
    show("warming up");
    await Promise.all(cases.flatMap((each) => Object.values(each)).map((each) => each.run(WARM_UP_MS)));
    const found: Start[] = [];
    for (const name of CASES) {
      show(name);
      const options = { rounds, durationMs, warmUpMs: durationMs, isTogether: true };
      const measured = await measureRounds(
        cases.map((each) => each[name]),
        options,
      );
      const [before, now] = ["old", "now"].map((side) => measured.find((each) => each.name === side));
      if (!before || !now || before.errors + now.errors > 0) {
        throw new Error(`${name}: ${before?.errors} requests failed in the old checkout, ${now?.errors} in this one`);
      }
      found.push({ old: before.cpuMicros, now: now.cpuMicros });
    }
    return found;
  });
}

async function startUpstream(stage: Stage, folder: "common" | "gateways"): Promise<string> {
  const program = join(ROOT, "test/bench", folder, "upstream.ts");
  return `http://127.0.0.1:${(await stage.start("rest", process.execPath, program)).port}`;
}

/** Two gateways: one that speaks HTTP/1.1, and one that speaks TLS and HTTP/2. */
async function startSide(
  stage: Stage,
  { name, checkout }: Side,
  upstreams: { readonly plain: string; readonly mcp: string },
  tls: GatewayStart["tls"],
  connections: number,
): Promise<Readonly<Record<CaseName, Case>>> {
  const start = async (more: Pick<GatewayStart, "name" | "tls" | "moreRoutes">) => {
    const { directory, start: startChild } = stage;
    const common = { directory, upstream: upstreams.plain, start: startChild, checkout, logLevel: "error" };
    const gateway = await startGateway({ ...common, ...more });
    stage.atEnd(gateway.close);
    return gateway;
  };
  const { child, cookie, bearer } = await start({ name, moreRoutes: (port) => toolRoute(port, upstreams.mcp) });
  const secure = await start({ name: `${name}-tls`, ...(tls && { tls }) });
  const { pid, port } = child;
  const credential = `authorization: Bearer ${await tokenFor(port, "/tool")}`;
  const asked = (request: Buffer, at = connections): Case => ({
    name,
    pid,
    run: (durationMs) => load({ port, request, connections: at, durationMs }),
  });
  return {
    GET: asked(webRequest(port, cookie)),
    "MCP GET": asked(mcpRequest(port, bearer)),
    "tools/call": asked(messageRequest(port, bearer)),
    list: asked(await verified(port, "list", credential)),
    SSE: asked(await verified(port, "sse", credential), connections / 2),
    "HTTP/2": {
      name,
      pid: secure.child.pid,
      run: (durationMs) =>
        loadHttp2({
          port: secure.child.port,
          path: "/web/items",
          headers: { cookie: secure.cookie },
          requests: connections,
          durationMs,
        }),
    },
  };
}

/** A request of the comparison with other gateways, once its response is right. */
async function verified(port: number, name: "list" | "sse", credential: string): Promise<Buffer> {
  const work = WORKS.find((each) => each.name === name);
  if (work === undefined) throw new Error(`There is no work "${name}"`);
  const running = { paths: { mcp: "/tool", tool: "/tool" }, records: [], credentials: withoutCredentials };
  const question = questionOf(work, running, everywhere(credential));
  const wrong = wrongWith(work, await ask(port, question), false);
  if (wrong !== undefined) throw new Error(`Cannot measure ${name}: the gateway ${wrong}`);
  return bytesOf(port, question);
}

/** YAML: 20 of the 50 tools are hidden. */
function toolRoute(port: number, upstream: string): string {
  return `  - { name: tool, from: "http://localhost:${port}", prefix: /tool, to: "${upstream}", mcp: { server: { max_request_bytes: 65536 } },
      policy: [{ allow: { and: [{ domain: { is: example.com } }] } }, { deny: { or: [{ mcp_tool: { starts_with: ${DENIED_PREFIX} } }] } }] }
`;
}

async function note(text: string, figures: readonly GuardFigure[], old: string, others: number): Promise<void> {
  const rounded = (value: number): number => Math.round(value * 1000) / 1000;
  await addToHistory({
    date: new Date().toISOString().slice(0, 10),
    now: commitOf(ROOT),
    old: commitOf(old),
    machine: `${cpus()[0]?.model.trim() ?? "unknown"}, ${cpus().length} cores`,
    others: Math.round(others * 100) / 100,
    ...(text !== "" && { note: text }),
    ratios: figures.map(({ title, ratio, interval: { low, high } }) => ({
      title,
      ratio: rounded(ratio.median),
      low: rounded(low),
      high: rounded(high),
    })),
  });
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
