/** Two readings of where a message ends: refused before anything goes upstream. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
let heardBefore = 0;

beforeAll(async () => {
  victim = await startVictim();
  pipeline = await startPipeline(`
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ accept: true }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});
beforeEach(() => {
  heardBefore = victim.requests.length;
});

const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: app.example\r\n\r\n";
const post = (headers: string, body: string): string =>
  `POST /visible HTTP/1.1\r\nHost: app.example\r\n${headers}\r\n\r\n${body}`;

/** Whatever is answered: the hidden request must not have been taken for one, neither by us nor by the victim. */
test.each([
  [
    "Content-Length and Transfer-Encoding",
    post("Content-Length: 6\r\nTransfer-Encoding: chunked", `0\r\n\r\n${HIDDEN}`),
  ],
  [
    "Transfer-Encoding and Content-Length",
    post("Transfer-Encoding: chunked\r\nContent-Length: 6", `0\r\n\r\n${HIDDEN}`),
  ],
  ["two Content-Lengths", post("Content-Length: 5\r\nContent-Length: 6", `hello${HIDDEN}`)],
  ["a list of Content-Lengths", post("Content-Length: 5, 5", `hello${HIDDEN}`)],
  ["a signed Content-Length", post("Content-Length: +5", `hello${HIDDEN}`)],
  ["a hexadecimal Content-Length", post("Content-Length: 0x5", `hello${HIDDEN}`)],
  ["a negative Content-Length", post("Content-Length: -1", HIDDEN)],
  ["another transfer coding last", post("Transfer-Encoding: chunked, identity", `0\r\n\r\n${HIDDEN}`)],
  ["another transfer coding first", post("Transfer-Encoding: gzip, chunked", `0\r\n\r\n${HIDDEN}`)],
  ["a misspelled transfer coding", post("Transfer-Encoding: xchunked", `0\r\n\r\n${HIDDEN}`)],
  ["two Transfer-Encodings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", `0\r\n\r\n${HIDDEN}`)],
  ["space before the colon", post("Transfer-Encoding : chunked", `0\r\n\r\n${HIDDEN}`)],
  ["tab in Transfer-Encoding", post("Transfer-Encoding:\tchunked\r\nContent-Length: 6", `0\r\n\r\n${HIDDEN}`)],
  ["chunk size with sign", post("Transfer-Encoding: chunked", `+0\r\n\r\n${HIDDEN}`)],
  ["chunk size with prefix", post("Transfer-Encoding: chunked", `0x0\r\n\r\n${HIDDEN}`)],
  ["chunk size too large", post("Transfer-Encoding: chunked", `fffffffffffffffff\r\n\r\n${HIDDEN}`)],
  ["chunk with bare line feeds", post("Transfer-Encoding: chunked", `5\nhello\n0\n\n${HIDDEN}`)],
  ["chunk longer than its size", post("Transfer-Encoding: chunked", `3\r\nhello\r\n0\r\n\r\n${HIDDEN}`)],
  ["chunk extension with line feed", post("Transfer-Encoding: chunked", `5;\nhello\r\n0\r\n\r\n${HIDDEN}`)],
  ["folded header", post("X-A: b\r\n Transfer-Encoding: chunked", HIDDEN)],
  ["folded Transfer-Encoding", post("Transfer-Encoding:\r\n chunked", `0\r\n\r\n${HIDDEN}`)],
  ["bare carriage return in a value", post("X-A: b\rTransfer-Encoding: chunked", `0\r\n\r\n${HIDDEN}`)],
  ["bare line feed between headers", `POST /visible HTTP/1.1\nHost: app.example\nContent-Length: 0\n\n${HIDDEN}`],
  ["NUL in a value", post("X-A: b\0c\r\nContent-Length: 0", "")],
  ["header without a name", post(": b\r\nContent-Length: 0", "")],
  ["header without a colon", post("Transfer-Encoding chunked", `0\r\n\r\n${HIDDEN}`)],
  [
    "Transfer-Encoding in HTTP/1.0",
    `POST /visible HTTP/1.0\r\nHost: app.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  ["two Authorizations", post("Authorization: a\r\nAuthorization: b\r\nContent-Length: 0", "")],
  ["two Cookies", post("Cookie: a=b\r\nCookie: c=d\r\nContent-Length: 0", "")],
  ["two Content-Types", post("Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 0", "")],
  ["HTTP/0.9", "GET /visible\r\n\r\n"],
  ["HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
])("%s", async (_name, bytes) => {
  const answer = await sendRaw(pipeline.port, bytes);
  // Closed without an answer, or refused; never passed on.
  expect([0, 400, 405, 431, 501, 505]).toContain(answer.status);
  expect(answer.text.match(/HTTP\/1\.1 \d/g)?.length ?? 0).toBeLessThanOrEqual(1);
  expect(victim.requests.slice(heardBefore).map(({ line }) => line)).toEqual([]);
});

test("headers past the size limit are 431", async () => {
  const answer = await sendRaw(
    pipeline.port,
    `GET / HTTP/1.1\r\nHost: app.example\r\nX-A: ${"a".repeat(40_000)}\r\n\r\n`,
  );
  expect(answer.status).toBe(431);
  expect(victim.requests.length).toBe(heardBefore);
});

test("more headers than the limit are 431, none of them dropped in silence", async () => {
  const many = Array.from({ length: 250 }, (_, index) => `X-${index}: 1`).join("\r\n");
  const answer = await sendRaw(pipeline.port, `GET / HTTP/1.1\r\nHost: app.example\r\n${many}\r\n\r\n`);
  expect(answer.status).toBe(431);
  expect(victim.requests.length).toBe(heardBefore);
});

test("a chunked body goes upstream with one framing of our own", async () => {
  const answer = await sendRaw(
    pipeline.port,
    post("Transfer-Encoding: Chunked\r\nTrailer: X-Late", "5\r\nhello\r\n0\r\nX-Late: Content-Length\r\n\r\n"),
  );
  expect(answer.status).toBe(200);
  const request = victim.requests.at(-1);
  expect(request?.body.toString()).toBe("hello");
  expect(request?.headers.has("content-length")).toBe(false);
  expect(request?.header("transfer-encoding")).toBe("chunked");
  expect(request?.headers.has("x-late")).toBe(false);
  expect(request?.trailers).toEqual(["x-late: Content-Length"]);
});

test("pipelined requests are answered in order, each decided by itself", async () => {
  const answer = await sendRaw(
    pipeline.port,
    `GET /one HTTP/1.1\r\nHost: app.example\r\n\r\nGET /a%2ftwo HTTP/1.1\r\nHost: app.example\r\n\r\n`,
    300,
  );
  expect(answer.text.match(/HTTP\/1\.1 (\d+)/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  expect(victim.requests.slice(heardBefore).map(({ target }) => target)).toEqual(["/one"]);
});
