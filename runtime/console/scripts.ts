/** The scripts of the console, each a file of its own. */
import { createHash } from "node:crypto";

import type { Exchange } from "../http/exchange.ts";
import { respondBytes } from "../http/respond.ts";
import { DRAFT_FILE_SCRIPT } from "../pages/console/policy/draft-file-script.ts";
import { LIVE_SCRIPT } from "../pages/console/live-script.ts";
import { TIME_SCRIPT } from "../pages/console/time-script.ts";

export const SCRIPTS_PATH = "/.gateway/console/scripts/";

const scripts: ReadonlyMap<string, { readonly text: string; readonly etag: string }> = new Map(
  [["time", TIME_SCRIPT] as const, ["live", LIVE_SCRIPT] as const, ["draft-file", DRAFT_FILE_SCRIPT] as const].map(
    ([name, text]) => [
      `${SCRIPTS_PATH}${name}.js`,
      { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` },
    ],
  ),
);

/** @returns path on this host */
export function scriptPath(name: string): string {
  return `${SCRIPTS_PATH}${name}.js`;
}

/** They are the same for everybody. @returns false when there is none at this path */
export function respondScript(exchange: Exchange): boolean {
  const script = scripts.get(exchange.path);
  if (!script) return false;
  const { text, etag } = script;
  const headers = ["cache-control", "no-cache", "etag", etag, "cross-origin-resource-policy", "same-origin"];
  if (exchange.header("if-none-match") === etag) respondBytes(exchange, 304, headers);
  else
    respondBytes(
      exchange,
      200,
      [...headers, "content-type", "text/javascript; charset=utf-8", "content-length", String(Buffer.byteLength(text))],
      text,
    );
  return true;
}
