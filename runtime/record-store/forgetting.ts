/** Erasure in one segment: selects rows that may be about the user, and decides about one. */
export interface Forgetting {
  /** A condition of rows `f` (facts) and `t` (texts) with "?" for its values. */
  readonly condition: (contains: (text: string) => string) => string;
  readonly values: readonly (number | string)[];
  readonly isAbout: (text: string) => boolean;
}
