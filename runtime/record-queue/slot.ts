/**
 * Records that wait for their receivers: segments of lines, in the order of the log. Each record has a number, which grows and
 * is never used twice in a slot; a segment is called by the number of its first one.
 */

export interface Position {
  readonly segment: number;
  readonly offset: number;
  /** In the segment, before the offset. */
  readonly records: number;
}

export interface Segment {
  readonly number: number;
  /** That can be read. */
  bytes: number;
  records: number;
  /** Nothing more is written to it. */
  isComplete: boolean;
}

export interface Lines {
  /** Without line ends. */
  readonly texts: readonly string[];
  readonly end: Position;
  /** So many are missing: a file is shorter than its name says, or has no line where one begins. What follows of it is passed over. */
  readonly damaged: number;
}

/** Where one receiver reads. How far it is, and what it lost, outlive the process on a disk. */
export interface SlotReader {
  /** At the start. */
  readonly position: Position;
  readonly note: string | undefined;
  /** @param from where there is something to read; one call at a time @throws what the disk says */
  read(from: Position, maxRecords: number, maxBytes: number): Promise<Lines>;
  /** @throws what the disk says */
  writePosition(position: Position): void;
  /** @throws what the disk says */
  writeNote(text: string | undefined): void;
}

export interface Slot {
  /** By number. */
  readonly segments: readonly Segment[];
  /** Number of the record that is written next. */
  readonly end: number;
  openReader(name: string): SlotReader;
  /** No receiver reads it any more. */
  remove(segment: Segment): void;
  /** Another process may have it. */
  release(): void;
}

/** Takes lines for a slot. */
export interface SlotWriter {
  /** Whether so many bytes have room in memory until they are written. */
  hasRoom(bytes: number): boolean;
  /** @param line with its line end @param bytes of it */
  put(line: string, bytes: number): void;
  /** What waits in memory is more than half of what may. */
  readonly isBehind: boolean;
  readonly isFailing: boolean;
  /** Resolves when what was put outlives a loss of power. */
  flush(): Promise<void>;
  /** Tries once more. @returns how many could not be written */
  close(): Promise<number>;
}

/** Number of the record at a position. */
export function numberAt({ segment, records }: Position): number {
  return segment + records;
}
