/** What of an MCP server route the upstream OAuth needs to know, worked out once per configuration. */
import { isIP } from "node:net";

import { matchesDomain } from "../../settings/domains.ts";
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { findRoute, type Snapshots } from "../../config/snapshot.ts";
import type { DirectGrant, McpServer, UpstreamOAuth } from "../../features/mcp/compiled.ts";
import type { UpstreamReach } from "../../features/connection/compiled.ts";
import { hashSecret } from "../../shared/keys.ts";
import { bareHost } from "../../shared/net/bare-host.ts";

/**
 * Which credentials are used where (test/requirements.ts, "Upstream OAuth adaptation").
 *
 * static: id and endpoints of the route, nothing is discovered. credentials: the route's id at discovered endpoints.
 * discovery: endpoints are discovered and the gateway is its own client.
 */
export type CredentialMode = "static" | "credentials" | "discovery";

export interface UpstreamTarget {
  readonly route: CompiledRoute;
  readonly server: McpServer;
  readonly mode: CredentialMode;
  readonly oauth: UpstreamOAuth | undefined;
  /** Tokens are got without anybody connecting an account. */
  readonly direct: DirectGrant | undefined;
  /** Address of the upstream's MCP endpoint: first `to` and `mcp.server.path`, no trailing slash. */
  readonly url: string;
  /** Host name of `url`. */
  readonly hostname: string;
  /** Where its owner's addresses may lead; absent: anywhere. */
  readonly reach: UpstreamReach | undefined;
  /** Changes with the client that the route configures: tokens of another client are never sent. */
  readonly generation: string;
}

const known = new WeakMap<CompiledRoute, UpstreamTarget>();

/** @returns undefined for routes that are no MCP server routes */
export function findTarget(route: CompiledRoute): UpstreamTarget | undefined {
  const { mcp } = route;
  if (mcp?.kind !== "server") return undefined;
  let target = known.get(route);
  if (!target) {
    target = makeTarget(route, mcp);
    known.set(route, target);
  }
  return target;
}

/** The route as the configuration in force has it: its secrets may have changed since a request came in. */
export function currentRoute(snapshots: Snapshots, { route }: UpstreamTarget): CompiledRoute {
  return findRoute(snapshots.current(), route.key) ?? route;
}

function makeTarget(route: CompiledRoute, server: McpServer): UpstreamTarget {
  const oauth = server.upstreamOAuth;
  // The first one stands for its replicas. Another host is another party: users connect again before it gets their tokens.
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
    // Not the secret, which rotates, and not the scopes: a token with others is still a token.
    generation: hashSecret(
      JSON.stringify([oauth?.clientId, oauth?.endpoint, ...directParts(oauth), ...otherHosts(route.to)]),
    ).slice(0, 16),
  };
}

/** Hosts other than that of the first, sorted. IP addresses next to an IP address are its replicas (Endpoints of Kubernetes). */
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

/** Nobody has to agree to another token: it is for exactly what is configured. */
function directParts(oauth: UpstreamOAuth | undefined): readonly unknown[] {
  if (!oauth?.direct) return [];
  const { direct } = oauth;
  const resource = oauth.sendsResource && oauth.resource;
  return [direct.kind, resource, oauth.scopes, ...(direct.kind === "id_jag" ? [direct.scopes] : [])];
}

/** What is sent as `resource`, of what tokens are bound to. */
export function sentResource({ oauth }: UpstreamTarget, resource: string): string | undefined {
  return oauth?.sendsResource === false ? undefined : resource;
}

/** Whether somebody could ever be connected: without it a 401 of the upstream is none of our business. */
export function canConnect(target: UpstreamTarget, settings: LiveSettings): boolean {
  if (target.mode === "static") return true;
  const { mcpAllowedAsMetadataDomains: domains } = settings;
  const fallback = target.server.authorizationServerUrl;
  return (
    matchesDomain(domains, target.hostname) ||
    (fallback !== undefined && matchesDomain(domains, new URL(fallback).hostname))
  );
}

/** Where upstream authorization servers send the browser back to (test/requirements.ts, "Endpoints"). */
export const CALLBACK_PATH = "/.gateway/mcp/client/oauth/callback";
export const CONNECT_PATH = "/.gateway/mcp/connect";
export const CLIENT_DOCUMENT_PATH = "/.gateway/mcp/client/metadata.json";

export function callbackUrl(route: CompiledRoute): string {
  return route.origin + CALLBACK_PATH;
}
