/** Tells where answers end, for clients with one request in flight that need nothing else of them. */

/** Bytes of the first answer in `text`, or undefined while its end cannot be told. */
export function answerLength(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2));
  if (length) return head + 4 + Number(length[1]);
  const last = text.indexOf("0\r\n\r\n", head + 4);
  return last === -1 ? undefined : last + 5;
}

/** Of one connection. Large answers are counted, not kept. */
export class AnswerReader {
  readonly #bodyBytes: number | undefined;
  #missing = 0;
  #isOk = false;
  #pending = "";
  /** Of the last answer, and what came with it. */
  #head = "";

  /** @param bodyBytes what an answer that says its length must have; default: any */
  constructor(bodyBytes?: number) {
    this.#bodyBytes = bodyBytes;
  }

  /** @returns whether the answer that ends with this chunk is 2xx; undefined while it has not ended */
  push(chunk: Buffer): boolean | undefined {
    if (this.#missing > 0) {
      this.#missing -= chunk.length;
      return this.#missing > 0 ? undefined : this.#isOk;
    }
    const text = this.#pending + chunk.toString("latin1");
    const length = answerLength(text);
    if (length === undefined) {
      this.#pending = text;
      return undefined;
    }
    this.#pending = "";
    this.#head = text;
    this.#isOk = text.startsWith("HTTP/1.1 2") && this.#hasItsLength(text, length);
    this.#missing = length - text.length;
    return this.#missing > 0 ? undefined : this.#isOk;
  }

  /** Of the last answer. */
  get status(): number {
    return Number(this.#head.slice(9, 12));
  }

  /** Whether the server closes the connection after the last answer. */
  get closes(): boolean {
    return /\r\nconnection: *close\r\n/i.test(this.#head.slice(0, this.#head.indexOf("\r\n\r\n") + 2));
  }

  #hasItsLength(text: string, length: number): boolean {
    if (this.#bodyBytes === undefined) return true;
    const head = text.indexOf("\r\n\r\n") + 4;
    return length - head === this.#bodyBytes || !/\r\ncontent-length:/i.test(text.slice(0, head));
  }
}
