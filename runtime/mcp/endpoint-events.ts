/**
 * Events called `endpoint` in an event stream: in the transport of revision 2024-11-05 the first one contains the
 * address for the client's messages. Later ones are also checked: clients follow any of them, after any other event.
 *
 * Untrusted input: the upstream's bytes, split anywhere. Promises: the data of an `endpoint` event reaches the client
 * only as returned by `rewrite`. Every other byte is unchanged, except a byte order mark, which only some clients treat
 * as part of the first line. At most `MAX_HELD_BYTES` are buffered until the end of an event. Comments and blocks
 * without data pass immediately: they are not events, and they keep connections alive.
 * @see WHATWG HTML, "Interpreting an event stream"; MCP 2024-11-05, HTTP with SSE
 */
export const MAX_HELD_BYTES = 16_384;
/** Bytes read of a line: a longer one contains neither an address nor the name `endpoint`. */
const MAX_LINE_BYTES = 8_192;

const ENDPOINT = "endpoint";
const LF = 10;
const CR = 13;
const COLON = 58;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export class EndpointEvents {
  readonly #rewrite: (data: string) => string | undefined;
  /** Chunks of the incomplete event. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #state: "between" | "holding" | "watching" = "between";
  #line: number[] = [];
  #lineBytes = 0;
  #afterCr = false;
  /** Bytes of the byte order mark received so far; undefined once it is complete, or when there is none. */
  #markBytes: number | undefined = 0;
  #type = "";
  #data: string[] = [];
  /** Fields of the event other than its type and data. */
  #others: string[] = [];

  /** @param rewrite the data of an `endpoint` event → its replacement; undefined when it must not pass */
  constructor(rewrite: (data: string) => string | undefined) {
    this.#rewrite = rewrite;
  }

  /** @returns bytes to forward; undefined when the stream must end here */
  push(received: Buffer): Buffer | undefined {
    const chunk = this.#markBytes === undefined ? received : this.#withoutMark(received, this.#markBytes);
    if (this.#isWhole(chunk)) return chunk;
    const passed: Buffer[] = [];
    /** Start of the bytes in the chunk that were neither passed on nor held. */
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (this.#afterCr && byte === LF) {
        this.#afterCr = false;
        continue;
      }
      const isLineEnd = byte === LF || byte === CR;
      if (this.#state === "between" && this.#lineBytes === 0 && !isLineEnd && byte !== COLON) {
        passed.push(chunk.subarray(start, index));
        start = index;
        this.#state = "holding";
      }
      this.#afterCr = byte === CR;
      if (!isLineEnd) {
        if (this.#lineBytes < MAX_LINE_BYTES) this.#line.push(byte);
        this.#lineBytes += 1;
        continue;
      }
      const outcome = this.#endLine();
      if (outcome === "more") continue;
      if (outcome === "refused") return undefined;
      if (outcome === "pass") passed.push(...this.#held, chunk.subarray(start, index + 1));
      else passed.push(Buffer.from(outcome.text));
      this.#reset();
      start = index + 1;
    }
    if (!this.#keep(passed, chunk.subarray(start))) return undefined;
    return passed.length === 1 ? passed[0] : Buffer.concat(passed);
  }

  /** True for whole events without the word in question: the usual case, and cheap to detect. */
  #isWhole(chunk: Buffer): boolean {
    const isBetween = this.#state === "between" && this.#lineBytes === 0 && !this.#afterCr;
    return isBetween && chunk.at(-1) === LF && chunk.at(-2) === LF && !chunk.includes(ENDPOINT);
  }

  #withoutMark(chunk: Buffer, known: number): Buffer {
    let length = known;
    while (length < 3 && length - known < chunk.length && chunk[length - known] === BYTE_ORDER_MARK[length])
      length += 1;
    const rest = chunk.subarray(length - known);
    const isUndecided = length < 3 && rest.length === 0;
    this.#markBytes = isUndecided ? length : undefined;
    if (isUndecided || length === 3) return rest;
    return length === 0 ? chunk : Buffer.concat([BYTE_ORDER_MARK.subarray(0, length), rest]);
  }

  #endLine(): "more" | "refused" | "pass" | { readonly text: string } {
    const isWhole = this.#lineBytes === this.#line.length;
    const line = Buffer.from(this.#line).toString("utf8");
    const isBlank = this.#lineBytes === 0;
    this.#line = [];
    this.#lineBytes = 0;
    if (this.#state === "between") return "more";
    if (!isBlank) {
      this.#readField(line, isWhole);
      return "more";
    }
    if (this.#state === "watching") return this.#type === ENDPOINT ? "refused" : "pass";
    // Without data it is not an event, whatever its type.
    if (this.#data.length === 0) return "pass";
    if (this.#type !== ENDPOINT) return "pass";
    const address = this.#rewrite(this.#data.join("\n"));
    if (address === undefined) return "refused";
    const lines = [`event: ${ENDPOINT}`, ...this.#others, `data: ${address}`, "", ""];
    return { text: lines.join("\n") };
  }

  #readField(line: string, isWhole: boolean): void {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    // The last one counts; a truncated line has another value.
    if (name === "event") this.#type = isWhole ? value : "";
    else if (this.#state === "watching") return;
    // No address has a line break.
    else if (name === "data") this.#data.push(isWhole ? value : "\n");
    else if (name === "id" || name === "retry") this.#others.push(line);
  }

  /** Buffers the bytes of an incomplete event, as long as it is small. @returns false when it is too large */
  #keep(passed: Buffer[], rest: Buffer): boolean {
    if (this.#state !== "holding") {
      passed.push(rest);
      return true;
    }
    this.#held.push(rest);
    this.#heldBytes += rest.length;
    if (this.#heldBytes <= MAX_HELD_BYTES) return true;
    if (this.#type === ENDPOINT) return false;
    // Far too long for an address: it passes, and must not become one.
    passed.push(...this.#held);
    this.#held = [];
    this.#data = [];
    this.#others = [];
    this.#state = "watching";
    return true;
  }

  #reset(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#state = "between";
    this.#type = "";
    this.#data = [];
    this.#others = [];
  }
}
