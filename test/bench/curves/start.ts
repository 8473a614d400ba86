/** Curves: how a gateway is started and asked. */
import { join } from "node:path";

import { builtProgram } from "../../support/built-program.ts";
import { COLLECT_ON_SIGNAL } from "../common/collect-on-signal.ts";
import { startGateway } from "../common/gateway.ts";
import { load } from "../common/load.ts";
import type { Case } from "../common/rounds.ts";
import type { Stage } from "../common/stage.ts";

/** What runs for one point of a curve. */
export interface Subject {
  readonly processes: readonly {
    readonly pid: number;
    /** Line of its memory. */
    readonly memory: string;
    readonly cases: readonly SubjectCase[];
  }[];
}

export interface SubjectCase extends Pick<Case, "run"> {
  readonly line: string;
  /** Processor time is divided by it; default 1. */
  readonly per?: number;
}

const CONNECTIONS = 32;

export type CurveGateway = Awaited<ReturnType<typeof startGateway>>;

type Options = Partial<Parameters<typeof startGateway>[0]>;

/** Collects garbage when it gets SIGUSR2. @param program of `test/bench` that is the upstream */
export async function startOne(stage: Stage, name: string, program: string, options: (upstream: string) => Options) {
  const upstream = await stage.start("rest", process.execPath, join(import.meta.dirname, "..", program));
  const origin = `http://127.0.0.1:${upstream.port}`;
  const gateway = await startGateway({
    directory: stage.directory,
    name,
    upstream: origin,
    start: stage.start,
    logLevel: "error",
    otherRoutes: 0,
    flags: [`--import=${COLLECT_ON_SIGNAL}`],
    program: await builtProgram(),
    ...options(origin),
  });
  stage.atEnd(gateway.close);
  return gateway;
}

export function asking(port: number, request: Buffer | (() => Buffer), connections = CONNECTIONS): Case["run"] {
  return (durationMs) => load({ port, request, connections, durationMs });
}

/** A gateway is the only process. */
export function ofGateway({ child: { pid } }: Pick<CurveGateway, "child">, ...cases: readonly SubjectCase[]): Subject {
  return { processes: [{ pid, memory: "gateway", cases }] };
}
