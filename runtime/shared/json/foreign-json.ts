/**
 * JSON of another party: tokens, metadata, keys, registrations, responses.
 *
 * Untrusted input: all of it. Promises: strict UTF-8 without a byte order mark (RFC 8259 §8.1); no value is nested deeper
 * than any of our readers goes, and none has more values than a document of this size needs, both found before a value is
 * made. How many bytes there may be is bounded where they are read.
 */

/** Of lists and objects in each other: the one bound of every reader here. */
export const MAX_JSON_DEPTH = 64;
/** Members and items. A directory's page, the longest of these documents, has some 50,000. */
export const MAX_JSON_VALUES = 200_000;

/** @throws TypeError not UTF-8 @throws SyntaxError not JSON, or beyond the bounds */
export function parseForeignJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  if (!isWithinBounds(bytes)) throw new SyntaxError("JSON has too many values, or is nested too deeply");
  return JSON.parse(text) as unknown;
}

/** @param bytes of JSON in UTF-8; of other text the outcome says nothing @param maxDepth below the outermost list or object */
export function isWithinBounds(
  bytes: Uint8Array,
  maxDepth: number = MAX_JSON_DEPTH,
  maxValues: number = MAX_JSON_VALUES,
): boolean {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22:
        for (at++; at < bytes.length && bytes[at] !== 0x22; at++) if (bytes[at] === 0x5c) at++;
        break;
      case 0x2c:
        if (++values > maxValues) return false;
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > maxDepth + 1 || ++values > maxValues) return false;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      default:
    }
  }
  return true;
}

/** Whether a value that was read elsewhere is nested no deeper. Never goes deeper itself. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth <= MAX_JSON_DEPTH && Object.values(value).every((member) => isShallow(member, depth + 1));
}
