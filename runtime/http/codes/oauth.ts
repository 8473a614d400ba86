/** Codes of the authorization server's pages: what a person sees who comes from an application. */
import type { CodeEntry } from "./entry.ts";

const BEGIN_AGAIN = "Begin again from the application";
const AS_TOKEN_ENDPOINT = "Correct the application; `authorization request rejected` in the log says what";

export const OAUTH_PAGE_CODES = {
  invalid_request: {
    status: 400,
    means: "The application's request to sign in is incomplete, or its redirect URI is not registered",
    remedy: AS_TOKEN_ENDPOINT,
  },
  invalid_client: {
    status: 400,
    means: "The application is not known here (any more), or its client ID is no valid address",
    remedy: "Remove the server from the application and add it again",
  },
  invalid_target: {
    status: 400,
    means: "`resource` is no MCP server of this host",
    remedy: "Correct the server's address in the application",
  },
  unauthorized_client: {
    status: 400,
    means: "The application did not register for this kind of sign-in",
    remedy: AS_TOKEN_ENDPOINT,
  },
  unsupported_response_type: { status: 400, means: "`response_type` is not `code`", remedy: AS_TOKEN_ENDPOINT },
  interaction_required: {
    status: 400,
    means: "The application forbids asking the person (`prompt=none`)",
    remedy: AS_TOKEN_ENDPOINT,
  },
  request_not_supported: { status: 400, means: "Signed requests are not supported", remedy: AS_TOKEN_ENDPOINT },
  request_uri_not_supported: {
    status: 400,
    means: "Requests by reference are not supported",
    remedy: AS_TOKEN_ENDPOINT,
  },
  client_id_domain_not_allowed: {
    status: 403,
    means: "The domain of the application's client ID is not in `mcp_allowed_client_id_domains`",
    remedy: "Add it; [MCP clients](../guide/mcp-clients.md) lists those of common clients",
  },
  client_id_documents_unsupported: {
    status: 400,
    means: "This gateway has no way to read client ID documents",
    remedy: "Let the application register itself",
  },
  client_id_document_invalid: {
    status: 400,
    means: "The document behind the client ID cannot be accepted",
    remedy: "The log says what is wrong with it; tell the application's maker",
  },
  temporarily_unavailable: {
    status: 503,
    means: "The store cannot be reached, or the document behind the client ID cannot be fetched now",
    remedy: "Ask `/readyz`; allow egress to the client's domain (`gateway doctor URL` shows which)",
  },
  too_many_requests: {
    status: 429,
    means: "Many long requests to sign in wait from one address",
    remedy: "Wait a minute; behind a proxy set `xff_num_trusted_hops`, or everybody has its address",
  },
  authorization_request_over: {
    status: 400,
    means: "The request to sign in was answered already, is older than ten minutes, or its application changed",
    remedy: BEGIN_AGAIN,
  },
  foreign_form: { status: 403, means: "The form was not sent from the gateway's own page", remedy: BEGIN_AGAIN },
  not_found: {
    status: 404,
    means: "An address of the authorization server, on a host without MCP server route",
    remedy: "Look at the address in the client, and at `runtime_flags`",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
