/** Codes of the catalog of MCP servers (`mcp_catalog`). */
import type { CodeEntry } from "./entry.ts";

export const CATALOG_CODES = {
  "catalog.not-found": {
    status: 404,
    cause: "The catalog is disabled, or has no such server that the caller can find",
    fix: "Set `mcp_catalog`; for callers without a token also `catalog: public` on the route",
  },
  "catalog.bad-request": {
    status: 400,
    cause: "The query of a list of servers is invalid; the response says why",
    fix: "Fix the client",
  },
  "catalog.unavailable": {
    status: 503,
    cause: "The caller's token cannot be checked: the store is unavailable",
    fix: "Check `/readyz`",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
