/**
 * Finds the certificate in the active configuration for the name that a client requests (SNI).
 *
 * Untrusted input: names that clients request, and certificates, each of which is one owner's claim about its hosts. Promise:
 * no client gets an owner's certificate for a host that only other owners serve. For a host without routes it gets any that is
 * valid there, so that browsers show the gateway's error instead of their own.
 */
import { wildcardAbove } from "../../features/listener/certificate.ts";
import type { HostCertificate } from "../../features/listener/compiled.ts";
import type { Snapshot, Snapshots } from "../../config/snapshot.ts";

export interface HostCertificates {
  /** @param pattern the name itself, or the wildcard one label above it */
  find(pattern: string, serverName: string): HostCertificate | undefined;
  /** A certificate with this name, for hosts without routes. */
  findUnserved(serverName: string): HostCertificate | undefined;
}

interface Index {
  readonly snapshot: Snapshot;
  readonly byHost: ReadonlyMap<string, HostCertificate>;
  /** Host, or ".example.com" for a wildcard → owners of its routes; built when a wildcard's certificate is first needed. */
  owners?: ReadonlyMap<string, ReadonlySet<string>>;
  /** Name in a certificate → the first one with it; built when a host without routes is first requested. */
  byName?: ReadonlyMap<string, HostCertificate>;
}

export function createHostCertificates(snapshots: Pick<Snapshots, "current">): HostCertificates {
  let known: Index | undefined;
  const current = (): Index => {
    const snapshot = snapshots.current();
    if (known?.snapshot !== snapshot) {
      const byHost = new Map((snapshot.certificates ?? []).map((each) => [each.host, each]));
      known = { snapshot, byHost };
    }
    return known;
  };
  return {
    find(pattern, serverName) {
      const index = current();
      const found = index.byHost.get(pattern);
      // The host is one of the owner's own: any other was rejected at load.
      if (!found || pattern === serverName) return found;
      // A named host never falls back on a wildcard (features/routing/apply-find-route.ts), so this owner does not serve it.
      index.owners ??= ownersOf(index.snapshot);
      const owners = index.owners.get(serverName);
      return owners === undefined || owners.has(found.owner) ? found : undefined;
    },
    findUnserved(serverName) {
      const index = current();
      if (index.byHost.size === 0) return undefined;
      index.owners ??= ownersOf(index.snapshot);
      if (isServed(index.owners, serverName)) return undefined;
      index.byName ??= byNameOf(index.byHost.values());
      return index.byName.get(serverName) ?? index.byName.get(wildcardAbove(serverName));
    },
  };
}

function isServed(owners: NonNullable<Index["owners"]>, host: string): boolean {
  if (owners.has(host)) return true;
  for (let dot = host.indexOf("."); dot !== -1; dot = host.indexOf(".", dot + 1))
    if (owners.has(host.slice(dot))) return true;
  return false;
}

function byNameOf(certificates: Iterable<HostCertificate>): ReadonlyMap<string, HostCertificate> {
  const byName = new Map<string, HostCertificate>();
  for (const each of certificates) for (const name of each.names ?? []) if (!byName.has(name)) byName.set(name, each);
  return byName;
}

function ownersOf({ routes, settings }: Snapshot): ReadonlyMap<string, ReadonlySet<string>> {
  const owners = new Map<string, Set<string>>();
  for (const { hostname, owner, isWildcard } of routes) {
    const host = isWildcard ? hostname.slice(1) : hostname;
    const known = owners.get(host);
    if (known) known.add(owner);
    else owners.set(host, new Set([owner]));
  }
  // This host is the operator's own, whichever owners have routes there.
  if (settings.authenticateServiceUrl !== undefined) {
    owners.set(new URL(settings.authenticateServiceUrl).hostname, new Set());
  }
  return owners;
}
