/** What the thread of the records hands to its consumers. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";

import { afterAll, expect, test } from "vitest";

import { copyOf } from "../../../runtime/audit/copy.ts";
import { putCheckpoint, putOutcome } from "../../../runtime/audit/entries.ts";
import type { RecordConsumers, RecordCopy } from "../../../runtime/audit/record-consumer.ts";
import { createRedactor } from "../../../runtime/audit/redaction/redactor.ts";
import type {
  FromRecordThread,
  RecordThreadSettings,
  ToRecordThread,
} from "../../../runtime/records/records-protocol.ts";
import { serveRecords } from "../../../runtime/records/serve-records.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";

const directory = mkdtempSync(join(tmpdir(), "serve-records-"));
afterAll(() => rmSync(directory, { recursive: true }));

interface Collector extends RecordConsumers {
  readonly copies: RecordCopy[];
  readonly calls: string[];
  canKeep: boolean;
}

function collector(): Collector {
  const copies: RecordCopy[] = [];
  const calls: string[] = [];
  return {
    copies,
    calls,
    canKeep: true,
    take: (some) => void copies.push(...some),
    flush: () => Promise.resolve(void calls.push("flush")),
    close: () => Promise.resolve(void calls.push("close")),
    status: () => [{ name: "all", kind: "http", isAway: false, waiting: 0, taken: copies.length, lost: 0 }],
  };
}

function serve(settings: Pick<RecordThreadSettings, "destination" | "audit">, consumers: RecordConsumers) {
  const { port1: port, port2 } = new MessageChannel();
  const got: FromRecordThread[] = [];
  const waiting = new Set<() => void>();
  port.on("message", (message: FromRecordThread) => {
    got.push(message);
    for (const look of waiting) look();
  });
  serveRecords(
    port2,
    {
      instance: "run",
      closeTimeoutMs: 1_000,
      redaction: { key: Buffer.alloc(32, 1) },
      ...settings,
    },
    { consumers, clock: systemClock },
  );
  return {
    got,
    send: (message: ToRecordThread) => port.postMessage(message),
    heard: (isIt: (message: FromRecordThread) => boolean) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (!got.some(isIt)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    end: () => port.close(),
  };
}

let chunks = 0;

function entries(): Extract<ToRecordThread, { readonly type: "entries" }> {
  const bytes = Buffer.from(new SharedArrayBuffer(4_096));
  let end = bytes.write('{"message":"authorize check","mcp-tool":"pay","mcp-tool-parameters":{"card":"4711"}}\n');
  end += bytes.write(',"route":"té","path":"/"\n', end);
  end = putOutcome(bytes, new DataView(bytes.buffer), end, {
    timeMs: 1,
    of: 2,
    requestId: "r",
    status: 200,
    failedBy: undefined,
    failure: undefined,
    durationMs: 1.5,
    lists: undefined,
  });
  end = putCheckpoint(bytes, end);
  // No record of ours; it takes nothing with it.
  end += bytes.write('{"broken":}\n{"message":"tool lock drift"}\n', end);
  return { type: "entries", chunk: (chunks += 1), memory: bytes.buffer, length: end };
}

const kept = (instance: string, first: number, after: number): readonly object[] => [
  { message: "authorize check", "mcp-tool": "pay", route: "té", path: "/", instance, seq: first },
  { message: "request outcome", of: 2, "request-id": "r", status: 200, "duration-ms": 1.5, instance, seq: first + 1 },
  { message: "unreadable record", instance, seq: after },
  { message: "tool lock drift", instance, seq: after + 1 },
];

test("copies have all fields whatever the log has, arguments as digests, and their place as the audit has it", async () => {
  const destination = join(directory, "audited.log");
  const consumer = collector();
  const thread = serve({ destination, audit: { seed: Buffer.alloc(32, 7), seen: [] } }, consumer);
  thread.send(entries());
  thread.send({ type: "flush", id: 1 });
  await thread.heard(({ type }) => type === "flushed");
  expect(consumer.calls).toEqual(["flush"]);
  expect(consumer.copies.map(({ value }) => value)).toMatchObject(kept("run", 2, 5));
  for (const { value } of consumer.copies) expect(value).not.toHaveProperty("salt");
  expect(JSON.stringify(consumer.copies)).not.toContain("4711");
  expect(consumer.copies[0]?.value["mcp-tool-parameters"]).toEqual({ card: expect.any(String) as unknown });
  const lines = readFileSync(destination, "utf8");
  expect(lines).toContain('"mcp-tool-parameters":{"card":"4711"}');
  expect(lines).not.toContain('"route"');
  expect(lines).toContain('"request outcome"');
  expect(thread.got.find(({ type }) => type === "written")).toMatchObject({
    note: expect.stringContaining("\n4\n") as unknown,
  });

  thread.send({ type: "close" });
  await thread.heard(({ type }) => type === "closed");
  expect(consumer.calls).toEqual(["flush", "close"]);
  thread.end();
});

test("without audit copies have outcomes and places, and the log has neither", async () => {
  const destination = join(directory, "plain.log");
  const consumer = collector();
  const thread = serve({ destination }, consumer);
  thread.send(entries());
  await thread.heard(({ type }) => type === "written");
  expect(consumer.copies.map(({ value }) => value)).toMatchObject(kept("run", 0, 2));
  const lines = readFileSync(destination, "utf8");
  expect(lines).not.toMatch(/outcome|"seq"|"route"/);

  // What a route declares counts for what comes afterwards.
  expect(consumer.copies[0]?.value).not.toMatchObject({ "mcp-tool-parameters": { card: "4711" } });
  thread.send({ type: "arguments", declared: new Map([["té", { plain: { pay: ["/card"] } }]]) });
  thread.send(entries());
  await thread.heard(() => consumer.copies.length === 8);
  expect(consumer.copies[4]?.value).toMatchObject({ "mcp-tool-parameters": { card: "4711" } });

  // What a consumer cannot keep is known behind the next batch.
  consumer.canKeep = false;
  thread.send(entries());
  await thread.heard((message) => message.type === "state" && !message.state.canKeep);
  consumer.canKeep = true;
  thread.send(entries());
  await thread.heard(
    (message) => message.type === "state" && message.state.canKeep && message.state.consumers[0]?.taken === 16,
  );
  thread.send({ type: "close" });
  await thread.heard(({ type }) => type === "closed");
  thread.end();
});

test("copies contain only Unicode, which receivers require: in texts, names and arguments", () => {
  const odd = "a\ud800\ud800\\ud800\\\udfffb\u{1f600}";
  const line = `{"level":"info","mcp-tool":${JSON.stringify(odd)},"mcp-tool-parameters":${JSON.stringify({ x: odd, [odd]: 1 })}}\n`;
  const redactor = createRedactor({ key: Buffer.alloc(32, 1) });
  redactor.setRoutes(new Map([["", { plain: { "*": [""], [odd]: [""] } }]]));
  const { value } = copyOf(Buffer.from(line), undefined, { instance: "run", seq: 1 }, redactor);
  const good = odd.toWellFormed();
  expect(value).toMatchObject({ "mcp-tool": good, "mcp-tool-parameters": { x: good, [good]: 1 } });
});
