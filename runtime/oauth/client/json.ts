/** JSON that somebody else wrote. */

/** @returns undefined when the bytes are no JSON text */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}
