/**
 * Paths of an MCP server route that go upstream: its base, the base with `path`, and those in `extra_paths`.
 *
 * Untrusted input: the path of the request, canonical. Promise: no other path of the upstream can be reached, since the
 * operator's or the user's credential is attached. Compared as a whole and case-sensitively: an upstream that reads less
 * strictly gets no path that it could read otherwise.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { McpServer } from "../features/mcp/compiled.ts";
import { canonicalPath } from "../shared/http/target.ts";

export interface McpPaths {
  /** @returns the path after that of `to`, "" for `to` itself; undefined for one that is not served */
  find(path: string): string | undefined;
  /** The route's base, which receives messages to sealed addresses. */
  isBase(path: string): boolean;
}

export function createMcpPaths({ base }: CompiledRoute, mcp: McpServer): McpPaths {
  const exact = new Map<string, string>();
  const below: { readonly prefix: string; readonly path: string }[] = [];
  const root = canonical(base === "" ? "/" : base);
  // At the endpoint the upstream interprets a trailing slash; at the base it has no meaning.
  exact.set(canonical(`${base}${mcp.path}/`), `${mcp.path}/`);
  exact.set(canonical(`${base}${mcp.path}`), mcp.path);
  exact.set(canonical(`${base}/`), mcp.path);
  exact.set(root, mcp.path);
  for (const { path, below: isBelow } of mcp.extraPaths) {
    if (isBelow) below.push({ prefix: canonical(`${base}${path}/`), path: `${path}/` });
    else exact.set(canonical(base + path), path);
  }
  return {
    find(path) {
      const found = exact.get(path);
      if (found !== undefined) return found;
      for (const { prefix, path: start } of below)
        if (path.length > prefix.length && path.startsWith(prefix)) return start + path.slice(prefix.length);
      return undefined;
    },
    isBase: (path) => path === root || (path.length === root.length + 1 && path === `${root}/`),
  };
}

/** In the canonical form of requests; a path without one can never match and stays unchanged. */
function canonical(path: string): string {
  const result = canonicalPath(path === "" ? "/" : path);
  return result.ok ? result.path : path;
}
