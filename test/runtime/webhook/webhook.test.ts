/** Events reach a real receiver signed, once, again when it fails, and within bounds. */
import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { pino } from "pino";
import { createSafeFetch } from "../../../runtime/http/fetch/safe-fetch.ts";
import { EVENT_TYPES, EVENTS, type GatewayEvent } from "../../../runtime/audit/events.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { mergeStatus } from "../../../runtime/webhook/tally.ts";
import { signedHeaders } from "../../../runtime/http/signed-message.ts";
import { Webhook } from "../../../runtime/webhook/webhook.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { type HostileServer, startHostileServer } from "../../support/hostile-server.ts";
import { createBreakableStore } from "../../support/store.ts";

const KEY = Buffer.alloc(32, 7);
const OLD_KEY = Buffer.alloc(24, 9);
const drift: GatewayEvent = { type: "tools.drift", subject: "notes 1", data: { route: "notes", tools: ["add"] } };

let receiver: HostileServer;
let clock: TestClock;
let store: Store;
let logText: string;

beforeAll(async () => void (receiver = await startHostileServer()));
afterAll(() => receiver.close());
beforeEach(() => {
  clock = createTestClock();
  store = createMemoryStore({ clock });
  logText = "";
  receiver.answer((_request, response) => void response.end());
});

function open(
  more: { readonly store?: Store; readonly events?: readonly (typeof EVENT_TYPES)[number][] } = {},
): Webhook {
  const log = pino({ level: "debug" }, { write: (line: string) => void (logText += line) });
  const settings = {
    url: `${receiver.origin}/secret-path`,
    secrets: [KEY, OLD_KEY],
    events: new Set(more.events ?? EVENT_TYPES),
  };
  const webhook = new Webhook(settings, {
    store: more.store ?? store,
    fetch: createSafeFetch({ development: true }),
    clock,
    log,
    // Only when a test says so.
    everyMs: 86_400_000,
  });
  onTestFinished(() => webhook.close());
  return webhook;
}

/** Requests since now. */
function watch(): () => HostileServer["seen"] {
  const before = receiver.seen.length;
  return () => receiver.seen.slice(before);
}

/** Everything due is done: a round goes on with the next one while there is something new. */
async function settle(webhook: Webhook): Promise<void> {
  for (let round = 0; round < 3; round++) await webhook.work();
}

test("signedHeaders() signs as the specification's example has it, with every key", () => {
  const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1614265330, body: '{"test": 2432232314}' };
  const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
  expect(signedHeaders([key], message)).toEqual({
    "webhook-id": message.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
  expect(signedHeaders([key, KEY], message)["webhook-signature"]?.split(" ")).toHaveLength(2);
});

describe("an event", () => {
  test("is sent once, signed with each secret, however often and by however many processes it is seen", async () => {
    const seen = watch();
    const [one, other] = [open(), open()];
    one.notify(drift);
    one.notify(drift);
    await settle(one);
    other.notify(drift);
    await settle(other);
    expect(seen()).toHaveLength(1);
    const [{ method, url, headers, body } = expect.fail("nothing was sent")] = seen();
    expect({ method, url, type: headers["content-type"] }).toEqual({
      method: "POST",
      url: "/secret-path",
      type: "application/json",
    });
    expect(JSON.parse(body)).toEqual({
      type: "tools.drift",
      timestamp: "2027-01-15T08:00:00.000Z",
      data: { route: "notes", tools: ["add"] },
    });
    const signed = `${String(headers["webhook-id"])}.1800000000.${body}`;
    const expected = [KEY, OLD_KEY].map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
    expect(headers["webhook-signature"]).toBe(expected.join(" "));
    expect(one.status()).toMatchObject({ waiting: 0, sent: 1, last_sent_at: 1_800_000_000, last_failure: null });
    expect([...one.counts()]).toEqual([{ event: "tools.drift", result: "sent", value: 1 }]);
  });

  test("is sent again after its time, under another ID", async () => {
    const seen = watch();
    const webhook = open();
    webhook.notify(drift);
    await settle(webhook);
    clock.advance((EVENTS["tools.drift"].onceIn + 1) * 1000);
    webhook.notify(drift);
    await settle(webhook);
    expect(new Set(seen().map(({ headers }) => headers["webhook-id"])).size).toBe(2);
  });

  test("of a type without a subscription is not sent", async () => {
    const seen = watch();
    const webhook = open({ events: ["approval.waiting"] });
    webhook.notify(drift);
    await settle(webhook);
    expect(seen()).toEqual([]);
  });

  test("leaves none of its content in the store once it is sent", async () => {
    const webhook = open();
    webhook.notify(drift);
    await settle(webhook);
    expect(await store.list("webhook")).toEqual([]);
  });
});

describe("a receiver that fails", () => {
  test("gets the event again with the same id and body, later each time, by another process too", async () => {
    const seen = watch();
    receiver.answer((_request, response) => void response.writeHead(500).end("secret answer"));
    const webhook = open();
    webhook.notify(drift);
    await settle(webhook);
    expect(seen()).toHaveLength(1);
    expect(webhook.status()).toMatchObject({
      waiting: 1,
      oldest_at: 1_800_000_000,
      last_failure: { at: 1_800_000_000, reason: "it answered 500" },
    });
    clock.advance(5_000);
    await settle(webhook);
    clock.advance(5_000);
    await settle(webhook);
    expect(seen()).toHaveLength(2);
    await webhook.close();

    receiver.answer((_request, response) => void response.writeHead(204).end());
    clock.advance(30_000);
    const next = open();
    await settle(next);
    expect(seen()).toHaveLength(3);
    expect(new Set(seen().map(({ headers, body }) => `${String(headers["webhook-id"])} ${body}`)).size).toBe(1);
    // The signature holds the time of the attempt, so that receivers can refuse old ones.
    expect(seen().map(({ headers }) => Number(headers["webhook-timestamp"]) - 1_800_000_000)).toEqual([0, 5, 40]);
    expect(next.status()).toMatchObject({ waiting: 0, sent: 1 });
    expect(logText).not.toContain("secret");
    expect(logText.match(/webhook delivery failed/g)).toHaveLength(1);
  });

  test("may request a longer pause, of an hour at most", async () => {
    const seen = watch();
    receiver.answer((_request, response) => void response.writeHead(429, { "retry-after": "999999999" }).end());
    const webhook = open();
    webhook.notify(drift);
    await settle(webhook);
    clock.advance(3_599_000);
    await settle(webhook);
    expect(seen()).toHaveLength(1);
    clock.advance(1_000);
    await settle(webhook);
    expect(seen()).toHaveLength(2);
  });

  test("does not delay the end of the process; the next one sends the event again", async () => {
    const seen = watch();
    receiver.answer(() => {});
    const webhook = open();
    webhook.notify(drift);
    await expect.poll(() => seen().length).toBe(1);
    await webhook.close();
    // After the ten seconds that an attempt may take it would be one.
    expect(webhook.status()).toMatchObject({ last_failure: null });
    receiver.answer((_request, response) => void response.end());
    const next = open();
    await settle(next);
    expect(new Set(seen().map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(next.status()).toMatchObject({ waiting: 0, sent: 1 });
  });

  test.each([
    ["says too much", (response: ServerResponse) => void response.end("x".repeat(1 << 20))],
    ["packs it", (response: ServerResponse) => void response.setHeader("content-encoding", "gzip").end("no gzip")],
    ["breaks off", (response: ServerResponse) => void response.write("x", () => response.destroy())],
  ])("that %s has still accepted the event, by its status", async (_name, say) => {
    receiver.answer((_request, response) => say(response));
    const webhook = open();
    webhook.notify(drift);
    await settle(webhook);
    expect(webhook.status()).toMatchObject({ waiting: 0, sent: 1, last_failure: null });
  });

  test("gets an event that was seen while the clock was far ahead", async () => {
    const seen = watch();
    const own = createMemoryStore({ clock });
    const webhook = open({ store: own });
    clock.advance(86_400_000);
    const lease = await own.lease("webhook", 60_000);
    webhook.notify(drift);
    await settle(webhook);
    expect(seen()).toEqual([]);
    clock.advance(-86_400_000);
    await lease?.release();
    await webhook.work();
    expect(seen()).toHaveLength(1);
  });

  test("is abandoned after a day, which is logged and counted", async () => {
    receiver.answer((_request, response) => void response.writeHead(503).end());
    const webhook = open();
    webhook.notify(drift);
    await settle(webhook);
    clock.advance(24 * 3_600_000);
    await settle(webhook);
    expect(webhook.status()).toMatchObject({ waiting: 0, given_up: 1 });
    expect(logText).toContain("dropped after 24 hours");
  });

  test("refusing one event gets the others at once; failing as a whole, or redirecting, no other", async () => {
    const events = [1, 2, 3].map((number) => ({ ...drift, subject: `notes ${number}` }));
    const run = async (answer: Parameters<HostileServer["answer"]>[0]): Promise<number> => {
      receiver.answer(answer);
      const own = createMemoryStore({ clock });
      const webhook = open({ store: own });
      const lease = await own.lease("webhook", 60_000);
      for (const event of events) webhook.notify(event);
      await settle(webhook);
      await lease?.release();
      const seen = watch();
      await webhook.work();
      return seen().length;
    };
    expect(await run((_request, response) => void response.writeHead(400).end())).toBe(3);
    expect(await run((_request, response) => void response.writeHead(500).end())).toBe(1);
    expect(await run((_request, response) => void response.writeHead(307, { location: "/other" }).end())).toBe(1);
    expect(await run((_request, response) => void response.destroy())).toBe(1);
  });
});

test("an event of a later version waits for one of its processes, and blocks no other", async () => {
  const later = { id: "evt_later", type: "later.kind", at: 1_700_000_000, data: {}, attempts: 0, nextAt: 0 };
  await store.put("webhook-event:later", later, { ifVersion: 0, tags: ["webhook"] });
  const seen = watch();
  const webhook = open();
  webhook.notify(drift);
  await settle(webhook);
  expect(seen().map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual(["tools.drift"]);
  expect(await store.list("webhook")).toHaveLength(1);
});

describe("bounds", () => {
  test("1000 events wait, the rest are dropped, counted and may come again", async () => {
    receiver.answer((_request, response) => void response.writeHead(500).end());
    const webhook = open();
    for (let each = 0; each < 1010; each++) {
      webhook.notify({ ...drift, subject: String(each) });
      // Faster than the store, at most 200 are held.
      if (each % 100 === 99) await settle(webhook);
    }
    await settle(webhook);
    expect(await store.list("webhook")).toHaveLength(1000);
    expect(webhook.status()).toMatchObject({ waiting: 1000, dropped: 10 });

    // Whoever causes very many of one kind leaves room for the others.
    webhook.notify({ type: "approval.waiting", subject: "apr_1", data: {} });
    await settle(webhook);
    expect(webhook.status()).toMatchObject({ waiting: 1001, dropped: 10 });
  });

  test("an unavailable store delays nothing: 200 events wait for it", async () => {
    const seen = watch();
    const breakable = createBreakableStore(clock);
    breakable.broken = true;
    const webhook = open({ store: breakable.store });
    for (let each = 0; each < 210; each++) webhook.notify({ ...drift, subject: String(each) });
    await settle(webhook);
    expect(webhook.status()).toMatchObject({ waiting: 0, dropped: 10 });
    expect(logText).toContain("cannot store webhook events");
    breakable.broken = false;
    await settle(webhook);
    expect(seen()).toHaveLength(200);
  });

  test("the data of an event has at most 4 KiB", async () => {
    const seen = watch();
    const webhook = open();
    webhook.notify({ ...drift, data: { text: "ä".repeat(2100) } });
    await settle(webhook);
    expect(JSON.parse(seen()[0]?.body ?? "")).toMatchObject({ data: { left_out: "too long" } });
  });
});

test("mergeStatus() shows several workers as one", async () => {
  const webhook = open();
  webhook.notify(drift);
  await settle(webhook);
  const sent = webhook.status();
  const idle = { ...sent, waiting: 3, oldest_at: 5, sent: 2, last_sent_at: null, last_failure: { at: 1, reason: "x" } };
  expect(mergeStatus([sent, idle])).toEqual({
    ...sent,
    waiting: 3,
    oldest_at: 5,
    sent: 3,
    last_failure: idle.last_failure,
  });
  expect(mergeStatus([])).toBeUndefined();
});
