/**
 * From the spool to the receiver: batch by batch, in order, each until it is taken.
 *
 * While the receiver is away it is asked at growing intervals, with jitter, so that many gateways do not come back to it in
 * one moment. A batch that it refuses is halved until one record is left; that one is given up only when the receiver has
 * taken what is behind it, and refuses it again: so one that refuses everything for a while costs nothing.
 */
import { errorText } from "../shared/errors.ts";
import { isRecord } from "../shared/is-record.ts";
import { GAP_MESSAGE, type LossReason } from "./losses.ts";
import type { Sender, SendResult, SpooledRecord } from "./sender.ts";
import type { Position, Slot } from "./spool/slot.ts";
import type { Spool } from "./spool/spool.ts";

export interface Delivery {
  /** There is something new. */
  wake(): void;
  /** Sends what waits, for at most so long and while the receiver takes it; then stops. */
  close(withinMs: number): Promise<void>;
}

export interface DeliveryTiming {
  /** Records gather for so long before they are sent. */
  readonly lingerMs: number;
  /** After the first failure; doubles. */
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
  /** 0 … 1 */
  readonly random: () => number;
}

export interface DeliveryDeps extends DeliveryTiming {
  readonly spool: Spool;
  readonly sender: Sender;
  readonly onTaken: (count: number) => void;
  readonly onAway: (reason: string) => void;
  readonly lose: (reason: LossReason, count: number) => void;
}

/** Refused one by one with nothing taken in between: then it is the receiver. */
const MAX_SET_ASIDE = 64;
const LONGEST_RETRY_AFTER_MS = 300_000;

export function startDelivery(deps: DeliveryDeps): Delivery {
  const { spool, sender, onTaken, onAway, lose, lingerMs, firstRetryMs, longestRetryMs, random } = deps;
  const ending = new AbortController();
  const closing = new AbortController();
  let news: (() => void) | undefined;
  let hasNews = false;
  let failures = 0;
  let maxRecords = sender.maxRecords;
  /** Behind what is taken, while refused records are set aside. */
  let next: { readonly slot: Slot; readonly position: Position } | undefined;
  let setAside: SpooledRecord[] = [];
  const running = run();

  return {
    wake() {
      hasNews = true;
      news?.();
    },
    async close(withinMs) {
      closing.abort();
      news?.();
      const timer = setTimeout(() => ending.abort(), withinMs);
      await running;
      clearTimeout(timer);
      sender.close();
    },
  };

  async function run(): Promise<void> {
    // Not before whoever opened it has it.
    await Promise.resolve();
    while (!ending.signal.aborted && !(closing.signal.aborted && failures > 0)) {
      hasNews = false;
      const then = await step().catch((error: unknown) => {
        onAway(errorText(error));
        return retryMs();
      });
      if (then === "again") continue;
      if (then === "gather") await pause(lingerMs);
      else if (typeof then === "number") await pause(then);
      else if (closing.signal.aborted) return;
      else {
        if (!hasNews) await sleep(undefined);
        await pause(lingerMs);
      }
    }
  }

  /** @returns after how many milliseconds to try again; gather: wait for more; idle: nothing waits */
  async function step(): Promise<number | "again" | "gather" | "idle"> {
    const slot = spool.head();
    const from = next?.slot === slot ? next.position : slot.taken;
    const batch = await slot.read(from, maxRecords, sender.maxBytes);
    if (!batch) {
      if (setAside.length === 0) return "idle";
      // Those refused are the last: they are tried again with what comes.
      giveUpNothing();
      onAway("it refuses records");
      return retryMs();
    }
    const records = batch.lines.flatMap((text): SpooledRecord[] => {
      const value = parse(text);
      return value ? [{ text, value }] : [];
    });
    const isFull = batch.lines.length === maxRecords || batch.end.offset - from.offset > sender.maxBytes / 2;
    const damaged = batch.lines.length - records.length + (batch.damaged ? 1 : 0);
    const result: SendResult = records.length === 0 ? { outcome: "taken" } : await sender.send(records, ending.signal);
    if (result.outcome === "taken") {
      const again = await sendAgain(setAside);
      if (typeof again === "object") return ending.signal.aborted ? "again" : failed(again);
      slot.commit(batch.end);
      // At most those that are none of a loss: of the loss of such a record another one would tell, without end.
      const rejected = Math.min(result.rejected ?? 0, records.filter(isTold).length);
      const refused = again + rejected;
      const count = records.length + setAside.length - refused;
      next = undefined;
      setAside = [];
      failures = 0;
      maxRecords = Math.min(maxRecords * 2, sender.maxRecords);
      if (refused > 0) lose("refused", refused);
      if (damaged > 0) lose("damaged", damaged);
      onTaken(count);
      return isFull ? "again" : "gather";
    }
    // Cut off by us: whoever runs next sends it again.
    if (ending.signal.aborted) return "again";
    const [first] = records;
    if (result.outcome === "refused" && first) {
      if (records.length > 1) {
        maxRecords = Math.ceil(batch.lines.length / 2);
        return "again";
      }
      if (setAside.length < MAX_SET_ASIDE) {
        setAside.push(first);
        next = { slot, position: batch.end };
        return "again";
      }
    }
    return failed(result);
  }

  /** Those that were refused, now that the receiver has taken others. @returns how many it refuses again */
  async function sendAgain(records: readonly SpooledRecord[]): Promise<number | SendResult> {
    let refused = 0;
    for (const record of records) {
      const result = await sender.send([record], ending.signal);
      if (result.outcome === "away") return result;
      if (isTold(record) && (result.outcome === "refused" || (result.rejected ?? 0) > 0)) refused += 1;
    }
    return refused;
  }

  function failed(result: SendResult): number {
    giveUpNothing();
    onAway(result.reason ?? "");
    return Math.max(retryMs(), Math.min(retryAfterOf(result), LONGEST_RETRY_AFTER_MS));
  }

  function giveUpNothing(): void {
    next = undefined;
    setAside = [];
    maxRecords = sender.maxRecords;
  }

  function retryMs(): number {
    const wait = Math.min(firstRetryMs * 2 ** Math.min(failures++, 30), longestRetryMs);
    return wait * (0.5 + random() / 2);
  }

  /** Until there is something new. */
  function sleep(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      news = () => {
        clearTimeout(timer);
        news = undefined;
        resolve();
      };
    });
  }

  /** What is new does not end it; closing does. */
  async function pause(ms: number): Promise<void> {
    const end = performance.now() + ms;
    for (let left = ms; left > 0 && !closing.signal.aborted; left = end - performance.now()) await sleep(left);
  }
}

/** Its loss is told. */
function isTold({ value }: SpooledRecord): boolean {
  return value["message"] !== GAP_MESSAGE;
}

function retryAfterOf(result: SendResult): number {
  return result.outcome === "away" ? (result.retryAfterMs ?? 0) : 0;
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
