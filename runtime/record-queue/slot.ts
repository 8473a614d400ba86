/**
 * Records that are pending for their receivers: segments of lines, in the order of the log. Each record has a number,
 * which grows and is never reused in a slot; a segment is named by the number of its first one.
 */

export interface Position {
  readonly segment: number;
  readonly offset: number;
  /** Number of records in the segment before the offset. */
  readonly records: number;
}

export interface Segment {
  readonly number: number;
  /** Readable bytes and records. */
  bytes: number;
  records: number;
  /** Whether it is finished. */
  isComplete: boolean;
}

export interface Lines {
  /** Without line ends. */
  readonly texts: readonly string[];
  readonly end: Position;
  /**
   * Number of missing records: a file is shorter than its name says, or has no line where one starts. The rest of it is
   * skipped.
   */
  readonly damaged: number;
}

/** One receiver's access. On a disk, its position and losses survive the process. */
export interface SlotReader {
  /** Position at the start. */
  readonly position: Position;
  readonly note: string | undefined;
  /** @param from a position with records; one call at a time @throws errors of the disk */
  read(from: Position, maxRecords: number, maxBytes: number): Promise<Lines>;
  /** @throws errors of the disk */
  writePosition(position: Position): void;
  /** @throws errors of the disk */
  writeNote(text: string | undefined): void;
}

export interface Slot {
  /** Sorted by number. */
  readonly segments: readonly Segment[];
  /** Number of the next record. */
  readonly end: number;
  openReader(name: string): SlotReader;
  /** Removes a segment that all receivers have read. */
  remove(segment: Segment): void;
  /** Releases the slot for another process. */
  release(): void;
}

/** Writes lines to a slot. */
export interface SlotWriter {
  /** Whether there is memory for this number of bytes until they are written. */
  hasRoom(bytes: number): boolean;
  /** @param line with its line end @param bytes its length */
  put(line: string, bytes: number): void;
  /** Whether more than half of the memory limit is pending. */
  readonly isBehind: boolean;
  readonly isFailing: boolean;
  /** Resolves when all lines would survive a loss of power. */
  flush(): Promise<void>;
  /** Tries once more. @returns number of lines that could not be written */
  close(): Promise<number>;
}

/** Number of the record at a position. */
export function numberAt({ segment, records }: Position): number {
  return segment + records;
}
