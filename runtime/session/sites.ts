/**
 * The hosts we answer for, as the configuration has them. The Host header only chooses among them; addresses in
 * redirects, cookies and audiences are built from the configured origin, never from what a client sent.
 */
import type { Snapshot } from "../config/compiled.ts";

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

const known = new WeakMap<Snapshot, ReadonlyMap<string, Site>>();

/** @returns undefined for a host that no route and no setting names */
export function findSite(snapshot: Snapshot, host: string): Site | undefined {
  let sites = known.get(snapshot);
  if (!sites) {
    sites = sitesOf(snapshot);
    known.set(snapshot, sites);
  }
  return sites.get(host);
}

function sitesOf(snapshot: Snapshot): ReadonlyMap<string, Site> {
  const authenticate = snapshot.settings.authenticateServiceUrl;
  const authenticateOrigin = authenticate === undefined ? undefined : new URL(authenticate).origin;
  const sites = new Map<string, Site>();
  const add = (origin: string): void => {
    const url = new URL(origin);
    sites.set(url.host, {
      origin: url.origin,
      host: url.host,
      hostname: url.hostname,
      secure: url.protocol === "https:",
      authenticateOrigin: authenticateOrigin ?? url.origin,
      authenticates: authenticateOrigin === undefined || authenticateOrigin === url.origin,
    });
  };
  if (authenticateOrigin !== undefined) add(authenticateOrigin);
  for (const route of snapshot.routes) add(route.origin);
  return sites;
}

/** True for names that never leave the machine. */
export function isLoopbackName(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
  );
}

/**
 * True for a path (with query) that stays on the host it is sent to.
 *
 * Browsers read `\` as `/` and drop tabs and line ends, so `/\evil.example` and `/<tab>/evil.example` would leave.
 */
export function isLocalPath(path: string): boolean {
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path);
}
