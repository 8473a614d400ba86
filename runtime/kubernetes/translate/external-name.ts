/**
 * Target of a Service of type ExternalName.
 *
 * Untrusted input: the name. Promise: it is not a name of this host or of the cluster, however a pod's resolver completes it.
 * When the gateway connects, it validates the addresses of an external name.
 */
import { isIP } from "node:net";

import { canonicalHost } from "../../settings/domains.ts";
import { quote } from "../../settings/problem.ts";
import { isLoopbackHost } from "../../settings/values.ts";
import { addressKind } from "../../shared/net/safe-address.ts";
import type { Service } from "./objects.ts";

export interface ClusterNames {
  /** By "namespace/name". */
  readonly services: ReadonlyMap<string, Service>;
  /** "cluster.local". */
  readonly clusterDomain: string;
}

export type ExternalName =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly state: string };

export function readExternalName({ spec }: Service, cluster: ClusterNames): ExternalName {
  const name = spec?.externalName;
  const host = typeof name === "string" ? canonicalHost(name) : undefined;
  if (host === undefined) return { ok: false, state: "whose externalName is not a host name" };
  // Otherwise anyone who may write a Service could reach listeners on the gateway's loopback address.
  if (isOwnMachine(host)) {
    return { ok: false, state: `whose externalName ${quote(host)} is the gateway's own host or network link` };
  }
  if (isInCluster(host, cluster)) {
    return {
      ok: false,
      state: `whose externalName ${quote(host)} is a name of the cluster, must be one outside of it`,
    };
  }
  return { ok: true, host };
}

function isOwnMachine(host: string): boolean {
  if (isLoopbackHost(host)) return true;
  return isIP(host) !== 0 && !["public", "private"].includes(addressKind(host));
}

/** Pods look up names below "<namespace>.svc.<domain>", "svc.<domain>" and "<domain>" before they look up the name itself. */
function isInCluster(host: string, { services, clusterDomain }: ClusterNames): boolean {
  if (isIP(host) !== 0) return false;
  const domain = canonicalHost(clusterDomain) ?? clusterDomain;
  const labels = host.split(".");
  const isBelow = (parent: string): boolean => host === parent || host.endsWith(`.${parent}`);
  if (labels.length === 1 || [domain, "svc", "pod"].some(isBelow)) return true;
  return services.has(`${labels.at(-1)}/${labels.at(-2)}`);
}
