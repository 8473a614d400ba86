/** Answers as upstreams write them, right and wrong: what is refused, what is read, and that it does not depend on the reads. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { AnswerReader, MAX_HEAD_BYTES } from "../../../../runtime/upstreams/http1/reader.ts";

interface Read {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[] | undefined;
  readonly ended: boolean;
  readonly problem: string | undefined;
  readonly keepsOpen: boolean;
  /** Result of `close()`, when there are no more bytes. */
  readonly closed: boolean;
}

/** @param cuts where the bytes are cut into reads */
function read(text: string, { method = "GET", cuts = [] as readonly number[] } = {}): Read {
  let status = 0;
  let headers: readonly string[] = [];
  let body = "";
  let trailers: readonly string[] | undefined;
  let ends = 0;
  let isBroken = false;
  const heard = (): void => {
    if (ends > 0 || isBroken) throw new Error("something after the end");
  };
  const reader = new AnswerReader({
    onHead(code, fields) {
      heard();
      if (status !== 0) throw new Error("a second head");
      status = code;
      headers = fields;
    },
    onData(chunk) {
      heard();
      if (chunk.length === 0) throw new Error("an empty chunk");
      body += chunk.toString("latin1");
    },
    onEnd(fields) {
      heard();
      trailers = fields;
      ends += 1;
    },
  });
  reader.begin(method);
  const bytes = Buffer.from(text, "latin1");
  let problem: string | undefined;
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    if (cut <= at || cut > bytes.length || problem !== undefined || ends > 0) continue;
    // As connections do it: one buffer for all reads, longer than what was read.
    const buffer = Buffer.alloc(cut - at + 7, "\n");
    bytes.copy(buffer, 0, at, cut);
    problem = reader.read(buffer, cut - at);
    buffer.fill("!");
    isBroken = problem !== undefined;
    // Bytes after the end are unsolicited: the response before them is complete.
    if (ends > 0) problem = undefined;
    at = cut;
  }
  const closed = problem === undefined && reader.close();
  return { status, headers, body, trailers, ended: ends === 1, problem, keepsOpen: reader.keepsOpen, closed };
}

const OK = "HTTP/1.1 200 OK\r\n";
const chunked = (rest: string): string => `${OK}transfer-encoding: chunked\r\n\r\n${rest}`;
const field = (line: string): string => `${OK}${line}\r\ncontent-length: 0\r\n\r\n`;

const REFUSED: readonly (readonly [what: string, text: string, problem: RegExp])[] = [
  // RFC 9112 §2.2: a recipient MAY take a bare LF for an end of line; who reads it otherwise sees another message.
  ["bare line feeds", "HTTP/1.1 200 OK\ncontent-length: 0\n\n", /CR LF|status line/],
  ["a bare line feed behind a field", `${OK}a: b\ncontent-length: 0\r\n\r\n`, /control character/],
  ["a bare line feed as the end of the head", `${OK}content-length: 2\r\n\nok`, /CR LF/],
  ["a bare line feed in a head that goes on", `${OK}a: b\nc`, /CR LF/],
  ["a bare carriage return in a value", field("a: b\rc: d"), /control character/],
  ["a bare carriage return in the status line", "HTTP/1.1 200 O\rK\r\n\r\n", /status line/],
  ["blanks before the first field", `${OK} a: b\r\n\r\n`, /no name/],
  ["an empty line before the status line", `\r\n${field("a: b")}`, /status line/],
  // RFC 9112 §4
  ["no HTTP", "SSH-2.0-OpenSSH\r\n", /status line/],
  ["no HTTP, before it is complete", "S", /status line/],
  ["the name in lower case", "http/1.1 200 OK\r\n\r\n", /status line/],
  ["HTTP/2", "HTTP/2 200\r\n\r\n", /status line/],
  ["HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", /status line/],
  ["HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\n", /status line/],
  ["a version of two digits", "HTTP/1.10 200 OK\r\n\r\n", /status line/],
  ["two blanks before the status", "HTTP/1.1  200 OK\r\n\r\n", /status line/],
  ["a tab before the status", "HTTP/1.1\t200 OK\r\n\r\n", /status line/],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", /status line/],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", /status line/],
  ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n", /status line/],
  ["a status that is no number", "HTTP/1.1 2e2 OK\r\n\r\n", /status line/],
  ["no status", "HTTP/1.1\r\n\r\n", /status line/],
  ["a control character in the reason", "HTTP/1.1 200 O\u0000K\r\n\r\n", /status line/],
  // RFC 9112 §5
  ["a blank before the colon", field("a : b"), /no name/],
  ["a tab before the colon", field("a\t: b"), /no name/],
  ["a line without a colon", field("abc"), /no name/],
  ["an empty name", field(": b"), /no name/],
  ["a blank in a name", field("a b: c"), /no name/],
  ["a name with 8 bits", field("\u00e4: c"), /no name/],
  ["NUL in a name", field("a\u0000: c"), /no name/],
  // RFC 9112 §5.2: a folded line; a proxy MUST refuse it or replace it.
  ["a folded field", field("a: b\r\n c"), /no name/],
  ["a folded field of framing", `${OK}transfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n`, /Transfer-Encoding/],
  ["NUL in a value", field("a: \u0000"), /control character/],
  ["DEL in a value", field("a: \u007f"), /control character/],
  ["a form feed before a value", field("a:\u000cb"), /control character/],
  ["more fields than anybody needs", field("a:b\r\n".repeat(1_001).slice(0, -2)), /too many/],
  ["a head without end", `${OK}a: ${"b".repeat(MAX_HEAD_BYTES)}`, /longer than/],
  ["a head that is too large", `${OK}a: ${"b".repeat(MAX_HEAD_BYTES)}\r\n\r\n`, /longer than/],
  // RFC 9112 §6.1
  ["a length beside chunks", `${OK}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, /both/],
  ["chunks beside a length", `${OK}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n`, /both/],
  ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", /HTTP\/1\.0/],
  ["chunked twice", chunked("").replace("chunked", "chunked, chunked"), /just chunked/],
  ["chunked in two fields", chunked("").replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n"), /just chunked/],
  ["gzip, chunked", chunked("").replace("chunked", "gzip, chunked"), /just chunked/],
  ["chunked, gzip", chunked("").replace("chunked", "chunked, gzip"), /just chunked/],
  ["identity", chunked("").replace("chunked", "identity"), /just chunked/],
  ["an empty coding", chunked("").replace("chunked", ""), /just chunked/],
  // A parser in wide use takes it for an unknown coding, and reads to the end of the connection.
  ["a tab behind the coding", chunked("").replace("chunked", "chunked\t"), /just chunked/],
  ["a tab before the coding", chunked("").replace("chunked", "\tchunked"), /just chunked/],
  ["a tab behind the length", `${OK}content-length: 3\t\r\n\r\nabc`, /not a number/],
  ["a quoted coding", chunked("").replace("chunked", '"chunked"'), /just chunked/],
  ["a coding with parameters", chunked("").replace("chunked", "chunked;q=1"), /just chunked/],
  ["a coding with 8 bits behind it", chunked("").replace("chunked", "chunked\u00a0"), /just chunked/],
  // RFC 9112 §6.3: a list of equal lengths MAY be taken for one.
  ["two lengths", `${OK}content-length: 3\r\ncontent-length: 4\r\n\r\nabc`, /two Content-Lengths/],
  ["two equal lengths", `${OK}content-length: 3\r\ncontent-length: 3\r\n\r\nabc`, /two Content-Lengths/],
  ["a list of equal lengths", `${OK}content-length: 3, 3\r\n\r\nabc`, /not a number/],
  ...["-1", "+1", "1.0", "0x3", "1e1", "", "3 3", "\u00b3", "9007199254740993"].map(
    (length) => [`the length ${length}`, `${OK}content-length: ${length}\r\n\r\n`, /not a number/] as const,
  ),
  ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n", /protocol/],
  ["interim answers without end", "HTTP/1.1 103 Early\r\n\r\n".repeat(33), /interim/],
  ["bad fields of an interim answer", `HTTP/1.1 103 Early\r\na b: c\r\n\r\n${field("a: b")}`, /no name/],
  // RFC 9112 §7.1
  ["a chunk without size", chunked("\r\n\r\n"), /no size/],
  ["a chunk with an extension alone", chunked(";a\r\n\r\n"), /no size/],
  ["a negative chunk size", chunked("-1\r\n"), /no size/],
  ["a chunk size with 0x", chunked("0x1\r\na\r\n"), /not a hexadecimal/],
  ["a blank before a chunk size", chunked(" 1\r\na\r\n"), /no size/],
  ["a blank behind a chunk size", chunked("1 \r\na\r\n"), /not a hexadecimal/],
  ["a chunk size with an underscore", chunked("1_0\r\n"), /not a hexadecimal/],
  ["a chunk size of another script", chunked("\u00b9\r\na\r\n"), /no size/],
  ["a chunk size that overflows", chunked("10000000000000002\r\nab\r\n"), /too large/],
  ["a chunk size that ends with a line feed", chunked("1\na\r\n"), /not a hexadecimal/],
  ["a carriage return in a chunk size", chunked("1\ra\r\n"), /CR LF/],
  ["a line feed in a chunk extension", chunked("1;a\nb\r\na\r\n"), /control character/],
  ["NUL in a chunk extension", chunked("1;\u0000\r\na\r\n"), /control character/],
  ["a chunk extension without end", chunked(`1;${"a".repeat(5_000)}`), /too long/],
  ["a chunk longer than its size", chunked("1\r\nab\r\n"), /longer than its size/],
  ["a chunk that ends with a line feed", chunked("1\r\na\n0\r\n\r\n"), /longer than its size/],
  ["a chunk that ends with a carriage return", chunked("1\r\na\r0\r\n\r\n"), /CR LF/],
  ["a bad trailer", chunked("0\r\na b: c\r\n\r\n"), /no name/],
  ["a bare line feed in trailers", chunked("0\r\na: b\n\r\n"), /CR LF/],
  ["a line feed instead of trailers", chunked("0\r\n\n"), /CR LF/],
  ["trailers without end", chunked(`0\r\n${"a: b\r\n".repeat(11_000)}`), /longer than/],
];

describe("AnswerReader refuses", () => {
  test.each(REFUSED)("%s", (_name, text, problem) => {
    const answer = read(text);
    expect(answer.problem).toMatch(problem);
    expect(answer.ended).toBe(false);
    // No byte of it depends on how much came at once.
    expect(read(text, { cuts: Array.from({ length: 400 }, (_, at) => at + 1) }).problem).toBeDefined();
  });
});

describe("AnswerReader reads", () => {
  test.each([
    ["no reason", "HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok", 200, "ok"],
    ["no reason and no blank", "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", 200, "ok"],
    ["a reason with 8 bits", "HTTP/1.1 200 D\u00e9j\u00e0\tvu\r\ncontent-length: 2\r\n\r\nok", 200, "ok"],
    ["a status of its own", "HTTP/1.1 599 Odd\r\ncontent-length: 2\r\n\r\nok", 599, "ok"],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, "ok"],
    ["no field at all", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
    ["a length of zeros", `${OK}content-length: 000\r\n\r\n`, 200, ""],
    ["a length with blanks around it", `${OK}Content-LENGTH:  2  \r\n\r\nok`, 200, "ok"],
    [
      "chunks in other letters",
      chunked("A\r\n0123456789\r\n0\r\n\r\n").replace("chunked", "ChUnKeD"),
      200,
      "0123456789",
    ],
    ["chunks with zeros", chunked("0000000000002\r\nok\r\n00\r\n\r\n"), 200, "ok"],
    ["chunk extensions", chunked('2;a=b;c="d e";f\r\nok\r\n0;g\r\n\r\n'), 200, "ok"],
    ["trailers", chunked("2\r\nok\r\n0\r\nDigest: x\r\nContent-Length: 9\r\n\r\n"), 200, "ok"],
    ["an empty 205", "HTTP/1.1 205 Reset\r\ncontent-length: 0\r\n\r\n", 205, ""],
    [
      "interim answers first",
      `HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 102 Wait\r\ncontent-length: 3\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
      200,
      "ok",
    ],
    ["a 304 with the length of what was not sent", "HTTP/1.1 304 Same\r\ncontent-length: 5\r\n\r\n", 304, ""],
  ])("%s", (_name, text, status, body) => {
    expect(read(text)).toMatchObject({ status, body, ended: true, problem: undefined, closed: true });
  });

  test("trailers apart from headers, in any pieces, and none where none came", () => {
    const text = chunked("2\r\nok\r\n0\r\nX-A: 1\r\nx-a:\t\u00ff \r\n\r\n");
    for (let cut = 1; cut < text.length; cut += 1) {
      expect(read(text, { cuts: [cut] })).toMatchObject({
        headers: ["transfer-encoding", "chunked"],
        trailers: ["x-a", "1", "x-a", "\u00ff"],
        ended: true,
      });
    }
    expect(read(chunked("0\r\n\r\n")).trailers).toBeUndefined();
    expect(read(`${OK}content-length: 2\r\n\r\nok`).trailers).toBeUndefined();
  });

  test("field names in lower case, values as they are, in order, without blanks around them", () => {
    const { headers } = read(field('X-A: \t b\tc \r\nX-Empty:\r\nx-a:"\u00ff"\r\n!#$%&\'*+-.^_`|~0: odd'));
    expect(headers).toEqual([
      "x-a",
      "b\tc",
      "x-empty",
      "",
      "x-a",
      '"\u00ff"',
      "!#$%&'*+-.^_`|~0",
      "odd",
      "content-length",
      "0",
    ]);
  });

  test("a response to HEAD without body, whatever it declares", () => {
    for (const framing of ["content-length: 5", "transfer-encoding: chunked", "a: b"]) {
      const answer = read(`${OK}${framing}\r\n\r\n`, { method: "HEAD" });
      expect(answer).toMatchObject({ ended: true, body: "", keepsOpen: true });
    }
  });

  test("without length or chunks to the end of the connection, and never past it", () => {
    const answer = read(`${OK}a: b\r\n\r\none\r\n\r\nHTTP/1.1 200 OK`);
    expect(answer).toMatchObject({ body: "one\r\n\r\nHTTP/1.1 200 OK", ended: true, closed: true, keepsOpen: false });
  });

  test.each([
    ["in the head", OK],
    ["behind an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["before a body with a length", `${OK}content-length: 2\r\n\r\n`],
    ["in a body with a length", `${OK}content-length: 3\r\n\r\nok`],
    ["in a chunk", chunked("3\r\nok")],
    ["between chunks", chunked("2\r\nok\r\n")],
    ["in a chunk size", chunked("2")],
    ["before the trailers", chunked("0\r\n")],
    ["in the trailers", chunked("0\r\na: b\r\n")],
  ])("nothing as complete that breaks off %s", (_name, text) => {
    expect(read(text)).toMatchObject({ ended: false, closed: false, problem: undefined });
  });

  test("more than one answer as none", () => {
    const one = `${OK}content-length: 2\r\n\r\nok`;
    expect(read(one + one)).toMatchObject({ body: "ok", ended: true, keepsOpen: false });
    const reader = new AnswerReader({ onHead: () => {}, onData: () => {}, onEnd: () => {} });
    reader.begin("GET");
    expect(reader.read(Buffer.from(one), one.length)).toBeUndefined();
    expect(reader.read(Buffer.from("x"), 1)).toContain("no request");
  });
});

test("AnswerReader reports the same for any split of the bytes into reads", () => {
  const token = fc.constantFrom("x-a", "Content-Type", "connection", "keep-alive", "a b", "set-cookie");
  const value = fc.constantFrom(
    "",
    "a",
    "close",
    "keep-alive",
    "timeout=9",
    "b\tc ",
    "\u00ff",
    "x".repeat(2_100),
    "\u0001",
  );
  const fields = fc.array(fc.tuple(token, value), { maxLength: 4 });
  const content = fc.stringMatching(/^[a-z\r\n0]{0,40}$/);
  const chunk = fc.tuple(content, fc.constantFrom("", ";a=b", " ", ";\u0000"));
  const bodies = fc.oneof(
    content.map((text) => `content-length: ${text.length}\r\n\r\n${text}`),
    fc.tuple(fc.array(chunk, { maxLength: 4 }), fc.constantFrom("", "a: b\r\n", "a\r\n")).map(([chunks, trailers]) => {
      const full = chunks.filter(([text]) => text !== "");
      const lines = full.map(([text, extension]) => `${text.length.toString(16)}${extension}\r\n${text}\r\n`);
      return `transfer-encoding: chunked\r\n\r\n${lines.join("")}0\r\n${trailers}\r\n`;
    }),
    content.map((text) => `\r\n${text}`),
  );
  const answers = fc
    .tuple(
      fc.constantFrom("", "HTTP/1.1 103 Hints\r\na: b\r\n\r\n"),
      fc.constantFrom("200", "204", "304", "20", "999"),
      fields,
      bodies,
      fc.constantFrom("", "\r\n", OK),
    )
    .map(
      ([interim, status, list, body, rest]) =>
        `${interim}HTTP/1.1 ${status} Text\r\n${list.map(([name, text]) => `${name}: ${text}\r\n`).join("")}${body}${rest}`,
    );
  const cuts = fc.array(fc.nat(2_600), { maxLength: 12 }).map((list) => list.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(answers, cuts, fc.constantFrom("GET", "HEAD"), (text, at, method) => {
      const { problem, ...whole } = read(text, { method });
      const everyByte = Array.from({ length: Math.min(text.length, 600) }, (_, index) => index + 1);
      for (const each of [at, everyByte]) {
        const { problem: other, ...cut } = read(text, { method, cuts: each });
        // How much of a refused body was heard before depends on the reads; whether bytes follow the end is seen in one read only.
        if (problem === undefined) expect({ ...cut, keepsOpen: true }).toEqual({ ...whole, keepsOpen: true });
        expect(other === undefined).toBe(problem === undefined);
      }
    }),
    { numRuns: 1_500, interruptAfterTimeLimit: 8_000, markInterruptAsFailure: false },
  );
});

describe("AnswerReader is not tired out", () => {
  test.each([
    ["a head of many lines", OK, "a:\r\n"],
    ["trailers of many lines", chunked("0\r\n"), "a:\r\n"],
    ["a head of one line", `${OK}a: `, "b"],
  ])("by %s that comes byte by byte", (_name, start, more) => {
    const text = start + more.repeat(Math.floor((MAX_HEAD_BYTES - start.length) / more.length));
    const began = process.cpuUsage();
    const { problem } = read(text, { cuts: Array.from({ length: text.length }, (_, at) => at + 1) });
    expect(problem).toBeUndefined();
    // From the beginning each time it would be more than ten seconds.
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(3_000);
  });

  test("by names that are remembered: they do not keep the heads that they came in", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < 1_500; round += 1) {
      read(field(`x-name-that-is-long-enough-${round}: b\r\na: ${"b".repeat(60_000)}`));
    }
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  });
});
