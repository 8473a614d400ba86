/**
 * A slot on the disk: files of lines, and the position of each receiver.
 *
 * Belongs to one process at a time, by a lock. `NUMBER.open` is being written, `NUMBER.RECORDS.ndjson` is complete;
 * both hold JSON texts, each with its line end. `NAME.cursor` has the position of a receiver, `NAME.lost` its losses.
 * If a cursor is missing or unreadable, the files are read from their start: at least once.
 */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  read as readFile,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { type Lines, numberAt, type Position, type Segment, type Slot, type SlotReader } from "./slot.ts";
import { tryLock } from "./slot-lock.ts";

export interface FileSegment extends Segment {
  path: string;
}

const readAt = promisify(readFile);
const SEGMENT = /^(\d{12,16})\.(?:(\d{1,12})\.ndjson|open)$/;
const CURSOR = /^(\d{1,16}) (\d{1,15}) (\d{1,12}) *\n$/;
const CURSOR_FILE = /(?:^|\.)cursor$/;
/** Always of this length, so that a full disk also accepts it. */
const CURSOR_BYTES = 48;
const LF = 0x0a;

export class DiskSlot implements Slot {
  readonly directory: string;
  readonly segments: FileSegment[];
  /** The end of a file was not a whole line: its process was killed, or the host lost power. */
  readonly wasCut: boolean;
  /** Set by the writer. */
  end: number;
  readonly #unlock: () => void;
  readonly #readers: DiskReader[] = [];
  #isReleased = false;

  /** @returns undefined: another process has it. @throws errors of the disk */
  static open(directory: string): DiskSlot | undefined {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const unlock = tryLock(join(directory, "lock"));
    if (!unlock) return undefined;
    try {
      return new DiskSlot(directory, unlock);
    } catch (error) {
      unlock();
      throw error;
    }
  }

  constructor(directory: string, unlock: () => void) {
    this.directory = directory;
    this.#unlock = unlock;
    const names = readdirSync(directory);
    ({ segments: this.segments, wasCut: this.wasCut } = findSegments(directory, names));
    const last = this.segments.at(-1);
    // Numbers are never reused, even if all files are gone.
    const cursors = names.filter((name) => CURSOR_FILE.test(name)).map((name) => readCursor(join(directory, name)));
    this.end = Math.max(1, last ? last.number + last.records : 0, ...cursors.map(numberAt));
  }

  /** @param name empty: a spool with only one sink, in the format of earlier versions */
  openReader(name: string): SlotReader {
    const reader = new DiskReader(this, name);
    this.#readers.push(reader);
    return reader;
  }

  /** The next file, for the writer. It is in `segments` once it exists. */
  begin(): FileSegment {
    const path = join(this.directory, `${nameOf(this.end)}.open`);
    return { number: this.end, path, bytes: 0, records: 0, isComplete: false };
  }

  complete(segment: FileSegment): void {
    segment.isComplete = true;
    if (!completeFile(this.directory, segment)) this.#drop(segment);
  }

  remove(segment: Segment): void {
    for (const reader of this.#readers) reader.leave(segment);
    const file = this.#drop(segment);
    if (file) rmSync(file.path, { force: true });
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    for (const reader of this.#readers) reader.close();
    this.#unlock();
  }

  #drop({ number }: Segment): FileSegment | undefined {
    const at = this.segments.findIndex((segment) => segment.number === number);
    return at === -1 ? undefined : this.segments.splice(at, 1)[0];
  }
}

class DiskReader implements SlotReader {
  readonly position: Position;
  readonly note: string | undefined;
  readonly #slot: DiskSlot;
  readonly #notePath: string;
  readonly #cursor: number;
  /** Stays open from batch to batch; the file may be renamed meanwhile. */
  #reading: { readonly number: number; readonly file: number } | undefined;

  constructor(slot: DiskSlot, name: string) {
    const pathOf = (file: string): string => join(slot.directory, name === "" ? file : `${name}.${file}`);
    const path = pathOf("cursor");
    this.#slot = slot;
    this.#notePath = pathOf("lost");
    this.position = readCursor(path);
    this.note = existsSync(this.#notePath) ? readFileSync(this.#notePath, "utf8") : undefined;
    this.#cursor = openSync(path, existsSync(path) ? "r+" : "w+", 0o600);
  }

  async read(from: Position, maxRecords: number, maxBytes: number): Promise<Lines> {
    const segment = this.#slot.segments.find(({ number }) => number === from.segment);
    if (!segment) throw new Error("Cannot read records: their file is gone");
    const { bytes: size, records, isComplete } = segment;
    const rest = Math.max(size - from.offset, 0);
    for (let length = Math.min(rest, maxBytes); ; length = Math.min(rest, length * 2)) {
      const bytes = await this.#readBytes(segment, from.offset, length);
      const { texts, end } = linesOf(bytes, from, maxRecords);
      const isOver = isComplete && end.offset >= size;
      // A line longer than a batch is read whole; one without an end is damaged.
      if (texts.length === 0 && length < rest && bytes.length === length) continue;
      if (texts.length > 0 && !isOver) return { texts, end, damaged: 0 };
      const damaged = Math.max(records - end.records, texts.length === 0 ? 1 : 0);
      return { texts, end: { segment: segment.number, offset: size, records }, damaged };
    }
  }

  writePosition({ segment, offset, records }: Position): void {
    writeSync(this.#cursor, `${`${segment} ${offset} ${records}`.padEnd(CURSOR_BYTES - 1)}\n`, 0);
  }

  writeNote(text: string | undefined): void {
    if (text === undefined) rmSync(this.#notePath, { force: true });
    else writeFileSync(this.#notePath, text, { mode: 0o600 });
  }

  /** Otherwise a removed file would still occupy the disk. */
  leave({ number }: Segment): void {
    if (this.#reading?.number === number) this.#stopReading();
  }

  close(): void {
    this.#stopReading();
    closeSync(this.#cursor);
  }

  async #readBytes({ number, path }: FileSegment, offset: number, length: number): Promise<Buffer> {
    if (this.#reading?.number !== number) {
      this.#stopReading();
      this.#reading = { number, file: openSync(path, "r") };
    }
    const { file } = this.#reading;
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await readAt(file, buffer, filled, length - filled, offset + filled);
      // Shorter than before: everything after this is damaged.
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  #stopReading(): void {
    if (this.#reading) closeSync(this.#reading.file);
    this.#reading = undefined;
  }
}

/** Whole lines. */
function linesOf(bytes: Buffer, { segment, offset, records }: Position, maxRecords: number): Omit<Lines, "damaged"> {
  const texts: string[] = [];
  let start = 0;
  while (texts.length < maxRecords) {
    const end = bytes.indexOf(LF, start);
    if (end === -1) break;
    texts.push(bytes.toString("utf8", start, end));
    start = end + 1;
  }
  return { texts, end: { segment, offset: offset + start, records: records + texts.length } };
}

function findSegments(
  directory: string,
  names: readonly string[],
): { readonly segments: FileSegment[]; readonly wasCut: boolean } {
  let wasCut = false;
  const segments = names.flatMap((name): FileSegment[] => {
    const [, number, records] = SEGMENT.exec(name) ?? [];
    if (number === undefined) return [];
    const path = join(directory, name);
    const segment = { number: Number(number), path, bytes: statSync(path).size, isComplete: true };
    if (records !== undefined) return [{ ...segment, records: Number(records) }];
    const cut = cutOff(path);
    wasCut ||= cut.bytes < segment.bytes;
    const left: FileSegment = { ...segment, ...cut };
    return completeFile(directory, left) ? [left] : [];
  });
  return { segments: segments.toSorted((a, b) => a.number - b.number), wasCut };
}
/** Removes a partial write of a killed process: everything after the last line end. */
function cutOff(path: string): { readonly bytes: number; readonly records: number } {
  const file = openSync(path, "r+");
  try {
    const chunk = Buffer.allocUnsafe(1 << 20);
    let read = 0;
    let bytes = 0;
    let records = 0;
    for (let length = readSync(file, chunk, 0, chunk.length, 0); length > 0;) {
      for (let at = chunk.indexOf(LF); at !== -1 && at < length; at = chunk.indexOf(LF, at + 1)) {
        records += 1;
        bytes = read + at + 1;
      }
      read += length;
      length = readSync(file, chunk, 0, chunk.length, read);
    }
    if (bytes < read) ftruncateSync(file, bytes);
    return { bytes, records };
  } finally {
    closeSync(file);
  }
}

/** @returns false: it was empty, and was removed */
function completeFile(directory: string, segment: FileSegment): boolean {
  if (segment.records === 0) {
    rmSync(segment.path, { force: true });
    return false;
  }
  const path = join(directory, `${nameOf(segment.number)}.${segment.records}.ndjson`);
  renameSync(segment.path, path);
  segment.path = path;
  return true;
}

function readCursor(path: string): Position {
  const [, segment, offset, records] = (existsSync(path) && CURSOR.exec(readFileSync(path, "utf8"))) || [];
  return { segment: Number(segment ?? 0), offset: Number(offset ?? 0), records: Number(records ?? 0) };
}

function nameOf(number: number): string {
  return String(number).padStart(12, "0");
}
