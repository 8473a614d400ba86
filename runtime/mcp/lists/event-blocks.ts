/**
 * The events of an event stream, one by one, raw and parsed.
 *
 * Untrusted input: the upstream's bytes, split anywhere. Promises: everything that a client reads as one event is one
 * block, also for a client that ends lines where Unicode does. Comments pass immediately, since they keep connections
 * alive. Fields outside the standard, and an unfinished end, are dropped.
 *
 * @see WHATWG HTML, "Interpreting an event stream"
 */

import { GrowingBytes } from "./growing-bytes.ts";

/** An event, or the bytes before one. */
export type EventBlock = { readonly kind: "filler"; readonly raw: Buffer } | StreamEvent;

class StreamEvent {
  readonly kind = "event";
  /** Data of the event, lines joined; a client sees nothing else of the message. */
  readonly data: Buffer;
  /** "" when it has none. */
  readonly type: string;
  /** Other fields of the event, as lines. */
  readonly others: readonly string[];
  readonly #lines: readonly Buffer[];

  constructor(data: Buffer, type: string, others: readonly string[], lines: readonly Buffer[]) {
    this.data = data;
    this.type = type;
    this.others = others;
    this.#lines = lines;
  }

  /** Made at each use: some readers need the data only. */
  get raw(): Buffer {
    return rawOf(this.data, this.others, this.#lines);
  }
}

const LF = 10;
const CR = 13;
const COLON = 58;
const BLANK: EventBlock = { kind: "filler", raw: Buffer.from("\n") };
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const JOIN = Buffer.from("\n");
const NO_DATA = Buffer.alloc(0);
/** More than any meaningful event has; each costs more than its bytes. */
const MAX_LINES = 10_000;
/** Clients that read lines of text also end one at these characters (`str.splitlines` of Python). */
// oxlint-disable-next-line no-control-regex -- exactly these are meant
const LOOSE_LINE_END = /[\v\f\x1c-\x1e\x85\u2028\u2029]/;
/** Line ends that are allowed within JSON strings, where they can also be escaped. */
const LOOSE_IN_TEXTS = ["\x85", "\u2028", "\u2029"] as const;

export class EventBlocks {
  readonly #maxBytes: number;
  /** Lines of the current block, line ends included. */
  #lines: Buffer[] = [];
  #lineBytes = 0;
  /** Pieces of the current line. */
  readonly #pieces = new GrowingBytes();
  #afterCr = false;
  #isAtStart = true;
  #unread: readonly EventBlock[] = [];

  /** @param maxBytes of one event */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the current block. */
  get heldBytes(): number {
    return this.#lineBytes + this.#pieces.length;
  }

  /** @returns undefined when an event is too large */
  push(chunk: Buffer): readonly EventBlock[] | undefined {
    const blocks: EventBlock[] = [];
    const ends = new LineEnds(chunk);
    let start = 0;
    for (let index = ends.next(0); index !== -1; index = ends.next(index + 1)) {
      const byte = chunk[index];
      const isSecondHalf = byte === LF && this.#afterCr && index === start && this.#pieces.length === 0;
      this.#afterCr = byte === CR;
      if (isSecondHalf) {
        // This LF belongs to the line that the CR ended, wherever that line is.
        start = index + 1;
        continue;
      }
      if (index === start && this.#lines.length === 0 && this.#pieces.length === 0) {
        // Repeated blank lines have no meaning, and a block for each would cost a thousand times as much as sending it.
        this.#isAtStart = false;
        start = index + 1;
        if (blocks.at(-1) !== BLANK) blocks.push(BLANK);
        continue;
      }
      const isBlank = index === start && this.#pieces.length === 0;
      const block = isBlank ? this.#endBlock() : this.#endLine(chunk.subarray(start, index + 1));
      start = index + 1;
      if (block) blocks.push(block);
      if (this.#lines.length > MAX_LINES || this.#lineBytes > this.#maxBytes) break;
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
    const isTooLarge = this.#lines.length > MAX_LINES || this.#lineBytes + this.#pieces.length > this.#maxBytes;
    if (isTooLarge) this.#unread = blocks;
    return isTooLarge ? undefined : blocks;
  }

  /** After a too large event: the data that no push has returned. Nothing may be pushed afterwards. */
  takeRest(): Buffer {
    return Buffer.concat([...this.#unread.map(({ raw }) => raw), ...this.#lines, this.#pieces.take()]);
  }

  /** @param end of the line, the whole one if no piece of it is held */
  #endLine(end: Buffer): EventBlock | undefined {
    let line = end;
    if (this.#pieces.length > 0) {
      this.#pieces.push(end);
      line = this.#pieces.take();
    }
    if (this.#isAtStart && line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3);
    this.#isAtStart = false;
    if (line.length === 1) return this.#endBlock();
    if (this.#lines.length === 0 && line[0] === COLON) return { kind: "filler", raw: readComment(line) };
    this.#lines.push(line);
    this.#lineBytes += line.length;
    return undefined;
  }

  #endBlock(): EventBlock {
    this.#isAtStart = false;
    const lines = this.#lines;
    this.#lines = [];
    this.#lineBytes = 0;
    return readBlock(lines);
  }
}

/** Searches natively: most lines are long. */
class LineEnds {
  readonly #chunk: Buffer;
  #lf = -2;
  #cr = -2;

  constructor(chunk: Buffer) {
    this.#chunk = chunk;
  }

  /** @returns the first one from there on; -1: none */
  next(from: number): number {
    if (this.#lf !== -1 && this.#lf < from) this.#lf = this.#chunk.indexOf(LF, from);
    if (this.#cr !== -1 && this.#cr < from) this.#cr = this.#chunk.indexOf(CR, from);
    if (this.#lf === -1) return this.#cr;
    return this.#cr === -1 || this.#lf < this.#cr ? this.#lf : this.#cr;
  }
}

function readComment(line: Buffer): Buffer {
  return LOOSE_LINE_END.test(line.toString("utf8")) ? Buffer.from(":\n") : withLf(line);
}

function readBlock(lines: readonly Buffer[]): EventBlock {
  const kept: Buffer[] = [];
  const pieces: Buffer[] = [];
  const others: string[] = [];
  let type = "";
  for (const line of lines) {
    const end = line.length - 1;
    const colon = line.indexOf(COLON);
    const nameEnd = colon === -1 ? end : colon;
    const start = colon === -1 ? end : line[colon + 1] === 0x20 ? colon + 2 : colon + 1;
    if (isData(line, nameEnd)) {
      if (pieces.length > 0) pieces.push(JOIN);
      pieces.push(line.subarray(start, end));
    } else {
      const name = line.toString("latin1", 0, nameEnd);
      const other = line.toString("utf8", 0, end);
      if (!OTHER_FIELDS.has(name) || LOOSE_LINE_END.test(other)) continue;
      others.push(other);
      // The last one counts.
      if (name === "event") type = line.toString("utf8", start, end);
    }
    kept.push(line);
  }
  const [data] = pieces;
  if (data === undefined) return { kind: "filler", raw: rawOf(NO_DATA, others, kept) };
  return new StreamEvent(pieces.length === 1 ? data : Buffer.concat(pieces), type, others, kept);
}

/** @param nameEnd of the name of a field: nearly all lines have this one */
function isData(line: Buffer, nameEnd: number): boolean {
  return nameEnd === 4 && line[0] === 0x64 && line[1] === 0x61 && line[2] === 0x74 && line[3] === 0x61;
}

function rawOf(data: Buffer, others: readonly string[], lines: readonly Buffer[]): Buffer {
  const isLoose = LOOSE_IN_TEXTS.some((char) => data.includes(char));
  return isLoose ? renderEvent(others, data.toString("utf8")) : Buffer.concat([...lines.map(withLf), JOIN]);
}

const OTHER_FIELDS: ReadonlySet<string> = new Set(["event", "id", "retry"]);

/** The event with other data. @param data JSON */
export function renderEvent(others: readonly string[], data: string): Buffer {
  // A line end in JSON is white space; all three kinds end a line here. The others occur only within its strings.
  const plain = LOOSE_LINE_END.test(data) ? data.replace(/[\x85\u2028\u2029]/g, escapeChar) : data;
  const lines = plain.split(/\r\n|\r|\n/).map((line) => `data: ${line}`);
  return Buffer.from([...others, ...lines, "", ""].join("\n"));
}

/** Returns the line with one kind of line end, so that a line split between two chunks means the same. */
function withLf(line: Buffer): Buffer {
  if (line.at(-1) === LF) return line;
  const copy = Buffer.from(line);
  copy[copy.length - 1] = LF;
  return copy;
}

function escapeChar(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
