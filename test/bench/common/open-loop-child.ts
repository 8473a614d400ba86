/** Asks at a fixed rate from a process of its own: `node open-loop-child.ts JSON`; tells what it found over IPC, and ends. */
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

import { AnswerReader } from "./answers.ts";
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
  /** Of each answer that says its length; default: any. */
  readonly bodyBytes?: number;
  /** Many clients instead of one: */
  readonly clients?: {
    /** Connections, which are opened when a request is due and none is free. */
    readonly most: number;
    /** A client that has waited this long gives up. */
    readonly timeoutMs: number;
    /** Of the host's own network, used in turn. */
    readonly addresses: readonly string[];
  };
}

export interface OpenLoopFigures {
  readonly latencyMillis: Float64Array;
  readonly latenessMillis: Float64Array;
  readonly errors: number;
  readonly failures: Readonly<Record<string, number>>;
}

/** Between looks at the clock; the kernel adds its own slack. */
const NAP_MS = 0.04;
/** For the last answers. */
const PATIENCE_MS = 3_000;
/** Between attempts to connect to a server that has closed or refuses. */
const RECONNECT_MS = 20;
const MOST_ATTEMPTS = 250;

const task = JSON.parse(process.argv[2] ?? "") as OpenLoopTask;
const { clients } = task;
const bytes = Buffer.from(task.request, "latin1");
const nap = new Int32Array(new SharedArrayBuffer(4));
try {
  // 50 µs otherwise, which would be in all figures.
  writeFileSync("/proc/self/timerslack_ns", "1000");
} catch {
  // Another system, or an older kernel.
}

let loop: OpenLoop<Socket> | undefined;
const sockets = new Set<Socket>();
let opened = 0;
let attempts = 0;
await Promise.all(Array.from({ length: task.connections }, () => new Promise<void>((resolve) => open(resolve))));
if (task.warmUpMs > 0) await run(task.warmUpMs);
const found = await run(task.durationMs);
loop = undefined;
for (const socket of sockets) socket.destroy();
const figures: OpenLoopFigures = {
  latencyMillis: Float64Array.from(found.latencies),
  latenessMillis: Float64Array.from(found.lateness),
  errors: found.errors,
  failures: found.failures,
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
    ...(clients && { grow: () => sockets.size < clients.most && open() }),
  });
  loop = own;
  for (const socket of sockets) if (!socket.connecting) own.free(socket);
  return new Promise((resolve) => {
    const turn = (): void => {
      const now = performance.now();
      const nextMs = own.tick(now);
      if (clients) for (const socket of own.expire(now - clients.timeoutMs)) socket.destroy();
      if (now >= endMs && (own.isDone || (!clients && now > endMs + PATIENCE_MS))) {
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

function open(onOpen?: () => void): void {
  const { addresses = [] } = clients ?? {};
  const localAddress = addresses[(opened += 1) % Math.max(1, addresses.length)];
  const socket = connect({ port: task.port, host: "127.0.0.1", noDelay: true, ...(localAddress && { localAddress }) });
  const answers = new AnswerReader(task.bodyBytes);
  sockets.add(socket);
  socket.on("connect", () => {
    onOpen?.();
    onOpen = undefined;
    loop?.free(socket);
  });
  socket.on("data", (chunk: Buffer) => {
    const ok = answers.push(chunk);
    if (ok === undefined) return;
    loop?.answered(socket, performance.now(), ok ? undefined : String(answers.status));
    if (!answers.closes) loop?.free(socket);
    else socket.destroy();
  });
  // Its request failed, if it had one.
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    sockets.delete(socket);
    loop?.lost(socket);
    // It ends without figures.
    if (onOpen && (attempts += 1) > MOST_ATTEMPTS) process.exit(1);
    const isMissed = loop !== undefined && (sockets.size < task.connections || loop.isWaiting);
    if (onOpen || isMissed) setTimeout(() => open(onOpen), RECONNECT_MS);
  });
}
