/** Facts about an MCP server route for upstream OAuth, computed once per configuration. */
import { isIP } from "node:net";

import { matchesDomain } from "../../settings/domains.ts";
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { findRoute, type Snapshots } from "../../config/snapshot.ts";
import type { DirectGrant, McpServer, UpstreamOAuth } from "../../features/mcp/compiled.ts";
import type { UpstreamReach } from "../../features/connection/compiled.ts";
import { hashSecret } from "../../shared/keys.ts";
import { bareHost } from "../../shared/net/bare-host.ts";

/**
 * Source of credentials and endpoints (test/requirements.ts, "Upstream OAuth adaptation").
 *
 * static: id and endpoints of the route, without discovery. credentials: the route's id at discovered endpoints.
 * discovery: endpoints are discovered, and the gateway is its own client.
 */
export type CredentialMode = "static" | "credentials" | "discovery";

export interface UpstreamTarget {
  readonly route: CompiledRoute;
  readonly server: McpServer;
  readonly mode: CredentialMode;
  readonly oauth: UpstreamOAuth | undefined;
  /** Tokens need no user connection. */
  readonly direct: DirectGrant | undefined;
  /** URL of the upstream's MCP endpoint: first `to` and `mcp.server.path`, no trailing slash. */
  readonly url: string;
  /** Host name of `url`. */
  readonly hostname: string;
  /** Allowed addresses of the route's owner; absent: all. */
  readonly reach: UpstreamReach | undefined;
  /** Changes with the route's configured client: tokens of another client are never sent. */
  readonly generation: string;
}

const known = new WeakMap<CompiledRoute, UpstreamTarget>();

/** @returns undefined if the route is not an MCP server route with an upstream; a federated one has members instead */
export function findTarget(route: CompiledRoute): UpstreamTarget | undefined {
  const { mcp } = route;
  if (mcp?.kind !== "server" || mcp.members !== undefined) return undefined;
  let target = known.get(route);
  if (!target) {
    target = makeTarget(route, mcp);
    known.set(route, target);
  }
  return target;
}

/** The route in the active configuration: its secrets may have changed during the request. */
export function currentRoute(snapshots: Snapshots, { route }: UpstreamTarget): CompiledRoute {
  return findRoute(snapshots.current(), route.key) ?? route;
}

function makeTarget(route: CompiledRoute, server: McpServer): UpstreamTarget {
  const oauth = server.upstreamOAuth;
  // The first upstream represents its replicas. Another host is another party: users connect again before it gets their tokens.
  const first = route.to[0];
  if (!first) throw new TypeError("a route needs an upstream");
  return {
    route,
    server,
    oauth,
    direct: oauth?.direct,
    mode: modeOf(oauth),
    url: first.origin + first.basePath + server.path,
    hostname: new URL(first.origin).hostname,
    reach: first.connect?.reach,
    // Without the secret, which rotates, and the scopes: tokens with other scopes stay valid.
    generation: hashSecret(
      JSON.stringify([oauth?.clientId, oauth?.endpoint, ...directParts(oauth), ...otherHosts(route.to)]),
    ).slice(0, 16),
  };
}

/** Hosts that differ from the first, sorted. Further IP addresses are replicas of a first IP address (Kubernetes Endpoints). */
function otherHosts(upstreams: CompiledRoute["to"]): readonly string[] {
  const hosts = new Set(upstreams.map(({ origin }) => new URL(origin).hostname));
  const [first = ""] = hosts;
  return [...hosts].filter((host) => host !== first && !(isAddress(first) && isAddress(host))).toSorted();
}

function isAddress(host: string): boolean {
  return isIP(bareHost(host)) !== 0;
}

function modeOf(oauth: UpstreamOAuth | undefined): CredentialMode {
  if (oauth?.endpoint) return "static";
  return oauth?.clientId === undefined && !oauth?.direct ? "discovery" : "credentials";
}

/** No user consents to such tokens, so a change of any of this only needs a new token. */
function directParts(oauth: UpstreamOAuth | undefined): readonly unknown[] {
  if (!oauth?.direct) return [];
  const { direct } = oauth;
  const resource = oauth.sendsResource && oauth.resource;
  return [direct.kind, resource, oauth.scopes, ...(direct.kind === "id_jag" ? [direct.scopes] : [])];
}

/** Value of the `resource` parameter, for tokens bound to `resource`. */
export function sentResource({ oauth }: UpstreamTarget, resource: string): string | undefined {
  return oauth?.sendsResource === false ? undefined : resource;
}

/** Returns true if a user could ever connect. Otherwise a 401 of the upstream is passed on. */
export function canConnect(target: UpstreamTarget, settings: LiveSettings): boolean {
  if (target.mode === "static") return true;
  const { mcpAllowedAsMetadataDomains: domains } = settings;
  const fallback = target.server.authorizationServerUrl;
  return (
    matchesDomain(domains, target.hostname) ||
    (fallback !== undefined && matchesDomain(domains, new URL(fallback).hostname))
  );
}

/** Redirect URI for upstream authorization servers (test/requirements.ts, "Endpoints"). */
export const CALLBACK_PATH = "/.gateway/mcp/client/oauth/callback";
export const CONNECT_PATH = "/.gateway/mcp/connect";
export const CLIENT_DOCUMENT_PATH = "/.gateway/mcp/client/metadata.json";

export function callbackUrl(route: CompiledRoute): string {
  return route.origin + CALLBACK_PATH;
}
