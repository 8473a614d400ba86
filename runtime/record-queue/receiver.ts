/** One receiver's view of the queue: its pending records, in order, and its losses. */
import type { Clock } from "../shared/clock.ts";
import type { Batch, Cursor, ReadPlace } from "./cursor.ts";
import { formatGap, type Loss, type LossReason } from "./losses.ts";
import { numberAt, type SlotWriter } from "./slot.ts";

export interface ReceiverOptions {
  /** Name for display. */
  readonly name: string;
  /** Name of its files in a slot: unique per receiver. */
  readonly fileName: string;
  /** Limit for its pending records, in bytes. */
  readonly maxBytes: number;
  /** Directory in which an earlier version stored its pending records. */
  readonly legacyDirectory?: string;
  /** The receiver loses records from now on. */
  readonly onLosing: (loss: Loss) => void;
  /** A loss that is over and reported at its position. */
  readonly onLost: (loss: Loss) => void;
}

export interface ReceiverDeps {
  readonly options: ReceiverOptions;
  /** Cursor in the slot of this process. */
  readonly own: Cursor;
  readonly writer: Pick<SlotWriter, "isBehind" | "isFailing">;
  readonly segmentBytes: number;
  readonly isDurable: boolean;
  readonly clock: Clock;
  /** Writes to the authorization log: a line with its line end. */
  readonly record: ((line: string) => void) | undefined;
  /** Number of the next record. */
  readonly next: () => number;
}

/** Reserve for records in flight when the queue is full: more than the queue before it holds. */
const MAX_RESERVE_BYTES = 16 << 20;
const KEEP_EVERY_MS = 1_000;

export class Receiver {
  readonly name: string;
  /** Losses of all runs that are not reported yet, and of this one. */
  lost = 0;
  /** Called when there are new records. */
  onNews: () => void = () => {};
  readonly #deps: ReceiverDeps;
  /** Cursors of dead processes and of earlier versions: they come first. */
  readonly #left: Cursor[] = [];
  #losing: Loss | undefined;
  #keptAt = 0;
  #hadRoom = true;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.name = deps.options.name;
  }

  /** Whether pending records outlive the process. */
  get isDurable(): boolean {
    return this.#deps.isDurable;
  }

  /** False: new records are lost, or would be soon. */
  get canKeep(): boolean {
    return !this.#deps.writer.isFailing && !this.#losing && this.#hasRoom;
  }

  get waiting(): number {
    return this.#left.reduce((sum, { waiting }) => sum + waiting, this.#deps.own.waiting);
  }

  /** Number of the next record. */
  get next(): number {
    return this.#deps.next();
  }

  /** Number up to which all records of this process are accepted or lost. */
  get done(): number {
    const { own, next } = this.#deps;
    return own.waiting === 0 ? next() : own.number;
  }

  /** @param after the end of an earlier, uncommitted batch */
  read(maxRecords: number, maxBytes: number, after?: ReadPlace): Promise<Batch | undefined> {
    while (this.#left[0]?.isEmpty === true) this.#left.shift();
    const cursor = this.#left[0] ?? this.#deps.own;
    return cursor.read(maxRecords, maxBytes, after?.cursor === cursor ? after : undefined);
  }

  /** Commits everything up to there: accepted, except for the given losses. */
  commit(place: ReadPlace, lost: { readonly [Reason in LossReason]?: number } = {}): void {
    const now = this.#deps.clock.now();
    const at = numberAt(place.position);
    const losses = Object.entries(lost).flatMap(([name, count]): Loss[] => {
      const reason = name as LossReason;
      return count === 0 ? [] : [{ reason, lost: count, sinceMs: now, untilMs: now, from: at, at, toldMs: undefined }];
    });
    for (const loss of losses) {
      this.lost += loss.lost;
      this.#deps.options.onLosing(loss);
      this.#tell(loss);
    }
    place.cursor.commit(place, losses);
    this.settle();
  }

  /** Adds pending records in another slot. */
  adopt(cursor: Cursor): void {
    this.#restore(cursor);
    if (!cursor.isEmpty) this.#left.push(cursor);
  }

  /** Loads losses from before this start. */
  restore(): void {
    this.#restore(this.#deps.own);
  }

  /** @returns whether the receiver gets the next record */
  offer(bytes: number, hasRoom: boolean): boolean {
    const { own, options, segmentBytes } = this.#deps;
    // While records are missing, nothing is queued after them: the gap is reported first, at its position.
    if (!this.#losing && hasRoom && own.bytes + bytes <= options.maxBytes - segmentBytes) {
      own.add(bytes);
      return true;
    }
    this.#loseOne();
    return false;
  }

  /** Reports the losses once there is space again. */
  settle(): void {
    const loss = this.#losing;
    if (!loss || !this.#hasRoom) return;
    this.#losing = undefined;
    loss.at = this.#deps.next();
    this.#tell(loss);
    this.#deps.own.keep();
    this.onNews();
  }

  keep(): void {
    this.#deps.own.keep();
  }

  get #hasRoom(): boolean {
    const { own, options, writer, segmentBytes } = this.#deps;
    const reserve = Math.min(MAX_RESERVE_BYTES, Math.floor(options.maxBytes / 4));
    // After it was full, the queue needs space for a while: else every file taken would end and start a loss.
    const most = options.maxBytes - reserve - (this.#hadRoom ? 0 : 2 * segmentBytes);
    this.#hadRoom = own.bytes <= most && !writer.isBehind;
    return this.#hadRoom;
  }

  #loseOne(): void {
    const { clock, own, next, options } = this.#deps;
    const now = clock.now();
    this.lost += 1;
    if (this.#losing) {
      this.#losing.lost += 1;
      this.#losing.untilMs = now;
      if (now - this.#keptAt < KEEP_EVERY_MS) return;
    } else {
      const at = undefined;
      this.#losing = { reason: "spool-full", lost: 1, sinceMs: now, untilMs: now, from: next(), at, toldMs: undefined };
      own.losses.push(this.#losing);
      options.onLosing(this.#losing);
    }
    this.#keptAt = now;
    own.keep();
  }

  #restore(cursor: Cursor): void {
    if (cursor.losses.length === 0) return;
    for (const loss of cursor.losses) {
      this.lost += loss.lost;
      if (loss.toldMs === undefined) this.#tell(loss);
    }
    cursor.keep();
  }

  #tell(loss: Loss): void {
    const { clock, record, options } = this.#deps;
    loss.toldMs = clock.now();
    record?.(formatGap(this.name, loss));
    options.onLost(loss);
  }
}
