/** Every reason to reject a message to an MCP server route, with its status, JSON-RPC code and text. */

export type RefusalReason = keyof typeof REFUSALS;

/** A rejected message. `text` goes to the client and is generic; `reason` goes into the authorization record. */
export interface McpRefusal {
  readonly ok: false;
  readonly reason: RefusalReason;
  readonly status: 400 | 405 | 413 | 415 | 503;
  /** JSON-RPC error code. */
  readonly code: number;
  readonly text: string;
  /** The request's ID as JSON text, if the message could be read up to it. */
  readonly id: string | undefined;
}

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;
const INVALID_PARAMS = -32602;
/** MCP 2026-07-28: a mirrored header differs from the body. */
const HEADER_MISMATCH = -32020;

const REFUSALS = {
  "mcp-media-type": { status: 415, code: INVALID_REQUEST, text: "Content-Type must be application/json in UTF-8" },
  "mcp-content-encoding": { status: 415, code: INVALID_REQUEST, text: "Content-Encoding is not accepted" },
  "mcp-body-too-large": { status: 413, code: INVALID_REQUEST, text: "The message is larger than this route accepts" },
  "mcp-body-incomplete": { status: 400, code: INVALID_REQUEST, text: "The message did not arrive completely" },
  "mcp-overloaded": { status: 503, code: INTERNAL_ERROR, text: "The gateway has no memory for the message; try again" },
  "mcp-unexpected-body": { status: 400, code: INVALID_REQUEST, text: "This HTTP method takes no body here" },
  "mcp-http-method": { status: 405, code: INVALID_REQUEST, text: "This HTTP method is not used by MCP" },
  "mcp-not-utf8": { status: 400, code: PARSE_ERROR, text: "The message is not valid UTF-8 without a byte order mark" },
  "mcp-malformed-json": { status: 400, code: PARSE_ERROR, text: "The message is not one valid JSON value" },
  "mcp-duplicate-key": { status: 400, code: PARSE_ERROR, text: "The message has a key twice in one object" },
  "mcp-too-deep": { status: 400, code: PARSE_ERROR, text: "The message is nested too deeply" },
  "mcp-too-many-members": { status: 400, code: PARSE_ERROR, text: "The message has too many members" },
  "mcp-batch": { status: 400, code: INVALID_REQUEST, text: "Batches are not accepted" },
  "mcp-look-alike-key": {
    status: 400,
    code: INVALID_REQUEST,
    text: "The message has a key that resembles a defined one",
  },
  "mcp-invalid-message": { status: 400, code: INVALID_REQUEST, text: "The message is not a valid JSON-RPC message" },
  "mcp-invalid-tool-call": { status: 400, code: INVALID_PARAMS, text: "tools/call must name a tool" },
  "mcp-unclear-tool-name": {
    status: 400,
    code: INVALID_PARAMS,
    text: "This tool cannot be called here: a server could read its name as another one that this gateway's rules treat differently. Name it exactly in a rule, or rename it at the server",
  },
  "mcp-request-state-unknown": {
    status: 400,
    code: INVALID_PARAMS,
    text: "requestState was not issued to this caller for this route",
  },
  "mcp-header-mismatch": { status: 400, code: HEADER_MISMATCH, text: "The MCP headers do not match the message" },
  "http-path-ambiguous": {
    status: 400,
    code: INVALID_REQUEST,
    text: "The path of this request has several readings, and policy decides them differently",
  },
} as const satisfies Readonly<Record<string, Pick<McpRefusal, "status" | "code" | "text">>>;

export const REFUSAL_REASONS = Object.keys(REFUSALS) as readonly RefusalReason[];

export function refusal(reason: RefusalReason, id?: string): McpRefusal {
  const { status, code, text } = REFUSALS[reason];
  return { ok: false, reason, status, code, text, id };
}

/**
 * Names the limit and its setting: a tool call with a file is often a user's first one, and the user rarely controls
 * the setting.
 *
 * @param maxBytes `mcp.server.max_request_bytes` of the route
 */
export function bodyTooLarge(maxBytes: number): McpRefusal {
  const text = `The message is longer than the ${maxBytes} bytes that this route accepts; its setting mcp.server.max_request_bytes allows more`;
  return { ...refusal("mcp-body-too-large"), text };
}
