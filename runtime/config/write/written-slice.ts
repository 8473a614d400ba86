/** One owner's settings and routes as plain data, to be written as a source text. */
import type { Members } from "../../shared/is-record.ts";

export interface WrittenSlice {
  readonly owner: string;
  /** A slice that a gateway already has, to be imported. */
  readonly isPublished: boolean;
  readonly settings: Members;
  /** By route name. */
  readonly routes: Readonly<Record<string, Members>>;
}
