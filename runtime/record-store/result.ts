/**
 * The outcome of a request, merged from its own line into the record of its decision.
 *
 * A decision's position in the database follows from its time and its position in the log; the line of the outcome has
 * only the latter. So the time travels with that line through the queue. The process that reads the line may not be the
 * one that wrote the decision.
 */
import { CHECK_MESSAGE } from "../audit/log-line.ts";
import { readLine } from "../record-queue/line.ts";
import type { LateOutcome } from "./back-end.ts";
import { isRecord } from "../shared/is-record.ts";
import { recordId } from "./record-id.ts";
import type { KeptRecord } from "./record-reader.ts";
import { outcomeNumber, type Row, toRow } from "./row.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ReadRecords {
  readonly rows: readonly Row[];
  /** Outcomes of decisions in earlier batches. */
  readonly ended: readonly LateOutcome[];
  /** Number of lines that are not records. */
  readonly damaged: number;
}

const OUTCOME_MESSAGE = "request outcome";
/** Limit for decisions whose requests have not ended. */
const MAX_OPEN = 100_000;

/** @returns a function that returns the time of the decision for an outcome, within one process */
export function createDecisionTimes(): (value: Fields) => string | undefined {
  const open = new Map<unknown, string>();
  return ({ message, seq, of, time }) => {
    if (message === OUTCOME_MESSAGE) {
      const decidedAt = open.get(of);
      open.delete(of);
      return decidedAt;
    }
    if (message !== CHECK_MESSAGE || typeof time !== "string") return undefined;
    open.set(seq, time);
    if (open.size > MAX_OPEN) open.delete(open.keys().next().value);
    return undefined;
  };
}

/** @param lines of the queue @param now for records without a time @param valueAt parsed values, where available */
export function readRecords(
  lines: readonly string[],
  now: number,
  valueAt: (at: number) => Fields | undefined = () => undefined,
): ReadRecords {
  const rows: Row[] = [];
  const ended: LateOutcome[] = [];
  const open = new Map<string, Row>();
  let damaged = 0;
  for (const [at, line] of lines.entries()) {
    const { text, note, value } = readLine(line, valueAt(at));
    if (!value) {
      damaged += 1;
      continue;
    }
    const { message } = value;
    // Records about the log itself have no place in the store.
    if (typeof message === "string" && message.startsWith("audit ")) continue;
    if (message === OUTCOME_MESSAGE) {
      const result = resultOf(value);
      const row = open.get(keyOf(value, value["of"]));
      if (result && row) join(row, result);
      else if (result) ended.push(...endedOf(value, result, Date.parse(note ?? "")));
      continue;
    }
    const row = toRow(value, text, now);
    rows.push(row);
    if (message === CHECK_MESSAGE) open.set(keyOf(value, value["seq"]), row);
  }
  return { rows, ended, damaged };
}

/** @returns undefined unless it is the outcome of a request */
function resultOf(value: Fields): NonNullable<KeptRecord["result"]> | undefined {
  const { status, "duration-ms": durationMs, "failed-by": failedBy, failure } = value;
  const { "list-hidden": listHidden, "list-shown": listShown, succeeded, guardrail } = value;
  if (typeof status !== "number" || typeof durationMs !== "number") return undefined;
  return {
    status,
    durationMs,
    ...(typeof failedBy === "string" && { failedBy }),
    ...(typeof failure === "string" && { failure }),
    ...(typeof succeeded === "boolean" && { succeeded }),
    ...(isRecord(guardrail) && { guardrail }),
    ...(typeof listHidden === "number" && { listHidden }),
    ...(typeof listShown === "number" && { listShown }),
  };
}

/** Adds it to the row. */
function join(row: Row, result: NonNullable<KeptRecord["result"]>): void {
  row.result = JSON.stringify(result);
  row.outcome ??= outcomeOf(result);
}

/** @param decidedMs NaN if unknown */
function endedOf(value: Fields, result: NonNullable<KeptRecord["result"]>, decidedMs: number): readonly LateOutcome[] {
  const { instance, of } = value;
  if (Number.isNaN(decidedMs) || typeof of !== "number") return [];
  // In the form of copies, see audit/copy.ts.
  const mark = `"instance":${JSON.stringify(instance)},"seq":${of}`;
  const id = recordId(decidedMs, String(instance), of);
  return [{ id, mark, result: JSON.stringify(result), outcome: outcomeOf(result) }];
}

function outcomeOf({ status }: NonNullable<KeptRecord["result"]>): number | null {
  return status >= 500 ? outcomeNumber("error") : null;
}

/** Key that links a decision and its outcome. */
function keyOf({ instance }: Fields, seq: unknown): string {
  return `${String(instance)} ${String(seq)}`;
}
