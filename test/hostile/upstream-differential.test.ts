/**
 * Our reader of upstreams' responses and Node's own client (llhttp, strict) get the same few thousand responses over
 * sockets. If both accept a response, they read it alike; if only one does, a named rule must explain it.
 */
import { request as nodeRequest } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";

import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Transport } from "../../runtime/upstreams/transport-types.ts";
import { ANSWER_DIFFERENCES, type Reading, type SeenAnswer } from "../support/answer-differences.ts";
import { outcome, violations } from "../support/ask-upstream.ts";
import { mayStall } from "../support/stall-limit.ts";
import { createHttp1Transport } from "../../runtime/upstreams/transport.ts";

const SEED = 20_261_122;
const ANSWERS = 8_000;
const AT_ONCE = 16;
const MAX_HEAD_BYTES = 65_536;

let server: Server;
let port = 0;
let transport: Transport;
let answers: readonly string[] = [];

beforeAll(async () => {
  transport = createHttp1Transport();
  server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      const [, index] = /^[A-Z]+ \/([0-9]+) /.exec(chunk.toString("latin1")) ?? [];
      // The end of the connection shows truncation.
      if (index !== undefined) socket.end(Buffer.from(answers[Number(index)] ?? "", "latin1"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  await transport.close();
  await new Promise((resolve) => server.close(resolve));
});

const odd = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const statusLine = odd(
  "HTTP/1.1 200 OK",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 205 Reset",
  "HTTP/1.1 500 D\u00e9j\u00e0",
  "HTTP/1.1 999 Odd",
  "HTTP/1.1 099 Low",
  "HTTP/1.1 000 Zero",
  "HTTP/1.1 200",
  "HTTP/1.1 200 ",
  "HTTP/1.0 200 OK",
  "HTTP/1.2 200 OK",
  "HTTP/2.0 200 OK",
  "HTTP/0.9 200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 2000 OK",
  "HTTP/1.1  200 OK",
  "HTTP/1.1 200\tOK",
  "http/1.1 200 OK",
  "ICY 200 OK",
  "RTSP/1.0 200 OK",
  " HTTP/1.1 200 OK",
  "HTTP/1.1 200 O\u0001K",
  "HTTP/1.1 101 Switching Protocols",
  "HTTP/1.1 103 Early Hints",
);
const fields = fc.array(
  odd(
    "x-a: b",
    "X-A:b",
    "x-a: \t b \t",
    "x-a:",
    "x-a: \u00ff\u0080",
    "x-a: b\u0000c",
    "x-a: b\u007fc",
    "x-a: b\u000bc",
    "x-a: b\rc",
    "x-a: b\nx-b: c",
    "x-a : b",
    "x-a\t: b",
    ": b",
    "x a: b",
    "x(a): b",
    "x-a",
    " x-a: b",
    "x-a: b\r\n c",
    "set-cookie: a=b; Path=/",
    "connection: close",
    "connection: keep-alive",
    "connection: foo, close",
    "keep-alive: timeout=5",
    "upgrade: h2c",
    "trailer: x-t",
    `x-long: ${"l".repeat(3_000)}`,
  ),
  { maxLength: 4 },
);
const content = fc.constantFrom("", "a", "hello", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "x".repeat(5_000));
const byLength = fc
  .tuple(
    content,
    odd("=", "+1", "-1", "zeros", "plus", "twice", "list", "blank", "hex", "empty", "huge", "negative", "tab"),
  )
  .map(([text, how]) => {
    const length = text.length;
    const value: Record<string, string> = {
      "=": `${length}`,
      "+1": `${length + 1}`,
      "-1": `${Math.max(0, length - 1)}`,
      zeros: `000${length}`,
      plus: `+${length}`,
      twice: `${length}\r\ncontent-length: ${length}`,
      list: `${length}, ${length}`,
      blank: `${length} 0`,
      hex: `0x${length.toString(16)}`,
      empty: "",
      huge: `1000000000000000${length}`,
      negative: `-${length}`,
      tab: `\t${length}`,
    };
    return `content-length: ${value[how] ?? ""}\r\n\r\n${text}`;
  });
const size = odd(
  "=",
  "0=",
  "upper",
  " after",
  " before",
  "0x",
  "ext",
  "quoted",
  "bws",
  "bad ext",
  "lf",
  "none",
  "huge",
  "long",
);
const byChunks = fc
  .tuple(
    fc.array(fc.tuple(content, size), { maxLength: 3 }),
    odd("", "x-t: 1\r\n", "x t: 1\r\n", "x-t: \u0000\r\n", "content-length: 3\r\n", "x-t: 1\n"),
    odd(
      "chunked",
      "Chunked",
      "chunked\t",
      "chunked, chunked",
      "gzip, chunked",
      "chunked, gzip",
      "identity",
      "",
      "chunked;a=b",
      "xchunked",
    ),
    odd("", "content-length: 3\r\n"),
    odd("0\r\n", "000\r\n", "0;a\r\n", "", "0\n"),
  )
  .map(([chunks, trailers, coding, length, last]) => {
    const text = chunks
      .filter(([data]) => data !== "")
      .map(([data, how]) => {
        const hex = data.length.toString(16);
        const written: Record<string, string> = {
          "0=": `0${hex}\r\n`,
          upper: `${hex.toUpperCase()}\r\n`,
          " after": `${hex} \r\n`,
          " before": ` ${hex}\r\n`,
          "0x": `0x${hex}\r\n`,
          ext: `${hex};a=b;c\r\n`,
          quoted: `${hex};a="b ;\\" c"\r\n`,
          bws: `${hex} ; a = b\r\n`,
          "bad ext": `${hex};;a=\u0001\r\n`,
          lf: `${hex}\n`,
          none: "\r\n",
          huge: `fffffffffffffffff\r\n`,
          long: `${hex.padStart(20, "0")}\r\n`,
        };
        return `${written[how] ?? `${hex}\r\n`}${data}\r\n`;
      });
    return `${length}transfer-encoding: ${coding}\r\n\r\n${text.join("")}${last}${last === "" ? "" : `${trailers}\r\n`}`;
  });
const toTheEnd = content.map((text) => `\r\n${text}`);
const interim = odd(
  "",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
  "HTTP/1.1 102 \r\ncontent-length: 3\r\n\r\n",
  "\r\n",
  "\n",
);
const rest = odd("", "\r\n", "x", "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
const wellFormed = fc
  .tuple(interim, statusLine, fields, fc.oneof(byLength, byChunks, toTheEnd), rest)
  .map(
    ([first, line, list, body, last]) =>
      `${first}${line}\r\n${list.map((each) => `${each}\r\n`).join("")}${body}${last}`,
  );
const mutation = fc.record({
  at: fc.nat(400),
  cut: fc.nat(2),
  put: fc.constantFrom("", "\r", "\n", "\r\n", " ", "\t", "\0", ":", ";", ",", "0", "1", "-", "\u00ff", "chunked"),
});
const answer = fc
  .tuple(wellFormed, fc.option(mutation, { freq: 2 }))
  .map(([text, bent]) =>
    bent === null
      ? text
      : text.slice(0, bent.at % (text.length + 1)) + bent.put + text.slice((bent.at % (text.length + 1)) + bent.cut),
  );

/** Cases that random generation produces too rarely. */
const RARE: readonly string[] = [
  "HTTP/1.1 204 No Content\r\ncontent-length: 1000000000000000000\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nconnection: close\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\t\r\n\r\n2\r\nok\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;\r\nok\r\n0\r\ncontent-length: 2\r\n\r\n",
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;;=\r\nok\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n00000000000002\r\nok\r\n0\r\n\r\n",
];

async function ourReading(path: string): Promise<Reading> {
  // A connection of its own for each, as Node has here.
  const connect = { poolKey: path, http2: false, tls: { rejectUnauthorized: true } };
  const upstream = { origin: `http://127.0.0.1:${port}`, host: "app", basePath: "", weight: 1, connect };
  const { status, headers, body, failure, detail } = await outcome(transport, upstream, { path });
  return failure === undefined
    ? { kind: "read", answer: { status, headers, body: body.toString("latin1") } }
    : { kind: "refused", why: detail };
}

function theirReading(path: string): Promise<Reading> {
  return new Promise((resolve) => {
    const refuse = (why: string): void => resolve({ kind: "refused", why });
    const options = { agent: false, maxHeaderSize: MAX_HEAD_BYTES, insecureHTTPParser: false };
    const asked = nodeRequest({ port, host: "127.0.0.1", path, ...options });
    // A response that is complete before the error arrives a little later than the error.
    const broken = ({ code = "", message }: NodeJS.ErrnoException): void =>
      void setImmediate(() => refuse(`${code} ${message}`));
    asked.on("error", broken);
    asked.on("upgrade", (_response, socket) => {
      socket.destroy();
      refuse("upgrade");
    });
    asked.on("response", (response) => {
      const headers = response.rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
      let body = "";
      response.setEncoding("latin1");
      response.on("data", (text: string) => (body += text));
      response.on("error", broken);
      response.on("end", () => {
        if (response.complete) resolve({ kind: "read", answer: { status: response.statusCode ?? 0, headers, body } });
        else refuse("incomplete");
      });
    });
    asked.end();
  });
}

test("answers: every difference is explained by a named rule, and every rule explains one", async () => {
  // Compares thousands of answers itself.
  mayStall(1000);
  violations.length = 0;
  answers = [...fc.sample(answer, { numRuns: ANSWERS, seed: SEED }), ...RARE];
  const seen: SeenAnswer[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < answers.length) {
      const index = next;
      next += 1;
      const [ours, theirs] = await Promise.all([ourReading(`/${index}`), theirReading(`/${index}`)]);
      seen.push({ bytes: answers[index] ?? "", ours, theirs });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(violations).toEqual([]);

  const unused = new Set(ANSWER_DIFFERENCES.map(({ name }) => name));
  const unexplained = seen.filter((each) => {
    if (isSame(each)) return false;
    const rule = ANSWER_DIFFERENCES.find(({ explains }) => explains(each));
    if (rule) unused.delete(rule.name);
    return rule === undefined;
  });
  expect(unexplained.slice(0, 10)).toEqual([]);
  expect([...unused]).toEqual([]);
  // Enough of both kinds that the comparison says something.
  expect(seen.filter(({ ours }) => ours.kind === "read").length).toBeGreaterThan(ANSWERS / 5);
  expect(seen.filter(({ ours }) => ours.kind === "refused").length).toBeGreaterThan(ANSWERS / 5);
});

function isSame({ ours, theirs }: SeenAnswer): boolean {
  if (ours.kind === "refused" || theirs.kind === "refused") return ours.kind === theirs.kind;
  return JSON.stringify(ours.answer) === JSON.stringify(theirs.answer);
}
