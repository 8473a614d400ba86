/** Members of a record, written by any version of the gateway: one of an unexpected type counts as absent. */
export type RecordValue = Readonly<Record<string, unknown>>;

export function textOf(record: RecordValue, name: string): string | undefined {
  const value = record[name];
  return typeof value === "string" ? value : undefined;
}

export function numberOf(record: RecordValue, name: string): number | undefined {
  const value = record[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export interface Verdict {
  readonly passes: boolean;
  /** Policy allowed it, but a limit was exceeded. */
  readonly isLimited: boolean;
  /** Pending approval by another user. */
  readonly waits: boolean;
  readonly isApproved: boolean;
  readonly reasons: readonly string[];
}

/** Outcome of a request, from its record. */
export function verdictOf(record: RecordValue): Verdict {
  const isLimited = record["limited"] !== undefined;
  const { state } = (record["approval"] ?? {}) as { readonly state?: unknown };
  const passes = record["allow"] === true && record["deny"] !== true && !isLimited;
  const why = record["deny"] === true ? "deny-why-true" : passes ? "allow-why-true" : "allow-why-false";
  const reasons = record[why];
  return {
    passes,
    isLimited,
    waits: !passes && state === "waiting",
    isApproved: passes && state !== undefined,
    reasons: Array.isArray(reasons) ? reasons.filter((reason) => typeof reason === "string") : [],
  };
}
