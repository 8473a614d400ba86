/** Recorded calls that history rules decide: held until all records are read, then decided in the order of their times. */
import type { RecordedCheck } from "../../audit/replay/read-record.ts";
import type { LogLine } from "../../audit/log-line.ts";
import type { HistoryKey } from "../../limits/history/plan.ts";
import { type Again, afterHistory, type UndecidedCall } from "./decide-again.ts";
import type { ReplayPlace } from "./tally.ts";

const MAX_HELD = 200_000;
const OUTCOME = "request outcome";

interface Held {
  readonly check: RecordedCheck;
  readonly again: Again;
  readonly open: UndecidedCall;
  readonly place: ReplayPlace;
}

interface Outcome {
  readonly timeMs: number;
  readonly hasSucceeded: boolean;
}

export class HeldCalls {
  readonly #held: Held[] = [];
  /** By request ID. */
  readonly #outcomes = new Map<string, Outcome>();

  /** Remembers the outcome of a call, if the line is one. */
  readOutcome(line: LogLine): void {
    if (line.kind !== "record" || line.message !== OUTCOME || line.problem !== undefined) return;
    const { succeeded, time, "request-id": id } = line.value;
    if (typeof succeeded !== "boolean" || typeof time !== "string" || typeof id !== "string") return;
    if (this.#outcomes.size < MAX_HELD) this.#outcomes.set(id, { timeMs: Date.parse(time), hasSucceeded: succeeded });
  }

  /** @returns false if too many are held */
  hold(held: Held): boolean {
    if (this.#held.length >= MAX_HELD) return false;
    this.#held.push(held);
    return true;
  }

  /** @param add called for each, in the order of their times */
  async decide(add: (held: Held, again: Again) => void): Promise<void> {
    const due: { readonly timeMs: number; settle(): void }[] = [];
    // Records have milliseconds; calls in one keep their order.
    for (const held of this.#held.toSorted((one, other) =>
      one.check.time < other.check.time ? -1 : one.check.time > other.check.time ? 1 : 0,
    )) {
      const { check, again, open } = held;
      const timeMs = Date.parse(check.time);
      for (let next = due[0]; next !== undefined && next.timeMs <= timeMs; next = due[0]) {
        next.settle();
        due.shift();
      }
      const { history, facts, decision } = open;
      const [grant, client] = check.caller.map((id) => (id === "" ? undefined : id));
      const caller = { user: facts.user?.id, grant, client, run: facts.user?.actor?.run };
      const answer = await history.decide(timeMs, facts, caller, decision);
      add(held, afterHistory(check, again, answer));
      // A call that waited for an approval and got none went no further.
      if (answer.decision?.approval !== undefined && !check.isAllowed) answer.undo();
      else this.#settleLater(due, held, timeMs, answer.outcomes);
    }
  }

  #settleLater(
    due: { readonly timeMs: number; settle(): void }[],
    { check, open }: Held,
    timeMs: number,
    keys: readonly HistoryKey[],
  ): void {
    if (keys.length === 0) return;
    const outcome = this.#outcomes.get(check.requestId);
    const endMs = outcome?.timeMs ?? timeMs;
    due.push({ timeMs: endMs, settle: () => open.history.settle(endMs, keys, outcome?.hasSucceeded) });
    due.sort((one, other) => one.timeMs - other.timeMs);
  }
}
