/**
 * Which certificate of the configuration in force a client gets for the name that it asks for (SNI).
 *
 * Untrusted input: names that clients ask for, and certificates, each of which is one owner's word about its own hosts.
 * Promise: nobody is shown an owner's certificate for a host that is served by others alone.
 */
import type { HostCertificate } from "../../features/listener/compiled.ts";
import type { Snapshot, Snapshots } from "../../config/snapshot.ts";

export interface HostCertificates {
  /** @param pattern the name itself, or the wildcard one label above it */
  find(pattern: string, serverName: string): HostCertificate | undefined;
}

interface Index {
  readonly snapshot: Snapshot;
  readonly byHost: ReadonlyMap<string, HostCertificate>;
  /** Host → owners of its routes; made when a wildcard's certificate is asked for. */
  owners?: ReadonlyMap<string, ReadonlySet<string>>;
}

export function createHostCertificates(snapshots: Pick<Snapshots, "current">): HostCertificates {
  let index: Index | undefined;
  return {
    find(pattern, serverName) {
      const snapshot = snapshots.current();
      if (index?.snapshot !== snapshot) {
        const byHost = new Map((snapshot.certificates ?? []).map((each) => [each.host, each]));
        index = { snapshot, byHost };
      }
      const found = index.byHost.get(pattern);
      // The host itself is one of the owner's own: what is not was refused when it was loaded.
      if (!found || pattern === serverName) return found;
      // A named host never falls back on a wildcard (features/routing/apply-find-route.ts): whoever serves it is not this owner.
      index.owners ??= ownersOf(snapshot);
      const owners = index.owners.get(serverName);
      return owners === undefined || owners.has(found.owner) ? found : undefined;
    },
  };
}

function ownersOf({ routes, settings }: Snapshot): ReadonlyMap<string, ReadonlySet<string>> {
  const owners = new Map<string, Set<string>>();
  for (const { hostname, owner, isWildcard } of routes) {
    if (isWildcard) continue;
    const known = owners.get(hostname);
    if (known) known.add(owner);
    else owners.set(hostname, new Set([owner]));
  }
  // The operator's own, whoever else has routes there.
  if (settings.authenticateServiceUrl !== undefined) {
    owners.set(new URL(settings.authenticateServiceUrl).hostname, new Set());
  }
  return owners;
}
