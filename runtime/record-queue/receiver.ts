/** What one receiver sees of the queue: the records that wait for it, in order, and what it has lost. */
import type { Clock } from "../shared/clock.ts";
import type { Batch, Cursor, ReadPlace } from "./cursor.ts";
import { formatGap, type Loss, type LossReason } from "./losses.ts";
import { numberAt, type SlotWriter } from "./slot.ts";

export interface ReceiverOptions {
  /** As it is shown. */
  readonly name: string;
  /** Of its files in a slot: no two receivers have the same. */
  readonly fileName: string;
  /** Bytes of records that wait for it. */
  readonly maxBytes: number;
  /** Where an earlier version kept what waits for it. */
  readonly legacyDirectory?: string;
  /** Records are lost to it from now on. */
  readonly onLosing: (loss: Loss) => void;
  /** That is over, and told in its place. */
  readonly onLost: (loss: Loss) => void;
}

export interface ReceiverDeps {
  readonly options: ReceiverOptions;
  /** In the slot of this process. */
  readonly own: Cursor;
  readonly writer: Pick<SlotWriter, "isBehind" | "isFailing">;
  readonly segmentBytes: number;
  readonly isDurable: boolean;
  readonly clock: Clock;
  /** Into the authorization log: a line with its line end. */
  readonly record: ((line: string) => void) | undefined;
  /** Number of the record that is put next. */
  readonly next: () => number;
}

/** For what is under way when there is no room any more: more than the queue before it holds. */
const MAX_RESERVE_BYTES = 16 << 20;
const KEEP_EVERY_MS = 1_000;

export class Receiver {
  readonly name: string;
  /** Of all runs that are not told yet, and of this one. */
  lost = 0;
  /** There is something new. */
  onNews: () => void = () => {};
  readonly #deps: ReceiverDeps;
  /** Of dead processes, and of earlier versions: they come first. */
  readonly #left: Cursor[] = [];
  #losing: Loss | undefined;
  #keptAt = 0;
  #hadRoom = true;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.name = deps.options.name;
  }

  /** What waits outlives the process. */
  get isDurable(): boolean {
    return this.#deps.isDurable;
  }

  /** False: what comes is lost, or would be soon. */
  get canKeep(): boolean {
    return !this.#deps.writer.isFailing && !this.#losing && this.#hasRoom;
  }

  get waiting(): number {
    return this.#left.reduce((sum, { waiting }) => sum + waiting, this.#deps.own.waiting);
  }

  /** Number of the record that is put next. */
  get next(): number {
    return this.#deps.next();
  }

  /** Number up to which all records of this process are taken or lost. */
  get done(): number {
    const { own, next } = this.#deps;
    return own.waiting === 0 ? next() : own.number;
  }

  /** @param after the end of an earlier batch that is not committed */
  read(maxRecords: number, maxBytes: number, after?: ReadPlace): Promise<Batch | undefined> {
    while (this.#left[0]?.isEmpty === true) this.#left.shift();
    const cursor = this.#left[0] ?? this.#deps.own;
    return cursor.read(maxRecords, maxBytes, after?.cursor === cursor ? after : undefined);
  }

  /** All up to there is taken, but for what of it is lost. */
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

  /** What waits for it in another slot. */
  adopt(cursor: Cursor): void {
    this.#restore(cursor);
    if (!cursor.isEmpty) this.#left.push(cursor);
  }

  /** What it had lost before this start. */
  restore(): void {
    this.#restore(this.#deps.own);
  }

  /** @returns whether the next record is for it */
  offer(bytes: number, hasRoom: boolean): boolean {
    const { own, options, segmentBytes } = this.#deps;
    // While something is missing nothing is put behind it: the gap is told first, at its place.
    if (!this.#losing && hasRoom && own.bytes + bytes <= options.maxBytes - segmentBytes) {
      own.add(bytes);
      return true;
    }
    this.#loseOne();
    return false;
  }

  /** What was lost is told once there is room again. */
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
    // What was full is so until there is room for a while: else every file that is taken would end and begin it.
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
