/** Looks up headers in the flat form: name, value, name, value… */
import type { HeaderTraits } from "./header-traits.ts";

/** Value of a header that may occur once; undefined when absent or when it occurs twice with different values. */
export function findHeader(raw: readonly string[], lowerName: string): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    if (name.length !== lowerName.length || (name !== lowerName && name.toLowerCase() !== lowerName)) continue;
    const next = raw[index + 1] as string;
    if (value !== undefined && value !== next) return undefined;
    value = next;
  }
  return value;
}

/** The same, for names already looked up. @param traits of each name, in their order */
export function findKnownHeader(
  raw: readonly string[],
  traits: readonly HeaderTraits[],
  lowerName: string,
): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < traits.length; index += 1) {
    if ((traits[index] as HeaderTraits).lower !== lowerName) continue;
    const next = raw[2 * index + 1] as string;
    if (value !== undefined && value !== next) return undefined;
    value = next;
  }
  return value;
}

/** All values of a header, in order. */
export function allHeaders(raw: readonly string[], lowerName: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(raw[index + 1] as string);
  }
  return values;
}
