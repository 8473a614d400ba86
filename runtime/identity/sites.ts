/**
 * The hosts we answer for, as the configuration has them. The Host header only chooses among them; addresses in
 * redirects, cookies and audiences are built from the configured origin, never from what a client sent.
 */
import type { Snapshot } from "../config/snapshot.ts";

export interface Site {
  /** "https://app.example.com" */
  readonly origin: string;
  /** As in the Host header: port only when it is not the scheme's default. */
  readonly host: string;
  /** Without port. Cookies know no ports, so what is bound to a cookie is bound to this. */
  readonly hostname: string;
  readonly secure: boolean;
  /** Where people of this host sign in, consent and manage their session: the authenticate service, or the host itself. */
  readonly authenticateOrigin: string;
  /** True on the authenticate host, and on every host when there is none. */
  readonly authenticates: boolean;
}

interface Sites {
  readonly named: ReadonlyMap<string, Site>;
  /** Schemes of wildcard hosts, by what the hosts end in: ".example.com" → "https:". */
  readonly wildcards: ReadonlyMap<string, string>;
  /** Hosts below wildcards that were asked for; bounded, since clients choose them. */
  readonly below: Map<string, Site>;
}

const known = new WeakMap<Snapshot, Sites>();
const MAX_BELOW = 1024;

/**
 * A host below a wildcard (`https://*.example.com`) is a site of its own, with its own cookie.
 *
 * @param host canonical, as the Exchange has it or as it was when a ticket was sealed
 * @returns undefined for a host that no route and no setting names
 */
export function findSite(snapshot: Snapshot, host: string): Site | undefined {
  let sites = known.get(snapshot);
  if (!sites) {
    sites = sitesOf(snapshot);
    known.set(snapshot, sites);
  }
  const named = sites.named.get(host);
  if (named || sites.wildcards.size === 0) return named;
  const earlier = sites.below.get(host);
  if (earlier) return earlier;
  const scheme = wildcardOf(sites.wildcards, host);
  if (scheme === undefined) return undefined;
  const url = URL.parse(`${scheme}//${host}`);
  // A name that URLs would write otherwise has no address to come back to, nor has the pattern itself.
  if (url?.host !== host || host.startsWith("*")) return undefined;
  const site = siteAt(url, authenticateOriginOf(snapshot));
  if (sites.below.size >= MAX_BELOW) sites.below.clear();
  sites.below.set(host, site);
  return site;
}

function wildcardOf(wildcards: ReadonlyMap<string, string>, host: string): string | undefined {
  for (let dot = host.indexOf("."); dot !== -1; dot = host.indexOf(".", dot + 1)) {
    const scheme = wildcards.get(host.slice(dot));
    if (scheme !== undefined) return scheme;
  }
  return undefined;
}

function authenticateOriginOf({ settings }: Snapshot): string | undefined {
  const { authenticateServiceUrl } = settings;
  return authenticateServiceUrl === undefined ? undefined : new URL(authenticateServiceUrl).origin;
}

function siteAt(url: URL, authenticateOrigin: string | undefined): Site {
  return {
    origin: url.origin,
    host: url.host,
    hostname: url.hostname,
    secure: url.protocol === "https:",
    authenticateOrigin: authenticateOrigin ?? url.origin,
    authenticates: authenticateOrigin === undefined || authenticateOrigin === url.origin,
  };
}

function sitesOf(snapshot: Snapshot): Sites {
  const authenticateOrigin = authenticateOriginOf(snapshot);
  const named = new Map<string, Site>();
  const wildcards = new Map<string, string>();
  const add = (origin: string): void => {
    const url = new URL(origin);
    named.set(url.host, siteAt(url, authenticateOrigin));
  };
  if (authenticateOrigin !== undefined) add(authenticateOrigin);
  for (const { origin, host, isWildcard } of snapshot.routes) {
    if (isWildcard) wildcards.set(host.slice(1), origin.slice(0, origin.indexOf("/")));
    else add(origin);
  }
  return { named, wildcards, below: new Map() };
}

/**
 * True for a path (with query) that stays on the host it is sent to.
 *
 * Browsers read `\` as `/` and drop tabs and line ends, so `/\evil.example` and `/<tab>/evil.example` would leave.
 */
export function isLocalPath(path: string): boolean {
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path);
}
