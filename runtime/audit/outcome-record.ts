/**
 * The outcome of a request, once it is over: a separate line after the record of its decision.
 *
 * That record is written before anything goes upstream, so that no crash loses it; a stream may last for hours after
 * it.
 */
import { guardrailText, type GuardrailVerdict } from "./guardrail-note.ts";
import { isoTime, jsonText } from "./record.ts";

export interface OutcomeInput {
  /** Milliseconds since the epoch, at the end. */
  readonly timeMs: number;
  /** `seq` of the record of the decision, in the same run. */
  readonly of: number;
  readonly requestId: string;
  /** Status of the response; 0: none was started. */
  readonly status: number;
  /** Origin of the failure; absent when the request got a good response or was denied by a rule. */
  readonly failedBy: "gateway" | "upstream" | "client" | undefined;
  /** How the upstream failed; absent if it did not. */
  readonly failure: string | undefined;
  /** Calls that a history rule can require: whether the call succeeded. */
  readonly hasSucceeded?: boolean | undefined;
  /** The verdict of the route's guardrail about the result; absent: none was requested. */
  readonly guardrail?: GuardrailVerdict | undefined;
  readonly durationMs: number;
  /** Number of hidden and shown list entries; absent when no list was filtered. */
  readonly lists: { readonly hidden: number; readonly shown: number } | undefined;
}

/** @returns one line with its line end */
export function formatOutcome(input: OutcomeInput): string {
  const { timeMs, of, requestId, status, failedBy, failure, durationMs, lists, hasSucceeded, guardrail } = input;
  const blame = failedBy === undefined ? "" : `,"failed-by":"${failedBy}"`;
  const how = failure === undefined ? "" : `,"failure":"${failure}"`;
  const listed = lists === undefined ? "" : `,"list-hidden":${lists.hidden},"list-shown":${lists.shown}`;
  const success = hasSucceeded === undefined ? "" : `,"succeeded":${hasSucceeded}`;
  const guarded = guardrail === undefined ? "" : guardrailText(guardrail);
  return (
    `{"level":"info","time":"${isoTime(timeMs)}","service":"authorize","message":"request outcome"` +
    `,"of":${of},"request-id":${jsonText(requestId)},"status":${status}${blame}${how}${success}${guarded}` +
    `,"duration-ms":${Math.round(durationMs * 1000) / 1000}${listed}}\n`
  );
}
