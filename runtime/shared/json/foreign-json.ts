/**
 * JSON of another party: tokens, metadata, keys, registrations, responses.
 *
 * Untrusted input: all of it. Promises: strict UTF-8 without a byte order mark (RFC 8259 §8.1); no value is nested
 * deeper than any of our readers goes, and none has more values than a document of this size needs. Both are checked
 * before a value is created. The code that reads the bytes bounds their number.
 */

/** Nesting of lists and objects: the one bound for every reader here. */
export const MAX_JSON_DEPTH = 64;
/** Members and items. A directory's page, the longest of these documents, has about 50,000. */
export const MAX_JSON_VALUES = 200_000;

/** @returns undefined unless it is UTF-8 and JSON within the bounds */
export function parseForeignJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return isWithinBounds(text) ? (JSON.parse(text) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param text JSON; for other text the result has no meaning
 * @param maxDepth below the outermost list or object
 */
export function isWithinBounds(
  text: string,
  maxDepth: number = MAX_JSON_DEPTH,
  maxValues: number = MAX_JSON_VALUES,
): boolean {
  const { depth, values } = measureJson(text, maxDepth, maxValues);
  return depth <= maxDepth && values <= maxValues;
}

export interface JsonSize {
  /** Outside of texts: the number of members written. */
  readonly colons: number;
  /** Members and items, and one more for each empty list and object. */
  readonly values: number;
  /** Nesting of lists and objects, below the outermost. */
  readonly depth: number;
}

/**
 * Measures a text before it is parsed: a value takes up to fifty times the memory of its text. Reads little further
 * than the limits.
 */
export function measureJson(text: string, maxDepth: number, maxValues: number): JsonSize {
  let [colons, values, depth, deepest] = [0, 0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        // Unterminated text is not JSON: the loop must not run forever.
        for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
        break;
      case 0x3a:
        colons++;
        break;
      case 0x2c:
        if (++values > maxValues) return { colons, values, depth: deepest };
        break;
      case 0x5b:
      case 0x7b:
        deepest = Math.max(deepest, depth++);
        if (++values > maxValues || deepest > maxDepth) return { colons, values, depth: deepest };
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      default:
    }
  }
  return { colons, values, depth: deepest };
}

/** Whether an already parsed value is not nested deeper. Never goes deeper itself. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth <= MAX_JSON_DEPTH && Object.values(value).every((member) => isShallow(member, depth + 1));
}
