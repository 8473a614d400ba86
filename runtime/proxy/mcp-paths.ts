/**
 * Which paths of an MCP server route go upstream: its base, the base with `path`, and what `extra_paths` names.
 *
 * Untrusted input: the path of the request, canonical. Promise: nothing else of the upstream can be reached, since the
 * operator's or the user's credential goes along. Compared whole and case by case: an upstream that reads more loosely
 * gets nothing that it could read so.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { McpServer } from "../features/mcp/compiled.ts";
import { canonicalPath } from "../shared/http/target.ts";

export interface McpPaths {
  /** @returns the path behind that of `to`, "" for `to` itself; undefined for one that is not served */
  find(path: string): string | undefined;
  /** The route's base, where messages to sealed addresses come in. */
  isBase(path: string): boolean;
}

export function createMcpPaths({ base }: CompiledRoute, mcp: McpServer): McpPaths {
  const exact = new Map<string, string>();
  const below: { readonly prefix: string; readonly path: string }[] = [];
  const root = canonical(base === "" ? "/" : base);
  // A trailing slash at the endpoint is the upstream's to read; at the base it says the same as none.
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

/** As requests have it; what has no canonical form can never match and is kept as it is. */
function canonical(path: string): string {
  const result = canonicalPath(path === "" ? "/" : path);
  return result.ok ? result.path : path;
}
