/** A slot in memory, used without a directory: its records end with the process. */
import type { Lines, Position, Segment, Slot, SlotReader, SlotWriter } from "./slot.ts";

interface MemorySegment extends Segment {
  readonly lines: string[];
  /** Bytes of each. */
  readonly sizes: number[];
}

const SEGMENT_RECORDS = 1_000;
const START: Position = { segment: 0, offset: 0, records: 0 };

export class MemorySlot implements Slot, SlotWriter {
  readonly segments: MemorySegment[] = [];
  end = 1;
  readonly isBehind = false;
  readonly isFailing = false;
  readonly #onWritten: () => void;

  constructor(onWritten: () => void) {
    this.#onWritten = onWritten;
  }

  openReader(): SlotReader {
    return {
      position: START,
      note: undefined,
      read: (from, maxRecords, maxBytes) => Promise.resolve(this.#read(from, maxRecords, maxBytes)),
      writePosition() {},
      writeNote() {},
    };
  }

  remove(segment: Segment): void {
    this.segments.splice(
      this.segments.findIndex(({ number }) => number === segment.number),
      1,
    );
  }

  release(): void {}

  /** The limit on queued records of each receiver bounds it. */
  hasRoom(): boolean {
    return true;
  }

  put(line: string, bytes: number): void {
    let last = this.segments.at(-1);
    if (!last || last.isComplete)
      this.segments.push((last = { number: this.end, bytes: 0, records: 0, isComplete: false, lines: [], sizes: [] }));
    last.lines.push(line);
    last.sizes.push(bytes);
    last.records += 1;
    last.bytes += bytes;
    last.isComplete = last.records === SEGMENT_RECORDS;
    this.end += 1;
    this.#onWritten();
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<number> {
    return Promise.resolve(0);
  }

  #read(from: Position, maxRecords: number, maxBytes: number): Lines {
    const { lines = [], sizes = [] } = this.segments.find(({ number }) => number === from.segment) ?? {};
    const texts: string[] = [];
    let { offset, records } = from;
    for (let line = lines[records]; line !== undefined && texts.length < maxRecords; line = lines[records]) {
      const end = offset + (sizes[records] ?? 0);
      if (texts.length > 0 && end - from.offset > maxBytes) break;
      texts.push(line.slice(0, -1));
      offset = end;
      records += 1;
    }
    return { texts, end: { segment: from.segment, offset, records }, damaged: 0 };
  }
}
