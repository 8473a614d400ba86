/**
 * Every code that the public listener answers as `error`: with which status, what it means and what an operator does about
 * it. Answers are typed by this table, so that no code is answered that it does not have. Serving needs nothing of it but
 * the types; `runtime/package/pages/` makes reference/errors.md of the rest.
 *
 * Errors within MCP messages, the token endpoint's and the admin listener's are known to those who answer them.
 */
import { CONNECT_CODES } from "./codes/connect.ts";
import { CONSOLE_CODES } from "./codes/console.ts";
import { LIMIT_CODES } from "./codes/limits.ts";
import { OAUTH_PAGE_CODES } from "./codes/oauth.ts";
import { RECORD_CODES } from "./codes/records.ts";
import { REQUEST_CODES } from "./codes/request.ts";
import { ROUTE_CODES } from "./codes/route.ts";
import { SIGN_IN_CODES } from "./codes/sign-in.ts";
import type { PageLink } from "../pages/error.ts";

export const ERROR_CODES = {
  ...REQUEST_CODES,
  ...ROUTE_CODES,
  ...CONNECT_CODES,
  ...LIMIT_CODES,
  ...RECORD_CODES,
  ...SIGN_IN_CODES,
  ...OAUTH_PAGE_CODES,
  ...CONSOLE_CODES,
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The statuses that a code is answered with. */
export type StatusOf<Code extends ErrorCode> = Code extends ErrorCode
  ? OneOf<(typeof ERROR_CODES)[Code]["status"]>
  : never;

type OneOf<Status extends number | readonly number[]> = Status extends readonly (infer Each extends number)[]
  ? Each
  : Status & number;

/** The codes that are answered with a status. */
export type CodeWith<Status extends number> = {
  [Code in ErrorCode]: Status extends StatusOf<Code> ? Code : never;
}[ErrorCode];

export interface ErrorParts<Code extends ErrorCode = ErrorCode> {
  /** Stable and for machines: "route.not-found". */
  readonly code: Code;
  /** Heading of the page, where it is not what status and code say by themselves. */
  readonly title?: string;
  /** For people, without internals. */
  readonly message: string;
  /** Facts worth showing, label and value. */
  readonly details?: readonly (readonly [label: string, value: string])[];
  /** Where a person may go from here, on a host of ours; on pages only. The first is the one that helps most people. */
  readonly links?: readonly PageLink[];
  /** The same request may work in a moment: pages offer to try again. */
  readonly canRetry?: boolean;
}
