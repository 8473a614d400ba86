/**
 * Finds the certificate in the active configuration for the name that a client requests (SNI).
 *
 * Untrusted input: names that clients request, and certificates, each of which is one owner's claim about its hosts. Promise:
 * no client gets an owner's certificate for a host that only other owners serve.
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
  /** Host → owners of its routes; built when a wildcard's certificate is first needed. */
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
      // The host is one of the owner's own: any other was rejected at load.
      if (!found || pattern === serverName) return found;
      // A named host never falls back on a wildcard (features/routing/apply-find-route.ts), so this owner does not serve it.
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
  // This host is the operator's own, whichever owners have routes there.
  if (settings.authenticateServiceUrl !== undefined) {
    owners.set(new URL(settings.authenticateServiceUrl).hostname, new Set());
  }
  return owners;
}
