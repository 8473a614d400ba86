/** The stylesheet and the scripts of the console, each a file of its own; they are the same for everyone. */
import { createHash } from "node:crypto";

import type { Exchange } from "../http/exchange.ts";
import { respondBytes } from "../http/respond.ts";
import { CHART_SCRIPT } from "../pages/console/charts/script.ts";
import { DRAFT_FILE_SCRIPT } from "../pages/console/policy/draft-file-script.ts";
import { PANEL_SCRIPT } from "../pages/console/lists/panel.ts";
import { LIVE_WORKER } from "../pages/console/live-worker.ts";
import { FRAME_SCRIPT } from "../pages/console/frame-script.ts";
import { LIVE_SCRIPT } from "../pages/console/live-script.ts";
import { CONSOLE_STYLE } from "../pages/console/style.ts";
import { TIME_SCRIPT } from "../pages/console/time-script.ts";

export const SCRIPTS_PATH = "/.gateway/console/scripts/";

interface Asset {
  readonly text: string;
  readonly type: string;
  readonly etag: string;
  readonly caching: string;
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** Its address changes with it. */
export const STYLE_PATH = `/.gateway/console/style.${digestOf(CONSOLE_STYLE).slice(0, 16)}.css`;

const script = (name: string, text: string): readonly [path: string, asset: Asset] => [
  scriptPath(name),
  { text, type: "text/javascript; charset=utf-8", etag: `"${digestOf(text)}"`, caching: "no-cache" },
];

const assets: ReadonlyMap<string, Asset> = new Map([
  script("time", TIME_SCRIPT + FRAME_SCRIPT),
  script("chart", CHART_SCRIPT),
  script("live", LIVE_SCRIPT),
  script("live-worker", LIVE_WORKER),
  script("panel", PANEL_SCRIPT),
  script("draft-file", DRAFT_FILE_SCRIPT),
  [
    STYLE_PATH,
    {
      text: CONSOLE_STYLE,
      type: "text/css; charset=utf-8",
      etag: `"${digestOf(CONSOLE_STYLE)}"`,
      caching: "public, max-age=31536000, immutable",
    },
  ],
]);

/** @returns path on this host */
export function scriptPath(name: string): string {
  return `${SCRIPTS_PATH}${name}.js`;
}

/** @returns false when there is none at this path */
export function respondAsset(exchange: Exchange): boolean {
  const asset = assets.get(exchange.path);
  if (!asset) return false;
  const { text, type, etag, caching } = asset;
  const headers = ["cache-control", caching, "etag", etag, "cross-origin-resource-policy", "same-origin"];
  if (exchange.header("if-none-match") === etag) respondBytes(exchange, 304, headers);
  else
    respondBytes(
      exchange,
      200,
      [...headers, "content-type", type, "content-length", String(Buffer.byteLength(text))],
      text,
    );
  return true;
}
