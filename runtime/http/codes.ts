/**
 * Every code that the public listener sends as `error`: its status, its meaning and what an operator does about it. Responses
 * are typed by this table, so that no code outside it is sent. Serving uses only the types; `runtime/package/pages/` makes
 * reference/errors.md from the rest.
 *
 * Error codes within MCP messages, of the token endpoint and of the admin listener are defined next to the code that sends
 * them.
 */
import { CATALOG_CODES } from "./codes/catalog.ts";
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
  ...CATALOG_CODES,
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

/** The codes that may have a status. */
export type CodeWith<Status extends number> = {
  [Code in ErrorCode]: Status extends StatusOf<Code> ? Code : never;
}[ErrorCode];

export interface ErrorParts<Code extends ErrorCode = ErrorCode> {
  /** Stable, and for programs: "route.not-found". */
  readonly code: Code;
  /** Heading of the page, if status and code do not imply it. */
  readonly title?: string;
  /** For users, without internals. */
  readonly message: string;
  /** The signed-in user; on pages only. */
  readonly user?: string;
  /** Facts worth showing, label and value. */
  readonly details?: readonly (readonly [label: string, value: string])[];
  /** Next steps for the user, on hosts of ours; on pages only. The first one helps most users. */
  readonly links?: readonly PageLink[];
  /** The same request may succeed in a moment: pages offer to try again. */
  readonly canRetry?: boolean;
}
