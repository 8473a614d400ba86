/**
 * Sends the queue to its destination: batch by batch, in order, each until it is accepted.
 *
 * While the destination is unavailable it is retried at growing intervals, with jitter, so that many gateways do not
 * return at the same moment. A rejected batch is halved until one record remains. That record is dropped only after the
 * destination has accepted later ones and rejects it again, so that a destination which rejects everything for a while
 * causes no loss.
 */
import type { Batch, ReadPlace } from "../record-queue/cursor.ts";
import { readLine } from "../record-queue/line.ts";
import { formatGap, GAP_MESSAGE, type LossReason } from "../record-queue/losses.ts";
import type { Receiver } from "../record-queue/receiver.ts";
import { pauseAfter } from "../shared/backoff.ts";
import { errorText } from "../shared/errors.ts";
import type { Sender, SendResult, SpooledRecord } from "./sender.ts";

export interface DeliveryTiming {
  /** Time for collecting records before they are sent. */
  readonly lingerMs: number;
  /** Pause after the first failure; doubles. */
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
  /** 0 … 1 */
  readonly random: () => number;
}

export interface DeliveryDeps extends DeliveryTiming {
  readonly receiver: Receiver;
  readonly sender: Sender;
  readonly onTaken: (count: number) => void;
  readonly onAway: (reason: string) => void;
}

/** Longest record to send; a batch of any kind has space for one. */
const MAX_RECORD_BYTES = 512 << 10;
/** If this many are rejected with none accepted in between, the destination is at fault. */
const MAX_SET_ASIDE = 64;
const LONGEST_RETRY_AFTER_MS = 300_000;

type Lost = Partial<Record<LossReason, number>>;

export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #ending = new AbortController();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #news: (() => void) | undefined;
  #hasNews = false;
  #failures = 0;
  #maxRecords: number;
  /** Read position after the accepted records, while rejected ones are set aside. */
  #next: ReadPlace | undefined;
  #setAside: SpooledRecord[] = [];
  /** Losses in the records that are read and not accepted. */
  #lost: Lost = {};

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#maxRecords = deps.sender.maxRecords;
    deps.receiver.onNews = () => {
      this.#hasNews = true;
      this.#news?.();
    };
    this.#running = this.#run();
  }

  /** Sends pending records, for this time at most and while the destination accepts them; then stops. */
  async close(withinMs: number): Promise<void> {
    this.#closing.abort();
    this.#news?.();
    const timer = setTimeout(() => this.#ending.abort(), withinMs);
    await this.#running;
    clearTimeout(timer);
    this.#deps.sender.close();
  }

  async #run(): Promise<void> {
    const { onAway, lingerMs } = this.#deps;
    // Starts only after the caller has the object.
    await Promise.resolve();
    while (!this.#ending.signal.aborted && !(this.#closing.signal.aborted && this.#failures > 0)) {
      this.#hasNews = false;
      const then = await this.#step().catch((error: unknown) => {
        onAway(errorText(error));
        return this.#retryMs();
      });
      if (then === "again") continue;
      if (then === "gather") await this.#pause(lingerMs);
      else if (typeof then === "number") await this.#pause(then);
      else if (this.#closing.signal.aborted) return;
      else {
        if (!this.#hasNews) await this.#sleep(undefined);
        await this.#pause(lingerMs);
      }
    }
  }

  /** @returns milliseconds until the next attempt; gather: wait for more; idle: nothing is pending */
  async #step(): Promise<number | "again" | "gather" | "idle"> {
    const { receiver, sender, onAway } = this.#deps;
    const batch = await receiver.read(this.#maxRecords, sender.maxBytes, this.#next);
    if (!batch) {
      if (this.#setAside.length === 0) return "idle";
      // The rejected ones are the last: they are retried together with later ones.
      this.#giveUpNothing();
      onAway("it rejects records");
      return this.#retryMs();
    }
    const { records, lost } = recordsOf(batch, receiver.name);
    const { signal } = this.#ending;
    const result: SendResult = records.length === 0 ? { outcome: "taken" } : await sender.send(records, signal);
    if (result.outcome === "taken") return this.#taken(batch, records, add(this.#lost, lost), result.rejected ?? 0);
    // Aborted by us: the next process sends it again.
    if (signal.aborted) return "again";
    const [first] = records;
    if (result.outcome === "refused" && first) {
      if (records.length > 1) {
        this.#maxRecords = Math.ceil(Math.max(batch.lines.length, records.length) / 2);
        return "again";
      }
      if (this.#setAside.length < MAX_SET_ASIDE) {
        this.#setAside.push(first);
        this.#next = batch.end;
        this.#lost = add(this.#lost, lost);
        return "again";
      }
    }
    return this.#failed(result);
  }

  async #taken(
    batch: Batch,
    records: readonly SpooledRecord[],
    lost: Lost,
    rejected: number,
  ): Promise<number | "again" | "gather"> {
    const { receiver, sender, onTaken } = this.#deps;
    const setAside = this.#setAside;
    const again = await this.#sendAgain(setAside);
    if (typeof again === "object") return this.#ending.signal.aborted ? "again" : this.#failed(again);
    // At most the records that do not report a loss: losing one of those would create another such record, endlessly.
    const refused = again + Math.min(rejected, records.filter(isLossReported).length);
    const isFull = batch.lines.length === this.#maxRecords || batch.bytes > sender.maxBytes / 2;
    const maxRecords = Math.min(this.#maxRecords * 2, sender.maxRecords);
    this.#giveUpNothing();
    this.#maxRecords = maxRecords;
    this.#failures = 0;
    receiver.commit(batch.end, add(lost, { refused }));
    if (records.length + setAside.length > 0) onTaken(records.length + setAside.length - refused);
    // A loss is reported together with the record after it.
    return isFull || batch.losses.length > 0 ? "again" : "gather";
  }

  /** Retries the rejected ones after the destination has accepted others. @returns the number rejected again */
  async #sendAgain(records: readonly SpooledRecord[]): Promise<number | SendResult> {
    let refused = 0;
    for (const record of records) {
      const result = await this.#deps.sender.send([record], this.#ending.signal);
      if (result.outcome === "away") return result;
      if (isLossReported(record) && (result.outcome === "refused" || (result.rejected ?? 0) > 0)) refused += 1;
    }
    return refused;
  }

  #failed(result: SendResult): number {
    this.#giveUpNothing();
    this.#deps.onAway(result.reason ?? "");
    return Math.max(this.#retryMs(), Math.min(retryAfterOf(result), LONGEST_RETRY_AFTER_MS));
  }

  #giveUpNothing(): void {
    this.#next = undefined;
    this.#setAside = [];
    this.#lost = {};
    this.#maxRecords = this.#deps.sender.maxRecords;
  }

  #retryMs(): number {
    const { firstRetryMs, longestRetryMs, random } = this.#deps;
    return pauseAfter(this.#failures++, { firstMs: firstRetryMs, mostMs: longestRetryMs }, random());
  }

  /** Until there are new records. */
  #sleep(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#news = () => {
        clearTimeout(timer);
        this.#news = undefined;
        resolve();
      };
    });
  }

  /** New records do not end the pause; closing does. */
  async #pause(ms: number): Promise<void> {
    const end = performance.now() + ms;
    for (let left = ms; left > 0 && !this.#closing.signal.aborted; left = end - performance.now())
      await this.#sleep(left);
  }
}

function recordsOf(
  { losses, lines, valueAt, damaged, end }: Batch,
  name: string,
): { readonly records: readonly SpooledRecord[]; readonly lost: Lost } {
  const records: SpooledRecord[] = losses.flatMap((loss) => recordOf(formatGap(name, loss).slice(0, -1)) ?? []);
  const lost = { damaged, "too-long": 0 };
  for (const [at, line] of lines.entries()) {
    const record = recordOf(line, valueAt(at));
    if (!record) lost.damaged += 1;
    else if (Buffer.byteLength(record.text) >= MAX_RECORD_BYTES) lost["too-long"] += 1;
    // A copy from the log of a loss that was reported at its position.
    else if (end.cursor.isLegacy || isLossReported(record) || record.value["sink"] !== name) records.push(record);
  }
  return { records, lost };
}

function add(left: Lost, right: Lost): Lost {
  const sum = { ...left };
  for (const [reason, count] of Object.entries(right) as [LossReason, number][])
    sum[reason] = (sum[reason] ?? 0) + count;
  return sum;
}

/** Whether losing this record is reported. */
function isLossReported({ value }: SpooledRecord): boolean {
  return value["message"] !== GAP_MESSAGE;
}

function retryAfterOf(result: SendResult): number {
  return result.outcome === "away" ? (result.retryAfterMs ?? 0) : 0;
}

function recordOf(line: string, known?: SpooledRecord["value"]): SpooledRecord | undefined {
  const { text, value } = readLine(line, known);
  return value && { text, value };
}
