/**
 * Calls whose client was asked for input for an approval (`input_required`, MCP 2026-07-28), and their retries.
 *
 * Untrusted input: the message, already valid JSON without repeated members. Promises: the gateway's part of a retry
 * never reaches the upstream; a client's response never approves anything, whatever it contains. Pure.
 */
import { canonicalJson, parseVerbatim } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import { CLIENT_CAPABILITIES } from "../members.ts";
import { isBesideArguments, type McpMessage } from "../message.ts";
import { isOwnState, OWN_STATE } from "./request-state.ts";

/** The gateway's one entry of `inputRequests`. */
export const APPROVAL_INPUT = "approval";

export interface Retry {
  readonly requestState: string;
  /** The user's reaction to the question, as reported by the client; undefined: the user was not asked. */
  readonly action: "accept" | "decline" | "cancel" | undefined;
}

/** @returns undefined unless the message is a retry of one of our calls */
export function readRetry(message: Pick<McpMessage, "bytes" | "argumentsSpan" | "plain">): Retry | undefined {
  // Nearly all calls are not retries, and are not parsed again.
  if (message.plain !== undefined || !isBesideArguments(message, OWN_STATE)) return undefined;
  const params = paramsOf(message.bytes);
  const requestState = params["requestState"];
  if (!isOwnState(requestState)) return undefined;
  const responses = params["inputResponses"];
  const response = isRecord(responses) && Object.hasOwn(responses, APPROVAL_INPUT) ? responses[APPROVAL_INPUT] : {};
  const action = isRecord(response) ? response["action"] : undefined;
  return {
    requestState,
    action: action === "accept" || action === "decline" || action === "cancel" ? action : undefined,
  };
}

/** The same message without the members of a retry; numbers stay as written. */
export function withoutRetry({ bytes }: Pick<McpMessage, "bytes">): Buffer {
  const message = parseVerbatim(bytes.toString("utf8"));
  if (!isRecord(message) || !isRecord(message["params"])) return bytes;
  const { requestState: _state, inputResponses: _responses, ...params } = message["params"];
  return Buffer.from(canonicalJson({ ...message, params }));
}

/**
 * How the client can ask its user a question, as declared with this message; undefined: not at all, or the message
 * answers a question of the upstream, whose state the client could not send together with ours.
 */
export function elicitationOf({ bytes, isModern }: Pick<McpMessage, "bytes" | "isModern">): "url" | "form" | undefined {
  if (!isModern) return undefined;
  const params = paramsOf(bytes);
  if (Object.hasOwn(params, "requestState") || Object.hasOwn(params, "inputResponses")) return undefined;
  const meta = params["_meta"];
  const capabilities = isRecord(meta) ? meta[CLIENT_CAPABILITIES] : undefined;
  const declared = isRecord(capabilities) ? capabilities["elicitation"] : undefined;
  if (!isRecord(declared)) return undefined;
  if (isRecord(declared["url"])) return "url";
  // Without modes it is the form, as in revisions with only one mode.
  return isRecord(declared["form"]) || Object.keys(declared).length === 0 ? "form" : undefined;
}

function paramsOf(bytes: Buffer): Readonly<Record<string, unknown>> {
  const message = JSON.parse(bytes.toString("utf8")) as unknown;
  return isRecord(message) && isRecord(message["params"]) ? message["params"] : {};
}
