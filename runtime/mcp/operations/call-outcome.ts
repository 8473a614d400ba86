/**
 * Outcome of a call, from its response: decisions depend on it (history rules), unlike answer-kind.ts.
 *
 * Untrusted input: the bytes. Promise: whatever is not certainly a success is none. Pure.
 */
import { isRecord } from "../../shared/is-record.ts";
import type { McpMessage } from "../message.ts";

export type CallOutcome =
  | { readonly kind: "success" | "failure" | "pending" }
  /** The call continues as a task. @param id the upstream's */
  | { readonly kind: "task"; readonly id: string };

const SUCCESS: CallOutcome = { kind: "success" };
const FAILURE: CallOutcome = { kind: "failure" };
const PENDING: CallOutcome = { kind: "pending" };

/**
 * @param bytes one JSON-RPC message
 * @param message of the client
 * @returns undefined if it is not the response to the message
 */
export function readCallOutcome(
  bytes: Buffer,
  { id, facts, isModern }: Pick<McpMessage, "id" | "facts" | "isModern">,
): CallOutcome | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isRecord(answer) || answer["method"] !== undefined || id === undefined) return undefined;
  // Both rounded alike, if they are large numbers.
  if (JSON.stringify(answer["id"]) !== JSON.stringify(JSON.parse(id))) return undefined;
  const { result, error } = answer;
  if (!isRecord(result) || error !== undefined) return FAILURE;
  const { method = "" } = facts;
  if (method === "tasks/get") return isModern ? outcomeOfTask(result) : PENDING;
  // Other requests about a task do not report its result.
  if (/^tasks\//i.test(method) && method !== "tasks/result") return PENDING;
  return outcomeOfResult(result);
}

function outcomeOfTask({ status, result }: Readonly<Record<string, unknown>>): CallOutcome {
  if (status === "completed") return isRecord(result) ? outcomeOfResult(result) : FAILURE;
  return status === "failed" || status === "cancelled" ? FAILURE : PENDING;
}

function outcomeOfResult(result: Readonly<Record<string, unknown>>): CallOutcome {
  const { resultType, isError, task } = result;
  const id = isRecord(task) ? task["taskId"] : resultType === "task" ? result["taskId"] : undefined;
  if (typeof id === "string") return { kind: "task", id };
  const isComplete = resultType === undefined || resultType === "complete";
  return isComplete && (isError === undefined || isError === false) && task === undefined ? SUCCESS : FAILURE;
}
