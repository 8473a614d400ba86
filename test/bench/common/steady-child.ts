/** The process of steady-load.ts. Raw sockets, as load.ts has them. */
import { connect, type Socket } from "node:net";

import { answerLength } from "./answers.ts";

export interface SteadyOptions {
  readonly port: number;
  /** The whole request, as Latin-1 text. */
  readonly request: string;
  /** A second. */
  readonly rate: number;
}

/** Since the message before. */
export interface SteadySamples {
  readonly dueMs: readonly number[];
  readonly micros: readonly number[];
  readonly errors: number;
}

const CONNECTIONS = 32;
const TELL_EVERY_MS = 250;

const { port, request, rate } = JSON.parse(process.argv[2] ?? "") as SteadyOptions;
const bytes = Buffer.from(request, "latin1");
const idle: Socket[] = [];
const waiting: number[] = [];
/** Since when what a connection is busy with should have been on its way. */
const busy = new Map<Socket, number>();
let found = { dueMs: [] as number[], micros: [] as number[], errors: 0 };

for (let each = 0; each < CONNECTIONS; each += 1) open();
const everyMs = 1000 / rate;
let nextMs = performance.now() + 500;
setTimeout(tick, 1);
setInterval(() => {
  process.send?.(found);
  found = { dueMs: [], micros: [], errors: 0 };
}, TELL_EVERY_MS);

function tick(): void {
  // From now on, not from when it should have been: that this timer is late is not the gateway's.
  for (const now = performance.now(); nextMs <= now; nextMs += everyMs) waiting.push(now);
  sendWaiting();
  setTimeout(tick, 1);
}

function sendWaiting(): void {
  while (waiting.length > 0 && idle.length > 0) {
    const socket = idle.shift() as Socket;
    busy.set(socket, waiting.shift() as number);
    socket.write(bytes);
  }
}

function open(): void {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let pending = "";
  const isFree = (): void => {
    idle.push(socket);
    sendWaiting();
  };
  socket.on("connect", isFree);
  socket.on("data", (chunk) => {
    pending += chunk.toString("latin1");
    const length = answerLength(pending);
    if (length === undefined || pending.length < length) return;
    const due = busy.get(socket) ?? Number.NaN;
    busy.delete(socket);
    if (pending.startsWith("HTTP/1.1 2")) {
      found.dueMs.push(performance.timeOrigin + due);
      found.micros.push((performance.now() - due) * 1000);
    } else found.errors += 1;
    pending = pending.slice(length);
    isFree();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    if (busy.delete(socket)) found.errors += 1;
    const at = idle.indexOf(socket);
    if (at !== -1) idle.splice(at, 1);
    open();
  });
}
