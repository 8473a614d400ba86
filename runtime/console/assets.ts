/** The stylesheet and the scripts of the console, each a file of its own; they are the same for everyone. */
import { createHash } from "node:crypto";

import type { Exchange } from "../http/exchange.ts";
import { respondBytes } from "../http/respond.ts";
import { type Branding, OWN_BRANDING } from "../pages/branding.ts";
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

/** One for each process: colors are static settings. */
const styles = new WeakMap<Branding, readonly [path: string, asset: Asset]>();

function styleOf(branding = OWN_BRANDING): readonly [path: string, asset: Asset] {
  const known = styles.get(branding);
  if (known) return known;
  const text = CONSOLE_STYLE + branding.style;
  const digest = digestOf(text);
  const type = "text/css; charset=utf-8";
  const asset = { text, type, etag: `"${digest}"`, caching: "public, max-age=31536000, immutable" };
  const made = [`/.gateway/console/style.${digest.slice(0, 16)}.css`, asset] as const;
  styles.set(branding, made);
  return made;
}

/** Its address changes with it. */
export function stylePath(branding?: Branding): string {
  return styleOf(branding)[0];
}

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
]);

/** @returns path on this host */
export function scriptPath(name: string): string {
  return `${SCRIPTS_PATH}${name}.js`;
}

/** @returns false when there is none at this path */
export function respondAsset(exchange: Exchange): boolean {
  const [path, style] = styleOf(exchange.branding);
  const asset = exchange.path === path ? style : assets.get(exchange.path);
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
