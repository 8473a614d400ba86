/** Locates a value in valid JSON without duplicate members, without parsing the rest. */

/**
 * @param text JSON
 * @param pointer to an existing value
 * @returns the value's own text
 */
export function textAt(text: string, pointer: readonly string[]): string {
  const [start, end] = spanAt(text, pointer);
  return text.slice(start, end);
}

/** Position of a value. @returns its start, and its end */
export function spanAt(text: string, pointer: readonly string[]): readonly [start: number, end: number] {
  let position = skipSpace(text, 0);
  for (const token of pointer)
    position = text[position] === "{" ? memberAt(text, position, token) : elementAt(text, position, Number(token));
  return [position, skipValue(text, position)];
}

function memberAt(text: string, open: number, name: string): number {
  let position = skipSpace(text, open + 1);
  while (position < text.length) {
    const end = skipText(text, position);
    const key = JSON.parse(text.slice(position, end)) as string;
    const value = skipSpace(text, skipSpace(text, end) + 1);
    if (key === name) return value;
    position = skipSpace(text, skipSpace(text, skipValue(text, value)) + 1);
  }
  return position;
}

function elementAt(text: string, open: number, index: number): number {
  let position = skipSpace(text, open + 1);
  for (let passed = 0; passed < index; passed += 1)
    position = skipSpace(text, skipSpace(text, skipValue(text, position)) + 1);
  return position;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function skipSpace(text: string, start: number): number {
  let position = start;
  while (text.charCodeAt(position) <= 0x20) position += 1;
  return position;
}

function skipText(text: string, start: number): number {
  let position = start + 1;
  while (position < text.length && text.charCodeAt(position) !== QUOTE)
    position += text.charCodeAt(position) === BACKSLASH ? 2 : 1;
  return position + 1;
}

function skipValue(text: string, start: number): number {
  let position = start;
  let depth = 0;
  do {
    const char = text[position];
    if (char === '"') {
      position = skipText(text, position);
    } else if (char === "{" || char === "[") {
      depth += 1;
      position += 1;
    } else if (char === "}" || char === "]") {
      depth -= 1;
      position += 1;
    } else if (depth > 0) {
      position += 1;
    } else {
      while (position < text.length && !ENDS_SCALAR.has(text[position] as string)) position += 1;
    }
  } while (depth > 0 && position < text.length);
  return position;
}

const ENDS_SCALAR: ReadonlySet<string> = new Set([",", "}", "]", " ", "\t", "\n", "\r"]);
