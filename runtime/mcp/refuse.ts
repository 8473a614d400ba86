/**
 * Refusals and denials on an MCP server route → what goes over the wire. Texts are generic; the exact reason is in the record.
 *
 * @see DECISIONS.md D11: clients take a JSON-RPC error inside a 200 for what it is, and many break on any other status
 */
import { BLOCKED, isBlocked } from "../policy/blocks.ts";
import { DEVICE_UNAUTHENTICATED, PATH_AMBIGUOUS } from "../policy/criteria.ts";
import { isAmbiguous } from "../policy/evaluate.ts";
import type { Decision } from "../policy/facts.ts";
import type { McpMessage } from "./message.ts";
import { refusal, type McpRefusal } from "./refusals.ts";

/** A whole answer; the proxy adds CORS headers and the request id header. */
export interface WireAnswer {
  readonly status: number;
  /** name, value, … */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Outside −32768…−32000, which JSON-RPC and MCP keep for themselves. */
export const ACCESS_DENIED_CODE = -31403;

const HEADERS: readonly string[] = ["content-type", "application/json", "cache-control", "no-store"];
const TOOL_UNAUTHORIZED = "mcp-tool-unauthorized";

/** 400, 405, 413 or 415 with a JSON-RPC error; with the request's id when it could be read. */
export function refusalAnswer(refused: McpRefusal, requestId: string): WireAnswer {
  const { status, code, text, reason, id } = refused;
  const headers = status === 405 ? [...HEADERS, "allow", "GET, POST, DELETE, OPTIONS"] : HEADERS;
  const error = { code, message: text, data: { reason, request_id: requestId } };
  return { status, headers, body: errorBody(id, error) };
}

/**
 * A denial by policy: 400 where the path has several readings that are not decided alike; else a tool call that expects an
 * answer gets one, with its own id; everything else gets 403, or 450 where a device is asked for. Never 401: signing in again would not help, and clients would try it in a loop.
 *
 * @param message absent for requests without a body
 * @param readsBody false for clients that read the status alone: a denied call is 403 then
 */
export function denialAnswer(
  message: McpMessage | undefined,
  decision: Decision,
  requestId: string,
  readsBody = true,
): WireAnswer {
  if (isAmbiguous(decision)) return refusalAnswer(refusal(PATH_AMBIGUOUS, message?.id), requestId);
  const isToolCall = message?.kind === "request" && message.facts.method === "tools/call";
  const isByTool = decision.allowWhyFalse.includes(TOOL_UNAUTHORIZED);
  const isByDevice = !decision.denied && decision.allowWhyFalse.includes(DEVICE_UNAUTHENTICATED);
  const isByBlock = isBlocked(decision);
  const byPolicy = isByDevice ? DEVICE_UNAUTHENTICATED : isByTool ? TOOL_UNAUTHORIZED : "access-denied";
  const reason = isByBlock ? BLOCKED : byPolicy;
  const why = isByBlock
    ? "an administrator: it is blocked at the moment"
    : isByDevice
      ? "policy: it asks for a registered device, which MCP clients cannot prove"
      : "policy";
  const error = {
    code: ACCESS_DENIED_CODE,
    message: `${isToolCall ? "Tool call" : "Request"} denied by ${why} (request id ${requestId})`,
    data: { reason, request_id: requestId },
  };
  return isToolCall && readsBody
    ? { status: 200, headers: HEADERS, body: errorBody(message.id, error) }
    : { status: isByDevice ? 450 : 403, headers: HEADERS, body: errorBody(undefined, error) };
}

/** @param id JSON text; without one the member is left out, as MCP has it for errors that answer no request */
function errorBody(id: string | undefined, error: object): string {
  return `{"jsonrpc":"2.0",${id === undefined ? "" : `"id":${id},`}"error":${JSON.stringify(error)}}`;
}
