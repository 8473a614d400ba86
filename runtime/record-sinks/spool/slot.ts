/**
 * Records on the disk that wait for one receiver: files of lines, and how far they are taken.
 *
 * Of one process at a time, by a lock. `NUMBER.open` is being written, `NUMBER.RECORDS.ndjson` is complete; both hold JSON
 * texts, each with its line end. Numbers grow and are never used twice. `cursor` says what is taken; without it, or when it
 * cannot be read, a file is sent again from its beginning: at least once.
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

import { tryLock } from "./slot-lock.ts";

export interface Position {
  readonly segment: number;
  readonly offset: number;
  /** In the segment, before the offset. */
  readonly records: number;
}

export interface Segment {
  readonly number: number;
  path: string;
  /** That can be read. */
  bytes: number;
  records: number;
  isComplete: boolean;
}

export interface Batch {
  /** JSON texts. */
  readonly lines: readonly string[];
  /** Where the next one begins. */
  readonly end: Position;
  /** Bytes at the beginning of which no line was found: nothing was written so, they are damaged. */
  readonly damaged: boolean;
}

export interface Slot {
  readonly directory: string;
  /** On the disk. */
  readonly bytes: number;
  /** Records that are not taken. */
  readonly waiting: number;
  /** The end of a file was no whole line: its process was killed, or the machine lost power. */
  readonly wasCut: boolean;
  /** What is taken ends here. */
  readonly taken: Position;
  /** @returns undefined: nothing is behind it. @throws what the disk says */
  read(from: Position, maxRecords: number, maxBytes: number): Promise<Batch | undefined>;
  /** All before it is taken: files of it alone are removed. */
  commit(to: Position): void;
  /** The file that follows, for whoever writes. */
  begin(): Segment;
  complete(segment: Segment): void;
  /** What was lost of late and is not told, as text. */
  readNote(): string | undefined;
  writeNote(text: string | undefined): void;
  /** Lets go of the directory. */
  close(): void;
}

const readAt = promisify(readFile);
const SEGMENT = /^(\d{12})\.(?:(\d{1,12})\.ndjson|open)$/;
const CURSOR = /^(\d{1,12}) (\d{1,15}) (\d{1,12}) *\n$/;
/** Always of this length, so that a disk that is full takes it, too. */
const CURSOR_BYTES = 48;
const LF = 0x0a;

/** @returns undefined: another process has it. @throws what the disk says */
export function openSlot(directory: string): Slot | undefined {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const unlock = tryLock(join(directory, "lock"));
  if (!unlock) return undefined;
  try {
    return openLocked(directory, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

function openLocked(directory: string, unlock: () => void): Slot {
  const note = join(directory, "lost");
  const { segments, wasCut } = findSegments(directory);
  const cursorPath = join(directory, "cursor");
  let taken = readCursor(cursorPath);
  const cursor = openSync(cursorPath, existsSync(cursorPath) ? "r+" : "w+", 0o600);
  let lastNumber = Math.max(taken.segment, segments.at(-1)?.number ?? 0);
  /** Kept open from batch to batch; it may be renamed meanwhile. */
  let reading: { readonly number: number; readonly file: number } | undefined;
  let closed = false;

  const slot: Slot = {
    directory,
    wasCut,
    get bytes() {
      return segments.reduce((sum, { bytes }) => sum + bytes, 0);
    },
    get waiting() {
      const [head] = segments;
      const done = head?.number === taken.segment ? Math.min(taken.records, head.records) : 0;
      return segments.reduce((sum, { records }) => sum + records, 0) - done;
    },
    get taken() {
      return taken;
    },
    async read(from, maxRecords, maxBytes) {
      let { offset, records } = from;
      for (const segment of segments) {
        if (segment.number < from.segment) continue;
        if (segment.number > from.segment) offset = records = 0;
        const length = Math.min(segment.bytes - offset, maxBytes);
        if (length <= 0) continue;
        const bytes = await readFrom(segment, offset, length);
        return batchOf(bytes, { segment: segment.number, offset, records }, segment, maxRecords);
      }
      return undefined;
    },
    commit(to) {
      taken = to;
      for (let [head] = segments; head && isTaken(head, to); [head] = segments) {
        segments.shift();
        if (reading?.number === head.number) stopReading();
        rmSync(head.path, { force: true });
      }
      try {
        writeSync(cursor, `${`${to.segment} ${to.offset} ${to.records}`.padEnd(CURSOR_BYTES - 1)}\n`, 0);
      } catch {
        // What is sent twice after a crash is no loss.
      }
    },
    begin() {
      lastNumber += 1;
      const path = join(directory, `${nameOf(lastNumber)}.open`);
      const segment: Segment = { number: lastNumber, path, bytes: 0, records: 0, isComplete: false };
      segments.push(segment);
      return segment;
    },
    complete(segment) {
      segment.isComplete = true;
      if (segment.records === 0) segments.splice(segments.indexOf(segment), 1);
      if (completeFile(directory, segment) && isTaken(segment, taken)) slot.commit(taken);
    },
    readNote: () => (existsSync(note) ? readFileSync(note, "utf8") : undefined),
    writeNote(text) {
      if (text === undefined) rmSync(note, { force: true });
      else writeFileSync(note, text, { mode: 0o600 });
    },
    close() {
      if (closed) return;
      closed = true;
      stopReading();
      closeSync(cursor);
      unlock();
    },
  };
  slot.commit(taken);
  return slot;

  async function readFrom({ number, path }: Segment, offset: number, length: number): Promise<Buffer> {
    if (reading?.number !== number) {
      stopReading();
      reading = { number, file: openSync(path, "r") };
    }
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await readAt(reading.file, buffer, filled, length - filled, offset + filled);
      // Shorter than it was: whatever is behind is damaged.
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  function stopReading(): void {
    if (reading) closeSync(reading.file);
    reading = undefined;
  }
}

/** Of whole lines. */
function batchOf(bytes: Buffer, from: Position, segment: Segment, maxRecords: number): Batch {
  const lines: string[] = [];
  let start = 0;
  while (lines.length < maxRecords) {
    const end = bytes.indexOf(LF, start);
    if (end === -1) break;
    lines.push(bytes.toString("utf8", start, end));
    start = end + 1;
  }
  const { offset, records } = from;
  if (lines.length > 0)
    return { lines, end: { ...from, offset: offset + start, records: records + lines.length }, damaged: false };
  // Nobody writes lines that are longer than a batch: this file is passed over from here.
  return { lines, end: { ...from, offset: segment.bytes, records: segment.records }, damaged: true };
}

function isTaken({ number, bytes, isComplete }: Segment, { segment, offset }: Position): boolean {
  return isComplete && (number < segment || (number === segment && offset >= bytes));
}

function findSegments(directory: string): { readonly segments: Segment[]; readonly wasCut: boolean } {
  let wasCut = false;
  const segments = readdirSync(directory).flatMap((name): Segment[] => {
    const [, number, records] = SEGMENT.exec(name) ?? [];
    if (number === undefined) return [];
    const path = join(directory, name);
    const segment = { number: Number(number), path, bytes: statSync(path).size, isComplete: true };
    if (records !== undefined) return [{ ...segment, records: Number(records) }];
    const cut = cutOff(path);
    wasCut ||= cut.bytes < segment.bytes;
    const left: Segment = { ...segment, ...cut };
    return completeFile(directory, left) ? [left] : [];
  });
  return { segments: segments.toSorted((a, b) => a.number - b.number), wasCut };
}

/** What a killed process left: everything behind the last line end goes. */
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

/** @returns false: it was empty, and is gone */
function completeFile(directory: string, segment: Segment): boolean {
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
