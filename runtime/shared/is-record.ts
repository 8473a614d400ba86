/** Members of an object by name, as in JSON and YAML. */
export type Members = Readonly<Record<string, unknown>>;

/** An object that is not a list. */
export function isRecord(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns undefined for text that is not JSON, and for JSON that is not an object */
export function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
