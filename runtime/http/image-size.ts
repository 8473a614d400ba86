/** Type and size of an image, by its first bytes: of PNG, WebP and SVG. */

export interface ImageFacts {
  readonly type: "image/png" | "image/webp" | "image/svg+xml";
  /** In pixels, or in the units of an SVG. */
  readonly width: number;
  readonly height: number;
}

/** @returns undefined if it is none of them, or has no size */
export function imageFacts(bytes: Buffer): ImageFacts | undefined {
  const facts = pngFacts(bytes) ?? webpFacts(bytes) ?? svgFacts(bytes);
  return facts && facts.width > 0 && facts.height > 0 ? facts : undefined;
}

const PNG_START = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

function pngFacts(bytes: Buffer): ImageFacts | undefined {
  if (bytes.length < 24 || !bytes.subarray(0, PNG_START.length).equals(PNG_START)) return undefined;
  return { type: "image/png", width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** @see RFC 9649 §2.5 to §2.7 */
function webpFacts(bytes: Buffer): ImageFacts | undefined {
  const tag = (at: number): string => bytes.toString("latin1", at, at + 4);
  if (bytes.length < 30 || tag(0) !== "RIFF" || tag(8) !== "WEBP") return undefined;
  const size = (width: number, height: number): ImageFacts => ({ type: "image/webp", width, height });
  switch (tag(12)) {
    case "VP8 ":
      return size(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case "VP8L": {
      const bits = bytes.readUInt32LE(21);
      return size((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case "VP8X":
      return size(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    default:
      return undefined;
  }
}

const SVG_START = /^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->)[^])*-->\s*)*<svg(\s[^>]*)>/;

/** Without a DOCTYPE, whose entities can make a small file large. */
function svgFacts(bytes: Buffer): ImageFacts | undefined {
  const [, attributes] = SVG_START.exec(bytes.toString("utf8")) ?? [];
  // Browsers draw no image without the namespace.
  if (attributes === undefined || !/\sxmlns\s*=\s*["']http:\/\/www\.w3\.org\/2000\/svg["']/.test(attributes))
    return undefined;
  const length = (name: string): number =>
    Number(new RegExp(`\\s${name}\\s*=\\s*["']([0-9.]+)(?:px)?["']`).exec(attributes)?.[1] ?? 0);
  const [, boxWidth, boxHeight] =
    /\sviewBox\s*=\s*["']\s*[-0-9.]+[\s,]+[-0-9.]+[\s,]+([0-9.]+)[\s,]+([0-9.]+)\s*["']/.exec(attributes) ?? [];
  const [width, height] = boxWidth === undefined ? [length("width"), length("height")] : [boxWidth, boxHeight];
  return { type: "image/svg+xml", width: Number(width), height: Number(height) };
}
