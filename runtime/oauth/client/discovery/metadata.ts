/**
 * Metadata of protected resources and authorization servers: their URLs and validation.
 *
 * Untrusted input: the documents. Promise: accepted metadata has the right owner (`issuer`, `resource`), network URLs
 * as endpoints, and PKCE with S256.
 */
import { isRecord, type Members } from "../../../shared/is-record.ts";
import { trimSlash } from "../../../shared/http/trim-slash.ts";
import type { ServerReference } from "../connection-records.ts";

export const AUTHORIZATION_CODE = "authorization_code";

/** The used metadata of an authorization server. */
export interface AuthorizationServer {
  /** From the metadata; undefined for configured endpoints. */
  readonly issuer: string | undefined;
  /** "" if only grants without a browser are needed and the server has none. */
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint?: string;
  readonly revocationEndpoint?: string;
  readonly scopes: readonly string[];
  /** undefined if the metadata has none: then `client_secret_basic` (RFC 8414 §2). */
  readonly tokenAuthMethods: readonly string[] | undefined;
  /** The server always sends `iss` in its responses (RFC 9207 §3). */
  readonly sendsIssuer: boolean;
  /** The server supports client ID metadata documents. */
  readonly readsClientDocuments: boolean;
}

export interface ProtectedResource {
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
}

export type MetadataReading<T> =
  | { readonly ok: true; readonly value: T }
  /** `detail` is for the log and administrators: the invalid content, without secrets. */
  | { readonly ok: false; readonly detail: string };

/** In the order of RFC 9728 §3.1, as MCP specifies: first with the path, then at the root. */
export function resourceMetadataUrls(url: string): readonly string[] {
  const { origin, pathname } = new URL(url);
  const path = trimSlash(pathname);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return path === "" ? [root] : [root + path, root];
}

/** In the order of MCP authorization, "Authorization Server Metadata Discovery". */
export function serverMetadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = trimSlash(pathname);
  const oauth = `${origin}/.well-known/oauth-authorization-server`;
  const openid = `${origin}/.well-known/openid-configuration`;
  if (path === "") return [oauth, openid];
  return [oauth + path, openid + path, `${origin}${path}/.well-known/openid-configuration`];
}

/**
 * Returns true if a document has a member of protected resource metadata. Applications respond to every path with JSON
 * of their own ("not found", a JSON-RPC error): such a document is skipped, while invalid metadata must be reported.
 */
export function saysResource(document: unknown): boolean {
  return hasSome(document, ["resource", "authorization_servers"]);
}

/** Likewise for authorization server metadata. */
export function saysServer(document: unknown): boolean {
  return hasSome(document, ["issuer", "authorization_endpoint", "token_endpoint"]);
}

function hasSome(document: unknown, members: readonly string[]): boolean {
  return isRecord(document) && members.some((name) => document[name] !== undefined);
}

/** @param upstreamUrl upstream that the metadata must describe */
export function parseProtectedResource(document: unknown, upstreamUrl: string): MetadataReading<ProtectedResource> {
  if (!isRecord(document)) return bad("the protected resource metadata is not a JSON object");
  const { resource } = document;
  if (typeof resource !== "string") return bad("the protected resource metadata names no resource");
  // RFC 9728 §3.3: metadata about another resource MUST NOT be used.
  if (!coversUpstream(resource, upstreamUrl)) {
    return bad(`the protected resource metadata is about ${quote(resource)}, not about ${quote(upstreamUrl)}`);
  }
  const authorizationServers = textList(document, "authorization_servers");
  if (authorizationServers.length === 0) return bad("the protected resource metadata names no authorization server");
  return { ok: true, value: { resource, authorizationServers, scopes: textList(document, "scopes_supported") } };
}

/** Returns true if the resource is the upstream or a prefix of its path in whole segments, at the same origin. */
function coversUpstream(resource: string, upstreamUrl: string): boolean {
  if (!URL.canParse(resource) || resource.includes("#")) return false;
  const named = new URL(resource);
  const upstream = new URL(upstreamUrl);
  const path = trimSlash(named.pathname);
  return (
    named.origin === upstream.origin &&
    named.username === "" &&
    (upstream.pathname === path || `${trimSlash(upstream.pathname)}/`.startsWith(`${path}/`))
  );
}

/**
 * @param development allows http endpoints
 * @param grantType grant that the server must support; codes also need an authorization endpoint and PKCE
 * @param isNamed the operator has configured this issuer for the route
 */
export function parseServerMetadata(
  document: unknown,
  issuer: string,
  development: boolean,
  grantType = AUTHORIZATION_CODE,
  isNamed = false,
): MetadataReading<AuthorizationServer> {
  if (!isRecord(document)) return bad("the authorization server metadata is not a JSON object");
  // RFC 8414 §3.3: the issuer MUST be identical to the one requested, or the data MUST NOT be used.
  const stated = document["issuer"];
  if (typeof stated !== "string" || !isSameIssuer(stated, issuer)) {
    return bad(`the metadata of ${quote(issuer)} is of issuer ${quote(String(stated))}`);
  }
  const endpoint = (name: string): MetadataReading<string | undefined> => {
    const value = document[name];
    if (value === undefined) return { ok: true, value: undefined };
    if (typeof value === "string" && isEndpoint(value, development)) return { ok: true, value };
    return bad(`the "${name}" of ${quote(issuer)} is not an https URL`);
  };
  const authorization = endpoint("authorization_endpoint");
  const token = endpoint("token_endpoint");
  const registration = endpoint("registration_endpoint");
  const revocation = endpoint("revocation_endpoint");
  for (const each of [authorization, token, registration, revocation]) if (!each.ok) return each;
  const isCode = grantType === AUTHORIZATION_CODE;
  if (!authorization.ok || !token.ok || token.value === undefined || (isCode && authorization.value === undefined)) {
    return bad(`the metadata of ${quote(issuer)} lacks an authorization or token endpoint`);
  }
  // MCP authorization: clients MUST refuse to proceed where code_challenge_methods_supported is absent.
  if (isCode && !textList(document, "code_challenge_methods_supported").includes("S256")) {
    return bad(`the metadata of ${quote(issuer)} does not offer PKCE with S256`);
  }
  if (
    (isCode && !supports(document, "response_types_supported", "code")) ||
    !supports(document, "grant_types_supported", grantType)
  ) {
    const name = isCode ? "the authorization code grant" : `the grant ${quote(grantType)}`;
    return bad(`${quote(issuer)} does not offer ${name}`);
  }
  const sendsIssuer = document["authorization_response_iss_parameter_supported"] === true;
  if (isCode && !sendsIssuer && !isNamed) {
    for (const address of [authorization.value, token.value]) {
      if (address !== undefined && !isAtOrigin(address, issuer))
        return bad(originProblem(issuer, address, ', and does not promise "iss"'));
    }
  }
  const methods = document["token_endpoint_auth_methods_supported"];
  return {
    ok: true,
    value: {
      issuer: stated,
      authorizationEndpoint: authorization.value ?? "",
      tokenEndpoint: token.value,
      ...(registration.ok && registration.value !== undefined ? { registrationEndpoint: registration.value } : {}),
      ...(revocation.ok && revocation.value !== undefined ? { revocationEndpoint: revocation.value } : {}),
      scopes: textList(document, "scopes_supported"),
      tokenAuthMethods: Array.isArray(methods)
        ? textList(document, "token_endpoint_auth_methods_supported")
        : undefined,
      sendsIssuer,
      readsClientDocuments: document["client_id_metadata_document_supported"] === true,
    },
  };
}

/**
 * Returns true if an endpoint is at the issuer's origin. Metadata with another server's authorization endpoint and its
 * own token endpoint would get that server's codes (mix-up, RFC 9700 §4.4). A server that promises `iss` may use
 * several origins, because a code of another server is then rejected.
 */
export function isAtOrigin(address: string, issuer: string): boolean {
  return new URL(address).origin === new URL(issuer).origin;
}

/** @param without missing feature that would allow it */
export function originProblem(issuer: string, address: string, without = ""): string {
  const where = `${quote(issuer)} has an endpoint at another origin, ${quote(new URL(address).origin)}`;
  return `${where}${without}: set "authorization_server_url" if that is intended`;
}

/** Endpoints of MCP 2025-03-26 for servers without any metadata: fixed paths at the MCP server's origin. */
export function defaultServer(upstreamUrl: string): AuthorizationServer {
  const { origin } = new URL(upstreamUrl);
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    scopes: [],
    tokenAuthMethods: undefined,
    sendsIssuer: false,
    readsClientDocuments: false,
  };
}

/** Endpoints from the configuration. */
export function configuredServer(endpoint: {
  readonly authUrl: string;
  readonly tokenUrl: string;
}): AuthorizationServer {
  return {
    issuer: undefined,
    authorizationEndpoint: endpoint.authUrl,
    tokenEndpoint: endpoint.tokenUrl,
    scopes: [],
    tokenAuthMethods: undefined,
    sendsIssuer: false,
    readsClientDocuments: false,
  };
}

/** Stored facts about a server that issued a token. */
export function referenceOf(server: AuthorizationServer): ServerReference {
  return {
    ...(server.issuer === undefined ? {} : { issuer: server.issuer }),
    tokenEndpoint: server.tokenEndpoint,
    ...(server.revocationEndpoint === undefined ? {} : { revocationEndpoint: server.revocationEndpoint }),
  };
}

/** Returns true for URLs that are safe for browser redirects and token requests: no script, no fragment. */
export function isEndpoint(text: string, development: boolean): boolean {
  if (!URL.canParse(text) || text.includes("#")) return false;
  const { protocol, username, password } = new URL(text);
  return username === "" && password === "" && (protocol === "https:" || (development && protocol === "http:"));
}

/** Compares issuers as text, except that "https://h" equals "https://h/" (RFC 3986 §6.2.3): both are in use. */
export function isSameIssuer(stated: string, expected: string): boolean {
  if (stated === expected) return true;
  const isBareOrigin = (text: string): boolean => URL.canParse(text) && trimSlash(text) === new URL(text).origin;
  return isBareOrigin(stated) && isBareOrigin(expected) && trimSlash(stated) === trimSlash(expected);
}

/** Absent means no restriction. */
function supports(document: Members, name: string, value: string): boolean {
  return !Array.isArray(document[name]) || textList(document, name).includes(value);
}

function textList(document: Members, name: string): readonly string[] {
  const value = document[name];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** External text for our log: shortened, with escaped control characters. */
function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

function bad(detail: string): { ok: false; detail: string } {
  return { ok: false, detail };
}
