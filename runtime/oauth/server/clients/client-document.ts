/**
 * Client ID metadata documents: the client id is the https URL of a document about the client. Pure rules, no fetching.
 *
 * Untrusted input: URL and document. Promise: ids are compared as plain text and never normalised. A document describes
 * only the client with its own URL.
 *
 * @see draft-ietf-oauth-client-id-metadata-document (−00, which MCP 2026-07-28 cites), §3 and §4
 */
import { refuse, type StepResult } from "../answer.ts";
import { parseClientMetadata, type MetadataRules } from "./client-metadata.ts";
import type { ClientMetadata } from "../grant-records.ts";
import { isRecord } from "../../../shared/is-record.ts";

export type ClientIdUrlProblem = "too-long" | "malformed" | "path" | "dot-segment" | "fragment" | "credentials";

const MAX_CLIENT_ID_CHARACTERS = 512;

/** Returns true for ids that name a document. Ids that we issue never start with https. */
export function isClientIdUrl(clientId: string): boolean {
  return clientId.startsWith("https://");
}

/** Returns the host of a client id URL, for the allowlist and the consent page, or the problem of the URL. */
export function parseClientIdUrl(
  clientId: string,
): { ok: true; host: string } | { ok: false; reason: ClientIdUrlProblem } {
  if (clientId.length > MAX_CLIENT_ID_CHARACTERS) return { ok: false, reason: "too-long" };
  // "MUST NOT contain a fragment component"
  if (clientId.includes("#")) return { ok: false, reason: "fragment" };
  if (!/^https:\/\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/.test(clientId) || !URL.canParse(clientId)) {
    return { ok: false, reason: "malformed" };
  }
  const [authority = "", ...segments] = (clientId.slice("https://".length).split("?")[0] ?? "").split("/");
  // "MUST NOT contain a username or password component"
  if (authority === "" || authority.includes("@")) return { ok: false, reason: "credentials" };
  // "MUST contain a path component"
  if (segments.length === 0 || (segments.length === 1 && segments[0] === "")) return { ok: false, reason: "path" };
  // "MUST NOT contain single-dot or double-dot path segments". URL parsers treat their encoded forms alike.
  if (segments.some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) return { ok: false, reason: "dot-segment" };
  return { ok: true, host: new URL(clientId).hostname };
}

/** Parses the metadata in a document about the client with this id. */
export function parseClientDocument(
  clientId: string,
  document: unknown,
  rules: MetadataRules,
): StepResult<ClientMetadata> {
  if (!isRecord(document)) return refuse("invalid_client", "The client ID metadata document must be a JSON object");
  // "The client_id value MUST match the URL of the document using simple string comparison"
  if (document["client_id"] !== clientId)
    return refuse("invalid_client", "The document's client_id must equal its URL");
  // MCP authorization: MUST include at least client_id, client_name and redirect_uris.
  if (typeof document["client_name"] !== "string")
    return refuse("invalid_client", "The document must state a client_name");
  // "MUST NOT include … client_secret, client_secret_expires_at": a public document cannot contain a secret.
  if ("client_secret" in document || "client_secret_expires_at" in document) {
    return refuse("invalid_client", "The document must not contain a client_secret");
  }
  const method = authMethodOf(document);
  if (method === undefined) {
    return refuse("invalid_client", "The document must allow token_endpoint_auth_method none or private_key_jwt");
  }
  return parseClientMetadata(
    { ...document, token_endpoint_auth_method: method },
    { ...rules, defaultAuthMethod: "none" },
  );
}

/**
 * Returns `none`, also if a document prefers to sign but supports `none`: a signature is verified if the client sends
 * one. Returns `private_key_jwt` if it always signs.
 *
 * @returns undefined if it supports only unknown methods, or shared secrets, which are forbidden
 */
function authMethodOf(members: Readonly<Record<string, unknown>>): "none" | "private_key_jwt" | undefined {
  const preferred = members["token_endpoint_auth_method"] ?? "none";
  if (preferred === "none") return "none";
  if (typeof preferred !== "string" || preferred.startsWith("client_secret_")) return undefined;
  const listed = members["token_endpoint_auth_methods_supported"];
  if (Array.isArray(listed) && listed.includes("none")) return "none";
  return preferred === "private_key_jwt" ? preferred : undefined;
}
