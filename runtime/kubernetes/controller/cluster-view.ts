/**
 * The controller's view of the cluster: one reflector for each collection, and one for each Secret that an Ingress names.
 * Other Secrets are never requested; endpoints only if an Ingress needs them.
 */
import type { Log } from "../../shared/log.ts";
import type { Clock } from "../../shared/clock.ts";
import { collectionPath, INGRESS_CLASSES_PATH, type KubeClient } from "./kube-client.ts";
import type {
  EndpointSlice,
  Ingress,
  IngressClass,
  KubeObject,
  KubeObjects,
  Secret,
  Service,
} from "../translate/objects.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ClusterViewOptions {
  readonly client: KubeClient;
  /** All namespaces when absent. */
  readonly namespaces?: readonly string[];
  /** "namespace/name" of the Service whose address the Ingresses get. */
  readonly addressService?: string | undefined;
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly reflector?: Pick<ReflectorOptions, "watchSeconds" | "graceMs" | "pageSize"> & {
    readonly backoff?: () => ReflectorOptions["backoff"];
  };
  /** Longest time that optional objects may delay the rest. */
  readonly patienceMs?: number;
}

export interface ClusterView {
  /** Undefined while objects are missing whose absence would remove routes. */
  objects(): KubeObjects | undefined;
  addressService(): Service | undefined;
  /** Watches exactly these Secrets ("namespace/name"), and endpoints if requested. @returns whether new objects are awaited */
  follow(targets: { readonly secrets: readonly string[]; readonly endpoints: boolean }): boolean;
  /** Whether any Secret is watched. */
  hasSecrets(): boolean;
  /** Reasons why objects that all Ingresses need cannot be read now, without names. */
  problems(): readonly string[];
  close(): Promise<void>;
}

const PATIENCE_MS = 5_000;

interface Watched<T extends KubeObject> {
  readonly reflector: Reflector<T>;
  readonly sinceMs: number;
}

export function createClusterView(options: ClusterViewOptions): ClusterView {
  const { client, namespaces, onChange, clock, log } = options;
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  const timers = new Set<NodeJS.Timeout>();
  const closing: Promise<void>[] = [];

  const ingresses = everywhere<Ingress>("ingresses");
  const services = everywhere<Service>("services");
  // Cluster-wide: a controller with permissions for namespaces only continues without them, after a moment.
  const classes = [start<IngressClass>(INGRESS_CLASSES_PATH)];
  const addressService =
    options.addressService === undefined ? undefined : startOne<Service>("services", options.addressService);
  const secrets = new Map<string, Watched<Secret>>();
  let endpoints: readonly Watched<EndpointSlice>[] | undefined;

  return {
    objects() {
      const essential = [...ingresses, ...services];
      const others = [...classes, ...secrets.values(), ...(endpoints ?? [])];
      // An Ingress that names one unreadable Secret after another must not delay the rest each time.
      const isKnown = ({ reflector, sinceMs }: Watched<KubeObject>): boolean =>
        reflector.isSynced() || reflector.isForbidden() || clock.now() - sinceMs >= patienceMs;
      const isReady = essential.every(({ reflector }) => reflector.isSynced()) && others.every(isKnown);
      if (!isReady) return undefined;
      return {
        ingresses: all(ingresses),
        services: all(services),
        ingressClasses: all(classes),
        secrets: all([...secrets.values()]),
        endpointSlices: all(endpoints ?? []),
      };
    },
    addressService: () => addressService?.reflector.items().get(options.addressService ?? ""),
    follow(targets) {
      let isNew = false;
      const named = new Set(targets.secrets);
      for (const [key, watched] of secrets) {
        if (named.has(key)) continue;
        secrets.delete(key);
        closing.push(watched.reflector.close());
      }
      for (const key of named) {
        if (secrets.has(key)) continue;
        secrets.set(key, startOne<Secret>("secrets", key));
        isNew = true;
      }
      if (targets.endpoints && !endpoints) {
        endpoints = everywhere<EndpointSlice>("endpointSlices");
        isNew = true;
      } else if (!targets.endpoints && endpoints) {
        for (const { reflector } of endpoints) closing.push(reflector.close());
        endpoints = undefined;
      }
      return isNew;
    },
    hasSecrets: () => secrets.size > 0,
    problems() {
      const needed = [...ingresses, ...services, ...(endpoints ?? []), ...(addressService ? [addressService] : [])];
      return [...new Set(needed.flatMap(({ reflector }) => reflector.problem() ?? []))];
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      const open = [...ingresses, ...services, ...classes, ...secrets.values(), ...(endpoints ?? [])];
      if (addressService) open.push(addressService);
      await Promise.all([...closing, ...open.map(({ reflector }) => reflector.close())]);
    },
  };

  function everywhere<T extends KubeObject>(
    resource: "ingresses" | "services" | "endpointSlices",
  ): readonly Watched<T>[] {
    if (!namespaces) return [start<T>(collectionPath(resource))];
    return namespaces.map((namespace) => start<T>(collectionPath(resource, namespace)));
  }

  /** Watches one object by name, so that permissions can be limited to it. */
  function startOne<T extends KubeObject>(resource: "services" | "secrets", key: string): Watched<T> {
    const [namespace = "", name = ""] = key.split("/");
    return start<T>(collectionPath(resource, namespace), `metadata.name=${name}`);
  }

  function start<T extends KubeObject>(path: string, fieldSelector?: string): Watched<T> {
    const { backoff, ...tuning } = options.reflector ?? {};
    const made = backoff?.();
    const selector = fieldSelector === undefined ? {} : { fieldSelector };
    const reflector = new Reflector<T>({
      client,
      path,
      ...selector,
      onChange,
      log,
      ...tuning,
      ...(made && { backoff: made }),
    });
    // Trigger a check when the patience ends: no other event would.
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!reflector.isSynced()) onChange();
    }, patienceMs + 10);
    timer.unref();
    timers.add(timer);
    return { reflector, sinceMs: clock.now() };
  }
}

function all<T extends KubeObject>(watched: readonly Watched<T>[]): readonly T[] {
  return watched.flatMap(({ reflector }) => [...reflector.items().values()]);
}
