/**
 * Hosts of this gateway, from the configuration. The Host header only selects among them. URLs in redirects, cookies
 * and audiences use the configured origin, never client input.
 */
import type { Snapshot } from "../config/snapshot.ts";

export interface Site {
  /** "https://app.example.com" */
  readonly origin: string;
  /** As in the Host header: with a port only if it is not the scheme's default. */
  readonly host: string;
  /** Without port. Cookies ignore ports, so this is what they are bound to. */
  readonly hostname: string;
  readonly secure: boolean;
  /** Origin for sign-in, consent and session pages of this host: the authenticate service, or the host itself. */
  readonly authenticateOrigin: string;
  /** True on the authenticate host, and on every host if there is none. */
  readonly authenticates: boolean;
}

interface Sites {
  readonly named: ReadonlyMap<string, Site>;
  /** Schemes of wildcard hosts by suffix: ".example.com" → "https:". */
  readonly wildcards: ReadonlyMap<string, string>;
  /** Requested hosts below wildcards; bounded, since clients choose them. */
  readonly below: Map<string, Site>;
}

const known = new WeakMap<Snapshot, Sites>();
const MAX_BELOW = 1024;

/**
 * Finds a site. A host below a wildcard (`https://*.example.com`) is a site of its own, with its own cookie.
 *
 * @param host canonical, from the Exchange or from a sealed ticket
 * @returns undefined if no route or setting names the host
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
  // Not the pattern itself, and not a name that URLs would normalize differently: it has no address to return to.
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
    // No credential counts on the plain listener next to the TLS one.
    if (host.endsWith(":80") && origin.startsWith("http:")) continue;
    if (isWildcard) wildcards.set(host.slice(1), origin.slice(0, origin.indexOf("/")));
    else add(origin);
  }
  return { named, wildcards, below: new Map() };
}

/**
 * Returns true for a path (with query) that stays on its host.
 *
 * Browsers read `\` as `/` and drop tabs and line breaks, so `/\evil.example` and `/<tab>/evil.example` would leave it.
 */
export function isLocalPath(path: string): boolean {
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path);
}
