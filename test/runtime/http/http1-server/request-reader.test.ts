/** What is read as a request and what is refused; how this compares with Node's parser is in test/fuzz. */
import { describe, expect, test } from "vitest";

import { MAX_HEAD_BYTES, RequestReader } from "../../../../runtime/http/http1-server/request-reader.ts";

const HOST = "host: a.example\r\n";

function read(text: string) {
  const heard: string[] = [];
  const reader = new RequestReader({
    onHead({ method, target }, isWhole, body) {
      heard.push(`${method} ${target}${isWhole ? "" : " …"}`);
      if (body !== undefined) heard.push(body.toString("latin1"), "end");
    },
    onData: (chunk) => void heard.push(chunk.toString("latin1")),
    onEnd: (trailers) => void heard.push(trailers === undefined ? "end" : `end ${trailers.join(" ")}`),
  });
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length && reader.problem === undefined;) at = reader.read(bytes, at, bytes.length);
  return { heard, status: reader.problem?.status, isInHead: reader.isInHead };
}

const chunked = (body: string): string => `POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\n${body}`;

test.each([
  ["a request without body", `GET /a?b HTTP/1.1\r\n${HOST}\r\n`, ["GET /a?b"]],
  ["one behind another", `GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.0\r\n\r\n`, ["GET /a", "HEAD /b"]],
  [
    "a body of a length",
    `POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nabGET /b HTTP/1.1\r\n\r\n`,
    ["POST /", "ab", "end", "GET /b"],
  ],
  ["an empty body", `POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n`, ["POST /"]],
  ["chunks", chunked('2\r\nab\r\n1;x=y;z="a b"\r\nc\r\n0\r\n\r\n'), ["POST / …", "ab", "c", "end"]],
  ["trailers", chunked("0\r\nx-a: b\r\n\r\n"), ["POST / …", "end x-a b"]],
  ["an empty line before it", `\r\nGET / HTTP/1.1\r\n\r\n`, ["GET /"]],
])("reads %s", (_what, text, expected) => {
  expect(read(text)).toEqual({ heard: expected, status: undefined, isInHead: false });
});

describe("refuses", () => {
  test.each([
    ["two empty lines before it", `\r\n\r\nGET / HTTP/1.1\r\n\r\n`],
    ["a method that nobody knows", `FETCH / HTTP/1.1\r\n\r\n`],
    ["a method in lower case", `get / HTTP/1.1\r\n\r\n`],
    ["another version", `GET / HTTP/1.2\r\n\r\n`],
    ["version 2", `GET / HTTP/2.0\r\n\r\n`],
    ["no version", `GET /\r\n\r\n`],
    ["two blanks", `GET  / HTTP/1.1\r\n\r\n`],
    ["a blank behind the version", `GET / HTTP/1.1 \r\n\r\n`],
    ["a control character in the target", `GET /\x01 HTTP/1.1\r\n\r\n`],
    ["a bare line feed", `GET / HTTP/1.1\nhost: a\r\n\r\n`],
    ["a bare carriage return", `GET / HTTP/1.1\rhost: a\r\n\r\n`],
    ["a folded line", `GET / HTTP/1.1\r\nx-a: b\r\n c\r\n\r\n`],
    ["a blank before the colon", `GET / HTTP/1.1\r\nx-a : b\r\n\r\n`],
    ["a field without a name", `GET / HTTP/1.1\r\n: b\r\n\r\n`],
    ["NUL in a value", `GET / HTTP/1.1\r\nx-a: \0\r\n\r\n`],
    ["a length with a sign", `POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\na`],
    ["a list of lengths", `POST / HTTP/1.1\r\ncontent-length: 1, 1\r\n\r\na`],
    ["a length twice", `POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na`],
    ["a length beyond all numbers", `POST / HTTP/1.1\r\ncontent-length: 9007199254740993\r\n\r\na`],
    ["a length beside a coding", `POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a coding twice", `POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["another coding", `POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ["a coding in HTTP/1.0", `POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a chunk without a size", chunked("\r\n")],
    ["a size with a sign", chunked("+1\r\na\r\n")],
    ["a size with a blank", chunked("1 \r\na\r\n")],
    ["a size beyond all numbers", chunked("00000000000001\r\na\r\n")],
    ["a size with a bare line feed", chunked("1\na\r\n")],
    ["a chunk longer than its size", chunked("1\r\nab\r\n")],
    ["an extension without a name", chunked("1;\r\na\r\n")],
    ["an extension with a control character", chunked('1;a="\x01"\r\na\r\n')],
    ["an extension with an escape", chunked('1;a="\\""\r\na\r\n')],
    ["an extension that goes on behind a quote", chunked('1;a="b"c\r\na\r\n')],
    ["a length among the trailers", chunked("0\r\ncontent-length: 1\r\n\r\n")],
  ])("%s", (_what, text) => {
    const { status, heard } = read(`${text}GET /hidden HTTP/1.1\r\n\r\n`);
    expect(status).toBe(400);
    expect(heard.join()).not.toContain("hidden");
  });

  test.each([
    ["a head without end", `GET / HTTP/1.1\r\nx: ${"a".repeat(MAX_HEAD_BYTES)}`],
    ["a long head", `GET / HTTP/1.1\r\nx: ${"a".repeat(MAX_HEAD_BYTES)}\r\n\r\n`],
    ["trailers without end", chunked(`0\r\n${"x-a: b\r\n".repeat(5_000)}`)],
    ["many trailers", chunked(`0\r\n${"a:\r\n".repeat(201)}\r\n`)],
    ["much between small chunks", chunked(`1;a=${"b".repeat(4_000)}\r\na\r\n`.repeat(5))],
  ])("%s, as too large", (_what, text) => {
    expect(read(text).status).toBe(431);
  });

  test.each(["\x16\x03\x01", "SSH-2.0-", "what is this", "GET / HTTP/1.1\n", " ", "\r\r"])(
    "%j before its end has come",
    (beginning) => {
      expect(read(beginning).status).toBe(400);
    },
  );
});

test.each(["G", "GET", "GET /", "\r\nGET / HTTP/1.1\r", "GET / HTTP/1.1\r\nx: y"])(
  "waits for more behind %j",
  (beginning) => {
    expect(read(beginning)).toEqual({ heard: [], status: undefined, isInHead: true });
  },
);
