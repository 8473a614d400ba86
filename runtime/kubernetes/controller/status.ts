/** The status of Ingresses (the addresses at which the gateway serves them) and of objects of the Gateway API. */
import { isIP } from "node:net";

import { canonicalJson } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import { GATEWAY_CLASSES_PATH, isStatus, type KubeClient, objectPath } from "./kube-client.ts";
import { GATEWAY_API_KINDS } from "../translate/gateway-api/objects.ts";
import type { ObjectStatus } from "../translate/gateway-api/status-parts.ts";
import { type Ingress, type LoadBalancerAddress, namespaceOf, type Service } from "../translate/objects.ts";
import type { KubeObject } from "../kube-object.ts";

/** Another client may write between our read and our write; each round at least one of them succeeds. */
const MAX_TRIES = 5;

/** Name under which the API server records our fields. */
const FIELD_MANAGER = "gateway-ingress-controller";
/** Ingresses whose status was last written by us, according to the server. */
const ours = new WeakSet<KubeObject>();

/** An object as stored here: without the server's record of field managers, which is often half of it. */
export function withoutManagers<T extends KubeObject>(object: T): T {
  const { managedFields, ...metadata } = object.metadata;
  if (managedFields === undefined) return object;
  const stored = { ...object, metadata };
  const isOurs = (each: unknown): boolean =>
    isRecord(each) && each["manager"] === FIELD_MANAGER && each["subresource"] === "status";
  if (Array.isArray(managedFields) && managedFields.some(isOurs)) ours.add(stored);
  return stored;
}

/**
 * Removes our addresses from an Ingress that has left our class. Another controller's addresses stay.
 *
 * @throws as `writeStatus`
 */
export async function clearStatus(client: KubeClient, ingress: Ingress): Promise<void> {
  if (ours.has(ingress)) await writeStatus(client, ingress, []);
}

/**
 * Writes the addresses, or removes ours from an Ingress that is not served.
 *
 * @throws KubeError, GatewayError `kube.unreachable`; does nothing when the Ingress is gone
 */
export async function writeStatus(
  client: KubeClient,
  ingress: Ingress,
  addresses: readonly LoadBalancerAddress[],
): Promise<void> {
  const path = objectPath("ingresses", namespaceOf(ingress), ingress.metadata.name);
  await putStatus<Ingress>(client, path, ingress, (current) => {
    if (isSame(current, addresses)) return undefined;
    const status = { ...current.status, loadBalancer: addresses.length === 0 ? {} : { ingress: addresses } };
    return { ...current, apiVersion: "networking.k8s.io/v1", kind: "Ingress", status };
  });
}

/**
 * Writes the status of an object of the Gateway API, if it changes. A newer version of the object is left to the next
 * round, which reads it.
 *
 * @throws as `writeStatus`
 */
export async function writeObjectStatus(client: KubeClient, status: ObjectStatus, nowMs: number): Promise<void> {
  const { resource, object } = status;
  const { name } = object.metadata;
  const path =
    resource === "gatewayClasses"
      ? `${GATEWAY_CLASSES_PATH}/${encodeURIComponent(name)}`
      : objectPath(resource, namespaceOf(object), name);
  const at = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  await putStatus<KubeObject & { readonly status?: unknown }>(client, path, object, (current) => {
    if (current.metadata.generation !== object.metadata.generation) return undefined;
    const next = status.next(current.status, at);
    return next === current.status ? undefined : { ...current, ...GATEWAY_API_KINDS[resource], status: next };
  });
}

/** @param next the object with its new status; undefined if nothing changes */
async function putStatus<T extends KubeObject>(
  client: KubeClient,
  path: string,
  object: T,
  next: (current: T) => object | undefined,
): Promise<void> {
  let current = object;
  for (let tries = 1; ; tries++) {
    const body = next(current);
    if (body === undefined) return;
    try {
      await client.request({ method: "PUT", path: `${path}/status`, query: { fieldManager: FIELD_MANAGER }, body });
      return;
    } catch (error) {
      if (isStatus(error, 404)) return;
      if (!isStatus(error, 409) || tries === MAX_TRIES) throw error;
    }
    const latest = await client.request<T>({ method: "GET", path }).catch((error: unknown) => {
      if (isStatus(error, 404)) return undefined;
      throw error;
    });
    // Deleted, or deleted and created again: a new one is handled separately.
    if (!latest || latest.metadata.uid !== object.metadata.uid) return;
    current = latest;
  }
}

function isSame({ status }: Ingress, addresses: readonly LoadBalancerAddress[]): boolean {
  const plain = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({ ip, hostname }));
  return canonicalJson(plain) === canonicalJson(addresses);
}

/** Parses "203.0.113.7" or "gateway.example.com" as a load balancer's address. */
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
