/** JSON that has nothing YAML could say otherwise, read by the engine's own parser: the common and quick way. */

/** The value of JSON text without repeated keys; undefined when it is anything else. */
export function readPlainJson(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse silently keeps the last of repeated keys: there are as many colons outside strings as keys written.
    return countKeys(value, 0) === countColons(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3a) colons++;
    else if (code === 0x22) {
      for (at++; text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
    }
  }
  return colons;
}

/** @returns NaN, equal to no count, for what the slow reader must validate */
export function countKeys(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return isSound(value) ? 0 : Number.NaN;
  if (depth > MAX_DEPTH || Object.hasOwn(value, "__proto__")) return Number.NaN;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let keys = Array.isArray(value) ? 0 : members.length;
  // Not `for … of`, which makes an object for each member until it is compiled.
  for (let at = 0; at < members.length; at++) {
    const member = members[at];
    if (typeof member !== "string") keys += countKeys(member, depth + 1);
  }
  return keys;
}

/** A scalar that means the same to every JSON reader. */
export function isSound(value: unknown): boolean {
  if (typeof value !== "number") return true;
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

export const MAX_DEPTH = 64;
