/** The codes of errors that stand elsewhere than in http/codes.ts: what each means to an operator, and what to do. */
import type { RefusalReason } from "../../mcp/refusals.ts";
import type { OAuthErrorCode } from "../../oauth/server/answer.ts";

/** What an operator does about a message that is refused; status and text stand in mcp/refusals.ts. */
export const MCP_REMEDIES: Readonly<Record<RefusalReason, string>> = {
  "mcp-media-type": "Correct the client",
  "mcp-content-encoding": "Let the client send messages uncompressed",
  "mcp-body-too-large": "Raise `mcp.server.max_request_bytes` of the route",
  "mcp-body-incomplete": "Look at the network between client and gateway",
  "mcp-overloaded":
    "See [Overload](../operations/capacity.md#overload): all clients together, or this one, send more than the process can hold",
  "mcp-unexpected-body": "Correct the client",
  "mcp-http-method": "Correct the client, or its address: nothing but MCP is served here",
  "mcp-not-utf8": "Correct the client",
  "mcp-malformed-json": "Correct the client",
  "mcp-duplicate-key": "Correct the client",
  "mcp-too-deep": "Correct the client",
  "mcp-too-many-members": "Let the client send less in one message",
  "mcp-batch": "Update the client: MCP has no batches since 2025-06-18",
  "mcp-look-alike-key": "Correct the client; servers may read such a key as the defined one",
  "mcp-invalid-message": "Correct the client",
  "mcp-invalid-tool-call": "Correct the client",
  "mcp-unclear-tool-name":
    "Where rules name tools: name this one exactly in a rule, use `is`, `in` or `not_in` instead of parts of names, or let the server name it with letters, digits, `_`, `-`, `.` only",
  "mcp-request-state-unknown":
    "Another user, client or route was given it, or `shared_secret` is another one; the client calls anew",
  "mcp-header-mismatch": "Look at the proxy before the gateway, or at the client",
  "http-path-ambiguous": "Send the path without needless encoding",
};

/** Denials and lost sessions: `data.reason` of JSON-RPC errors, beside the table above. */
export const MCP_DENIALS: readonly (readonly [reason: string, answer: string, means: string, remedy: string])[] = [
  [
    "access-denied",
    "200 to a tool call, else 403; −31403",
    "Policy says no",
    "Read `allow-why-false` of the record; try `gateway explain`",
  ],
  [
    "mcp-tool-unauthorized",
    "200 to a tool call, else 403; −31403",
    "Policy does not let the user call this tool",
    "The same, with `--tool`",
  ],
  [
    "tool-changed",
    "200 to a tool call, else 403; −31403",
    "The server has changed this tool, prompt or resource template since it was reviewed",
    "`gateway tools diff`; see [Tool lock](../guide/tool-lock.md)",
  ],
  [
    "tool-not-reviewed",
    "200 to a tool call, else 403; −31403",
    "Nothing was reviewed under the name of this tool, prompt or resource template",
    "`gateway tools diff`; see [Tool lock](../guide/tool-lock.md)",
  ],
  [
    "tool-not-listed",
    "200 to a tool call, else 403; −31403",
    "`on_unlisted: deny`, and no list has shown this tool, prompt or resource template since the lock is there",
    "The client lists them and repeats the call",
  ],
  [
    "insufficient-scope",
    "403; −31403",
    "Policy allows the call, and the client's token lacks a scope of `tool_scopes`",
    "Nothing: clients ask their user; one that cannot is connected anew with these scopes",
  ],
  [
    "device-unauthenticated",
    "200 to a tool call, else 450; −31403",
    "Policy asks for a device, which MCP clients cannot prove",
    "Give MCP clients a route without `device`",
  ],
  [
    "blocked",
    "200 to a tool call, else 403; −31403",
    "An administrator has blocked user, client, grant, route or tool",
    "`gateway blocks`",
  ],
  [
    "rate-limited",
    "200 to a tool call, else 429; −31429",
    "Policy lets the request pass, and it is over a limit of the route, which `data.limit` names",
    "See [Rate limits](../guide/rate-limits.md)",
  ],
  [
    "approval-required",
    "200 to a tool call, else 403; −31403",
    "The call waits for an approval; `approval_url` is where it is given. Clients that can ask their user get `input_required` instead",
    "Nothing: its user, or somebody else of `approvers`, decides, and the client repeats the call",
  ],
  [
    "approval-refused",
    "200 to a tool call, else 403; −31403",
    "Who was asked refused, within the last 10 minutes",
    "Nothing",
  ],
  [
    "approval-used",
    "200 to a tool call, else 403; −31403",
    "The same call came several times at once, and one of them used the approval up",
    "Nothing: the client repeats the call, which asks anew",
  ],
  [
    "approval-nobody",
    "200 to a tool call, else 403; −31403",
    "A service account or workload cannot confirm its own call",
    "Give the rule `approvers`, or let it exempt machines",
  ],
  [
    "approval-too-many",
    "200 to a tool call, else 403; −31403",
    "16 calls of the user wait, or 8 by one client, or very many users ask at once",
    "The user decides about them on `/.gateway/`",
  ],
  [
    "approval-too-long",
    "200 to a tool call, else 403; −31403",
    "What the tool is given has more than 16384 characters, which nobody could read",
    "Exempt the tool, or let the client send less",
  ],
  [
    "approval-unavailable",
    "200 to a tool call, else 403; −31403",
    "Approvals cannot be looked up now",
    "Ask `/readyz`: the store cannot be reached",
  ],
  [
    "mcp-session-unknown",
    "404; −32001",
    "The session belongs to another user or client, or cannot be read",
    "Nothing: clients begin anew; restart one that does not",
  ],
  [
    "mcp-task-unknown",
    "200; −32602",
    "The task belongs to another user or client, its tool is denied by now, or the id cannot be read",
    "Nothing: the call can be made again",
  ],
  [
    "mcp-task-undeclared",
    "400; −32021",
    "A client of revision 2026-07-28 asks about a task and does not declare the tasks extension with the request",
    "Let the client declare `io.modelcontextprotocol/tasks` in its capabilities",
  ],
  [
    "mcp-task-list-not-served",
    "200; −32601",
    "The client asks for a list of tasks, of which nobody can tell whose they are",
    "Nothing: the client keeps the ids of its own tasks",
  ],
  [
    "mcp-message-address-unknown",
    "404; −32001",
    "The event stream of an old client has ended",
    "Nothing: clients open it anew",
  ],
];

/** Errors of token, revocation and registration endpoints, and those that travel back to a client's redirect URI. */
export const OAUTH_CODES: Readonly<Record<OAuthErrorCode, readonly [status: string, means: string, remedy: string]>> = {
  invalid_request: ["400", "A parameter is missing, stands twice or cannot be read", "`error_description` names it"],
  invalid_client: [
    "401; 400 for an assertion without a client",
    "Client unknown, wrong secret or assertion, or its document cannot be accepted",
    "The client forgets its registration and makes a new one; `token request refused` in the log has the reason",
  ],
  invalid_grant: [
    "400",
    "Code or refresh token used, expired, revoked or of another client; or an issuer's assertion is not accepted",
    "The user signs in again. If it repeats for one client, it uses refresh tokens twice. For assertions `token request refused` in the log has the reason",
  ],
  invalid_target: ["400", "`resource` is no MCP server here, or was not granted", "Correct the address in the client"],
  invalid_scope: ["400", "`scope` beside an issuer's assertion has none that there is", "Correct the client"],
  unauthorized_client: ["400", "The client did not register for this grant type", "Register it anew"],
  unsupported_grant_type: ["400", "`grant_type` is none that the gateway has", "Correct the client"],
  unsupported_token_type: ["400", "Tokens of machines cannot be revoked by them", "They end by themselves"],
  unsupported_response_type: ["redirect", "`response_type` is not `code`", "Correct the client"],
  access_denied: [
    "redirect, 400; 403 on registration",
    "The person said no, a block is in force, or registration is off",
    "`gateway blocks`; `mcp_dynamic_registration`",
  ],
  server_error: ["500", "A bug", "Report it"],
  temporarily_unavailable: [
    "503, 429",
    "Store or identity provider cannot be reached; with 429 one address asks too often",
    "Ask `/readyz`; behind a proxy set `xff_num_trusted_hops`",
  ],
  invalid_redirect_uri: ["400", "A redirect URI may not be registered", "See `mcp_allowed_private_redirect_uris`"],
  invalid_client_metadata: [
    "400",
    "The registration cannot be read or asks for what there is not",
    "Correct the client",
  ],
  interaction_required: ["redirect", "The client forbids asking the person", "Correct the client"],
  request_not_supported: ["redirect", "Signed requests are not supported", "Correct the client"],
  request_uri_not_supported: ["redirect", "Requests by reference are not supported", "Correct the client"],
};

/** `error` of the admin listener; the message says the rest. */
export const ADMIN_CODES: Readonly<
  Record<string, readonly [statuses: readonly number[], means: string, remedy: string]>
> = {
  absent: [[404], "The owner has published nothing, the token has ended, or there is no such object", ""],
  body: [[400], "The body cannot be read", "The message says what is expected"],
  certificate: [[403], "`admin_tls` has `client_ca_file`, and the client shows no certificate of it", "Give it one"],
  changed: [[412], "Another publication came first", "Read the slice again; Terraform does so at the next plan"],
  claim: [[400], "`Gateway-Claim` cannot be read", "It has 1 to 64 letters, digits, `_` or `-`"],
  claimed: [[409], "Another resource has published the slice since; it is not removed", ""],
  expectation: [[417], "`Expect` has another value than `100-continue`", ""],
  generation: [[409], "A rollback cannot go where it should", "The message says what there is"],
  host: [[400, 421], "The name is none of the listener's", "List it in `admin_hosts`"],
  "idempotency-key": [
    [400, 409, 422],
    "A change of the admin API has no `Idempotency-Key`, the request with it is in progress, or it was used for another request",
    "Use a new key for each change, and the same key to repeat it",
  ],
  internal: [[500], "A bug", "Read `admin request failed` in the log, and report it"],
  invalid: [[422], "The slice is not valid; `problems` says where", "Correct it"],
  "media-type": [
    [415],
    "A change of the admin API has another body than JSON",
    "Send `Content-Type: application/json`",
  ],
  method: [[405], "The address does not take this method", ""],
  owner: [[403, 404], "The token is for another owner, or the name can be no owner's", "Use the owner's token"],
  path: [[404], "There is nothing at this address", ""],
  precondition: [[400, 428], "A write needs exactly one of `If-Match` and `If-None-Match`", ""],
  query: [
    [400],
    "`/readyz` has another `store` than `required`, or the admin API does not know the parameter or its value",
    "Correct the address",
  ],
  store: [[503], "The store cannot be reached", "Mend it, try again"],
  token: [[401, 403], "The token is missing, wrong, or may not do this", "Look at `admin_token`, `owners`"],
  "too-large": [
    [413],
    "The body is larger than a slice, or a request of the admin API, may be",
    "Split a slice into owners",
  ],
  "too-many": [[429], "250 tokens for minutes are in use", "End those that are not needed"],
};
