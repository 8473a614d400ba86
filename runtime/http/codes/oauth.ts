/** Codes of the authorization server's pages, for users who come from an application. */
import type { CodeEntry } from "./entry.ts";

const BEGIN_AGAIN = "Start again from the application";
const AS_TOKEN_ENDPOINT = "Fix the application. The cause is in `authorization request rejected` in the log";

export const OAUTH_PAGE_CODES = {
  invalid_request: {
    status: 400,
    cause: "The application's authorization request is incomplete, or its redirect URI is not registered",
    fix: AS_TOKEN_ENDPOINT,
  },
  invalid_client: {
    status: 400,
    cause: "The application is unknown or no longer known, or its client ID is not a valid URL",
    fix: "Remove the server from the application and add it again",
  },
  invalid_target: {
    status: 400,
    cause: "`resource` is not an MCP server of this host",
    fix: "Fix the server's address in the application",
  },
  unauthorized_client: {
    status: 400,
    cause: "The application did not register for this kind of authorization request",
    fix: AS_TOKEN_ENDPOINT,
  },
  unsupported_response_type: { status: 400, cause: "`response_type` is not `code`", fix: AS_TOKEN_ENDPOINT },
  interaction_required: {
    status: 400,
    cause: "The application forbids a prompt (`prompt=none`), and the user must be asked",
    fix: AS_TOKEN_ENDPOINT,
  },
  request_not_supported: { status: 400, cause: "Signed requests are not supported", fix: AS_TOKEN_ENDPOINT },
  request_uri_not_supported: {
    status: 400,
    cause: "Requests by reference are not supported",
    fix: AS_TOKEN_ENDPOINT,
  },
  client_id_domain_not_allowed: {
    status: 403,
    cause: "The domain of the application's client ID is not in `mcp_allowed_client_id_domains`",
    fix: "Add it; [MCP clients](../guide/mcp-clients.md) lists those of common clients",
  },
  client_id_documents_unsupported: {
    status: 400,
    cause: "This gateway cannot read client ID documents",
    fix: "Register the application dynamically",
  },
  client_id_document_invalid: {
    status: 400,
    cause: "The application's client ID document is invalid",
    fix: "Find the problem in the log, and report it to the application's developer",
  },
  temporarily_unavailable: {
    status: 503,
    cause: "The store is unavailable, or the application's client ID document cannot be fetched now",
    fix: "Check `/readyz`. Allow egress to the client's domain (`gateway doctor URL` shows which)",
  },
  too_many_requests: {
    status: 429,
    cause: "Too many large authorization requests are pending from one address",
    fix: "Wait a minute. Behind a proxy set `xff_num_trusted_hops`: otherwise all users share its address",
  },
  authorization_request_over: {
    status: 400,
    cause: "The authorization request was already answered, is older than 10 minutes, or its application changed",
    fix: BEGIN_AGAIN,
  },
  foreign_form: { status: 403, cause: "The form did not come from the gateway's own page", fix: BEGIN_AGAIN },
  not_found: {
    status: 404,
    cause: "An address of the authorization server, on a host without an MCP server route",
    fix: "Check the address in the client, and `runtime_flags`",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
