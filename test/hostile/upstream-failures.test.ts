/** Ten thousand requests on 64 connections to an upstream that fails at random: each hears one end, and his own answer. */
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { TLSSocket, type TlsOptions } from "node:tls";

import * as fc from "fast-check";
import { afterEach, expect, test } from "vitest";

import type { Upstream } from "../../runtime/features/connection/compiled.ts";
import type { Transport } from "../../runtime/upstreams/transport-types.ts";
import { ask, violations, type Asked } from "../support/ask-upstream.ts";
import { makeTestCertificate } from "../support/certificates.ts";
import { POLL_MS } from "../support/limits.ts";
import { okText, startScriptedUpstream, type Script, type ScriptedUpstream } from "../support/scripted-upstream.ts";
import { createHttp1Transport } from "../../runtime/upstreams/transport.ts";

const CONNECTIONS = 64;
const SEED = 20_261_122;
const LONG = 150_000;

let transport: Transport;
let server: ScriptedUpstream;
afterEach(async () => {
  await transport.close();
  await server.close();
});

const chunksOf = (mark: string): string =>
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${mark.length.toString(16)}\r\n${mark}\r\n0\r\n\r\n`;
const FORGED = okText("forged");

/** TLS has none of its own. */
function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Behavior of the upstream, selected by the path. */
const SCRIPTS: Readonly<Record<string, (socket: Socket, mark: string) => void>> = {
  plain: (socket, mark) => socket.write(okText(mark)),
  chunks: (socket, mark) => socket.write(chunksOf(mark)),
  "to the end": (socket, mark) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${mark}`),
  interim: (socket, mark) => socket.write(`HTTP/1.1 103 Early Hints\r\n\r\n${okText(mark)}`),
  long: (socket, mark) => socket.write(okText(mark.repeat(LONG / mark.length))),
  "in pieces": (socket, mark) => {
    const text = chunksOf(mark);
    socket.write(text.slice(0, 30));
    setImmediate(() => socket.write(text.slice(30)));
  },
  "and close": (socket, mark) => socket.end(okText(mark).replace("\r\n", "\r\nconnection: close\r\n")),
  "and close unsaid": (socket, mark) => socket.end(okText(mark)),
  "and reset": (socket, mark) => socket.write(okText(mark), () => reset(socket)),
  twice: (socket, mark) => socket.write(okText(mark) + FORGED),
  // In two packets that are both there before we look.
  "twice, apart": (socket, mark) => {
    socket.write(okText(mark));
    socket.write(FORGED);
  },
  "long and twice": (socket, mark) => {
    socket.write(okText(mark.repeat(LONG / mark.length)));
    socket.write(FORGED);
  },
  "empty and twice": (socket) => {
    socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    socket.write(FORGED);
  },
  "end at once": (socket) => socket.end(),
  "reset at once": (socket) => reset(socket),
  "half and end": (socket, mark) => socket.end(okText(mark).slice(0, -1)),
  "half and reset": (socket, mark) => socket.write(okText(mark).slice(0, -1), () => reset(socket)),
  garbage: (socket) => socket.write("garbage\r\n\r\n"),
  silence: () => {},
  "silence in the body": (socket, mark) => socket.write(okText(mark).slice(0, -1)),
};
const FAILING = /^(?:end|reset) at once|^half|^garbage|^silence/;

/** Behavior of the caller meanwhile. */
const CALLERS = [
  "wait",
  "wait",
  "wait",
  "abort at once",
  "abort at the head",
  "pause",
  "upload",
  "broken upload",
] as const;

const script: Script = (socket, { target }) => {
  const [, name = "", mark = ""] = decodeURI(target).split("/");
  SCRIPTS[name]?.(socket, mark);
};

async function run(upstream: Upstream, requests: number, names: readonly string[]): Promise<void> {
  violations.length = 0;
  const pick = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...CALLERS));
  const plans = fc.sample(pick, { numRuns: requests, seed: SEED });
  const failures = new Map<string, number>();
  const one = async ([name, caller]: (typeof plans)[number], index: number): Promise<void> => {
    const mark = `mark${String(index).padStart(6, "0")}`;
    const isUpload = caller.endsWith("upload");
    const asked: Asked = ask(transport, upstream, {
      method: isUpload ? "POST" : "GET",
      path: encodeURI(`/${name}/${mark}`),
      body: isUpload ? uploadOf(mark, caller === "broken upload") : undefined,
      headTimeoutMs: name === "silence" ? 20 : POLL_MS,
      idleTimeoutMs: name.startsWith("silence") ? 20 : POLL_MS,
      onHead: (call) => void (caller === "abort at the head" && call.abort()),
      onData(call) {
        if (caller !== "pause") return;
        call.pause();
        setImmediate(() => call.resume());
      },
    });
    if (caller === "abort at once") {
      asked.call.abort();
      return;
    }
    // Requests cancelled at the head get no more events; the others exactly one end.
    const outcome = await Promise.race([asked.over, ...(caller === "abort at the head" ? [asked.head] : [])]);
    if (typeof outcome === "number") return;
    failures.set(outcome.failure ?? "none", (failures.get(outcome.failure ?? "none") ?? 0) + 1);
    if (outcome.failure !== undefined) {
      // The part that had come by then must still be its own.
      if (!mark.repeat(LONG / mark.length).includes(outcome.body.toString())) throw new Error(`${name}: not his own`);
      return;
    }
    expect(name).not.toMatch(FAILING);
    const isLong = name.startsWith("long");
    const expected = name.startsWith("empty") ? "" : isLong ? mark.repeat(LONG / mark.length) : mark;
    const got = outcome.body.toString();
    if (got !== expected) throw new Error(`${name}, ${caller}: got ${got.length} bytes, ${got.slice(0, 40)}`);
  };
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < plans.length) {
      const index = next;
      next += 1;
      await one(plans[index] as (typeof plans)[number], index);
    }
  };
  // More than there are connections, so that some wait and get one in the moment that it is free.
  await Promise.all(Array.from({ length: CONNECTIONS * 2 }, worker));
  expect(violations).toEqual([]);
  expect([...failures.keys()].toSorted()).toEqual([
    "kept-closed",
    "none",
    "protocol",
    "request-body",
    "reset",
    "timeout",
  ]);
  expect(failures.get("none")).toBeGreaterThan(requests / 4);
  // None of them holds a place, or a connection that is not idle.
  const again = await Promise.all(
    Array.from({ length: CONNECTIONS * 2 }, (_, index) => askUntilTaken(upstream, `/plain/after${index}`)),
  );
  for (const [index, { body, failure }] of again.entries()) {
    expect([failure, body.toString()]).toEqual([undefined, `after${index}`]);
  }
  expect(server.open.size).toBeLessThanOrEqual(CONNECTIONS);
}

/**
 * Repeats the request if the upstream had closed the connection and its end arrives with the request, which no HTTP/1.1
 * client can know before. Each such connection is gone then, so this ends.
 */
async function askUntilTaken(upstream: Upstream, path: string): Promise<Awaited<Asked["over"]>> {
  let outcome = await ask(transport, upstream, { path }).over;
  for (let dead = 0; outcome.failure === "kept-closed" && dead < CONNECTIONS; dead += 1) {
    outcome = await ask(transport, upstream, { path }).over;
  }
  return outcome;
}

function uploadOf(mark: string, breaks: boolean): Readable {
  return Readable.from(
    (async function* () {
      yield Buffer.from(mark);
      await new Promise((resolve) => setImmediate(resolve));
      if (breaks) throw new Error("the client is gone");
      yield Buffer.from(mark);
    })(),
  );
}

const key = makeTestCertificate({ name: "localhost", dns: ["localhost"] });

const CASES: readonly (readonly [requests: number, how: string, tls: TlsOptions | undefined])[] = [
  [10_000, "in the clear", undefined],
  // Most of the time goes into handshakes.
  [1_500, "over TLS", { cert: key.cert, key: key.key }],
];

test.each(CASES)(
  "%i requests %s: each hears exactly one end, and his own answer",
  async (requests, _how, tls) => {
    transport = createHttp1Transport({ maxPerUpstream: 1_000 });
    server = await startScriptedUpstream(script, tls && { tls });
    const limits = { maxConnections: CONNECTIONS, maxPending: 500, maxRequests: undefined };
    const upstream: Upstream = {
      ...server.upstream,
      connect: { poolKey: "faults", http2: false, limits, tls: { rejectUnauthorized: tls === undefined } },
    };
    // Over TLS the second of two large writes waits for the first: it may come when the next request is on its way.
    const names = Object.keys(SCRIPTS).filter((name) => tls === undefined || name !== "long and twice");
    await run(upstream, requests, names);
  },
  // Some 3 s of processor time, of which a busy machine gives a twentieth.
  120_000,
);
