/** Error pages and log texts for clients that are not accepted. */
import type { RefusalPage } from "../answer.ts";
import type { ClientRefusal } from "./client.ts";

/** Exact reason for the log, including errors of DNS, TLS or the document. */
export function clientRefusalText(refusal: ClientRefusal): string {
  switch (refusal.reason) {
    case "unknown":
    case "documents-off":
      return refusal.reason;
    case "malformed-url":
      return `${refusal.reason}: ${refusal.detail}`;
    case "domain-not-allowed":
      return `${refusal.reason}: ${refusal.host}`;
    case "document-refused":
      return `${refusal.reason}: ${refusal.detail ?? refusal.description}`;
    case "document-unavailable":
      return refusal.detail === undefined ? refusal.reason : `${refusal.reason}: ${refusal.detail}`;
  }
  return refusal satisfies never;
}

/** Error page for a client that is not accepted. Shows the client id, so that the user can tell an administrator. */
export function clientRefusalPage(refusal: ClientRefusal, clientId: string): RefusalPage {
  const details = [["Client ID", clientId.length > 512 ? `${clientId.slice(0, 512)}…` : clientId]] as const;
  switch (refusal.reason) {
    case "domain-not-allowed":
      return {
        status: 403,
        code: "client_id_domain_not_allowed",
        title: "This application is not permitted",
        message:
          "Your administrator restricted the permitted MCP client ID document domains, and the domain of this application is not among them. " +
          "Ask your administrator to add it to mcp_allowed_client_id_domains, and mention the request ID below.",
        details: [...details, ["Client ID domain", refusal.host]],
      };
    case "documents-off":
      return {
        status: 400,
        code: "client_id_documents_unsupported",
        title: "This kind of client ID is not supported",
        message:
          "This gateway does not read client ID metadata documents. The application must register itself instead.",
        details,
      };
    case "document-refused":
      return {
        status: 400,
        code: "client_id_document_invalid",
        title: "This application cannot be identified",
        message: `${refusal.description}.`,
        details,
      };
    case "document-unavailable":
      return {
        status: 503,
        code: "temporarily_unavailable",
        title: "This application cannot be identified right now",
        message: "The document behind its client ID cannot be read at the moment. Please try again shortly.",
        details,
      };
    case "malformed-url":
      return {
        status: 400,
        code: "invalid_client",
        title: "This application cannot be identified",
        message: "Its client ID is not a valid document address.",
        details,
      };
    case "unknown":
      return {
        status: 400,
        code: "invalid_client",
        title: "Unknown application",
        message:
          "This application is not registered here, or its registration ended. Remove the server from the application and add it again.",
        details,
      };
  }
  return refusal satisfies never;
}
