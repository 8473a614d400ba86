/**
 * Issuers: their hosts, the routes that they protect, and the meaning of a `resource` parameter.
 *
 * Every host with an MCP server route is one issuer. Its identifier is the origin, without path and trailing slash.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { McpServer } from "../../features/mcp/compiled.ts";
import { issuersFor, type TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

export type McpServerRoute = CompiledRoute & { readonly mcp: McpServer };

export interface Issuer {
  /** The issuer identifier: "https://mcp.example.com". */
  readonly origin: string;
  readonly host: string;
  /** At least one; sorted by key. */
  readonly routes: readonly McpServerRoute[];
}

/** Issuers by host, created once per snapshot. */
const known = new WeakMap<Snapshot, ReadonlyMap<string, Issuer>>();

/** Returns the issuer of a Host header; undefined if MCP is off or the host has no MCP server route. */
export function findIssuer(snapshot: Snapshot, host: string): Issuer | undefined {
  return issuersOf(snapshot).get(host);
}

/** Returns the issuer with this identifier, which records store. */
export function findIssuerByOrigin(snapshot: Snapshot, origin: string): Issuer | undefined {
  for (const issuer of issuersOf(snapshot).values()) if (issuer.origin === origin) return issuer;
  return undefined;
}

function issuersOf(snapshot: Snapshot): ReadonlyMap<string, Issuer> {
  let issuers = known.get(snapshot);
  if (!issuers) {
    issuers = snapshot.settings.mcpEnabled ? groupByHost(snapshot.routes) : new Map();
    known.set(snapshot, issuers);
  }
  return issuers;
}

function groupByHost(routes: readonly CompiledRoute[]): ReadonlyMap<string, Issuer> {
  const issuers = new Map<string, Issuer & { routes: McpServerRoute[] }>();
  for (const route of routes) {
    if (!isMcpServerRoute(route)) continue;
    const issuer = issuers.get(route.host) ?? { origin: route.origin, host: route.host, routes: [] };
    issuer.routes.push(route);
    issuers.set(route.host, issuer);
  }
  return issuers;
}

/** Issuers that may assert users at this issuer with an ID-JAG. */
export function idJagIssuers({ settings }: Snapshot, { origin }: Issuer): readonly TrustedIssuer[] {
  return issuersFor(settings.identityIssuers, "id_jag", origin);
}

/** Issuers that may assert jobs, pods and machines at this issuer. */
export function workloadIssuers({ settings }: Snapshot, { origin }: Issuer): readonly TrustedIssuer[] {
  return issuersFor(settings.identityIssuers, "workload", origin);
}

/** Returns true if tokens are bound to keys of clients that send proofs (DPoP). */
export function bindsTokens({ routes }: Issuer): boolean {
  return routes.some(({ mcp }) => mcp.dpop !== undefined);
}

/** Whether workloads can request agent runs on this host. */
export function offersRuns(snapshot: Snapshot, issuer: Issuer): boolean {
  return workloadIssuers(snapshot, issuer).some(({ workloadRules }) =>
    workloadRules.some(({ agentRuns }) => agentRuns),
  );
}

export function isMcpServerRoute(route: CompiledRoute): route is McpServerRoute {
  return route.mcp?.kind === "server";
}

/** A protected resource below an issuer: its identifier and its route. */
export interface ProtectedResource {
  readonly resource: string;
  readonly route: McpServerRoute;
}

/**
 * Finds the protected resource with this path, for metadata: a route's resource, or the route's base (a client
 * configured with the base would reject metadata about a longer path).
 *
 * @param path "" or "/x", one trailing slash is ignored
 */
export function findResourceByPath(issuer: Issuer, path: string): ProtectedResource | undefined {
  const requested = trimSlash(path);
  for (const route of issuer.routes) {
    if (resourcePath(route) === requested) return { resource: route.mcp.resource, route };
  }
  for (const route of issuer.routes) {
    if (route.base === requested) return { resource: issuer.origin + route.base, route };
  }
  return undefined;
}

/** Path of a route's resource; "" for the bare origin. */
export function resourcePath(route: McpServerRoute): string {
  return trimSlash(route.mcp.resource.slice(route.origin.length));
}

/**
 * Returns the audience of tokens for a client's `resource` (RFC 8707 §2).
 *
 * Compared after lower-casing scheme and host, and dropping the default port and one trailing slash, because clients
 * differ in exactly these. The bare origin means the only route of the host, else the host.
 *
 * @param resource undefined if the client sent none
 * @returns undefined if the target is not ours (`invalid_target`)
 */
export function findAudience(issuer: Issuer, resource: string | undefined): string | undefined {
  if (resource === undefined) return defaultAudience(issuer);
  // "Its value MUST be an absolute URI … and MUST NOT include a fragment component" (RFC 8707 §2).
  if (resource.includes("#") || !URL.canParse(resource)) return undefined;
  const url = new URL(resource);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.origin !== new URL(issuer.origin).origin)
    return undefined;
  const found = findResourceByPath(issuer, url.pathname);
  if (found) return found.route.mcp.resource;
  return trimSlash(url.pathname) === "" ? defaultAudience(issuer) : undefined;
}

/**
 * Returns the resource of a single server; undefined if the parameter means the whole host. So it does where one of several
 * servers has the bare origin as its address: a token for it opens them all.
 */
export function findServer(issuer: Issuer, resource: string): string | undefined {
  const audience = findAudience(issuer, resource);
  return audience === issuer.origin && issuer.routes.length > 1 ? undefined : audience;
}

/** Routes of a stored audience under the active configuration; [] if none. */
export function routesOfAudience(issuer: Issuer, audience: string): readonly McpServerRoute[] {
  return audience === issuer.origin ? issuer.routes : issuer.routes.filter((route) => route.mcp.resource === audience);
}

/** Routes of a host that match a `resource`, compared like in `findAudience`; [] if none. */
export function findServers(snapshot: Snapshot, host: string, resource: string): readonly McpServerRoute[] {
  const issuer = findIssuer(snapshot, host);
  const audience = issuer && findAudience(issuer, resource);
  return issuer === undefined || audience === undefined ? [] : routesOfAudience(issuer, audience);
}

/** The smallest useful audience: the only route of the host, or the host if there are several. */
function defaultAudience(issuer: Issuer): string {
  const [only, ...others] = issuer.routes;
  return only && others.length === 0 ? only.mcp.resource : issuer.origin;
}
