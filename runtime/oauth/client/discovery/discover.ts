/**
 * Finds the authorization server of an upstream: protected resource metadata (RFC 9728), then server metadata (RFC
 * 8414, OpenID Connect Discovery), in the exact orders of MCP authorization.
 *
 * Untrusted input: the upstream's challenge and every document. Promises: only hosts in
 * `mcp_allowed_as_metadata_domains` are contacted. Metadata about another resource or issuer is rejected, not skipped.
 */
import type { LiveSettings } from "../../../config/compiled.ts";
import { matchesDomain } from "../../../settings/domains.ts";
import { METADATA_BYTES, type FetchTarget, type SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import { parseForeignJson } from "../../../shared/json/foreign-json.ts";
import {
  defaultServer,
  isSameIssuer,
  parseProtectedResource,
  parseServerMetadata,
  resourceMetadataUrls,
  saysResource,
  saysServer,
  serverMetadataUrls,
  type AuthorizationServer,
  type ProtectedResource,
  type MetadataReading,
} from "./metadata.ts";
import type { UpstreamTarget } from "../target.ts";

export interface DiscoverDeps {
  readonly fetch: SafeFetch;
  /** Allows http. */
  readonly development: boolean;
}

export interface Discovered {
  readonly server: AuthorizationServer;
  /** Value of the `resource` parameter of all requests (RFC 8707). */
  readonly resource: string;
  /** `scopes_supported` of the protected resource. */
  readonly resourceScopes: readonly string[];
  /** Without any document: the fixed endpoints of MCP 2025-03-26. */
  readonly isAssumed?: true;
}

export type DiscoverFailure =
  /** No sign that OAuth is required. */
  | "not-found"
  /** A host is not listed, or its address must not be contacted. */
  | "not-allowed"
  /** A document has invalid content. */
  | "invalid"
  /** Another issuer than that of the route's configured client. */
  | "issuer-changed"
  /** A server did not respond: try later. */
  | "unavailable";

export type DiscoverResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: DiscoverFailure; readonly detail: string };

export interface DiscoverOptions {
  /** `resource_metadata` of the upstream's challenge. */
  readonly resourceMetadata?: string | undefined;
  /** The upstream requires a token, so an authorization server must exist. */
  readonly isChallenged: boolean;
  /** Grant type that the authorization server must support. Default: codes. */
  readonly grantType?: string;
  /** The only acceptable issuer; absent: the upstream chooses. */
  readonly issuer?: string | undefined;
}

export async function discover(
  deps: DiscoverDeps,
  target: UpstreamTarget,
  settings: LiveSettings,
  options: DiscoverOptions,
): Promise<DiscoverResult<Discovered>> {
  const found = await findProtectedResource(deps, target, settings, options.resourceMetadata);
  if (found.ok) {
    const issuer =
      options.issuer === undefined ? chooseIssuer(found.value, settings) : expectIssuer(found.value, options.issuer);
    if (!issuer.ok) return issuer;
    const server = await findServer(deps, target, settings, issuer.value, options.grantType);
    if (!server.ok) return server.failure === "not-found" ? { ...server, failure: "invalid" } : server;
    return pass({ server: server.value, resource: found.value.resource, resourceScopes: found.value.scopes });
  }
  // Metadata about another resource is an attack or a mistake. A fallback would hide it.
  if (found.failure === "invalid") return found;

  const without = { resource: target.url, resourceScopes: [] };
  const fallback = options.issuer ?? target.server.authorizationServerUrl;
  if (fallback !== undefined) {
    const server = await findServer(deps, target, settings, fallback, options.grantType);
    return server.ok ? pass({ ...without, server: server.value }) : server;
  }
  if (found.failure !== "not-found") return found;

  // MCP 2025-03-26: the MCP server's own origin is the authorization server, with or without metadata.
  const { origin } = new URL(target.url);
  const server = await findServer(deps, target, settings, origin, options.grantType);
  if (server.ok) return pass({ ...without, server: server.value });
  if (server.failure !== "not-found" || !options.isChallenged) return server;
  return pass({ ...without, server: defaultServer(target.url), isAssumed: true });
}

/** Protected resource metadata of an upstream. Also shows whether it requires OAuth at all. */
export async function findProtectedResource(
  deps: DiscoverDeps,
  target: UpstreamTarget,
  settings: LiveSettings,
  challenged: string | undefined,
  timeoutMs?: number,
): Promise<DiscoverResult<ProtectedResource>> {
  const urls = [...(challenged === undefined ? [] : [challenged]), ...resourceMetadataUrls(target.url)];
  return firstDocument(
    new Set(urls),
    (url) => fetchDocument(deps, url, targetOf(url, target, settings), saysResource, timeoutMs),
    (document) => parseProtectedResource(document, target.url),
    "there is no protected resource metadata",
  );
}

async function firstDocument<T>(
  urls: Iterable<string>,
  fetchFrom: (url: string) => Promise<DiscoverResult<unknown>>,
  parse: (document: unknown) => MetadataReading<T>,
  absent: string,
): Promise<DiscoverResult<T>> {
  let last: DiscoverResult<never> = refuse("not-found", absent);
  for (const url of urls) {
    const document = await fetchFrom(url);
    if (document.ok) {
      const parsed = parse(document.value);
      return parsed.ok ? pass(parsed.value) : refuse("invalid", parsed.detail);
    }
    if (document.failure !== "not-found") last = document;
    // An unreachable host may have a document, so this is not "not found".
    if (document.failure === "unavailable") return document;
  }
  return last;
}

/** Returns the first authorization server that may be contacted. The listed ones are equal (RFC 9728 §7.6). */
function chooseIssuer(found: ProtectedResource, settings: LiveSettings): DiscoverResult<string> {
  const { mcpAllowedAsMetadataDomains: domains } = settings;
  const usable = found.authorizationServers.find(
    (issuer) => URL.canParse(issuer) && matchesDomain(domains, new URL(issuer).hostname),
  );
  if (usable !== undefined) return pass(usable);
  const hosts = found.authorizationServers.map((issuer) =>
    URL.canParse(issuer) ? new URL(issuer).hostname : "no URL",
  );
  return refuse("not-allowed", `mcp_allowed_as_metadata_domains does not list ${JSON.stringify(hosts.slice(0, 5))}`);
}

/** Accepts only the issuer of the configured client. */
function expectIssuer(found: ProtectedResource, issuer: string): DiscoverResult<string> {
  if (found.authorizationServers.some((named) => isSameIssuer(named, issuer))) return pass(issuer);
  const named = JSON.stringify(found.authorizationServers.slice(0, 5)).slice(0, 500);
  const remedy = 'set "authorization_server_url" if that is intended';
  return refuse("issuer-changed", `the upstream names ${named}, the client belongs to ${issuer}: ${remedy}`);
}

async function findServer(
  deps: DiscoverDeps,
  target: UpstreamTarget,
  settings: LiveSettings,
  issuer: string,
  grantType: string | undefined,
): Promise<DiscoverResult<AuthorizationServer>> {
  const mayBeHttp = deps.development || isUpstreamOrigin(issuer, target);
  const { authorizationServerUrl: named } = target.server;
  const isNamed = named !== undefined && isSameIssuer(named, issuer);
  return firstDocument(
    serverMetadataUrls(issuer),
    (url) => fetchDocument(deps, url, targetOf(url, target, settings), saysServer),
    (document) => parseServerMetadata(document, issuer, mayBeHttp, grantType, isNamed),
    `there is no metadata of issuer ${JSON.stringify(issuer)}`,
  );
}

/** `to` may be plain http in the operator's own network. Then so may its own authorization server. */
function isUpstreamOrigin(url: string, target: UpstreamTarget): boolean {
  return new URL(url).origin === new URL(target.url).origin;
}

function targetOf(url: string, target: UpstreamTarget, settings: LiveSettings): FetchTarget {
  const { mcpAllowedAsMetadataDomains: domains } = settings;
  const isOwn = URL.canParse(url) && isUpstreamOrigin(url, target);
  return isOwn ? { kind: "upstream", domains, reach: target.reach } : { kind: "listed", domains, private: "exact" };
}

async function fetchDocument(
  deps: DiscoverDeps,
  url: string,
  target: FetchTarget,
  isMetadata: (document: unknown) => boolean,
  timeoutMs?: number,
): Promise<DiscoverResult<unknown>> {
  const answer = await deps.fetch({
    url,
    target,
    maxBytes: METADATA_BYTES,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  if (!answer.ok) {
    switch (answer.reason) {
      case "bad-url":
      case "not-listed":
      case "forbidden-address":
        return refuse("not-allowed", answer.detail);
      case "unresolved":
      case "unreachable":
      case "timeout":
        return refuse("unavailable", answer.detail);
      case "redirect":
        return refuse("not-found", answer.detail);
      case "too-large":
      case "content-coding":
        return refuse("invalid", answer.detail);
      default:
        return answer.reason satisfies never;
    }
  }
  const host = new URL(url).hostname;
  if (answer.status >= 500 || answer.status === 429) return refuse("unavailable", `${host} answered ${answer.status}`);
  if (answer.status !== 200) return refuse("not-found", `${host} answered ${answer.status}`);
  const document = parseForeignJson(answer.body);
  // Many applications respond to unknown paths with their start page, or with JSON of their own.
  if (!isMetadata(document)) return refuse("not-found", `${host} did not respond with metadata`);
  return pass(document);
}

function pass<T>(value: T): { ok: true; value: T } {
  return { ok: true, value };
}

function refuse(
  failure: DiscoverFailure,
  detail: string,
): { readonly ok: false; readonly failure: DiscoverFailure; readonly detail: string } {
  return { ok: false, failure, detail };
}
