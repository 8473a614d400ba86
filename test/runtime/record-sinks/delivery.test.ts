/** Records reach a real HTTP receiver: in order, at least once, however it answers, and within bounds. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readdirSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { SinkTarget } from "../../../runtime/features/records/compiled.ts";
import { createPoster } from "../../../runtime/record-sinks/senders/http-post.ts";
import { POLL_MS } from "../../support/limits.ts";
import { type HostileServer, startHostileServer } from "../../support/hostile-server.ts";
import { copies, FAST, makeSpool, NO_TLS, openTestSink, sinkOptions } from "../../support/record-sinks.ts";

const SECRET = "secret-of-the-header";

let receiver: HostileServer;
let taken: Record<string, unknown>[];
let target: SinkTarget;

beforeAll(async () => {
  receiver = await startHostileServer();
  const headers = new Map([["authorization", `Bearer ${SECRET}`]]);
  target = { kind: "http", url: `${receiver.origin}/ingest?key=secret-of-the-address`, format: "ndjson", headers };
});
afterAll(() => receiver.close());
beforeEach(() => {
  taken = [];
  receiver.answer(take);
});

function parse(body: string): Record<string, unknown>[] {
  return body
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const take = ({ body }: { readonly body: string }, response: ServerResponse): void => {
  taken.push(...parse(body));
  response.writeHead(202).end();
};

const numbers = (): unknown[] => taken.map(({ n }) => n);
const upTo = (end: number): number[] => Array.from({ length: end }, (_, index) => index);

/** Answers so to the first requests, then takes what comes. @returns how many have asked */
function answerFirst(...answers: readonly ((response: ServerResponse) => void)[]): () => number {
  let asked = 0;
  receiver.answer((request, response) => {
    const answer = answers[asked++];
    if (answer) answer(response);
    else take(request, response);
  });
  return () => asked;
}

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(code, headers).end("the receiver repeats: Bearer secret-of-the-header");

test("records arrive once, in order, with the configured headers; finished files are removed", async () => {
  const spool = makeSpool();
  const { sink, log } = openTestSink(sinkOptions(spool, target, { spoolMaxBytes: 8 << 20 }));
  for (let n = 0; n < 1_200; n += 100) sink.take(copies(n, n + 100, 300));
  await expect.poll(() => taken.length).toBe(1_200);
  expect(numbers()).toEqual(upTo(1_200));
  const seen = receiver.seen.at(-1);
  expect(seen).toMatchObject({
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}`, "content-type": "application/x-ndjson" },
  });
  await expect
    .poll(() => sink.status())
    .toMatchObject({ kind: "http", isAway: false, waiting: 0, taken: 1_200, lost: 0 });
  // 512 KiB each, of 570 KiB.
  const files = readdirSync(join(spool, "_queue", "0")).filter((name) => /\.(open|ndjson)$/.test(name));
  expect(files.length).toBeLessThanOrEqual(1);
  expect(log).toEqual([]);
});

describe("a receiver", () => {
  const ways: Record<string, (response: ServerResponse) => void> = {
    "that answers 500": status(500),
    "that answers 401": status(401),
    "that redirects": status(307, { location: "http://127.0.0.1:1/elsewhere" }),
    "that asks to come back later": status(429, { "retry-after": "0" }),
    "that closes without an answer": (response) => void response.socket?.destroy(),
    "that breaks off in its head": (response) => void response.socket?.end("HTTP/1.1 20"),
    "that answers what is no HTTP": (response) => void response.socket?.end("200 fine\r\n\r\n"),
    "that changes the protocol": (response) =>
      void response.socket?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"),
    "that hangs": () => {},
  };
  test.each(Object.entries(ways))("%s gets the same again, and the operator gets one message", async (name, fail) => {
    const asked = answerFirst(fail, fail, fail);
    // Only what hangs is cut: on a slow machine a limit must not cut the answer that takes the records.
    const timeoutMs = name === "that hangs" ? 1_000 : POLL_MS;
    const { sink, log } = openTestSink(sinkOptions(makeSpool(), target, { timeoutMs }));
    sink.take(copies(0, 5));
    await expect.poll(() => sink.status()).toMatchObject({ isAway: false, taken: 5, waiting: 0, lost: 0 });
    expect(asked()).toBe(4);
    expect(numbers()).toEqual(upTo(5));
    expect(log.map(({ message }) => message)).toEqual([
      "record sink unavailable, records queued",
      "record sink recovered",
    ]);
    const told = JSON.stringify([log, sink.status()]);
    for (const secret of [SECRET, "secret-of-the-address", "repeats"]) expect(told).not.toContain(secret);
  });

  test("that accepts a batch and never ends its response has accepted it", async () => {
    receiver.answer((_request, response) => void response.writeHead(202).write("more follows"));
    const poster = createPoster({ url: receiver.origin, headers: {}, tls: NO_TLS, timeoutMs: POLL_MS });
    const giveUp = new AbortController();
    const onHead = (): void => void setImmediate(() => giveUp.abort());
    subscribe("http.client.response.finish", onHead);
    try {
      expect(await poster.post("{}\n", giveUp.signal)).toMatchObject({ status: 202, body: "" });
    } finally {
      unsubscribe("http.client.response.finish", onHead);
      poster.close();
    }
  });

  test("that is unreachable delays nothing, and records stay queued", async () => {
    const closed = await startHostileServer();
    await closed.close();
    const { sink } = openTestSink(sinkOptions(makeSpool(), { ...target, url: `${closed.origin}/` } as SinkTarget));
    sink.take(copies(0, 10));
    await sink.flush();
    await expect.poll(() => sink.status()).toMatchObject({ isAway: true, waiting: 10, taken: 0, lost: 0 });
    expect(sink.status().lastError).toBe(`127.0.0.1:${closed.port}: ECONNREFUSED`);
    expect(sink.canKeep).toBe(true);
  });

  test("is retried at intervals that double, with jitter, and not before its Retry-After", async () => {
    const asked = answerFirst(status(503), status(503), status(503, { "retry-after": "1" }));
    const timing = { ...FAST, firstRetryMs: 20, longestRetryMs: 1_000, random: () => 0 };
    const { sink } = openTestSink(sinkOptions(makeSpool(), target), { timing });
    const began = performance.now();
    sink.take(copies(0, 1));
    await expect.poll(() => taken.length).toBe(1);
    expect(asked()).toBe(4);
    // Half of 20, half of 40, and the second that it asked for: never sooner.
    expect(performance.now() - began).toBeGreaterThanOrEqual(10 + 20 + 1_000 - 5);
  });

  test("at a metadata address is not contacted, by whatever name", async () => {
    const { sink } = openTestSink(
      sinkOptions(makeSpool(), { ...target, url: "https://169.254.169.254/" } as SinkTarget),
    );
    sink.take(copies(0, 1));
    await expect
      .poll(() => sink.status().lastError)
      .toBe("169.254.169.254: it is at a link-local or cloud metadata address");
  });
});

describe("a record that is refused", () => {
  /** Refuses each batch with one of these in it. */
  const refusing = (code: number, ...bad: readonly number[]): void =>
    receiver.answer((request, response) => {
      if (parse(request.body).some(({ n }) => bad.includes(n as number))) status(code)(response);
      else take(request, response);
    });

  test.each([400, 413, 422])(
    "with %i is found, and dropped once later ones are accepted; a gap record reports it",
    async (code) => {
      refusing(code, 3, 4, 40);
      const { sink, log } = openTestSink(sinkOptions(makeSpool(), target));
      sink.take(copies(0, 60));
      await expect.poll(() => taken.filter(({ message }) => message === "record gap").length).toBeGreaterThan(0);
      await expect.poll(() => sink.status()).toMatchObject({ waiting: 0, lost: 3 });
      expect(numbers().filter((n) => n !== undefined)).toEqual(upTo(60).filter((n) => ![3, 4, 40].includes(n)));
      const gaps = taken.filter(({ message }) => message === "record gap");
      expect(gaps.reduce((sum, { lost }) => sum + Number(lost), 0)).toBe(3);
      expect(gaps[0]).toMatchObject({ sink: "siem", reason: "refused" });
      expect(log.map(({ message }) => message)).toContain("record sink lost records");
    },
  );

  test("is retained while all others are also rejected", async () => {
    receiver.answer((_request, response) => status(400)(response));
    const { sink } = openTestSink(sinkOptions(makeSpool(), target));
    sink.take(copies(0, 200));
    await expect.poll(() => sink.status()).toMatchObject({ isAway: true, waiting: 200, lost: 0 });
    receiver.answer(take);
    // Those that were tried alone meanwhile come behind others.
    await expect.poll(() => numbers().toSorted((a, b) => Number(a) - Number(b))).toEqual(upTo(200));
    expect(sink.status()).toMatchObject({ lost: 0, isAway: false });
  });
});
