/**
 * One run of one process, line by line in the order of its files.
 *
 * Untrusted input: every line. A segment (the lines between two checkpoints) is buffered until its checkpoint. Then its
 * lines are compared one by one, and appended to the tree.
 */
import {
  digestOfLeaves,
  formatCheckpointLine,
  parseCheckpoint,
  rootText,
  SHORT_LEAF_CHARACTERS,
  shortLeaf,
  type Checkpoint,
} from "../../audit/chain/checkpoint.ts";
import { createMerkleTree } from "../../audit/chain/merkle-tree.ts";
import { type NoteVerifier, openNote } from "../../audit/chain/signed-note.ts";
import type { FindingKind, Findings, FindingPlace, RunReport } from "./findings.ts";

/** Parsed parts of a line. */
export interface ReadLine {
  readonly seq: number;
  readonly leaf: string;
  readonly place: FindingPlace;
  /** forgotten: erased, with the administrative action that did it. */
  readonly kind: "record" | "checkpoint" | "end" | "erased" | "forgotten";
  /** Text of a checkpoint's line. */
  readonly text?: string;
}

interface Gap {
  readonly first: number;
  readonly last: number;
  readonly after: FindingPlace | undefined;
  /** Before all files; an earlier file may have it. */
  readonly isBeginning: boolean;
}

/** Two different notes of one size would be two histories. */
const MAX_KEPT_ROOTS = 200_000;
const MAX_WAITING = 1_000_000;
/** One is enough for the report. */
const MAX_UNKNOWN = 100;
/** Missing starts that appear in pieces; above this number they count as moved, and the rest as missing. */
const MAX_GAPS = 1_000;

export class Run {
  readonly instance: string;
  readonly #findings: Findings;
  readonly #verifiers: readonly NoteVerifier[];
  readonly #tree = createMerkleTree();
  /** All leaves so far are present and verified. */
  #isTreeWhole = true;
  /** Lines not covered by a checkpoint yet, by position. */
  readonly #waiting = new Map<number, ReadLine>();
  /** Covered positions without a line, with the first bytes of the expected hash. */
  readonly #missing = new Map<number, { readonly short: string; readonly after: FindingPlace | undefined }>();
  /** The same for positions without a list of leaves. */
  #gaps: Gap[] = [];
  /** Positions before this one are covered, or reported as missing. */
  #from = 0;
  #isBegun = false;
  /** Highest position so far. */
  #last = -1;
  #lines = 0;
  #lastPlace: FindingPlace | undefined;
  #endAt: number | undefined;
  #isEnded = false;
  #signed = 0;
  #good: { readonly checkpoint: Checkpoint; readonly note: string } | undefined;
  /** By size, to compare with other parties' knowledge of this run. */
  readonly #roots = new Map<number, string>();
  /** Checkpoints of unknown keys. */
  readonly #unknown: { readonly seq: number; readonly place: FindingPlace }[] = [];

  constructor(instance: string, findings: Findings, verifiers: readonly NoteVerifier[]) {
    this.instance = instance;
    this.#findings = findings;
    this.#verifiers = verifiers;
  }

  take(line: ReadLine): void {
    const { seq, place } = line;
    this.#lines += 1;
    if (!this.#isBegun) {
      this.#isBegun = true;
      this.#from = seq;
      this.#gap(0, seq - 1, true);
    }
    if (seq < this.#from) return this.#takeLate(line);
    if (this.#waiting.has(seq)) return this.#found("repeated", seq, place);
    if (this.#isEnded) this.#found("added", seq, place);
    if (seq < this.#last) this.#found("moved", seq, place);
    if (this.#waiting.size >= MAX_WAITING) return this.#found("unproven", seq, place);
    this.#last = Math.max(this.#last, seq);
    this.#lastPlace = place;
    this.#waiting.set(seq, line);
    if (line.kind === "end") this.#endAt = seq;
    if (line.kind === "checkpoint") this.#takeCheckpoint(line);
  }

  /** A line after the checkpoint that covers it. */
  #takeLate({ seq, leaf, place }: ReadLine): void {
    const missed = this.#missing.get(seq);
    const gap = this.#gaps.find(({ first, last }) => first <= seq && seq <= last);
    if (missed !== undefined) {
      this.#missing.delete(seq);
      this.#found(missed.short === shortLeaf(leaf) ? "moved" : "changed", seq, place);
    } else if (gap) {
      const { first, last, after } = gap;
      if (this.#gaps.length > MAX_GAPS) return this.#found("moved", seq, place);
      this.#gaps = this.#gaps.filter((each) => each !== gap);
      if (first < seq) this.#gaps.push({ first, last: seq - 1, after, isBeginning: false });
      if (seq < last) this.#gaps.push({ first: seq + 1, last, after, isBeginning: false });
      this.#found("moved", seq, place);
    } else {
      this.#found("repeated", seq, place);
    }
  }

  #takeCheckpoint(line: ReadLine): void {
    const { seq, place, text = "" } = line;
    const read = this.#readCheckpoint(text, seq);
    if (read === "unknown-key") {
      if (this.#unknown.length < MAX_UNKNOWN) this.#unknown.push({ seq, place });
      // Nothing verifies these lines, so they need not be buffered.
      if (this.#good === undefined) {
        this.#passUnlisted(seq);
        this.#isTreeWhole = false;
        this.#from = seq;
      }
      return;
    }
    if (read === undefined) return this.#found("changed", seq, place);
    const { checkpoint, note, leaves } = read;
    // Lines before the list belong to a checkpoint that is missing or was changed.
    const from = Math.max(this.#from, seq - leaves.length / SHORT_LEAF_CHARACTERS);
    this.#passUnlisted(from);
    const listed = seq - leaves.length / SHORT_LEAF_CHARACTERS;
    const unlisted = from > this.#from ? this.#from : undefined;
    for (let at = from; at < seq; at += 1) {
      const start = (at - listed) * SHORT_LEAF_CHARACTERS;
      this.#cover(at, leaves.slice(start, start + SHORT_LEAF_CHARACTERS));
    }
    const isRoot = this.#isTreeWhole && rootText(this.#tree.root()) === checkpoint.root;
    if (!isRoot && unlisted !== undefined) this.#foundRange("unproven", unlisted, from - 1, place);
    // The lines match the list, but not the tree: the gateway did not write one of the two.
    else if (!isRoot && this.#isTreeWhole) this.#found("rewritten", seq, place);
    this.#isTreeWhole = isRoot;
    this.#from = seq;
    this.#signed = seq;
    this.#good = { checkpoint, note };
    if (this.#roots.size < MAX_KEPT_ROOTS) this.#roots.set(seq, checkpoint.root);
    if (this.#endAt !== undefined && this.#endAt === seq - 1) this.#isEnded = true;
  }

  /** No list covers these positions: only the tree can verify them, if it is complete. */
  #passUnlisted(end: number): void {
    let next = this.#from;
    for (const seq of [...this.#waiting.keys()].filter((at) => at < end).toSorted((a, b) => a - b)) {
      this.#gap(next, seq - 1);
      const line = this.#waiting.get(seq);
      if (line !== undefined) this.#tree.append(line.leaf);
      this.#waiting.delete(seq);
      next = seq + 1;
    }
    this.#gap(next, end - 1);
  }

  #gap(first: number, last: number, isBeginning = false): void {
    if (first > last) return;
    this.#isTreeWhole = false;
    this.#gaps.push({ first, last, after: this.#lastPlace, isBeginning });
  }

  /** Covers a line of a segment whose checkpoint is known. @param short first bytes of the expected hash */
  #cover(seq: number, short: string): void {
    const line = this.#waiting.get(seq);
    this.#waiting.delete(seq);
    if (line === undefined) {
      this.#missing.set(seq, { short, after: this.#lastPlace });
      this.#isTreeWhole = false;
      return;
    }
    if (shortLeaf(line.leaf) !== short) {
      this.#isTreeWhole = false;
      // A checkpoint that did not open was already reported.
      if (line.kind !== "checkpoint" || this.#from === seq) this.#found("changed", seq, line.place);
      return;
    }
    if (line.kind === "erased") this.#found("erased", seq, line.place);
    this.#tree.append(line.leaf);
  }

  /** @returns undefined when a gateway did not write it */
  #readCheckpoint(
    text: string,
    seq: number,
  ): { checkpoint: Checkpoint; note: string; leaves: string } | "unknown-key" | undefined {
    const { note, leaves } = parse(text);
    if (note === undefined || leaves === undefined) return undefined;
    const opened = openNote(note, this.#verifiers);
    const checkpoint = opened.kind === "bad" ? undefined : parseCheckpoint(opened.text);
    if (!checkpoint || checkpoint.instance !== this.instance || checkpoint.size !== seq) return undefined;
    if (checkpoint.leavesDigest !== digestOfLeaves(leaves) || leaves.length > seq * SHORT_LEAF_CHARACTERS)
      return undefined;
    // Everything in it is signed.
    if (formatCheckpointLine(checkpoint, note, leaves) !== `${text}\n`) return undefined;
    return opened.kind === "unknown-key" ? "unknown-key" : { checkpoint, note, leaves };
  }

  /** @param head another party's knowledge of this run */
  agrees({ size, root }: Checkpoint): "same" | "shorter" | "other" | "untold" {
    if (size > this.#last + 1) return "shorter";
    const known = this.#roots.get(size);
    if (known === undefined) return size > this.#signed ? "shorter" : "untold";
    return known === root ? "same" : "other";
  }

  /** Ends the run and returns its report. */
  end(): RunReport {
    const isUnknown = this.#good === undefined && this.#unknown.length > 0;
    // Next to valid ones, a checkpoint of another key does not belong to this run.
    if (!isUnknown) for (const { seq, place } of this.#unknown) this.#found("changed", seq, place);
    for (const [seq, { after }] of this.#missing) this.#found("missing", seq, after);
    let unsigned = 0;
    let next = this.#from;
    for (const seq of [...this.#waiting.keys()].toSorted((a, b) => a - b)) {
      this.#gap(next, seq - 1);
      if (seq > this.#signed || this.#good === undefined) unsigned += 1;
      next = seq + 1;
    }
    let begins = 0;
    for (const { first, last, after, isBeginning } of this.#gaps) {
      // The first two lines are written together: no rotation can separate them.
      if (isBeginning && last > 0) begins = last + 1;
      else this.#foundRange("missing", first, last, after);
    }
    return {
      instance: this.instance,
      first: begins,
      last: this.#last,
      lines: this.#lines,
      signed: this.#signed,
      signedAt: this.#good?.checkpoint.time,
      head: this.#good?.note,
      isEnded: this.#isEnded,
      unsigned,
      isUnknown,
    };
  }

  #found(kind: FindingKind, seq: number, place: FindingPlace | undefined): void {
    this.#foundRange(kind, seq, seq, place);
  }

  #foundRange(kind: FindingKind, first: number, last: number, place: FindingPlace | undefined): void {
    this.#findings.add({ kind, instance: this.instance, first, last, place });
  }
}

function parse(text: string): { readonly note?: string; readonly leaves?: string } {
  try {
    const { note, leaves } = JSON.parse(text) as { note?: unknown; leaves?: unknown };
    if (typeof note !== "string" || typeof leaves !== "string") return {};
    return leaves.length % SHORT_LEAF_CHARACTERS === 0 ? { note, leaves } : {};
  } catch {
    return {};
  }
}
