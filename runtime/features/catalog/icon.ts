/**
 * Icons of routes: small images inside the configuration, served from an address of the gateway.
 *
 * Untrusted input: the image, whose author is the owner of a route. Promises: only types whose signature matches, none of
 * which can contain a script; bounded in size.
 */
import { createHash } from "node:crypto";

import type { Reading } from "../../settings/values.ts";

export type IconType = "image/png" | "image/jpeg" | "image/webp";

export interface RouteIcon {
  readonly type: IconType;
  readonly bytes: Buffer;
  /** 32 hexadecimal digits of its SHA-256. */
  readonly digest: string;
}

const MAX_ICON_BYTES = 16_384;
const PREFIX = /^data:(image\/(?:png|jpeg|webp));base64,/;

export function parseIcon(text: string): Reading<RouteIcon> {
  const expected = 'must be "data:image/png;base64,…" (or image/jpeg, image/webp)';
  const [prefix = "", type] = PREFIX.exec(text) ?? [];
  if (type === undefined) return { ok: false, problem: expected };
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, "base64");
  // Decoding skips what is not Base64.
  if (bytes.length === 0 || bytes.toString("base64") !== encoded) return { ok: false, problem: expected };
  if (bytes.length > MAX_ICON_BYTES)
    return {
      ok: false,
      problem: `must have at most ${MAX_ICON_BYTES.toLocaleString("en-US")} bytes, has ${bytes.length.toLocaleString("en-US")}`,
    };
  if (typeOf(bytes) !== type) return { ok: false, problem: `must have an image of the type that it states (${type})` };
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  return { ok: true, value: { type, bytes, digest } };
}

/** The type by signature. */
function typeOf(bytes: Buffer): IconType | undefined {
  if (bytes.subarray(0, 8).equals(PNG)) return "image/png";
  if (bytes.subarray(0, 3).equals(JPEG)) return "image/jpeg";
  const isWebp = bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP";
  return isWebp ? "image/webp" : undefined;
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

/** Where the gateway serves icons, by digest. */
export const ICONS_PATH = "/.gateway/icons";

export function iconPath({ digest }: RouteIcon): string {
  return `${ICONS_PATH}/${digest}`;
}
