/**
 * Clients of burst.ts, in a process of their own: `node burst-child.ts OPTIONS` (JSON) sends all requests at the same time and
 * prints the outcomes. A client waits as long as the process runs, as most real clients do.
 */
import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";

import { answerLength } from "../common/answers.ts";
import { percentiles } from "../common/table.ts";

export interface BurstOptions {
  /** "http": a connection for each request. "grpc": calls over a few connections. */
  readonly kind: "http" | "grpc";
  readonly port: number;
  readonly secure: boolean;
  /** All connections are open before the first request is sent; otherwise each client opens its own and sends. */
  readonly isConnected: boolean;
  readonly count: number;
  /** The whole request of "http", in latin1. */
  readonly request: string;
  /** Addresses of the host's own network that clients use in turn. */
  readonly addresses: readonly string[];
  readonly timeoutMs: number;
}

export interface BurstResult {
  /** By status, or by the reason why there was no response. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Until the last response. */
  readonly ms: number;
  readonly p50: number;
  /** Milliseconds of responses with status 200. */
  readonly served: readonly number[];
}

/** One for all: making it costs more than a handshake. */
const secureContext = createSecureContext();
/** As many as a client library opens at most for one target. */
const SESSIONS = 20;
/** One message of 64 bytes. */
const MESSAGE = Buffer.concat([Buffer.from([0, 0, 0, 0, 64]), Buffer.alloc(64, 97)]);

export async function burst(options: BurstOptions): Promise<BurstResult> {
  const { kind, count, timeoutMs } = options;
  const outcomes: Record<string, number> = {};
  const micros: number[] = [];
  const served: number[] = [];
  const ready = kind === "grpc" ? await readyCalls(options) : await readyRequests(options);
  const startedAt = performance.now();
  let lastMs = 0;
  let left = count;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    const end = (outcome: string): void => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      lastMs = performance.now() - startedAt;
      micros.push(lastMs * 1000);
      if (outcome === "200") served.push(lastMs);
      left -= 1;
      if (left > 0) return;
      clearTimeout(timer);
      resolve();
    };
    for (const send of ready) send(end);
  });
  if (left > 0) outcomes["unanswered"] = left;
  return { outcomes, ms: Math.round(lastMs), p50: Math.round(percentiles(micros).p50 / 1000), served };
}

type Send = (end: (outcome: string) => void) => void;

async function readyRequests(options: BurstOptions): Promise<readonly Send[]> {
  const request = Buffer.from(options.request, "latin1");
  const sends: Send[] = [];
  for (let index = 0; index < options.count; index += 1) {
    if (!options.isConnected) {
      sends.push((end) => {
        const socket = open(options, index, () => socket.write(request));
        readAnswer(socket, end);
      });
      continue;
    }
    // One after another, so that none waits in the system's queue of new connections.
    const socket = await new Promise<Socket>((resolve) => {
      const opened = open(options, index, () => resolve(opened));
      opened.once("error", () => resolve(opened));
    });
    sends.push((end) => {
      readAnswer(socket, end);
      socket.write(request);
    });
  }
  return sends;
}

function open({ port, secure, addresses }: BurstOptions, index: number, onOpen: () => void): Socket {
  const to = { port, host: "127.0.0.1", localAddress: addresses[index % addresses.length] as string };
  return secure
    ? connectTls({ ...to, secureContext, rejectUnauthorized: false, servername: "localhost" }, onOpen)
    : connect(to, onOpen);
}

function readAnswer(socket: Socket, end: (outcome: string) => void): void {
  let text = "";
  let reason: string | undefined = "closed";
  const finish = (outcome: string | undefined): void => {
    if (reason !== undefined && outcome !== undefined) end(outcome);
    reason = undefined;
    socket.destroy();
  };
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    if (text.length >= (answerLength(text) ?? Infinity)) finish(text.slice(9, 12));
  });
  socket.on("error", (error: NodeJS.ErrnoException) => (reason &&= error.code ?? "error"));
  socket.on("close", () => finish(reason));
}

async function readyCalls({ port, count, addresses, secure }: BurstOptions): Promise<readonly Send[]> {
  const origin = `${secure ? "https" : "http"}://127.0.0.1:${port}`;
  const sessions = await Promise.all(
    Array.from(
      { length: SESSIONS },
      (_, index) =>
        new Promise<ClientHttp2Session>((resolve, reject) => {
          const session = connectHttp2(origin, {
            rejectUnauthorized: false,
            localAddress: addresses[index % addresses.length] as string,
          } as object);
          session.once("connect", () => resolve(session)).once("error", reject);
        }),
    ),
  );
  return Array.from({ length: count }, (_, index) => (end) => {
    const stream = (sessions[index % SESSIONS] as ClientHttp2Session).request({
      ":method": "POST",
      ":path": "/bench.Notes/Say",
      ":authority": `localhost:${port}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    let status = "closed";
    const read = (fields: IncomingHttpHeaders): void => {
      const code = fields["grpc-status"];
      if (code !== undefined) status = code === "0" ? "200" : `grpc ${String(code)}`;
    };
    stream.on("response", read);
    stream.on("trailers", read);
    stream.on("error", (error: NodeJS.ErrnoException) => (status = error.code ?? "error"));
    stream.on("close", () => end(status));
    stream.resume();
    stream.end(MESSAGE);
  });
}

if (import.meta.main) {
  console.log(JSON.stringify(await burst(JSON.parse(process.argv[2] ?? "{}") as BurstOptions)));
  process.exit(0);
}
