/**
 * Records on their way to the writing thread: bytes in batches, each entry identified by its first byte. Lines are
 * unchanged, followed by a text with the members that only copies have. Outcomes are a few numbers, formatted by that
 * thread.
 */
import type { OutcomeInput } from "./outcome-record.ts";

export interface EntryTaker {
  /**
   * @param line with its line end
   * @param extra `,"name":value` for each member that only copies have, with a line end
   */
  line(line: Buffer, extra: Buffer | undefined): void;
  outcome(outcome: OutcomeInput): void;
  /** A checkpoint has its place here. */
  checkpoint(): void;
}

const CHECKPOINT = 0x01;
const OUTCOME = 0x02;
/** First byte of the texts after lines; lines start with a brace. */
const COMMA = 0x2c;
const LINE_END = 0x0a;

const BLAMED = [undefined, "gateway", "upstream", "client"] as const;
const HAS_FAILURE = 4;
const HAS_LISTS = 8;
const SUCCEEDED = 16;
const NOT_SUCCEEDED = 32;
/** Kind, flags, status, three numbers, two more for lists, lengths of the texts. */
const FIXED_BYTES = 50;

export const CHECKPOINT_BYTES = 1;

/** @returns start of the next entry */
export function putCheckpoint(bytes: Buffer, offset: number): number {
  bytes[offset] = CHECKPOINT;
  return offset + CHECKPOINT_BYTES;
}

/** Upper bound. */
export function outcomeBytes({ requestId, failure }: OutcomeInput): number {
  return FIXED_BYTES + requestId.length + (failure?.length ?? 0);
}

/** @param view of the same bytes @returns start of the next entry */
export function putOutcome(bytes: Buffer, view: DataView, offset: number, outcome: OutcomeInput): number {
  const { requestId, failure, lists, hasSucceeded } = outcome;
  view.setUint8(offset, OUTCOME);
  const success = hasSucceeded === undefined ? 0 : hasSucceeded ? SUCCEEDED : NOT_SUCCEEDED;
  const flags = (failure === undefined ? 0 : HAS_FAILURE) | (lists === undefined ? 0 : HAS_LISTS) | success;
  view.setUint8(offset + 1, BLAMED.indexOf(outcome.failedBy) | flags);
  view.setUint16(offset + 2, outcome.status);
  view.setFloat64(offset + 4, outcome.timeMs);
  view.setFloat64(offset + 12, outcome.of);
  view.setFloat64(offset + 20, outcome.durationMs);
  let end = putText(bytes, view, offset + 28, requestId);
  if (failure !== undefined) end = putText(bytes, view, end, failure);
  if (lists !== undefined) {
    view.setFloat64(end, lists.hidden);
    view.setFloat64(end + 8, lists.shown);
    end += 16;
  }
  return end;
}

/** Our own words and IDs: short, and only ASCII. */
function putText(bytes: Buffer, view: DataView, offset: number, text: string): number {
  view.setUint16(offset, text.length);
  bytes.write(text, offset + 2, "latin1");
  return offset + 2 + text.length;
}

/** Passes on everything that `put…` and lines have written into these bytes, in order. */
export function takeEntries(bytes: Buffer, taker: EntryTaker): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let offset = 0;
  while (offset < bytes.length) {
    const kind = bytes[offset];
    if (kind === CHECKPOINT) {
      taker.checkpoint();
      offset += CHECKPOINT_BYTES;
    } else if (kind === OUTCOME) {
      offset = takeOutcome(bytes, view, offset, taker);
    } else {
      const end = lineEnd(bytes, offset);
      const extraEnd = bytes[end] === COMMA ? lineEnd(bytes, end) : end;
      taker.line(bytes.subarray(offset, end), extraEnd === end ? undefined : bytes.subarray(end, extraEnd));
      offset = extraEnd;
    }
  }
}

function lineEnd(bytes: Buffer, offset: number): number {
  const end = bytes.indexOf(LINE_END, offset);
  return end === -1 ? bytes.length : end + 1;
}

function takeOutcome(bytes: Buffer, view: DataView, offset: number, taker: EntryTaker): number {
  const flags = view.getUint8(offset + 1);
  let end = offset + 28;
  const text = (): string => {
    const length = view.getUint16(end);
    end += 2 + length;
    return bytes.toString("latin1", end - length, end);
  };
  const requestId = text();
  const failure = flags & HAS_FAILURE ? text() : undefined;
  const lists = flags & HAS_LISTS ? { hidden: view.getFloat64(end), shown: view.getFloat64(end + 8) } : undefined;
  taker.outcome({
    timeMs: view.getFloat64(offset + 4),
    of: view.getFloat64(offset + 12),
    requestId,
    status: view.getUint16(offset + 2),
    failedBy: BLAMED[flags & 3],
    failure,
    hasSucceeded: flags & SUCCEEDED ? true : flags & NOT_SUCCEEDED ? false : undefined,
    durationMs: view.getFloat64(offset + 20),
    lists,
  });
  return lists ? end + 16 : end;
}
