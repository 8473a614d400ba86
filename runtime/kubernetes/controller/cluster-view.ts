/**
 * The controller's view of the cluster: one reflector for each collection, and one for each Secret and ConfigMap that an object
 * names. Other Secrets and ConfigMaps are never requested; endpoints and namespaces only if an object needs them.
 */
import type { Log } from "../../shared/log.ts";
import type { Clock } from "../../shared/clock.ts";
import { createGatewayApiView } from "./gateway-api-view.ts";
import { collectionPath, INGRESS_CLASSES_PATH, type KubeClient, NAMESPACES_PATH, type PATHS } from "./kube-client.ts";
import type { ConfigMap } from "../translate/gateway-api/objects.ts";
import type { EndpointSlice, Ingress, IngressClass, KubeObjects, Secret, Service } from "../translate/objects.ts";
import type { KubeObject } from "../kube-object.ts";
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
  /** Interval for looking whether the Gateway API is installed. */
  readonly discoveryMs?: number;
}

export interface ClusterView {
  /** Undefined while objects are missing whose absence would remove routes. */
  objects(): KubeObjects | undefined;
  addressService(): Service | undefined;
  /** Watches exactly these objects. @returns whether new ones are awaited */
  follow(targets: FollowedObjects): boolean;
  /** Whether any Secret is watched. */
  hasSecrets(): boolean;
  /** Reasons why objects that all Ingresses need cannot be read now, without names. */
  problems(): readonly string[];
  close(): Promise<void>;
}

export interface FollowedObjects {
  /** "namespace/name". */
  readonly secrets: readonly string[];
  /** "namespace/name". */
  readonly configMaps: readonly string[];
  readonly endpoints: boolean;
  readonly namespaces: boolean;
}

const PATIENCE_MS = 5_000;

interface Watched<T extends KubeObject> {
  readonly reflector: Reflector<T>;
  readonly sinceMs: number;
}

export function createClusterView(options: ClusterViewOptions): ClusterView {
  const { client, onChange, clock, log } = options;
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  const watching = createWatching(options);

  const ingresses = watching.everywhere<Ingress>("ingresses");
  const services = watching.everywhere<Service>("services");
  // Cluster-wide: a controller with permissions for namespaces only continues without them, after a moment.
  const classes = [watching.path<IngressClass>(INGRESS_CLASSES_PATH)];
  const addressService =
    options.addressService === undefined ? undefined : watching.one<Service>("services", options.addressService);
  const secrets = new Map<string, Watched<Secret>>();
  const configMaps = new Map<string, Watched<ConfigMap>>();
  let endpoints: readonly Watched<EndpointSlice>[] | undefined;
  let namespaceLabels: readonly Watched<KubeObject>[] | undefined;
  const gatewayApi = createGatewayApiView({
    client,
    start: (path) => watching.path<KubeObject>(path).reflector,
    startEverywhere: (resource) => watching.everywhere<KubeObject>(resource).map(({ reflector }) => reflector),
    onChange,
    log,
    ...(options.discoveryMs !== undefined && { pollMs: options.discoveryMs }),
  });

  return {
    objects() {
      const essential = [...ingresses, ...services];
      const others = [...classes, ...named(), ...(endpoints ?? []), ...(namespaceLabels ?? [])];
      // An Ingress that names one unreadable Secret after another must not delay the rest each time.
      const isKnown = ({ reflector, sinceMs }: Watched<KubeObject>): boolean =>
        reflector.isSynced() || reflector.isForbidden() || clock.now() - sinceMs >= patienceMs;
      const isReady = essential.every(({ reflector }) => reflector.isSynced()) && others.every(isKnown);
      const routes = gatewayApi.objects();
      if (!isReady || !routes) return undefined;
      return {
        ingresses: all(ingresses),
        services: all(services),
        ingressClasses: all(classes),
        secrets: all([...secrets.values()]),
        endpointSlices: all(endpoints ?? []),
        gatewayApi: { ...routes, namespaces: all(namespaceLabels ?? []), configMaps: all([...configMaps.values()]) },
      };
    },
    addressService: () => addressService?.reflector.items().get(options.addressService ?? ""),
    follow(targets) {
      const areNew = [
        watching.follow(secrets, targets.secrets, "secrets"),
        watching.follow(configMaps, targets.configMaps, "configMaps"),
        targets.endpoints && !endpoints,
        targets.namespaces && !namespaceLabels,
      ];
      if (!targets.endpoints) watching.stop(endpoints);
      if (!targets.namespaces) watching.stop(namespaceLabels);
      endpoints = targets.endpoints ? (endpoints ?? watching.everywhere<EndpointSlice>("endpointSlices")) : undefined;
      namespaceLabels = targets.namespaces
        ? (namespaceLabels ?? [watching.path<KubeObject>(NAMESPACES_PATH)])
        : undefined;
      return areNew.includes(true);
    },
    hasSecrets: () => secrets.size > 0,
    problems() {
      const needed = [...ingresses, ...services, ...(endpoints ?? []), ...(namespaceLabels ?? [])];
      const reflectors = [...needed, ...(addressService ? [addressService] : [])].map(({ reflector }) => reflector);
      return [...new Set([...reflectors, ...gatewayApi.reflectors()].flatMap((each) => each.problem() ?? []))];
    },
    async close() {
      await gatewayApi.close();
      const open = [
        ...ingresses,
        ...services,
        ...classes,
        ...named(),
        ...(endpoints ?? []),
        ...(namespaceLabels ?? []),
      ];
      if (addressService) open.push(addressService);
      await watching.close(open);
    },
  };

  function named(): readonly Watched<KubeObject>[] {
    return [...secrets.values(), ...configMaps.values()];
  }
}

interface Watching {
  everywhere<T extends KubeObject>(resource: keyof typeof PATHS): readonly Watched<T>[];
  /** Watches one object by name, so that permissions can be limited to it. */
  one<T extends KubeObject>(resource: "services" | "secrets" | "configMaps", key: string): Watched<T>;
  path<T extends KubeObject>(path: string): Watched<T>;
  /** Watches exactly these. @returns whether any is new */
  follow<T extends KubeObject>(
    watched: Map<string, Watched<T>>,
    keys: readonly string[],
    resource: "secrets" | "configMaps",
  ): boolean;
  /** In the background, until `close()`. */
  stop(watched: readonly Watched<KubeObject>[] | undefined): void;
  close(open: readonly Watched<KubeObject>[]): Promise<void>;
}

function createWatching(options: ClusterViewOptions): Watching {
  const { client, namespaces, onChange, clock, log } = options;
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  const timers = new Set<NodeJS.Timeout>();
  const closing: Promise<void>[] = [];

  return {
    everywhere: <T extends KubeObject>(resource: keyof typeof PATHS) => {
      if (!namespaces) return [start<T>(collectionPath(resource))];
      return namespaces.map((namespace) => start<T>(collectionPath(resource, namespace)));
    },
    one: startOne,
    path: start,
    follow(watched, keys, resource) {
      let isNew = false;
      const wanted = new Set(keys);
      for (const [key, { reflector }] of watched) {
        if (wanted.has(key)) continue;
        watched.delete(key);
        closing.push(reflector.close());
      }
      for (const key of wanted) {
        if (watched.has(key)) continue;
        watched.set(key, startOne(resource, key));
        isNew = true;
      }
      return isNew;
    },
    stop(watched = []) {
      for (const { reflector } of watched) closing.push(reflector.close());
    },
    async close(open) {
      for (const timer of timers) clearTimeout(timer);
      await Promise.all([...closing, ...open.map(({ reflector }) => reflector.close())]);
    },
  };

  function startOne<T extends KubeObject>(resource: "services" | "secrets" | "configMaps", key: string): Watched<T> {
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
