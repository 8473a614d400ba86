/** Position of one receiver in one slot, and the slot's records that it does not get. */
import type { RecordCopy } from "../audit/record-consumer.ts";
import type { RecentValues } from "./recent-values.ts";
import { type Loss, parseLosses } from "./losses.ts";
import { numberAt, type Position, type Segment, type Slot, type SlotReader } from "./slot.ts";

/** End of a batch. Everything from the last commit up to here can be committed. */
export interface ReadPlace {
  readonly cursor: Cursor;
  readonly position: Position;
  readonly reported: readonly Loss[];
  readonly records: number;
  readonly bytes: number;
}

export interface Batch {
  /** Losses that are reported before `lines`. */
  readonly losses: readonly Loss[];
  /** In the format that `readLine` reads. */
  readonly lines: readonly string[];
  /** One of `lines` parsed, if available. @param at its index */
  readonly valueAt: (at: number) => RecordCopy["value"] | undefined;
  readonly bytes: number;
  readonly damaged: number;
  readonly end: ReadPlace;
}

export class Cursor {
  readonly slot: Slot;
  /** From an earlier version, which wrote losses in their positions. */
  readonly isLegacy: boolean;
  /** In the order of their positions. */
  losses: Loss[];
  /** Records that this receiver has not accepted. */
  waiting = 0;
  bytes = 0;
  readonly #reader: SlotReader;
  readonly #onCommit: () => void;
  readonly #recent: RecentValues | undefined;
  #position: Position;

  /** @param name of its files @param recent values of the slot's own process */
  constructor(slot: Slot, name: string, onCommit: () => void, recent?: RecentValues) {
    this.slot = slot;
    this.isLegacy = name === "";
    this.#onCommit = onCommit;
    this.#recent = recent;
    this.#reader = slot.openReader(name);
    this.#position = this.#reader.position;
    this.losses = parseLosses(this.#reader.note ?? "", slot.end);
    for (const segment of slot.segments) {
      const { offset, records } = this.#within(segment);
      const { number } = segment;
      const lost = this.losses.reduce((sum, { from, at = from }) => {
        const [first, last] = [Math.max(from, number + records), Math.min(at, number + segment.records)];
        return sum + Math.max(last - first, 0);
      }, 0);
      const remaining = Math.max(segment.records - records - lost, 0);
      this.waiting += remaining;
      this.bytes += Math.ceil(((segment.bytes - offset) * remaining) / Math.max(segment.records - records, 1));
    }
  }

  /** Number of the next record to accept. */
  get number(): number {
    return numberAt(this.#position);
  }

  get isEmpty(): boolean {
    return this.waiting === 0 && this.losses.length === 0;
  }

  /** Counts one more record for this receiver. */
  add(bytes: number): void {
    this.waiting += 1;
    this.bytes += bytes;
  }

  /** @param after absent: from the last commit @returns undefined: nothing follows. @throws errors of the disk */
  async read(maxRecords: number, maxBytes: number, after?: ReadPlace): Promise<Batch | undefined> {
    const { reported = [], records = 0, bytes = 0 }: Partial<ReadPlace> = after ?? {};
    for (let from = after?.position ?? this.#position; ;) {
      const { position, isReadable } = this.#nextOf(from);
      const number = isReadable ? numberAt(position) : this.slot.end;
      const due = this.losses
        .filter((loss) => (loss.at ?? Infinity) <= number && !reported.includes(loss))
        .slice(0, maxRecords);
      if (due.length > 0) {
        const end = { cursor: this, position, reported: [...reported, ...due], records, bytes };
        return { losses: due, lines: [], valueAt: () => undefined, bytes: 0, damaged: 0, end };
      }
      if (!isReadable) return undefined;
      const places = this.losses.flatMap(({ from: first, at = Infinity }) => [first, at]);
      const stop = Math.min(...places.filter((place) => place > number));
      const { texts, end, damaged } = await this.#reader.read(position, Math.min(maxRecords, stop - number), maxBytes);
      from = end;
      if (this.#lossOf(number)) continue;
      const read = end.offset - position.offset;
      const place = { reported, records: records + end.records - position.records, bytes: bytes + read };
      const valueAt: Batch["valueAt"] = (at) => this.#recent?.get(number + at);
      return {
        losses: [],
        lines: texts,
        valueAt,
        bytes: read,
        damaged,
        end: { cursor: this, position: end, ...place },
      };
    }
  }

  /** @param lost losses within the committed records: reported before the next batch */
  commit({ position, reported, records, bytes }: ReadPlace, lost: readonly Loss[]): void {
    this.#position = position;
    this.waiting = Math.max(this.waiting - records, 0);
    this.bytes = this.waiting === 0 ? 0 : Math.max(this.bytes - bytes, 0);
    try {
      this.#reader.writePosition(position);
    } catch {
      // Records sent twice after a crash are not a loss.
    }
    if (reported.length + lost.length > 0) {
      this.losses = [...lost, ...this.losses.filter((loss) => !reported.includes(loss))];
      this.keep();
    }
    this.#onCommit();
  }

  /** Stores the losses, so that they survive a restart. */
  keep(): void {
    try {
      this.#reader.writeNote(this.losses.length === 0 ? undefined : JSON.stringify(this.losses));
    } catch {
      // The disk accepts no writes: the loss is still reported, unless the process ends before.
    }
  }

  /** Whether this receiver has finished reading the segment. */
  isDone({ number, records, bytes, isComplete }: Segment): boolean {
    const { segment, offset, records: taken } = this.#position;
    if (!isComplete) return false;
    if (number < segment || (number === segment && offset >= bytes && taken >= records)) return true;
    return this.losses.some(({ from, at = Infinity }) => from <= number && number + records <= at);
  }

  #lossOf(number: number): Loss | undefined {
    return this.losses.find(({ from, at = Infinity }) => from <= number && number < at);
  }

  /** Position within a segment. */
  #within({ number, records, bytes }: Segment): Position {
    const { segment, offset, records: done } = this.#position;
    if (number > segment) return { segment: number, offset: 0, records: 0 };
    if (number < segment) return { segment: number, offset: bytes, records };
    return { segment: number, offset: Math.min(offset, bytes), records: Math.min(done, records) };
  }

  /** The next position with a record for this receiver, or else the end. */
  #nextOf(from: Position): { readonly position: Position; readonly isReadable: boolean } {
    let position = from;
    for (const { number, records, bytes } of this.slot.segments) {
      if (number < from.segment) continue;
      const start = number === from.segment ? from : { segment: number, offset: 0, records: 0 };
      if (start.offset >= bytes && start.records >= records) continue;
      const { at = Infinity } = this.#lossOf(numberAt(start)) ?? { at: 0 };
      // The segment is still being written: its end is unknown.
      if (at === Infinity) return { position: start, isReadable: false };
      if (at < number + records) return { position: start, isReadable: true };
      position = { segment: number, offset: bytes, records };
    }
    return { position, isReadable: false };
  }
}
