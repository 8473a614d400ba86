/** Latency at fixed rates of some gateways, who take turns. A request counts from when it was due, see ../../common/open-loop.ts. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { OpenLoopFigures } from "../../common/open-loop-child.ts";
import { runOpenLoop } from "../../common/run-open-loop.ts";
import { percentileOf, quantile } from "../../common/statistics.ts";
import type { Contender, WorkName } from "../contender.ts";
import { loadOf, warmUp, warmUpOf } from "../measure.ts";
import { type Started, startStage, type World } from "../stage.ts";
import { OURS } from "../values.ts";
import { bytesOf, MANY, questionOf, type Work, WORKS } from "../works.ts";
import type { RateKind, Tail, TailCell, TailRow } from "./figures.ts";

/** What client and upstream add themselves; only at rates of others. */
const FLOOR = "upstream";
/** Rows that are measured. */
export const TIMED = [FLOOR, "nginx", "haproxy-jwt", OURS, "envoy-jwt-cached", "oauth2-proxy", "fastify-jose"];
const TIMED_WORKS: readonly WorkName[] = ["get", "mcp"];
/** The first five are in the table, all in the plot. */
export const SHARES = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.75, 0.95, 0.995, 0.9995] as const;
const ROUNDS = 3;
const CONNECTIONS = 64;
/** Enough for p99.99, and for p99.9; as many as fit into MOST_SECONDS. */
const REQUESTS = [105_000, 10_500] as const;
const USUAL_SECONDS = 6;
const MOST_SECONDS = 9;
const WARM_UP_MS = 200;
/** What else the machine does makes single ones slow. */
const LIMIT_TURNS = 3;
/** Above this part of its limit a gateway cannot serve a rate for long. */
const MOST_SHARE = 0.9;

interface Turn {
  readonly subject: Started;
  readonly work: Work;
  readonly kind: RateKind;
  readonly ratePerSecond: number;
  readonly runs: OpenLoopFigures[];
}

export async function measureTail(
  world: World,
  contenders: readonly Contender[],
  isQuick: boolean,
): Promise<Omit<Tail, "run">> {
  const works = WORKS.filter(({ name }) => TIMED_WORKS.includes(name));
  const directory = join(world.directory, "tail");
  mkdirSync(directory);
  const stage = await startStage({ ...world, directory }, "plain", contenders, works);
  try {
    const limits = new Map<string, Map<WorkName, number>>();
    for (const work of works) {
      world.show(`latency at fixed rates: how many ${work.title} a gateway can serve`);
      for (const subject of stage.started.filter(({ does }) => does.has(work.name))) {
        const { name } = subject.contender;
        const own = limits.get(name) ?? new Map<WorkName, number>();
        limits.set(name, own.set(work.name, await limitOf(subject, work, { isQuick, isFirst: work === works[0] })));
      }
    }
    const turns = works.flatMap((work) => turnsOf(work, stage.started, limits));
    for (let round = 1; round <= ROUNDS; round += 1)
      for (const turn of round % 2 === 1 ? turns : turns.toReversed()) {
        const { subject, work, ratePerSecond } = turn;
        world.show(
          `round ${round} of ${ROUNDS}: ${work.name} at ${ratePerSecond} a second, ${subject.contender.title}`,
        );
        turn.runs.push(await runTurn(turn, isQuick));
      }
    return {
      rounds: ROUNDS,
      connections: CONNECTIONS,
      rows: contenders.map(({ name, title }): TailRow => {
        const missing = stage.missing.get(name);
        return {
          name,
          title,
          ...(missing !== undefined && { missing }),
          saturation: Object.fromEntries(limits.get(name) ?? []),
          cells: turns.filter(({ subject }) => subject.contender.name === name).map(cellOf),
        };
      }),
    };
  } finally {
    await stage.stop();
  }
}

/** Most requests a second, of clients that wait for each response. */
async function limitOf(
  subject: Started,
  work: Work,
  options: { readonly isQuick: boolean; readonly isFirst: boolean },
): Promise<number> {
  const run = await loadOf(work, MANY, subject);
  await warmUp(subject, run, warmUpOf(subject.contender, MANY, options));
  let most = 0;
  for (let turn = 0; turn < LIMIT_TURNS; turn += 1) {
    const { requests, seconds } = await run(options.isQuick ? 150 : 400);
    most = Math.max(most, requests / seconds);
  }
  return Math.round(most);
}

function turnsOf(
  work: Work,
  started: readonly Started[],
  limits: ReadonlyMap<string, ReadonlyMap<WorkName, number>>,
): readonly Turn[] {
  const halfOf = (name: string): number => roundDown((limits.get(name)?.get(work.name) ?? 0) / 2);
  const common = halfOf(OURS);
  return started
    .filter(({ contender: { name } }) => halfOf(name) > 0)
    .flatMap((subject): Turn[] => {
      const { name } = subject.contender;
      const own: Turn = { subject, work, kind: "own", ratePerSecond: halfOf(name), runs: [] };
      const limit = limits.get(name)?.get(work.name) ?? 0;
      if (name === FLOOR) return common === 0 ? [] : [{ ...own, kind: "common", ratePerSecond: common }];
      // Gateform's own rate is the common one.
      if (name === OURS || common === 0 || common > limit * MOST_SHARE) return [own];
      return [own, { ...own, kind: "common", ratePerSecond: common, runs: [] }];
    });
}

/** Two digits. */
export function roundDown(rate: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, rate))) - 1);
  return Math.floor(rate / unit) * unit;
}

/** Of all rounds. */
export function secondsAt(ratePerSecond: number): number {
  const [many, some] = REQUESTS.map((requests) => requests / ratePerSecond);
  if (many !== undefined && many <= MOST_SECONDS) return many;
  return Math.min(MOST_SECONDS, Math.max(USUAL_SECONDS, some ?? 0));
}

async function runTurn({ subject, work, ratePerSecond }: Turn, isQuick: boolean): Promise<OpenLoopFigures> {
  const { port, running, credentials } = subject;
  const seconds = secondsAt(ratePerSecond);
  return runOpenLoop({
    port,
    request: bytesOf(port, questionOf(work, running, credentials)).toString("latin1"),
    ratePerSecond,
    connections: CONNECTIONS,
    durationMs: ((seconds / ROUNDS) * 1000) / (isQuick ? 6 : 1),
    warmUpMs: WARM_UP_MS,
  });
}

function cellOf({ work, kind, ratePerSecond, runs }: Turn): TailCell {
  const all = runs.flatMap(({ latencyMillis }) => [...latencyMillis]);
  const late = runs.flatMap(({ latenessMillis }) => [...latenessMillis]);
  return {
    work: work.name,
    kind,
    ratePerSecond,
    requests: all.length,
    errors: runs.reduce((sum, { errors }) => sum + errors, 0),
    millis: Object.fromEntries(
      SHARES.flatMap((share) => {
        const value = percentileOf(all, share);
        return value === undefined ? [] : [[share, threeDigits(value)]];
      }),
    ),
    latenessMillis: late.length === 0 ? 0 : threeDigits(quantile(late, 0.99)),
  };
}

const threeDigits = (value: number): number => Number(value.toPrecision(3));
