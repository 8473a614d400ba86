/**
 * Rejections and denials on an MCP server route → wire responses. Texts are generic; the exact reason is in the record.
 *
 * @see DECISIONS.md D11: clients understand a JSON-RPC error inside a 200, and many break on any other status
 */
import { APPROVAL_REQUIRED } from "../policy/mcp/approval.ts";
import { BLOCKED, isBlocked } from "../policy/blocks.ts";
import { DEVICE_UNAUTHENTICATED, PATH_AMBIGUOUS } from "../policy/criteria.ts";
import { historyCauseWords, readHistoryReason } from "../policy/words/history-reasons.ts";
import { isAmbiguous } from "../policy/evaluate.ts";
import type { Decision } from "../policy/facts.ts";
import { APPROVAL_INPUT } from "./approval/retry.ts";
import { guardrailDenial } from "./guardrail/denial.ts";
import { lockReason, type LockReason } from "./tool-locks/locked-decision.ts";
import type { McpMessage } from "./message.ts";
import { refusal, type McpRefusal } from "./refusals.ts";
import { TASKS_EXTENSION_NAME } from "./tasks/task-requests.ts";

/** A whole response; the proxy adds CORS headers and the request ID header. */
export interface WireAnswer {
  readonly status: number;
  /** name, value, … */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Outside −32768…−32000, which JSON-RPC and MCP reserve. */
export const ACCESS_DENIED_CODE = -31403;

/** Also a code of the gateway; the digits are those of HTTP. */
export const RATE_LIMITED_CODE = -31429;

/** MCP 2026-07-28, MissingRequiredClientCapability. */
const MISSING_CAPABILITY = -32021;

/** Headers of a response with one message, flat. */
export const JSON_ANSWER: readonly string[] = ["content-type", "application/json", "cache-control", "no-store"];
const TOOL_UNAUTHORIZED = "mcp-tool-unauthorized";

const LOCK_TEXTS: Readonly<Record<LockReason, (what: string) => string>> = {
  "tool-changed": (what) => `the tool lock: the server has changed this ${what} since it was reviewed`,
  "tool-not-reviewed": (what) => `the tool lock: this ${what} was not reviewed`,
  "tool-not-listed": (what) =>
    `the tool lock: no list has shown this ${what} yet; list the ${what}s, then repeat the call`,
};

/** Word for the item that a lock denies. */
function lockedWord({ method, prompt }: McpMessage["facts"] = {}): string {
  if (method === "tools/call") return "tool";
  if (method === "prompts/get" || prompt !== undefined) return "prompt";
  return method === "completion/complete" ? "resource template" : "skill";
}

/** 400, 405, 413 or 415 with a JSON-RPC error; with the request's ID if it could be read. */
export function refusalAnswer(refused: McpRefusal, requestId: string): WireAnswer {
  const { status, code, text, reason, id } = refused;
  const headers = status === 405 ? [...JSON_ANSWER, "allow", "GET, POST, DELETE, OPTIONS"] : JSON_ANSWER;
  const error = { code, message: text, data: { reason, request_id: requestId } };
  return { status, headers, body: errorBody(id, error) };
}

/**
 * A denial by policy. 400 if the path has several readings with different decisions. Otherwise a tool call that expects
 * a response gets one, with its own ID. Everything else gets 403, or 450 if a device is required. Never 401: signing in
 * again would not help, and clients would retry in a loop.
 *
 * @param message absent for requests without a body
 * @param readsBody false for clients that read only the status: a denied call gets 403 then
 */
export function denialAnswer(
  message: McpMessage | undefined,
  decision: Decision,
  requestId: string,
  readsBody = true,
): WireAnswer {
  if (isAmbiguous(decision)) return refusalAnswer(refusal(PATH_AMBIGUOUS, message?.id), requestId);
  const isToolCall = message?.kind === "request" && message.facts.method === "tools/call";
  if (message?.kind === "request" && message.facts.method === "skills/get" && readsBody)
    return unknownSkillAnswer(message, requestId);
  const isByTool = decision.allowWhyFalse.includes(TOOL_UNAUTHORIZED);
  const isByDevice = !decision.denied && decision.allowWhyFalse.includes(DEVICE_UNAUTHENTICATED);
  const isByBlock = isBlocked(decision);
  const byPolicy = isByDevice ? DEVICE_UNAUTHENTICATED : isByTool ? TOOL_UNAUTHORIZED : "access-denied";
  const byLock = lockReason(decision);
  const history = readHistoryReason(decision.allowWhyFalse[0] ?? "");
  const byOther = guardrailDenial(decision) ?? (history && { ...history, words: historyCauseWords(history) });
  const reason = isByBlock ? BLOCKED : (byLock ?? byOther?.reason ?? byPolicy);
  const why = isByBlock
    ? "an administrator: it is blocked at the moment"
    : byLock !== undefined
      ? LOCK_TEXTS[byLock](lockedWord(message?.facts))
      : isByDevice
        ? "policy: it requires a registered device, which MCP clients cannot verify"
        : (byOther?.words ?? "policy");
  const error = {
    code: ACCESS_DENIED_CODE,
    message: `${isToolCall ? "Tool call" : "Request"} denied by ${why} (request ID ${requestId})`,
    data: { reason, request_id: requestId },
  };
  return isToolCall && readsBody
    ? { status: 200, headers: JSON_ANSWER, body: errorBody(message.id, error) }
    : { status: isByDevice ? 450 : 403, headers: JSON_ANSWER, body: errorBody(undefined, error) };
}

/** Same response as a server's for an unknown skill, so that a denial does not reveal one. */
function unknownSkillAnswer({ id }: McpMessage, requestId: string): WireAnswer {
  const error = { code: -32602, message: `Skill not found (request id ${requestId})`, data: { request_id: requestId } };
  return { status: 200, headers: JSON_ANSWER, body: errorBody(id, error) };
}

/** Approval that a call still needs, or the reason why it gets none. */
export type MissingApproval =
  | {
      readonly state: "waiting";
      readonly id: string;
      readonly page: string;
      /** Epoch seconds. */
      readonly expiresAt: number;
      /** The caller confirms; otherwise another user approves. */
      readonly isByAsker: boolean;
    }
  | { readonly state: "refused" | "used" | "no-approver" | "too-many" | "too-long" | "unavailable" };

/** For a call that policy allows after approval: the client may repeat it. */
export function approvalAnswer(
  message: McpMessage | undefined,
  missing: MissingApproval,
  requestId: string,
  readsBody = true,
): WireAnswer {
  const isWaiting = missing.state === "waiting";
  const [reason, said] = isWaiting ? [APPROVAL_REQUIRED, waitingText(missing)] : WITHOUT_APPROVAL[missing.state];
  const details = isWaiting && {
    approval_id: missing.id,
    approval_url: missing.page,
    approved_by: missing.isByAsker ? "user" : "group",
    expires_at: new Date(missing.expiresAt * 1000).toISOString(),
    retry: "same arguments",
  };
  const text = `${said} (request ID ${requestId})`;
  const error = { code: ACCESS_DENIED_CODE, message: text, data: { reason, request_id: requestId, ...details } };
  return message?.kind === "request" && readsBody
    ? { status: 200, headers: JSON_ANSWER, body: errorBody(message.id, error) }
    : { status: 403, headers: JSON_ANSWER, body: errorBody(undefined, error) };
}

/** Question of the client to its user, in one of its two modes. */
export interface ApprovalQuestion {
  readonly mode: "url" | "form";
  readonly page: string;
  readonly tool: string;
}

/**
 * The same for clients that can ask their user a question (MCP 2026-07-28, `input_required`).
 *
 * @param question undefined: it was already asked, and the client is only repeating the call
 */
export function inputRequiredAnswer(
  message: McpMessage | undefined,
  requestState: string,
  question?: ApprovalQuestion,
): WireAnswer {
  const inputRequests = question && {
    [APPROVAL_INPUT]: { method: "elicitation/create", params: questionParams(question) },
  };
  const result = { resultType: "input_required", ...(inputRequests && { inputRequests }), requestState };
  const id = message?.id === undefined ? "" : `"id":${message.id},`;
  return { status: 200, headers: JSON_ANSWER, body: `{"jsonrpc":"2.0",${id}"result":${JSON.stringify(result)}}` };
}

function questionParams({ mode, page, tool }: ApprovalQuestion): object {
  if (mode === "url") return { mode, message: `The call of ${tool} needs your approval on this page`, url: page };
  const schema = { type: "object", properties: { approved: { type: "boolean", title: "I have approved it there" } } };
  return {
    mode,
    message: `The call of ${tool} needs your approval. Approve it on this page, then continue: ${page}`,
    requestedSchema: schema,
  };
}

function waitingText({ page, isByAsker }: Extract<MissingApproval, { state: "waiting" }>): string {
  const who = isByAsker ? "the user opens" : "another user who can approve it opens";
  return `Tool call requires an approval: ${who} ${page} and approves it, then the same call is repeated with the same arguments`;
}

const WITHOUT_APPROVAL = {
  refused: ["approval-refused", "Tool call refused: its approver rejected it"],
  used: ["approval-used", "Tool call denied: its approval was for one call, which was already made"],
  "no-approver": [
    "approval-nobody",
    "Tool call denied: it requires confirmation by a user, and its caller is a service account or workload",
  ],
  "too-many": [
    "approval-too-many",
    "Tool call denied: it requires an approval, and too many calls are already pending",
  ],
  "too-long": [
    "approval-too-long",
    "Tool call denied: it requires an approval, and its arguments are too long to review",
  ],
  unavailable: [
    "approval-unavailable",
    "Tool call denied: it requires an approval, which cannot be looked up now, try again shortly",
  ],
} as const satisfies Readonly<
  Record<Exclude<MissingApproval["state"], "waiting">, readonly [reason: string, text: string]>
>;

/**
 * Rejects a request over a limit that policy allowed. A tool call that expects a response gets one, which models read
 * and clients handle; everything else gets 429.
 *
 * @param readsBody false for clients that read only the status
 */
export function limitAnswer(
  message: McpMessage | undefined,
  { limit, retryAfterMs, seconds }: { readonly limit: string; readonly retryAfterMs: number; readonly seconds: number },
  requestId: string,
  readsBody = true,
): WireAnswer {
  const isToolCall = message?.kind === "request" && message.facts.method === "tools/call";
  const what = isToolCall ? "Tool call" : "Request";
  const error = {
    code: RATE_LIMITED_CODE,
    message: `${what} refused: limit "${limit}" is used up, try again in ${seconds} s (request ID ${requestId})`,
    data: { reason: "rate-limited", limit, retry_after_ms: Math.ceil(retryAfterMs), request_id: requestId },
  };
  const id = message?.kind === "request" ? message.id : undefined;
  return { status: isToolCall && readsBody ? 200 : 429, headers: JSON_ANSWER, body: errorBody(id, error) };
}

/**
 * For a request whose access ended after it was accepted: a request that expects a response gets one inside a 200,
 * which no client retries automatically.
 *
 * @param wasSent the request reached the server
 * @param readsBody false for clients that read only the status
 */
export function endedAnswer(
  message: McpMessage | undefined,
  requestId: string,
  wasSent: boolean,
  readsBody = true,
): WireAnswer {
  const isRequest = message?.kind === "request";
  const what = isRequest && message.facts.method === "tools/call" ? "Tool call" : "Request";
  const outcome = wasSent
    ? "It may have been carried out: check that before you repeat it"
    : "It was not sent to the server";
  const text = `${what} ended: your access ended while it was in progress. ${outcome} (request ID ${requestId})`;
  const data = { reason: "access-ended", may_have_run: wasSent, request_id: requestId };
  const isAnswer = isRequest && readsBody;
  const body = errorBody(isAnswer ? message.id : undefined, { code: ACCESS_DENIED_CODE, message: text, data });
  return { status: isAnswer ? 200 : 403, headers: JSON_ANSWER, body };
}

/** A call whose token lacks a scope: 403, since clients look for the challenge in its head. */
export function missingScopeAnswer(needed: readonly string[], requestId: string): WireAnswer {
  const message = `Tool call denied: its access token lacks a scope that the tool needs (request ID ${requestId})`;
  const data = { reason: "insufficient-scope", scopes: needed, request_id: requestId };
  return { status: 403, headers: JSON_ANSWER, body: errorBody(undefined, { code: ACCESS_DENIED_CODE, message, data }) };
}

/** The servers' response for an unknown task: guessing an ID reveals nothing. */
export function unknownTaskAnswer(message: McpMessage | undefined, requestId: string): WireAnswer {
  const { id, isModern, facts } = message ?? {};
  // Revision 2026-07-28 removed this method for all tasks; an upstream that still has it gets no request.
  const isRemoved = isModern === true && facts?.method === "tasks/result";
  const error = {
    code: isRemoved ? -32601 : -32602,
    message: isRemoved ? "Method not found" : "Task not found",
    data: { reason: "mcp-task-unknown", request_id: requestId },
  };
  return { status: id === undefined ? 400 : 200, headers: JSON_ANSWER, body: errorBody(id, error) };
}

/** SEP-2663: the response that a server MUST send to `tasks/*` of a client that did not declare the extension. */
export function undeclaredTasksAnswer(id: string | undefined, requestId: string): WireAnswer {
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION_NAME]: {} } };
  const data = { requiredCapabilities, reason: "mcp-task-undeclared", request_id: requestId };
  const error = { code: MISSING_CAPABILITY, message: "Missing required client capability", data };
  return { status: 400, headers: JSON_ANSWER, body: errorBody(id, error) };
}

/**
 * Servers that cannot separate the tasks of their callers must not list them (MCP 2025-11-25, Tasks, Security); none
 * can here.
 */
export function noTaskListAnswer(id: string | undefined, requestId: string): WireAnswer {
  const data = { reason: "mcp-task-list-not-served", request_id: requestId };
  const error = { code: -32601, message: "Method not found: tasks are not listed here", data };
  return { status: id === undefined ? 400 : 200, headers: JSON_ANSWER, body: errorBody(id, error) };
}

/** @param id JSON text; without one the member is omitted, as MCP requires for errors that respond to no request */
/** @param id JSON text of the request's ID */
export function errorBody(id: string | undefined, error: object): string {
  return `{"jsonrpc":"2.0",${id === undefined ? "" : `"id":${id},`}"error":${JSON.stringify(error)}}`;
}
