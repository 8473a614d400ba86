/** The hosts for which certificates are requested: those of configured routes, and the sign-in host. Pure. */
import { isIP } from "node:net";

import { HAND_WRITTEN_OWNER } from "../features/process/owners.ts";
import type { Snapshot } from "../config/snapshot.ts";

export interface WantedHosts {
  /** The sign-in host first. */
  readonly hosts: ReadonlySet<string>;
  /** Number of hosts above the bounds. */
  readonly omitted: number;
}

export interface HostPermissions {
  readonly isAllowed: (owner: string) => boolean;
  /** Whether another certificate is used for the host. */
  readonly covers: (host: string) => boolean;
}

/** Authorities limit the orders of an account, which all owners share. */
const MAX_OF_OWNER = 100;
const MAX_HOSTS = 1_000;

export function wantedHosts(
  { routes, settings }: Pick<Snapshot, "settings" | "routes">,
  { isAllowed, covers }: HostPermissions,
): WantedHosts {
  const hosts = new Set<string>();
  const ofOwner = new Map<string, number>();
  let omitted = 0;
  const seen = new Set<string>();
  const { authenticateServiceUrl } = settings;
  if (authenticateServiceUrl !== undefined) add(new URL(authenticateServiceUrl).hostname, HAND_WRITTEN_OWNER);
  for (const { hostname, owner, isWildcard, origin } of routes)
    if (!isWildcard && origin.startsWith("https:")) add(hostname, owner);
  return { hosts, omitted };

  function add(host: string, owner: string): void {
    if (hosts.has(host) || !isAllowed(owner) || !canHaveCertificate(host) || covers(host)) return;
    const count = ofOwner.get(owner) ?? 0;
    const isBound = hosts.size >= MAX_HOSTS || (owner !== HAND_WRITTEN_OWNER && count >= MAX_OF_OWNER);
    if (isBound) {
      if (!seen.has(host)) omitted += 1;
      seen.add(host);
      return;
    }
    ofOwner.set(owner, count + 1);
    hosts.add(host);
  }
}

/** Not an address, not a name of one label such as "localhost". */
function canHaveCertificate(host: string): boolean {
  return host.includes(".") && !host.startsWith("*") && isIP(host) === 0 && !host.startsWith("[") && host.length <= 253;
}
