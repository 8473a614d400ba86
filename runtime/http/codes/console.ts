/** Codes of the console. */
import type { CodeEntry } from "./entry.ts";

export const CONSOLE_CODES = {
  "console.session-ended": {
    status: 401,
    cause: "The session expired, was revoked, or ended in another window, while the user was in the console",
    fix: "Sign in again. A form that was sent changed nothing",
  },
  "console.too-many": {
    status: 429,
    cause: "Too many console requests from this user",
    fix: "Wait, and check for a script that reloads the page",
  },
  "console.streams": {
    status: 503,
    cause: "The process has reached its limit of pages that show new decisions",
    fix: "None: the page shows the decisions from when it was loaded",
  },
  "console.unavailable": {
    status: 503,
    cause: "The console cannot be shown: the store is unavailable",
    fix: "Check `/readyz`; find `cannot verify credential` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
