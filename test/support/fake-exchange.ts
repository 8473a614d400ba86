/** An Exchange over a stream that the test feeds: strict, it refuses what the real one refuses. */
import { PassThrough } from "node:stream";

import type { Exchange } from "../../runtime/http/exchange.ts";

export interface FakeExchange extends Exchange {
  readonly body: PassThrough;
  readonly answer: { status: number; headers: readonly string[]; body: string } | undefined;
}

export interface FakeRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  /** Present: the request has a body; the test writes to `exchange.body`. */
  readonly hasBody?: boolean;
}

export function createFakeExchange(request: FakeRequest = {}): FakeExchange {
  const { method = "POST", path = "/mcp", headers = [], hasBody = false } = request;
  const body = new PassThrough();
  let answer: FakeExchange["answer"];
  const valuesOf = (lowerName: string): readonly string[] =>
    headers.filter((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === lowerName);
  const notForThisTest = (): never => {
    throw new Error("This fake answers only in one go");
  };
  return {
    id: "request-1",
    method,
    path,
    query: "",
    host: "mcp.example.com",
    secure: true,
    remoteAddress: "192.0.2.7",
    rawHeaders: headers,
    httpVersion: "1.1",
    body,
    hasBody,
    trailers: [],
    header(lowerName) {
      const values = new Set(valuesOf(lowerName));
      return values.size === 1 ? [...values][0] : undefined;
    },
    headerValues: valuesOf,
    get started() {
      return answer !== undefined;
    },
    get status() {
      return answer?.status ?? 0;
    },
    get answer() {
      return answer;
    },
    hold: () => true,
    start: notForThisTest,
    write: notForThisTest,
    onDrain: notForThisTest,
    end: notForThisTest,
    respond(status, answerHeaders, text = "") {
      if (answer) throw new Error("An answer was started already");
      answer = { status, headers: answerHeaders, body: text.toString() };
    },
    abort: () => void body.destroy(),
    takeBack: () => false,
    broke: notForThisTest,
    onClose: notForThisTest,
  };
}
