/** Documentation of one code. */
export interface CodeEntry {
  /** Several if the code has several causes. */
  readonly status: number | readonly number[];
  /** For operators, as one sentence without a full stop. */
  readonly cause: string;
  /** Instruction for operators, in the same form; empty if no action is needed. */
  readonly fix: string;
}
