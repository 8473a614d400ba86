/** What is written out as a text that makes it: one owner's settings and routes, as plain data. */
import type { Members } from "../../shared/is-record.ts";

export interface WrittenSlice {
  readonly owner: string;
  /** It is a slice as a gateway has it, to be taken over. */
  readonly isPublished: boolean;
  readonly settings: Members;
  /** By route name. */
  readonly routes: Readonly<Record<string, Members>>;
}
