/**
 * The parts of a node that the suite needs: scheduler, kubelet and kube-proxy in small. Each pod is an `echo-basic` process with
 * an address of its own, each Service a relay to the ready endpoints that the real controller manager found.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Cluster } from "../kube/cluster.ts";
import { type Hosts, openHosts, type PodProcess, startInPod } from "./network.ts";
import { type Endpoint, type Relay, startRelay } from "./relay.ts";

interface Meta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
}
interface List<T> {
  readonly items: readonly T[];
}
interface Container {
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Pod {
  readonly metadata: Meta;
  readonly spec: {
    readonly containers: readonly Container[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: {
        readonly secretName: string;
        readonly items?: readonly { readonly key: string; readonly path: string }[];
      };
    }[];
  };
}
interface Service {
  readonly metadata: Meta;
  readonly spec: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
  };
}
interface EndpointSlice {
  readonly metadata: Meta;
  readonly ports: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: { readonly ready?: boolean };
      }[]
    | null;
}

/** Time between two looks at the cluster. */
const PAUSE_MS = 150;
const NODE = "node";
const CLUSTER_DOMAIN = "svc.cluster.local";

export interface RunningNode {
  close(): Promise<void>;
}

/** @param echo program of each pod */
export async function startNode(cluster: Cluster, echo: string): Promise<RunningNode> {
  await cluster.api("POST", "/api/v1/nodes", { metadata: { name: NODE } });
  const hosts = await openHosts(cluster.directory);
  const pods = new Map<string, PodProcess>();
  const relays = new Map<string, Relay>();
  const state = { isOpen: true };
  const look = async (): Promise<void> => {
    while (state.isOpen) {
      try {
        await runPods(cluster, echo, pods);
        await relayServices(cluster, relays, hosts);
      } catch (error) {
        console.warn("node:", error instanceof Error ? error.message : error);
      }
      await delay(PAUSE_MS);
    }
  };
  const looking = look();
  return {
    async close() {
      state.isOpen = false;
      await looking;
      await Promise.all([...pods.values()].map((pod) => pod.close()));
      for (const relay of relays.values()) relay.close();
    },
  };
}

async function runPods(cluster: Cluster, echo: string, running: Map<string, PodProcess>): Promise<void> {
  const { items } = await cluster.api<List<Pod>>("GET", "/api/v1/pods");
  const there = new Set(items.map(({ metadata }) => metadata.uid));
  for (const [uid, pod] of running) if (!there.has(uid)) await endPod(running, uid, pod);
  for (const pod of items) {
    const { name, namespace, uid, deletionTimestamp } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const known = running.get(uid);
    if (deletionTimestamp !== undefined) {
      if (known) await endPod(running, uid, known);
      await cluster.api("DELETE", `${path}?gracePeriodSeconds=0`).catch(ignoreGone);
    } else if (!known) {
      const env = await environmentOf(cluster, pod);
      // Its Secret comes later.
      if (!env) continue;
      const started = await startInPod(echo, env);
      running.set(uid, started);
      await cluster.api("POST", `${path}/binding`, { metadata: { name }, target: { kind: "Node", name: NODE } });
      const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
      }));
      const { address } = started;
      await cluster.api("PATCH", `${path}/status`, {
        status: { phase: "Running", podIP: address, podIPs: [{ ip: address }], conditions },
      });
    }
  }
}

async function endPod(running: Map<string, PodProcess>, uid: string, pod: PodProcess): Promise<void> {
  running.delete(uid);
  await pod.close();
}

function ignoreGone(error: unknown): void {
  if (!String(error).includes("404")) throw error;
}

/** Files of volumes are in a folder of the pod: variables name them there. @returns undefined while a Secret is missing */
async function environmentOf(
  cluster: Cluster,
  { metadata, spec }: Pod,
): Promise<Readonly<Record<string, string>> | undefined> {
  const [container] = spec.containers;
  const folder = join(cluster.directory, "volumes", metadata.uid);
  for (const { name, secret } of spec.volumes ?? []) {
    if (!secret) continue;
    const path = `/api/v1/namespaces/${metadata.namespace}/secrets/${secret.secretName}`;
    const found = await cluster.api<{ readonly data: Readonly<Record<string, string>> }>("GET", path).catch(ignoreGone);
    if (!found) return undefined;
    await mkdir(join(folder, name), { recursive: true });
    for (const { key, path: file } of secret.items ??
      Object.keys(found.data).map((each) => ({ key: each, path: each })))
      await writeFile(join(folder, name, file), Buffer.from(found.data[key] ?? "", "base64"));
  }
  const mounts = container?.volumeMounts ?? [];
  const here = (text: string): string => {
    const mount = mounts.find(({ mountPath }) => text.startsWith(`${mountPath}/`));
    return mount ? join(folder, mount.name, text.slice(mount.mountPath.length)) : text;
  };
  const fields: Readonly<Record<string, string>> = {
    "metadata.name": metadata.name,
    "metadata.namespace": metadata.namespace,
  };
  return Object.fromEntries(
    (container?.env ?? []).map(({ name, value, valueFrom }) => {
      const field = valueFrom?.fieldRef?.fieldPath;
      return [name, field === undefined ? here(value ?? "") : (fields[field] ?? "")];
    }),
  );
}

async function relayServices(cluster: Cluster, relays: Map<string, Relay>, hosts: Hosts): Promise<void> {
  const services = await cluster.api<List<Service>>("GET", "/api/v1/services");
  const slices = await cluster.api<List<EndpointSlice>>("GET", "/apis/discovery.k8s.io/v1/endpointslices");
  const names = new Map<string, readonly string[]>();
  const wanted = new Set<string>();
  for (const { metadata, spec } of services.items) {
    const { name, namespace } = metadata;
    const own = slices.items.filter(
      (slice) =>
        slice.metadata.namespace === namespace && slice.metadata.labels?.["kubernetes.io/service-name"] === name,
    );
    const { clusterIP } = spec;
    const host = `${name}.${namespace}.${CLUSTER_DOMAIN}`;
    if (clusterIP === undefined || clusterIP === "None") {
      names.set(host, [...new Set(own.flatMap((slice) => endpointsOf(slice)).map((endpoint) => endpoint.host))]);
      continue;
    }
    names.set(host, [clusterIP]);
    for (const port of (spec.ports ?? []).filter(({ protocol = "TCP" }) => protocol === "TCP")) {
      const key = `${clusterIP}:${port.port}`;
      wanted.add(key);
      let relay = relays.get(key);
      if (!relay) relays.set(key, (relay = await startRelay(clusterIP, port.port)));
      relay.endpoints = own.flatMap((slice) => endpointsOf(slice, port.name));
    }
  }
  for (const [key, relay] of relays) {
    if (wanted.has(key)) continue;
    relays.delete(key);
    relay.close();
  }
  await hosts.write(names);
}

/** @param portName only this one */
function endpointsOf({ ports, endpoints }: EndpointSlice, portName?: string): readonly Endpoint[] {
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  const all = ports ?? [];
  const found =
    portName === undefined && all.length > 1 ? all : all.filter(({ name = "" }) => name === (portName ?? ""));
  return found.flatMap(({ port = 0 }) => ready.map(({ addresses: [host = ""] }) => ({ host, port })));
}
