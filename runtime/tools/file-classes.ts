/**
 * Tool classes from lock files, for commands that decide without a running gateway.
 *
 * Promise: a file that cannot be read leaves its classes unknown, which restricts, and is reported.
 */
import { readFileSync, statSync } from "node:fs";

import type { CheckedConfig, CheckedRoute } from "../config/load.ts";
import { compileToolLock } from "../features/mcp/tool-lock.ts";
import { baseOf, compileMatch } from "../features/routing/compile.ts";
import { parseFrom } from "../features/routing/from.ts";
import { accepted } from "../settings/values.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { trimSlash } from "../shared/http/trim-slash.ts";

export interface ConfigWithClasses {
  readonly config: CheckedConfig;
  /** Why classes are unknown, by key of the route. */
  readonly unknown: ReadonlyMap<string, string>;
}

export function withFileClasses(config: CheckedConfig): ConfigWithClasses {
  const unknown = new Map<string, string>();
  const routes = config.routes.map((route): CheckedRoute => {
    const { key, doc } = route;
    const server = doc.mcp?.server;
    if (server?.tool_lock?.file === undefined) return route;
    const address = accepted(parseFrom(doc.from)).origin + baseOf(compileMatch(doc)) + trimSlash(server.path ?? "");
    try {
      const found = compileToolLock(server.tool_lock, address, FILES)?.classes ?? [];
      const classes = Object.fromEntries([...found].map(([name, each]) => [name, [...each]]));
      return { ...route, doc: { ...doc, mcp: { server: { ...server, tool_lock: { ...server.tool_lock, classes } } } } };
    } catch (error) {
      unknown.set(key, `the tool classes of ${key} are unknown: ${errorText(error)}`);
      return route;
    }
  });
  return { config: { ...config, routes }, unknown };
}

/** As for a running gateway. */
const MAX_BYTES = 4 * 1024 * 1024;

const FILES = {
  resolve(reference: string): string {
    const path = reference.slice("file:".length);
    const file = statSync(path);
    if (file.isFile() && file.size <= MAX_BYTES) return readFileSync(path, "utf8");
    throw new GatewayError("config.tool-lock", `"${path}" is not a file of at most ${MAX_BYTES} bytes`);
  },
};
