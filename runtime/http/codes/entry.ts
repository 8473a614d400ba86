/** What is said of one code. */
export interface CodeEntry {
  /** Several where the code has several causes. */
  readonly status: number | readonly number[];
  /** For operators, as one sentence without a full stop. */
  readonly cause: string;
  /** What to do, likewise; empty where there is nothing to do. */
  readonly fix: string;
}
