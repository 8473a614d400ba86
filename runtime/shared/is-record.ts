/** Members of an object by name, as JSON and YAML have them. */
export type Members = Readonly<Record<string, unknown>>;

/** An object that is no list. */
export function isRecord(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
