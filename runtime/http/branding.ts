/** The branding of pages from its settings: reads and checks the logo, and serves it on every host. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

import type { BrandingSettings } from "../features/process/branding.ts";
import { type Branding, createBranding } from "../pages/branding.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { type ImageFacts, imageFacts } from "./image-size.ts";
import type { Endpoint } from "./endpoint.ts";
import { respondBytes } from "./respond.ts";

export interface PageBranding {
  readonly branding: Branding;
  /** The same without the logo, for hosts where nothing is served. */
  readonly elsewhere: Branding;
  readonly endpoints: readonly Endpoint[];
}

const MAX_LOGO_BYTES = 65_536;

/** @throws GatewayError `config.logo` */
export async function loadBranding({ name, logoFile, accent }: BrandingSettings): Promise<PageBranding> {
  const elsewhere = createBranding({ name, accent });
  if (logoFile === undefined) return { branding: elsewhere, elsewhere, endpoints: [] };
  const { bytes, type, width, height } = await readLogo(logoFile);
  const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 16);
  const path = `/.gateway/logo.${digest}.${EXTENSIONS[type]}`;
  return {
    branding: createBranding({ name, accent, logo: { path, width, height } }),
    elsewhere,
    endpoints: [logoEndpoint(path, type, bytes)],
  };
}

const EXTENSIONS = { "image/png": "png", "image/webp": "webp", "image/svg+xml": "svg" } as const;

async function readLogo(path: string): Promise<ImageFacts & { readonly bytes: Buffer }> {
  const fail = (problem: string, cause?: unknown): GatewayError =>
    new GatewayError("config.logo", `Cannot use "branding.logo_file" ${JSON.stringify(path)}: ${problem}`, { cause });
  const bytes = await readUpTo(path, MAX_LOGO_BYTES + 1).catch((error: unknown) => {
    throw fail(errorText(error), error);
  });
  if (bytes.length > MAX_LOGO_BYTES) throw fail(`it has more than ${MAX_LOGO_BYTES} bytes. Make it smaller.`);
  const facts = imageFacts(bytes);
  if (!facts)
    throw fail(
      "it is not a PNG, WebP or SVG image. An SVG needs its xmlns, a viewBox or width and height, and no DOCTYPE.",
    );
  return { ...facts, bytes };
}

async function readUpTo(path: string, most: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(most), 0, most, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Its address has its hash, so that browsers load it once. */
function logoEndpoint(path: string, type: string, bytes: Buffer): Endpoint {
  const headers = [
    ["content-type", type],
    ["content-length", String(bytes.length)],
    ["cache-control", "public, max-age=31536000, immutable"],
    ["cross-origin-resource-policy", "same-origin"],
    // In <img> an SVG runs no script and loads nothing. A window that opens it must be as strict.
    ["content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"],
  ].flat();
  return { methods: ["GET"], path, handle: (exchange) => respondBytes(exchange, 200, headers, bytes) };
}
