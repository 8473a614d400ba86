/**
 * Files of records, line by line in bounded memory: plain or compressed by gzip, detected by their first bytes.
 *
 * Untrusted input: the contents. A line longer than any record is skipped, and reported with its number as unreadable.
 */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createGunzip } from "node:zlib";

import { type LogLine, readLogLine, splitLine } from "../../audit/log-line.ts";
import { attempting } from "../../shared/errors.ts";
import { TornLines } from "./torn-lines.ts";

export interface RecordLines {
  /** @param number from 1; a partial line follows when it is certain that no line repeats it */
  line(number: number, line: LogLine): void;
  /** Called between pieces of the file. @param done bytes of the file read so far */
  progress?(done: number): void;
}

/** A line of a file. */
export interface LineBytes {
  /** Counted from 1. */
  readonly number: number;
  /** Offset of its first byte in the uncompressed file. */
  readonly offset: number;
  /** Without its line end; undefined: longer than any record. The buffer is reused after the call. */
  readonly bytes: Buffer | undefined;
  /** False for a last line without a line end. */
  readonly isEnded: boolean;
}

const MAX_LINE_BYTES = 1 << 20;
const PIECE_BYTES = 256 << 10;
const NEWLINE = 0x0a;
export const STANDARD_INPUT = "-";

/** @returns bytes; 0 for standard input. @throws GatewayError `replay.unreadable` */
export function sizeOf(file: string): Promise<number> {
  return attempting("replay.unreadable", `Cannot read "${file}"`, async () =>
    file === STANDARD_INPUT ? 0 : (await stat(file)).size,
  );
}

const NOT_WHOLE: LogLine = { kind: "broken", problem: "it is not complete JSON" };
const TOO_LONG: LogLine = { kind: "broken", problem: "it is longer than 1 MiB" };

/** Skips empty lines. @param file path, or "-" for standard input. @throws GatewayError `replay.unreadable` */
export async function readRecordLines(file: string, into: RecordLines): Promise<void> {
  const lines = new TornLines<readonly [number, LogLine]>((torn) => into.line(...torn));
  await readLines(file, {
    line({ number, bytes }) {
      if (bytes === undefined) return into.line(number, TOO_LONG);
      if (bytes.length === 0) return;
      const { torn, rest } = splitLine(bytes);
      if (torn) lines.add(torn, [number, NOT_WHOLE]);
      const line = readLogLine(rest);
      if (line.kind === "broken") return lines.add(rest, [number, line]);
      lines.repeat(rest);
      into.line(number, line);
    },
    progress: (done) => into.progress?.(done),
  });
  lines.end();
}

/** The same by bytes. @throws GatewayError `replay.unreadable` */
export function readLines(
  file: string,
  into: { line(line: LineBytes): void; progress?(done: number): void },
): Promise<void> {
  return attempting("replay.unreadable", `Cannot read "${file}"`, async () => {
    const splitter = new LineSplitter((line) => into.line(line));
    if (file === STANDARD_INPUT) {
      for await (const piece of process.stdin) splitter.take(piece as Buffer);
    } else {
      const isPacked = await isCompressed(file);
      const source = createReadStream(file, { highWaterMark: PIECE_BYTES });
      const lines = isPacked ? source.pipe(createGunzip({ chunkSize: PIECE_BYTES })) : source;
      // If the file fails, the other end of the pipe would wait forever.
      if (lines !== source) source.on("error", (error) => lines.destroy(error));
      for await (const piece of lines) {
        splitter.take(piece as Buffer);
        into.progress?.(source.bytesRead);
      }
    }
    splitter.end();
  });
}

/** Detected by its first bytes, whatever its name. */
export async function isCompressed(file: string): Promise<boolean> {
  await using handle = await open(file, "r");
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}

class LineSplitter {
  readonly #give: (line: LineBytes) => void;
  /** Pieces of a partial line. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #number = 0;
  /** Offset of the current line. */
  #offset = 0;

  constructor(give: (line: LineBytes) => void) {
    this.#give = give;
  }

  take(piece: Buffer): void {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      this.#end(piece.subarray(start, end), true);
      start = end + 1;
    }
    this.#begunBytes += piece.length - start;
    // Only the fact that it is too long is stored.
    if (this.#begunBytes > MAX_LINE_BYTES) this.#begun = [];
    else if (start < piece.length) this.#begun.push(piece.subarray(start));
  }

  end(): void {
    if (this.#begunBytes > 0) this.#end(Buffer.alloc(0), false);
  }

  #end(last: Buffer, isEnded: boolean): void {
    const length = this.#begunBytes + last.length;
    const whole = this.#begunBytes === 0 ? last : Buffer.concat([...this.#begun, last]);
    const offset = this.#offset;
    this.#begun = [];
    this.#begunBytes = 0;
    this.#number += 1;
    this.#offset += length + (isEnded ? 1 : 0);
    this.#give({ number: this.#number, offset, bytes: length > MAX_LINE_BYTES ? undefined : whole, isEnded });
  }
}
