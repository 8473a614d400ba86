/**
 * The events of an event stream, one by one, as they came and as they are read.
 *
 * Untrusted input: the upstream's bytes, cut anywhere. Promises: whatever a client takes for an event comes out as one
 * block; comments pass at once, since they keep connections alive; what is left at the end is no event, and is dropped.
 *
 * @see WHATWG HTML, "Interpreting an event stream"
 */

/** What stands before the next event, or an event. */
export type EventBlock =
  | { readonly kind: "filler"; readonly raw: Buffer }
  | {
      readonly kind: "event";
      readonly raw: Buffer;
      /** Its data, lines joined; a client sees nothing else of the message. */
      readonly data: Buffer;
      /** Its other fields, as lines. */
      readonly others: readonly string[];
    };

const LF = 10;
const CR = 13;
const COLON = 58;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const JOIN = Buffer.from("\n");

export class EventBlocks {
  readonly #maxBytes: number;
  /** Lines of the block under way, line ends included. */
  #lines: Buffer[] = [];
  /** Of the line under way. */
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  #behindCr = false;
  #isAtStart = true;

  /** @param maxBytes of one event */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns undefined when an event is larger than it may be */
  push(chunk: Buffer): readonly EventBlock[] | undefined {
    const blocks: EventBlock[] = [];
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (byte !== LF && byte !== CR) continue;
      const isSecondHalf = byte === LF && this.#behindCr && index === start && this.#pieces.length === 0;
      this.#behindCr = byte === CR;
      if (isSecondHalf) {
        // It belongs to the line that the CR has ended, wherever that went.
        start = index + 1;
        continue;
      }
      this.#behindCr = byte === CR;
      this.#pieces.push(chunk.subarray(start, index + 1));
      start = index + 1;
      const block = this.#endLine();
      if (block) blocks.push(block);
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
    this.#heldBytes = sizeOf(this.#lines) + sizeOf(this.#pieces);
    return this.#heldBytes > this.#maxBytes ? undefined : blocks;
  }

  #endLine(): EventBlock | undefined {
    let line = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
    this.#pieces = [];
    if (this.#isAtStart && line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3);
    this.#isAtStart = false;
    const isBlank = line.length === 1;
    if (!isBlank) {
      if (this.#lines.length === 0 && line[0] === COLON) return { kind: "filler", raw: withLf(line) };
      this.#lines.push(line);
      return undefined;
    }
    const lines = this.#lines;
    this.#lines = [];
    return readBlock([...lines, line]);
  }
}

function readBlock(lines: readonly Buffer[]): EventBlock {
  const raw = Buffer.concat(lines.map(withLf));
  const data: Buffer[] = [];
  const others: string[] = [];
  for (const line of lines) {
    const text = line.subarray(0, -1);
    const colon = text.indexOf(COLON);
    const name = (colon === -1 ? text : text.subarray(0, colon)).toString("latin1");
    if (name !== "data") {
      if (text.length > 0 && colon !== 0) others.push(text.toString("utf8"));
      continue;
    }
    const value =
      colon === -1 ? text.subarray(text.length) : text.subarray(text[colon + 1] === 0x20 ? colon + 2 : colon + 1);
    if (data.length > 0) data.push(JOIN);
    data.push(value);
  }
  return data.length === 0 ? { kind: "filler", raw } : { kind: "event", raw, data: Buffer.concat(data), others };
}

/** An event with other data. */
export function renderEvent(others: readonly string[], data: string): Buffer {
  // A line end in JSON is white space; all three kinds of it end a line here.
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`);
  return Buffer.from([...others, ...lines, "", ""].join("\n"));
}

/** One kind of line end, so that what stood in two chunks means the same. */
function withLf(line: Buffer): Buffer {
  if (line.at(-1) === LF) return line;
  const copy = Buffer.from(line);
  copy[copy.length - 1] = LF;
  return copy;
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}
