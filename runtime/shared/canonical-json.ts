/** One text for equal values, and its digest. */
import { createHash } from "node:crypto";

/** A token that replaces a value without members. */
export abstract class ValueToken {
  /** Source text, if known. */
  abstract readonly text: string | undefined;
}

/** A number with its source text, since parsing could have rounded it. */
export class NumberToken extends ValueToken {
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }
}

/** An omitted value, with everything below it. */
export class OmittedToken extends ValueToken {
  readonly text = undefined;
}

/** Keeps numbers as written. Costs ten times as much as `JSON.parse`. @throws SyntaxError */
export function parseVerbatim(json: string): unknown {
  return parseNumbers(json, (text) => new NumberToken(text));
}

/**
 * @param numberOf converts the text of a number
 * @param objectOf may replace each object and list
 * @throws SyntaxError
 */
export function parseNumbers(
  json: string,
  numberOf: (text: string) => unknown,
  objectOf?: (value: object) => unknown,
): unknown {
  return JSON.parse(json, (_name, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value === "number") return numberOf(context?.source ?? "");
    return objectOf && typeof value === "object" && value !== null ? objectOf(value) : value;
  });
}

/**
 * JSON with sorted keys and no spaces: equal values give equal text, in whatever order they were written. Numbers from
 * `parseVerbatim` are equal only if written alike: `1` and `1.0` differ, and two large numbers never become one.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === "" ? "" : ","}${canonicalJson(item)}`;
    return `[${text}]`;
  }
  if (value instanceof NumberToken) return value.text;
  const record = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(record);
  for (const key of keys.length < 2 ? keys : keys.sort()) {
    // Like JSON.stringify: undefined members are absent.
    if (record[key] !== undefined)
      text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(record[key])}`;
  }
  return `{${text}}`;
}

/** SHA-256 (hex) of the canonical JSON. */
export function digestOf(value: unknown): string {
  return sha256(canonicalJson(value));
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
