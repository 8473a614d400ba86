import { createParser } from "eventsource-parser";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { EndpointEvents, MAX_HELD_BYTES } from "../../../runtime/mcp/endpoint-events.ts";

const SEALED = "/base?gateway_endpoint=sealed";

/** Sends the text in pieces. @returns what came out; undefined for a stream that was ended */
function send(text: string | Buffer, sizes: readonly number[] = []): string | undefined {
  const events = new EndpointEvents((data) => (/^\/ok[^\n]*$/.test(data) ? SEALED : undefined));
  const bytes = Buffer.from(text);
  let out = "";
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn] ?? bytes.length;
    const passed = events.push(bytes.subarray(at, at + size));
    if (passed === undefined) return undefined;
    out += passed.toString("latin1");
    at += size;
  }
  return out;
}

const oneByOne = Array.from({ length: 4_000 }, () => 1);

describe("EndpointEvents", () => {
  test.each([
    ["LF", "event: endpoint\ndata: /ok?s=1\n\n: rest"],
    ["CRLF", "event: endpoint\r\ndata: /ok?s=1\r\n\r\n: rest"],
    ["CR", "event: endpoint\rdata: /ok?s=1\r\r: rest"],
    ["mixed", "event: endpoint\r\ndata: /ok?s=1\n\r: rest"],
    ["a byte order mark", "\ufeffevent: endpoint\ndata: /ok?s=1\n\n: rest"],
    ["no blank behind colons", "event:endpoint\ndata:/ok?s=1\n\n: rest"],
    ["data first", "data: /ok?s=1\nevent: endpoint\n\n: rest"],
    ["comments in front and inside", ": hello\n\n:\nevent: endpoint\n: more\ndata: /ok?s=1\n\n: rest"],
    ["blocks without data in front", "event: endpoint\n\nretry: 5\n\nevent: endpoint\ndata: /ok?s=1\n\n: rest"],
    ["the last name counts", "event: message\nevent: endpoint\ndata: /ok?s=1\n\n: rest"],
    ["unknown fields", "foo: bar\nevent: endpoint\ndata: /ok?s=1\n\n: rest"],
  ])("replaces an announced address by ours: %s", (_, text) => {
    for (const sizes of [[], oneByOne, [7, 9, 1, 1, 30]]) {
      const out = send(text, sizes);
      expect(out).toContain(`event: endpoint\ndata: ${SEALED}\n\n`);
      expect(out).toMatch(/: rest$/);
      expect(out).not.toContain("/ok");
    }
  });

  test.each([
    ["a message", 'event: message\ndata: {"a":1}\n\n'],
    ["another address", "event: endpoint\ndata: /ok\n\n"],
    ["a large message", `data: ${"x".repeat(3 * MAX_HELD_BYTES)}\n\n`],
    ["an event with CR at its end", "event: ping\rdata: 1\r\r"],
    ["many messages", "data: 1\n\n".repeat(5_000)],
  ])("later addresses are ours, too: behind %s", (_, before) => {
    for (const sizes of [[], Array.from({ length: 60 }, () => 1_000), [before.length], oneByOne]) {
      expect(send(`${before}event: endpoint\ndata: /ok?2\n\n: rest`, sizes)).toMatch(
        /event: endpoint\ndata: \/base\?gateway_endpoint=sealed\n\n: rest$/,
      );
      expect(send(`${before}event: endpoint\ndata: /bad\n\n: rest`, sizes)).toBeUndefined();
    }
  });

  test("keeps id and retry of that event", () => {
    expect(send("id: 7\nevent: endpoint\nretry: 5\ndata: /ok\n\n")).toBe(
      `event: endpoint\nid: 7\nretry: 5\ndata: ${SEALED}\n\n`,
    );
  });

  test.each([
    ["a message", 'event: message\ndata: {"a":"endpoint"}\n\n: rest'],
    ["one without a name", "id: 1\ndata:\n\ndata: endpoint\n\n: rest"],
    ["a name in other letters", "event: Endpoint\ndata: /x\n\n"],
    ["a name with a blank behind", "event: endpoint \ndata: /x\n\n"],
    ["a field in other letters", "Event: endpoint\ndata: /x\n\n"],
    ["a name that is taken back", "event: endpoint\nevent: message\ndata: /x\n\n"],
    ["half a byte order mark", "\u00ef\u00bbevent: endpoint\ndata: /x\n\n"],
  ])("leaves everything else unchanged: %s", (_, text) => {
    const bytes = Buffer.from(text, "latin1");
    expect(send(bytes)).toBe(text);
    expect(send(bytes, oneByOne)).toBe(text);
  });

  test("delays neither comments nor empty blocks", () => {
    const events = new EndpointEvents(() => SEALED);
    expect(String(events.push(Buffer.from(": ping\n\n: pi")))).toBe(": ping\n\n: pi");
    expect(String(events.push(Buffer.from("ng\n\ndata: 1\n")))).toBe("ng\n\n");
    expect(String(events.push(Buffer.from("\n: more")))).toBe("data: 1\n\n: more");
  });

  test.each([
    ["a refused address", "event: endpoint\ndata: /bad\n\n"],
    ["an address of two lines", "event: endpoint\ndata: /ok\ndata: /ok\n\n"],
    ["an address without end", `event: endpoint\ndata: /ok${"x".repeat(MAX_HELD_BYTES)}`],
    ["a long line whose beginning is an address", `event: endpoint\ndata: /ok${"x".repeat(9_000)}\n\n`],
    ["a name behind much data", `data: ${"x".repeat(2 * MAX_HELD_BYTES)}\nevent: endpoint\n\n`],
    ["a name behind much data, with CR", `data: ${"x".repeat(2 * MAX_HELD_BYTES)}\revent: endpoint\r\r`],
  ])("ends the stream at %s", (_, text) => {
    expect(send(text)).toBeUndefined();
    expect(
      send(
        text,
        Array.from({ length: 200 }, () => 1_000),
      ),
    ).toBeUndefined();
  });

  test("a large first message passes in time", () => {
    const text = `data: ${"x".repeat(3 * MAX_HELD_BYTES)}\n\n: more`;
    expect(send(text)).toBe(text);
    expect(
      send(
        text,
        Array.from({ length: 200 }, () => 1_000),
      ),
    ).toBe(text);
    const events = new EndpointEvents(() => SEALED);
    expect(events.push(Buffer.from(text.slice(0, 2 * MAX_HELD_BYTES)))).toHaveLength(2 * MAX_HELD_BYTES);
  });

  test("whatever comes and however it is cut, a client reads no address but ours", () => {
    const line = fc.constantFrom(
      "event: endpoint",
      "event:endpoint",
      "event",
      "event: message",
      "data: /ok",
      "data: /bad",
      "data",
      ": comment",
      "id: 1",
      "",
      "",
    );
    const end = fc.constantFrom("\n", "\r\n", "\r");
    const stream = fc
      .array(fc.tuple(line, end), { maxLength: 12 })
      .map((lines) => `${lines.map((each) => each.join("")).join("")}\n\n\n: end\n`);
    fc.assert(
      fc.property(
        stream,
        fc.boolean(),
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 }),
        (text, mark, sizes) => {
          const whole = mark ? `\ufeff${text}` : text;
          const sent = eventsOf(text);
          const out = send(whole, sizes);
          const isRefused = sent.some(({ event, data }) => event === "endpoint" && !/^\/ok$/.test(data));
          expect(out === undefined).toBe(isRefused);
          if (out === undefined) return;
          expect(eventsOf(Buffer.from(out, "latin1").toString("utf8"))).toEqual(
            sent.map((each) => (each.event === "endpoint" ? { ...each, data: SEALED } : each)),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** As the SDK's client reads them. */
function eventsOf(text: string): readonly { readonly event: string | undefined; readonly data: string }[] {
  const events: { event: string | undefined; data: string }[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => void events.push({ event, data }) });
  parser.feed(text);
  return events;
}
