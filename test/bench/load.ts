/** A small load generator on raw sockets: fixed request bytes, keep-alive, one request in flight per connection. */
import { connect, type Socket } from "node:net";

import { percentiles } from "./table.ts";

export interface LoadOptions {
  readonly port: number;
  /** The whole request, head and body. */
  readonly request: Buffer;
  readonly connections: number;
  readonly durationMs: number;
  /** Between an answer and the next request of a connection; default 0. */
  readonly pauseMs?: number;
  /** Default: TCP to `port`. A TLS socket may be given instead. */
  readonly connect?: () => Socket;
}

export interface LoadResult {
  readonly requests: number;
  /** Answers other than 2xx, and broken connections. */
  readonly errors: number;
  readonly seconds: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const started = process.hrtime.bigint();
  const end = Date.now() + options.durationMs;
  const latencies: number[] = [];
  let errors = 0;
  await Promise.all(
    Array.from({ length: options.connections }, () =>
      drive(
        options,
        () => Date.now() < end,
        (micros, ok) => {
          if (ok) latencies.push(micros);
          else errors += 1;
        },
      ),
    ),
  );
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  return { requests: latencies.length, errors, seconds, ...percentiles(latencies) };
}

function drive(options: LoadOptions, goOn: () => boolean, done: (micros: number, ok: boolean) => void): Promise<void> {
  return new Promise((resolve) => {
    const socket = options.connect?.() ?? connect({ port: options.port, host: "127.0.0.1", noDelay: true });
    let sentAt = 0n;
    let pending = "";
    const send = () => {
      sentAt = process.hrtime.bigint();
      socket.write(options.request);
    };
    socket.on(options.connect ? "secureConnect" : "connect", send);
    socket.on("data", (chunk) => {
      pending += chunk.toString("latin1");
      const length = answerLength(pending);
      if (length === undefined || pending.length < length) return;
      const ok = pending.startsWith("HTTP/1.1 2");
      pending = pending.slice(length);
      done(Number(process.hrtime.bigint() - sentAt) / 1000, ok);
      if (!goOn()) socket.end();
      else if (options.pauseMs === undefined) send();
      else setTimeout(send, options.pauseMs);
    });
    socket.on("error", () => done(0, false));
    socket.on("close", () => resolve());
  });
}

/** Bytes of the first answer in `text`, or undefined while its end cannot be told. */
export function answerLength(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2));
  if (length) return head + 4 + Number(length[1]);
  const last = text.indexOf("0\r\n\r\n", head + 4);
  return last === -1 ? undefined : last + 5;
}
