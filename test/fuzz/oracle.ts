/** What targets say about what they have read. */

/** Parts of an input are divided by a byte that stands in none of them. */
export const partsOf = (data: Uint8Array): readonly string[] => latin1(data).split("\0");

export const latin1 = (data: Uint8Array): string => Buffer.from(data).toString("latin1");

export const utf8 = (data: Uint8Array): string => Buffer.from(data).toString("utf8");

export function must(holds: boolean, what: string, facts?: unknown): asserts holds {
  if (!holds) throw new Error(facts === undefined ? what : `${what}: ${JSON.stringify(facts)}`);
}

export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what}: ${one} is not ${other}`);
}

/** JSON that a stranger sent; undefined where it is none: nobody reads further then. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns undefined where it was refused in the way that is foreseen: anything else falls */
export function orRefused<T>(isForeseen: (error: unknown) => boolean, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!isForeseen(error)) throw error;
    return undefined;
  }
}
