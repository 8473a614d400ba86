/** A small load generator on raw sockets: fixed request bytes, keep-alive, one request in flight per connection. */
import { connect, type Socket } from "node:net";

import { AnswerReader } from "./answers.ts";
import { percentiles } from "./table.ts";

export interface LoadOptions {
  readonly port: number;
  /** The whole request, head and body, or the next one. */
  readonly request: Buffer | (() => Buffer);
  readonly connections: number;
  readonly durationMs: number;
  /** Between an answer and the next request of a connection; default 0. */
  readonly pauseMs?: number;
  /** Of each answer that says its length; others count as errors. Default: any. */
  readonly bodyBytes?: number;
  /** Default: TCP to `port`. A TLS socket may be given instead. */
  readonly connect?: () => Socket;
}

/** For the last answer. */
const PATIENCE_MS = 10_000;

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
  const hung = new AbortController();
  const timer = setTimeout(() => hung.abort(), options.durationMs + PATIENCE_MS);
  await Promise.all(
    Array.from({ length: options.connections }, () =>
      drive(
        options,
        () => Date.now() < end,
        (micros, ok) => {
          if (ok) latencies.push(micros);
          else errors += 1;
        },
        hung.signal,
      ),
    ),
  );
  clearTimeout(timer);
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  return { requests: latencies.length, errors, seconds, ...percentiles(latencies) };
}

function drive(
  options: LoadOptions,
  goOn: () => boolean,
  done: (micros: number, ok: boolean) => void,
  hung: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = options.connect?.() ?? connect({ port: options.port, host: "127.0.0.1", noDelay: true });
    const answers = new AnswerReader(options.bodyBytes);
    const request = typeof options.request === "function" ? options.request : () => options.request as Buffer;
    let sentAt = 0;
    const send = () => {
      sentAt = performance.now();
      socket.write(request());
    };
    socket.on(options.connect ? "secureConnect" : "connect", send);
    socket.on("data", (chunk: Buffer) => {
      const ok = answers.push(chunk);
      if (ok === undefined) return;
      done((performance.now() - sentAt) * 1000, ok);
      if (!goOn()) socket.end();
      else if (options.pauseMs === undefined) send();
      else setTimeout(send, options.pauseMs);
    });
    hung.addEventListener("abort", () => socket.destroy(new Error("no answer")));
    socket.on("error", () => done(0, false));
    socket.on("close", () => resolve());
  });
}
