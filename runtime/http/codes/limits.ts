/** Codes of rate limited requests, which the policy allows. */
import type { CodeEntry } from "./entry.ts";

export const LIMIT_CODES = {
  "limits.exceeded": {
    status: 429,
    cause: "The caller exceeds a limit of the route's `rate_limits`; the response names it",
    fix: "Find the caller in `limited` of the authorization log. Raise the limit or fix the caller",
  },
  "limits.unavailable": {
    status: 503,
    cause: "A limit with `without_store: refuse` cannot be counted: the store is unavailable",
    fix: "Check `/readyz`",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
