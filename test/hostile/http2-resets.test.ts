/**
 * Streams that both sides reset at any moment: node:http2 has been seen to abort the process then (http2/reset.ts), and to
 * treat a truncated body as complete. Each call is notified of exactly one end, and the process continues.
 */
import { Readable } from "node:stream";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { Upstream } from "../../runtime/features/connection/compiled.ts";
import type { Transport, UpstreamCall } from "../../runtime/upstreams/transport-types.ts";
import { createTransport } from "../../runtime/upstreams/transport.ts";
import { ask, violations } from "../support/ask-upstream.ts";
import { createRandom } from "../support/random.ts";
import { ERROR, FLAG } from "../support/raw-h2.ts";
import {
  data,
  goaway,
  headers,
  reset,
  type ScriptedHttp2,
  startScriptedHttp2,
  uint,
  window,
} from "../support/scripted-http2.ts";

const CALLS = 6_000;
const AT_ONCE = 60;
const CODES = [ERROR.none, ERROR.internal, ERROR.cancel, ERROR.refused];

let server: ScriptedHttp2;
let transport: Transport;

beforeAll(async () => {
  transport = createTransport();
  const settings = Buffer.concat([Buffer.from([0, 4]), uint(1_000)]);
  server = await startScriptedHttp2(
    (stream) => {
      const code = pick(CODES);
      const end = pick(["reset", "end", "trailers", "end and reset", "none", "goaway"] as const, [6, 4, 4, 3, 2, 0.05]);
      stream.send(window(0, 100_000));
      if (chance(0.1)) return later(() => stream.send(reset(stream, code)));
      later(() => {
        stream.send(headers(stream, [[":status", "200"]]), data(stream, "part"));
        if (chance(0.5)) stream.send(window(stream.id, 50_000));
        later(() => {
          if (end === "reset") stream.send(reset(stream, code));
          if (end === "end") stream.send(data(stream, "whole", FLAG.endStream));
          if (end === "trailers") stream.send(headers(stream, [["grpc-status", "0"]], FLAG.endStream));
          if (end === "end and reset") stream.send(data(stream, "whole", FLAG.endStream), reset(stream, code));
          if (end === "goaway") stream.send(goaway(stream.id, pick([ERROR.none, ERROR.internal])));
        });
      });
    },
    { settings },
  );
});
afterAll(async () => {
  await transport.close();
  await server.close();
});

const random = createRandom(20_261_122);
const chance = (share: number): boolean => random() < share;
function pick<T>(from: readonly T[], weights: readonly number[] = from.map(() => 1)): T {
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  return from.find((_each, index) => (left -= weights[index] ?? 0) < 0) ?? (from[0] as T);
}
/** Now, at the end of the turn, in the next one, or later, to vary the order of events. */
function later(act: () => void): void {
  pick([() => act(), () => process.nextTick(act), () => setImmediate(act), () => setTimeout(act, random() * 4)])();
}

/** Is aborted, ends, or continues endlessly. */
function upload(): Readable {
  const body = new Readable({ read: () => {} });
  let left = Math.floor(random() * 5);
  const next = (): void => {
    if (body.destroyed) return;
    left -= 1;
    if (left >= 0) {
      body.push(Buffer.alloc(Math.ceil(random() * pick([20, 5_000]))));
      later(next);
    } else pick([() => body.push(null), () => body.destroy(), () => {}], [8, 1, 1])();
  };
  next();
  return body;
}

async function one(upstream: Upstream): Promise<string> {
  const body = pick([() => undefined, () => Buffer.alloc(3_000), upload, upload, upload])();
  const over = Promise.withResolvers<string>();
  const giveUp = (call: UpstreamCall): void =>
    later(() => {
      call.abort();
      over.resolve("given up");
    });
  const asked = ask(transport, upstream, {
    method: "POST",
    body,
    headTimeoutMs: 300,
    idleTimeoutMs: 300,
    trailers: () => pick([[], ["x-sum", "1"]]),
    onHead: (call) => void (chance(0.1) && giveUp(call)),
    onData(call) {
      if (chance(0.1)) giveUp(call);
      if (!chance(0.2)) return;
      call.pause();
      later(() => call.resume());
    },
  });
  if (chance(0.2)) giveUp(asked.call);
  void asked.over.then((outcome) => {
    const text = outcome.body.toString();
    // Complete only with END_STREAM.
    if (outcome.failure === undefined && !/^partwhole$|^part$/.test(text)) violations.push(`whole: ${text}`);
    if (outcome.failure === undefined && text === "part" && outcome.trailers === undefined) violations.push("half");
    over.resolve(outcome.failure ?? "ended");
  });
  return over.promise;
}

test(`${CALLS} calls, ${AT_ONCE} at once: each hears one end, and the process goes on`, async () => {
  violations.length = 0;
  const upstreams = [server.upstream(), server.upstream(), server.upstream()];
  const ends = new Map<string, number>();
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < CALLS) {
      begun += 1;
      const end = await one(upstreams[begun % upstreams.length] as Upstream);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(violations).toEqual([]);
  for (const end of ["ended", "reset", "timeout", "request-body", "overloaded", "given up"])
    expect(ends.get(end) ?? 0, end).toBeGreaterThan(0);
});
