/** Codes of requests that policy let pass, and that are over a limit. */
import type { CodeEntry } from "./entry.ts";

export const LIMIT_CODES = {
  "limits.exceeded": {
    status: 429,
    means: "The caller is over a limit of the route's `rate_limits`, which the answer names",
    remedy: "`limited` in the authorization log says who; raise the limit, or look what calls so often",
  },
  "limits.unavailable": {
    status: 503,
    means: "A limit with `without_store: refuse` cannot be counted: the store cannot be reached",
    remedy: "Ask `/readyz`",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
