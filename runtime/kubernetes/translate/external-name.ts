/**
 * Where a Service of type ExternalName leads.
 *
 * Untrusted input: the name. Promise: it is no name of this machine or of the cluster, whichever way the resolver of a pod
 * completes it. What a name outside the cluster resolves to is validated by the gateway when it connects.
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
  if (host === undefined) return { ok: false, state: "whose externalName is no host name" };
  // Whoever may write a Service could otherwise reach what listens only for the gateway's own machine.
  if (isOwnMachine(host)) {
    return { ok: false, state: `whose externalName ${quote(host)} is the gateway's own machine or network link` };
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

/** Pods look names up below "<namespace>.svc.<domain>", "svc.<domain>" and "<domain>" before they look up the name itself. */
function isInCluster(host: string, { services, clusterDomain }: ClusterNames): boolean {
  if (isIP(host) !== 0) return false;
  const domain = canonicalHost(clusterDomain) ?? clusterDomain;
  const labels = host.split(".");
  const isBelow = (parent: string): boolean => host === parent || host.endsWith(`.${parent}`);
  if (labels.length === 1 || [domain, "svc", "pod"].some(isBelow)) return true;
  return services.has(`${labels.at(-1)}/${labels.at(-2)}`);
}
