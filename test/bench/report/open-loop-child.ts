/** Asks at a fixed rate from a process of its own: `node open-loop-child.ts JSON`; tells what it found over IPC, and ends. */
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

import { AnswerReader } from "../common/answers.ts";
import { OpenLoop } from "./open-loop.ts";

export interface OpenLoopTask {
  readonly port: number;
  /** The whole request, as Latin-1 text. */
  readonly request: string;
  readonly ratePerSecond: number;
  readonly connections: number;
  readonly durationMs: number;
  /** At the beginning; asked for, and not counted. */
  readonly warmUpMs: number;
}

export interface OpenLoopFigures {
  readonly latencyMillis: Float64Array;
  readonly latenessMillis: Float64Array;
  readonly errors: number;
}

/** Between looks at the clock; the kernel adds its own slack. */
const NAP_MS = 0.04;
/** For the last answers. */
const PATIENCE_MS = 3_000;

const task = JSON.parse(process.argv[2] ?? "") as OpenLoopTask;
const bytes = Buffer.from(task.request, "latin1");
const nap = new Int32Array(new SharedArrayBuffer(4));
try {
  // 50 µs otherwise, which would be in all figures.
  writeFileSync("/proc/self/timerslack_ns", "1000");
} catch {
  // Another system, or an older kernel.
}

let loop: OpenLoop<Socket> | undefined;
const sockets = await Promise.all(Array.from({ length: task.connections }, open));
await run(task.warmUpMs);
const found = await run(task.durationMs);
for (const socket of sockets) socket.destroy();
const figures: OpenLoopFigures = {
  latencyMillis: Float64Array.from(found.latencies),
  latenessMillis: Float64Array.from(found.lateness),
  errors: found.errors,
};
// What is more than the pipe holds would be lost by an earlier farewell.
process.send?.(figures, () => process.disconnect?.());

function run(durationMs: number): Promise<OpenLoop<Socket>> {
  const startMs = performance.now() + 5;
  const endMs = startMs + durationMs;
  const own = new OpenLoop<Socket>({
    ratePerSecond: task.ratePerSecond,
    startMs,
    endMs,
    send: (socket) => void socket.write(bytes),
  });
  loop = own;
  for (const socket of sockets) if (!socket.destroyed) own.free(socket);
  return new Promise((resolve) => {
    const turn = (): void => {
      const now = performance.now();
      const nextMs = own.tick(now);
      if (now >= endMs && (own.isDone || now > endMs + PATIENCE_MS)) {
        own.giveUp(now);
        resolve(own);
        return;
      }
      // A timer has whole milliseconds; answers are read between the naps.
      const waitMs = Math.min(NAP_MS, nextMs - now);
      if (waitMs > 0 || nextMs >= endMs) Atomics.wait(nap, 0, 0, waitMs > 0 ? waitMs : NAP_MS);
      setImmediate(turn);
    };
    turn();
  });
}

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: task.port, host: "127.0.0.1", noDelay: true });
    const answers = new AnswerReader();
    socket.on("connect", () => resolve(socket));
    socket.on("data", (chunk: Buffer) => {
      const ok = answers.push(chunk);
      if (ok === undefined) return;
      loop?.answered(socket, performance.now(), ok);
      loop?.free(socket);
    });
    socket.on("error", reject);
    socket.on("close", () => loop?.lost(socket));
  });
}
