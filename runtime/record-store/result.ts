/** What became of a request: out of the line that says so, into the record of its decision. */
import type { KeptRecord } from "./record-reader.ts";
import { outcomeNumber, type Row } from "./row.ts";

/** @returns undefined for what is no outcome of a request */
export function resultOf(value: Readonly<Record<string, unknown>>): NonNullable<KeptRecord["result"]> | undefined {
  const { status, "duration-ms": durationMs, "failed-by": failedBy, failure } = value;
  const { "list-hidden": listHidden, "list-shown": listShown } = value;
  if (typeof status !== "number" || typeof durationMs !== "number") return undefined;
  return {
    status,
    durationMs,
    ...(typeof failedBy === "string" && { failedBy }),
    ...(typeof failure === "string" && { failure }),
    ...(typeof listHidden === "number" && { listHidden }),
    ...(typeof listShown === "number" && { listShown }),
  };
}

/** Writes it into the row. */
export function join(row: Row, result: NonNullable<KeptRecord["result"]>): void {
  row.result = JSON.stringify(result);
  if (row.outcome === null && result.status >= 500) row.outcome = outcomeNumber("error");
}

/** By which of its fields a decision and its outcome belong together, in one process. */
export function requestKey(value: Readonly<Record<string, unknown>>, isOutcome: boolean): string | undefined {
  // With `audit`: the place of the line of the decision.
  const place = value["seq"] === undefined ? undefined : value[isOutcome ? "of" : "seq"];
  if (typeof place === "number") return `#${place}`;
  const id = value["request-id"];
  return typeof id === "string" ? id : undefined;
}
