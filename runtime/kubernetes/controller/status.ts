/** The status of Ingresses: the address at which the gateway serves them. */
import { isIP } from "node:net";

import { canonicalJson } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import { isStatus, type KubeClient, objectPath } from "./kube-client.ts";
import {
  type Ingress,
  type KubeObject,
  type LoadBalancerAddress,
  namespaceOf,
  type Service,
} from "../translate/objects.ts";

/** Somebody else writes between our reading and our writing; each time one of us gets on. */
const MAX_TRIES = 5;

/** By which the API server remembers whose a field is. */
const FIELD_MANAGER = "gateway-ingress-controller";
/** Ingresses whose status we wrote last, by what the server remembers. */
const ours = new WeakSet<KubeObject>();

/** An object as it is kept: without what the API server remembers of who wrote it, which is often half of it. */
export function withoutManagers<T extends KubeObject>(object: T): T {
  const { managedFields, ...metadata } = object.metadata;
  if (managedFields === undefined) return object;
  const kept = { ...object, metadata };
  const isOurs = (each: unknown): boolean =>
    isRecord(each) && each["manager"] === FIELD_MANAGER && each["subresource"] === "status";
  if (Array.isArray(managedFields) && managedFields.some(isOurs)) ours.add(kept);
  return kept;
}

/**
 * Takes our addresses away from an Ingress that has left our class. Those of another controller stay.
 *
 * @throws as `writeStatus`
 */
export async function clearStatus(client: KubeClient, ingress: Ingress): Promise<void> {
  if (ours.has(ingress)) await writeStatus(client, ingress, []);
}

/**
 * Writes the addresses, or takes ours away from an Ingress that is not served.
 *
 * @throws KubeError, GatewayError `kube.unreachable`; not when the Ingress is gone
 */
export async function writeStatus(
  client: KubeClient,
  ingress: Ingress,
  addresses: readonly LoadBalancerAddress[],
): Promise<void> {
  const path = objectPath("ingresses", namespaceOf(ingress), ingress.metadata.name);
  let current = ingress;
  for (let tries = 1; !isSame(current, addresses); tries++) {
    const status = { ...current.status, loadBalancer: addresses.length === 0 ? {} : { ingress: addresses } };
    const body = { ...current, apiVersion: "networking.k8s.io/v1", kind: "Ingress", status };
    try {
      await client.request({ method: "PUT", path: `${path}/status`, query: { fieldManager: FIELD_MANAGER }, body });
      return;
    } catch (error) {
      if (isStatus(error, 404)) return;
      if (!isStatus(error, 409) || tries === MAX_TRIES) throw error;
    }
    const latest = await client.request<Ingress>({ method: "GET", path }).catch((error: unknown) => {
      if (isStatus(error, 404)) return undefined;
      throw error;
    });
    // Gone, or gone and made anew by somebody: then its own turn comes.
    if (!latest || latest.metadata.uid !== ingress.metadata.uid) return;
    current = latest;
  }
}

function isSame({ status }: Ingress, addresses: readonly LoadBalancerAddress[]): boolean {
  const plain = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({ ip, hostname }));
  return canonicalJson(plain) === canonicalJson(addresses);
}

/** "203.0.113.7" or "gateway.example.com" as a load balancer's address. */
export function addressOf(text: string): LoadBalancerAddress {
  return isIP(text) === 0 ? { hostname: text } : { ip: text };
}

/** Addresses of the Service through which users reach the gateway. */
export function addressesOfService(service: Service | undefined): readonly LoadBalancerAddress[] {
  return (service?.status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({
    ...(ip === undefined ? {} : { ip }),
    ...(hostname === undefined ? {} : { hostname }),
  }));
}
