/** Error codes outside of http/codes.ts: cause and fix of each. */
import type { RefusalReason } from "../../mcp/refusals.ts";
import type { OAuthErrorCode } from "../../oauth/server/answer.ts";
import { HISTORY_REASONS, type HistoryReason } from "../../policy/words/history-reasons.ts";

/** Fixes for rejected messages; status and text are in mcp/refusals.ts. */
export const MCP_REMEDIES: Readonly<Record<RefusalReason, string>> = {
  "mcp-media-type": "Fix the client",
  "mcp-content-encoding": "Send messages uncompressed",
  "mcp-body-too-large": "Raise `mcp.server.max_request_bytes` of the route",
  "mcp-body-incomplete": "Check the network between client and gateway",
  "mcp-overloaded": "See [Overload](../operations/capacity.md#overload)",
  "mcp-unexpected-body": "Fix the client",
  "mcp-http-method": "Fix the client, or its address: this address serves only MCP",
  "mcp-not-utf8": "Fix the client",
  "mcp-malformed-json": "Fix the client",
  "mcp-duplicate-key": "Fix the client",
  "mcp-too-deep": "Fix the client",
  "mcp-too-many-members": "Split the message into smaller ones",
  "mcp-batch": "Update the client: MCP 2025-06-18 removed batches",
  "mcp-look-alike-key": "Fix the client; servers may read such a key as the defined one",
  "mcp-invalid-message": "Fix the client",
  "mcp-invalid-tool-call": "Fix the client",
  "mcp-unclear-tool-name":
    "Name the tool exactly in a rule, use `is`, `in` or `not_in` instead of parts of names, or rename it at the server with letters, digits, `_`, `-`, `.`",
  "mcp-request-state-unknown":
    "Call again: the state belongs to another user, client or route, or `shared_secret` changed",
  "mcp-header-mismatch": "Check the proxy in front of the gateway, or the client",
  "http-path-ambiguous": "Send the path without needless encoding",
};

/** Fixes for denials by history rules. */
const HISTORY_REMEDIES: Readonly<Record<HistoryReason, string>> = {
  "history-after": "Make the earlier call first, with the same value of `same_argument`",
  "history-not-after": "None: the window has to end; or set `unless_approved`",
  "history-at-most": "None: the window has to end; or raise `count`",
  "history-total": "Use a lower amount, or wait for the end of the window; or raise `limit`",
  "history-argument-unknown":
    "Fix the call: send the argument once, `total` as a number from 0 with at most 6 decimals",
  "history-unknown": "Check the store with `/readyz`",
};

/** Denials and lost sessions: `data.reason` of JSON-RPC errors, in addition to the table above. */
export const MCP_DENIALS: readonly (readonly [reason: string, answer: string, cause: string, fix: string])[] = [
  [
    "access-denied",
    "200 to a tool call, else 403; −31403",
    "Policy denies the request",
    "Read `allow-why-false` of the record; try `gateway explain`",
  ],
  [
    "mcp-tool-unauthorized",
    "200 to a tool call, else 403; −31403",
    "Policy denies this tool",
    "Try `gateway explain` with `--tool`",
  ],
  [
    "tool-changed",
    "200 to a tool call, else 403; −31403",
    "This tool, prompt or resource template differs from the lock",
    "Run `gateway tools diff`; see [Tool lock](../guide/tool-lock.md)",
  ],
  [
    "tool-not-reviewed",
    "200 to a tool call, else 403; −31403",
    "The lock has no such tool, prompt or resource template",
    "Run `gateway tools diff`; see [Tool lock](../guide/tool-lock.md)",
  ],
  [
    "tool-not-listed",
    "200 to a tool call, else 403; −31403",
    "`on_unlisted: deny`, and no list has shown this item since the lock exists",
    "Let the client list them and repeat the call",
  ],
  [
    "guardrail-denied",
    "200 to a tool call, else 403; −31403",
    "The route's guardrail denied the call or its result; the message has its reason",
    "Change the call; see [Guardrails](../guide/guardrails.md)",
  ],
  [
    "guardrail-failed",
    "200 to a tool call, else 403; −31403",
    "The route's guardrail gave no verdict in time, or one that cannot be followed",
    "Check the service; see [Guardrails](../guide/guardrails.md#troubleshoot)",
  ],
  ...Object.entries(HISTORY_REASONS).map(
    ([reason, cause]) =>
      [
        reason,
        "200 to a tool call, else 403; −31403",
        `A rule of \`history_rules\`, named in the message: ${cause}`,
        HISTORY_REMEDIES[reason as HistoryReason],
      ] as const,
  ),
  [
    "insufficient-scope",
    "403; −31403",
    "Policy allows the call, but the client's token lacks a scope of `tool_scopes`",
    "None: clients ask their user. Reconnect a client that cannot",
  ],
  [
    "device-unauthenticated",
    "200 to a tool call, else 450; −31403",
    "Policy requires a device, which MCP clients cannot verify",
    "Give MCP clients a route without `device`",
  ],
  [
    "blocked",
    "200 to a tool call, else 403; −31403",
    "An administrator blocked the user, client, grant, route or tool",
    "List blocks with `gateway blocks`",
  ],
  [
    "rate-limited",
    "200 to a tool call, else 429; −31429",
    "The request exceeds a limit of the route, named in `data.limit`",
    "See [Rate limits](../guide/rate-limits.md)",
  ],
  [
    "approval-required",
    "200 to a tool call, else 403; −31403",
    "The call is pending approval at `approval_url`. Clients that can ask their user get `input_required` instead",
    "None: its user, or one of `approvers`, decides, and the client repeats the call",
  ],
  [
    "approval-refused",
    "200 to a tool call, else 403; −31403",
    "The approver rejected it within the last 10 minutes",
    "None",
  ],
  [
    "approval-used",
    "200 to a tool call, else 403; −31403",
    "A simultaneous identical call used the approval",
    "None: the client repeats the call and asks again",
  ],
  [
    "approval-nobody",
    "200 to a tool call, else 403; −31403",
    "A service account or workload cannot confirm its own call",
    "Add `approvers` to the rule, or exempt service accounts",
  ],
  [
    "approval-too-many",
    "200 to a tool call, else 403; −31403",
    "16 calls of the user are pending, or 8 of one client, or too many in all",
    "Ask the user to decide them at `/.gateway/`",
  ],
  [
    "approval-too-long",
    "200 to a tool call, else 403; −31403",
    "The arguments exceed 16,384 characters",
    "Exempt the tool from approval, or shorten the arguments",
  ],
  [
    "approval-unavailable",
    "200 to a tool call, else 403; −31403",
    "Approvals cannot be read",
    "Check the store with `/readyz`",
  ],
  [
    "mcp-session-unknown",
    "404; −32001",
    "The session belongs to another user or client, or cannot be read",
    "None: clients start again; restart one that does not",
  ],
  [
    "mcp-task-unknown",
    "200; −32602",
    "The task belongs to another user or client, its tool is now denied, or the ID is invalid",
    "None: repeat the call",
  ],
  [
    "mcp-task-undeclared",
    "400; −32021",
    "A client of revision 2026-07-28 queries a task without declaring the tasks extension",
    "Declare `io.modelcontextprotocol/tasks` in the client's capabilities",
  ],
  [
    "mcp-task-list-not-served",
    "200; −32601",
    "Lists of tasks are not served: their owners are unknown",
    "None: the client keeps the IDs of its own tasks",
  ],
  ["mcp-message-address-unknown", "404; −32001", "The client's event stream has ended", "None: clients reopen it"],
];

/** Errors of token, revocation and registration endpoints, and those that travel back to a client's redirect URI. */
export const OAUTH_CODES: Readonly<Record<OAuthErrorCode, readonly [status: string, cause: string, fix: string]>> = {
  invalid_request: ["400", "A parameter is missing, duplicate or invalid", "Read `error_description`, which names it"],
  invalid_client: [
    "401; 400 for an assertion without a client",
    "Unknown client, wrong secret or assertion, or invalid document",
    "Register the client again; `token request rejected` in the log has the reason",
  ],
  invalid_grant: [
    "400",
    "Code or refresh token used, expired, revoked or of another client; or an assertion was rejected",
    "Ask the user to sign in again. If it repeats, fix the client: it uses refresh tokens twice. For assertions see `token request rejected` in the log",
  ],
  invalid_target: ["400", "`resource` is not an MCP server here, or was not granted", "Fix the address in the client"],
  invalid_scope: ["400", "`scope` with an assertion contains no known scope", "Fix the client"],
  invalid_dpop_proof: [
    "400",
    "The DPoP proof is missing, invalid, or of another key than the refresh token's",
    "Check the client's clock; `token request rejected` in the log has the reason",
  ],
  use_dpop_nonce: [
    "400",
    "The DPoP proof lacks a current nonce",
    "None: clients repeat it with the nonce of the response",
  ],
  unauthorized_client: ["400", "The client did not register for this grant type", "Register it again"],
  unsupported_grant_type: ["400", "`grant_type` is not supported", "Fix the client"],
  unsupported_token_type: ["400", "Workload tokens cannot be revoked by their holder", "None: they expire"],
  unsupported_response_type: ["redirect", "`response_type` is not `code`", "Fix the client"],
  access_denied: [
    "redirect, 400; 403 on registration",
    "The user declined, a block is active, or registration is off",
    "Check `gateway blocks` and `mcp_dynamic_registration`",
  ],
  server_error: ["500", "A bug", "Report it"],
  temporarily_unavailable: [
    "503, 429",
    "Store or identity provider unavailable; 429: too many requests from one address",
    "Check `/readyz`; behind a proxy set `xff_num_trusted_hops`",
  ],
  invalid_redirect_uri: ["400", "A redirect URI is not allowed", "Check `mcp_allowed_private_redirect_uris`"],
  invalid_client_metadata: ["400", "The registration is invalid or requests something unsupported", "Fix the client"],
  interaction_required: ["redirect", "The client forbids interaction (`prompt=none`)", "Fix the client"],
  request_not_supported: ["redirect", "Signed requests are not supported", "Fix the client"],
  request_uri_not_supported: ["redirect", "Requests by reference are not supported", "Fix the client"],
};

/** `error` of the admin listener; `message` has the details. */
export const ADMIN_CODES: Readonly<Record<string, readonly [statuses: readonly number[], cause: string, fix: string]>> =
  {
    absent: [[404], "No such slice, token or object", ""],
    body: [[400], "The body is invalid", "Read the message, which says what is expected"],
    certificate: [
      [403],
      "`admin_tls` has `client_ca_file`, and the client presents no certificate of it",
      "Configure a certificate in the client",
    ],
    changed: [[412], "Another publication came first", "Read the slice again; Terraform does so at the next plan"],
    claim: [[400], "`Gateway-Claim` is invalid", "Use 1 to 64 letters, digits, `_` or `-`"],
    claimed: [[409], "Another resource published the slice since; it stays", ""],
    expectation: [[417], "`Expect` is not `100-continue`", ""],
    generation: [[409], "The rollback is not possible", "Read the message, which has the details"],
    host: [[400, 421], "Unknown host name", "List it in `admin_hosts`"],
    "idempotency-key": [
      [400, 409, 422],
      "`Idempotency-Key` is missing, its request is in progress, or it was used for another request",
      "Use a new key per change, and the same key to repeat it",
    ],
    internal: [[500], "A bug", "Read `admin request failed` in the log, and report it"],
    invalid: [[422], "The slice is not valid; `problems` says where", "Fix it"],
    "media-type": [[415], "The body of a change is not JSON", "Send `Content-Type: application/json`"],
    method: [[405], "Method not allowed", ""],
    owner: [[403, 404], "The token is for another owner, or the owner's name is invalid", "Use the owner's token"],
    path: [[404], "No such address", ""],
    precondition: [[400, 428], "A write needs exactly one of `If-Match` and `If-None-Match`", ""],
    query: [
      [400],
      "`store` of `/readyz` is not `required`, or the admin API does not know the parameter or value",
      "Fix the address",
    ],
    store: [[503], "The store is unavailable", "Fix it and retry"],
    token: [[401, 403], "The token is missing, wrong, or lacks the right", "Check `admin_token`, `owners`"],
    "too-large": [[413], "The body is too large for a slice or request", "Split the slice between owners"],
    "too-many": [[429], "250 short-lived tokens are active", "Delete unused ones"],
  };
