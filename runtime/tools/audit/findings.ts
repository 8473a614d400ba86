/** What `gateway audit verify` finds, and how it counts. */

export interface FindingPlace {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Of its first byte, uncompressed. */
  readonly offset: number;
}

export type FindingKind =
  /** They were written, and are not there. */
  | "missing"
  /** The line is not what was written. */
  | "changed"
  /** They stand behind what was written after them. */
  | "moved"
  /** A second line of that place. */
  | "repeated"
  /** Behind the end of its run. */
  | "added"
  /** Their text was taken away; the digest stands in. */
  | "erased"
  /** Their run came further than what is there: the end was cut off. */
  | "cut"
  /** What is there is whole in itself, and is not what it was. */
  | "rewritten"
  /** No checkpoint that is good says what they were. */
  | "unproven"
  /** A line that was broken, where no crash explains it. */
  | "broken";

export interface Finding {
  readonly kind: FindingKind;
  /** Absent: of no run. */
  readonly instance?: string;
  readonly first?: number;
  readonly last?: number;
  /** Where they stand, or the line behind which they are missing. */
  readonly place?: FindingPlace | undefined;
  readonly note?: string;
}

export interface RunReport {
  readonly instance: string;
  /** Of the first and the last line that is there. */
  readonly first: number;
  readonly last: number;
  /** Lines that are there. */
  readonly lines: number;
  /** Lines that good checkpoints cover. */
  readonly signed: number;
  /** Time of the last good checkpoint. */
  readonly signedAt: string | undefined;
  /** The last good checkpoint, as a note. */
  readonly head: string | undefined;
  /** It ended by itself, and said so. */
  readonly isEnded: boolean;
  /** Lines behind the last checkpoint. */
  readonly unsigned: number;
  /** Its checkpoints are signed by keys that were not given. */
  readonly isUnknown: boolean;
}

/** whole: all that was given is proven. partly: nothing is wrong, but not all can be proven. untold: no key fits. */
export const VERIFY_EXIT = { whole: 0, untold: 1, found: 3, partly: 4 } as const;

export interface VerifyReport {
  readonly result: keyof typeof VERIFY_EXIT;
  readonly runs: readonly RunReport[];
  /** At most `MAX_FINDINGS` of them. */
  readonly findings: readonly Finding[];
  readonly found: number;
  /** What of known runs was not given: their beginnings, or whole runs. */
  readonly notGiven: readonly { readonly instance: string; readonly lines: number }[];
  /** Lines that `gateway users forget` has erased, by action; `isRecorded`: its record is among what was given. */
  readonly forgotten?: readonly { readonly action: string; readonly lines: number; readonly isRecorded: boolean }[];
  /** Lines that a killed process left behind half written. */
  readonly torn: readonly FindingPlace[];
  /** Authorization records that belong to no run: written without `audit`. */
  readonly unchained: number;
  readonly otherLines: number;
}

export const MAX_FINDINGS = 100;

export class Findings {
  readonly list: Finding[] = [];
  count = 0;

  /** Neighbours of a kind become one. */
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
