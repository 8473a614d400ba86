/** Findings of `gateway audit verify`, and the exit status. */

export interface FindingPlace {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Offset of its first byte, uncompressed. */
  readonly offset: number;
}

export type FindingKind =
  /** Lines that were written and are gone. */
  | "missing"
  /** The line differs from the written one. */
  | "changed"
  /** Lines after others that were written later. */
  | "moved"
  /** A second line with the same position. */
  | "repeated"
  /** After the end of its run. */
  | "added"
  /** The text was removed; the digest replaces it. */
  | "erased"
  /** The run had more lines than there are: its end was truncated. */
  | "cut"
  /** The lines are consistent, but not the original ones. */
  | "rewritten"
  /** No valid checkpoint covers these lines. */
  | "unproven"
  /** A broken line that no crash explains. */
  | "broken";

export interface Finding {
  readonly kind: FindingKind;
  /** Absent: not part of a run. */
  readonly instance?: string;
  readonly first?: number;
  readonly last?: number;
  /** Position of the lines, or the line after which they are missing. */
  readonly place?: FindingPlace | undefined;
  readonly note?: string;
}

export interface RunReport {
  readonly instance: string;
  /** Positions of the first and the last line in the files. */
  readonly first: number;
  readonly last: number;
  /** Lines in the files. */
  readonly lines: number;
  /** Lines that valid checkpoints cover. */
  readonly signed: number;
  /** Time of the last valid checkpoint. */
  readonly signedAt: string | undefined;
  /** The last valid checkpoint, as a note. */
  readonly head: string | undefined;
  /** It ended normally, and recorded that. */
  readonly isEnded: boolean;
  /** Lines after the last checkpoint. */
  readonly unsigned: number;
  /** Its checkpoints are signed by unknown keys. */
  readonly isUnknown: boolean;
}

/**
 * whole: everything in the files is verified. partly: no problem was found, but not everything can be verified. untold:
 * no key matches.
 */
export const VERIFY_EXIT = { whole: 0, untold: 1, found: 3, partly: 4 } as const;

export interface VerifyReport {
  readonly result: keyof typeof VERIFY_EXIT;
  readonly runs: readonly RunReport[];
  /** `MAX_FINDINGS` at most. */
  readonly findings: readonly Finding[];
  readonly found: number;
  /** Missing parts of known runs: their starts, or whole runs. */
  readonly notGiven: readonly { readonly instance: string; readonly lines: number }[];
  /** Lines that `gateway users forget` has erased, by action; `isRecorded`: its record is in the files. */
  readonly forgotten?: readonly { readonly action: string; readonly lines: number; readonly isRecorded: boolean }[];
  /** Partial lines of a killed process. */
  readonly torn: readonly FindingPlace[];
  /** Authorization records that belong to no run: written without `audit`. */
  readonly unchained: number;
  readonly otherLines: number;
}

export const MAX_FINDINGS = 100;

export class Findings {
  readonly list: Finding[] = [];
  count = 0;

  /** Adjacent findings of one kind are merged. */
  add(finding: Finding): void {
    const last = this.list.at(-1);
    const { first } = finding;
    if (
      last !== undefined &&
      first !== undefined &&
      last.kind === finding.kind &&
      last.instance === finding.instance &&
      last.last === first - 1 &&
      last.note === finding.note
    ) {
      this.list[this.list.length - 1] = { ...last, last: finding.last ?? first };
      return;
    }
    this.count += 1;
    if (this.list.length < MAX_FINDINGS) this.list.push(finding);
  }
}
