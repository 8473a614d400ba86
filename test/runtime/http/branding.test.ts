import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accentOf, contrast, DARK_SUNK, LIGHT_SUNK, lightContrast } from "../../../runtime/features/process/accent.ts";
import { compileBranding } from "../../../runtime/features/process/branding.ts";
import { loadBranding } from "../../../runtime/http/branding.ts";
import { imageFacts } from "../../../runtime/http/image-size.ts";
import { brandMark, createBranding } from "../../../runtime/pages/branding.ts";
import { html } from "../../../runtime/pages/html.ts";
import { contentSecurityPolicy } from "../../../runtime/pages/layout.ts";
import { TOKENS } from "../../../runtime/pages/tokens.ts";

/** The first bytes of a PNG of this size. */
function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(33);
  bytes.write("89504e470d0a1a0a0000000d49484452", "hex");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

function webp(kind: "VP8 " | "VP8L" | "VP8X", rest: string): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.write(`RIFF....WEBP${kind}`, "latin1");
  bytes.write(rest, 20, "hex");
  return bytes;
}

const SVG = 'xmlns="http://www.w3.org/2000/svg"';

describe("imageFacts()", () => {
  it.each([
    ["PNG", png(300, 100), "image/png", 300, 100],
    ["lossy WebP", webp("VP8 ", "3001009d012a2c016400"), "image/webp", 300, 100],
    ["lossless WebP", webp("VP8L", "2f2bc118"), "image/webp", 300, 100],
    ["extended WebP", webp("VP8X", "100000002b0100630000"), "image/webp", 300, 100],
    [
      "SVG",
      Buffer.from(`<?xml version="1.0"?>\n<!-- a -->\n<svg ${SVG} viewBox="0 0 30 10"></svg>`),
      "image/svg+xml",
      30,
      10,
    ],
    ["SVG with a size", Buffer.from(`<svg ${SVG} width="30px" height='10'></svg>`), "image/svg+xml", 30, 10],
  ])("knows the size of a %s", (_, bytes, type, width, height) => {
    expect(imageFacts(bytes)).toEqual({ type, width, height });
  });

  it.each([
    ["a PNG without width", png(0, 100)],
    ["a PNG that ends early", png(300, 100).subarray(0, 20)],
    ["another kind of WebP", webp("VP8X", "").fill("ALPH", 12, 16, "latin1")],
    ["GIF", Buffer.from("GIF89a\x01\x00\x01\x00")],
    ["HTML", Buffer.from(`<html><svg ${SVG} viewBox="0 0 1 1">`)],
    ["SVG without the namespace", Buffer.from('<svg viewBox="0 0 1 1">')],
    ["SVG without a size", Buffer.from(`<svg ${SVG}>`)],
    ["SVG with a DOCTYPE", Buffer.from(`<!DOCTYPE svg [<!ENTITY a "b">]><svg ${SVG} viewBox="0 0 1 1">`)],
    ["nothing", Buffer.alloc(0)],
  ])("rejects %s", (_, bytes) => {
    expect(imageFacts(bytes)).toBeUndefined();
  });
});

describe("accentOf()", () => {
  it("measures against the backgrounds that pages have", () => {
    expect(TOKENS.match(/--sunk: (#\w{6})/g)).toEqual([`--sunk: ${LIGHT_SUNK}`, `--sunk: ${DARK_SUNK}`]);
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
    // An example of WCAG's own techniques (G18): this gray on white.
    expect(contrast("#767676", "#ffffff")).toBeCloseTo(4.54, 2);
  });

  it("makes a variant for dark pages whose text reads, from any color that reads on light ones", () => {
    const steps = ["00", "33", "66", "99", "cc", "ff"];
    const colors = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)));
    const readable = colors.filter((color) => lightContrast(color) >= 4.5);
    expect(readable.length).toBeGreaterThan(50);
    for (const color of readable) {
      const { light, dark } = accentOf(color);
      expect(contrast(light.onAccent, light.accent), color).toBeGreaterThanOrEqual(4.5);
      for (const other of [DARK_SUNK, dark.soft, dark.onAccent])
        expect(contrast(dark.accent, other), color).toBeGreaterThanOrEqual(4.5);
    }
  });
});

describe("loadBranding()", () => {
  let directory: string;
  beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), "branding-"))));
  afterAll(() => rm(directory, { recursive: true }));
  const load = async (bytes: Buffer | string) => {
    const logoFile = join(directory, "logo");
    await writeFile(logoFile, bytes);
    return loadBranding({ name: "Acme", logoFile, accent: undefined });
  };

  it("serves the logo at an address with its hash, and allows pages only this address", async () => {
    const { branding, elsewhere, endpoints } = await load(png(300, 100));
    const path = endpoints[0]?.path ?? "";
    expect(path).toMatch(/^\/\.gateway\/logo\.[\w-]{16}\.png$/);
    expect(endpoints).toHaveLength(1);
    const policy = contentSecurityPolicy({ branding, host: "app.example.com:8443" });
    expect(policy).toContain(`; img-src app.example.com:8443${path};`);
    expect(contentSecurityPolicy({ branding, host: "[::1]:8443" })).toContain("; img-src 'self';");
    expect(contentSecurityPolicy({ branding: elsewhere, host: "app.example.com" })).not.toContain("img-src");
    expect(brandMark(branding, html`icon`).toString()).toBe(`<img src="${path}" alt="" width="72" height="24" />`);
    expect(brandMark(elsewhere, html`icon`).toString()).toBe("icon");
  });

  it("bounds the width of long logos, with their proportions", () => {
    const logo = { path: "/logo", width: 600, height: 20 };
    expect(brandMark(createBranding({ name: "Acme", logo }), html``).toString()).toContain('width="144" height="5"');
  });

  it("says what is wrong with a logo", async () => {
    await expect(load("GIF89a")).rejects.toThrow(/Cannot use "branding.logo_file" ".+": it is not a PNG, WebP or SVG/);
    const large = Buffer.concat([png(300, 100), Buffer.alloc(65_536)]);
    await expect(load(large)).rejects.toThrow(/it has more than 65536 bytes. Make it smaller./);
    const missing = loadBranding({ name: "Acme", logoFile: join(directory, "none"), accent: undefined });
    await expect(missing).rejects.toThrow(/Cannot use "branding.logo_file" ".+none": ENOENT/);
  });

  it("has the gateway's name and colors where settings have none", async () => {
    const { branding, endpoints } = await loadBranding(compileBranding({}));
    expect(branding).toMatchObject({ name: "Gateway", style: "", logo: undefined });
    expect(endpoints).toEqual([]);
  });
});
