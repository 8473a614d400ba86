/**
 * Objects of the Gateway API, as far as the cluster has its kinds: they are watched as soon as their definitions appear, and no
 * longer once these are deleted.
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { Log } from "../../shared/log.ts";
import type { Closable } from "../../shared/clock.ts";
import { GATEWAY_CLASSES_PATH, isStatus, type KubeClient, PATHS } from "./kube-client.ts";
import type { GatewayApiObjects } from "../translate/gateway-api/objects.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Reflector } from "./reflector.ts";

/** Collections by the name of their list. */
const COLLECTIONS = {
  gatewayClasses: { api: PATHS.gateways.api, name: "gatewayclasses" },
  gateways: PATHS.gateways,
  httpRoutes: PATHS.httpRoutes,
  grpcRoutes: PATHS.grpcRoutes,
  referenceGrants: PATHS.referenceGrants,
  backendTlsPolicies: PATHS.backendTlsPolicies,
  routePolicies: PATHS.routePolicies,
} as const;
type Collection = keyof typeof COLLECTIONS;

const APIS = [...new Set(Object.values(COLLECTIONS).map(({ api }) => api))];
const POLL_MS = 30_000;

export interface GatewayApiViewOptions {
  readonly client: KubeClient;
  /** Starts watching. */
  readonly start: (path: string) => Reflector<KubeObject>;
  readonly startEverywhere: (resource: Exclude<Collection, "gatewayClasses">) => readonly Reflector<KubeObject>[];
  readonly onChange: () => void;
  readonly log: Log;
  readonly pollMs?: number;
}

export interface GatewayApiView extends Closable {
  /** Undefined until everything was read once; none while a permission is missing. Without namespaces and ConfigMaps. */
  objects(): Omit<GatewayApiObjects, "namespaces" | "configMaps"> | undefined;
  reflectors(): readonly Reflector<KubeObject>[];
}

export function createGatewayApiView(options: GatewayApiViewOptions): GatewayApiView {
  const { client, log, onChange, pollMs = POLL_MS } = options;
  const stop = new AbortController();
  const watched = new Map<Collection, readonly Reflector<KubeObject>[]>();
  let isKnown = false;
  const closing: Promise<void>[] = [];
  const running = run();

  return {
    objects() {
      const all = [...watched.values()].flat();
      if (!isKnown || !all.every((each) => each.isSynced() || each.isForbidden())) return undefined;
      // Without policies, for example, routes would reach backends in another way than their authors want.
      const isWhole = all.every((each) => each.isSynced());
      const items = (collection: Collection): readonly KubeObject[] =>
        (isWhole ? (watched.get(collection) ?? []) : []).flatMap((each) => [...each.items().values()]);
      return {
        gatewayClasses: items("gatewayClasses"),
        gateways: items("gateways"),
        httpRoutes: items("httpRoutes"),
        grpcRoutes: items("grpcRoutes"),
        referenceGrants: items("referenceGrants"),
        backendTlsPolicies: items("backendTlsPolicies"),
        routePolicies: items("routePolicies"),
      };
    },
    reflectors: () => [...watched.values()].flat(),
    async close() {
      stop.abort();
      await running;
      await Promise.all([...closing, ...[...watched.values()].flat().map((each) => each.close())]);
    },
  };

  async function run(): Promise<void> {
    let lastReason = "";
    while (!stop.signal.aborted) {
      let waitMs = pollMs;
      try {
        follow(await discover());
        lastReason = "";
      } catch (error) {
        if (stop.signal.aborted) return;
        const reason = errorText(error);
        if (reason !== lastReason) log.warn({ reason, path: APIS[0], waitMs }, "cannot reach cluster, retrying");
        lastReason = reason;
        // Nothing is published before it is known whether there are routes.
        if (!isKnown) waitMs = Math.min(1_000, pollMs);
      }
      await delay(waitMs, undefined, { signal: stop.signal, ref: false }).catch(() => {});
    }
  }

  /** Collections that the cluster has. */
  async function discover(): Promise<ReadonlySet<Collection>> {
    const found = new Set<Collection>();
    for (const api of APIS) {
      const names = await resourcesOf(api);
      for (const [collection, about] of Object.entries(COLLECTIONS))
        if (about.api === api && names.has(about.name)) found.add(collection as Collection);
    }
    return found;
  }

  async function resourcesOf(api: string): Promise<ReadonlySet<string>> {
    try {
      const answer = await client.request<unknown>({ method: "GET", path: api, signal: stop.signal });
      const resources = isRecord(answer) && Array.isArray(answer["resources"]) ? answer["resources"] : [];
      return new Set(resources.filter(isRecord).map(({ name }) => String(name)));
    } catch (error) {
      // Every account may discover, unless an administrator has changed that.
      if (isStatus(error, 404) || isStatus(error, 403)) return new Set();
      throw error;
    }
  }

  function follow(found: ReadonlySet<Collection>): void {
    let isNew = !isKnown;
    isKnown = true;
    for (const [collection, reflectors] of watched) {
      if (found.has(collection)) continue;
      watched.delete(collection);
      for (const each of reflectors) closing.push(each.close());
      isNew = true;
    }
    for (const collection of found) {
      if (watched.has(collection)) continue;
      watched.set(
        collection,
        collection === "gatewayClasses" ? [options.start(GATEWAY_CLASSES_PATH)] : options.startEverywhere(collection),
      );
      isNew = true;
    }
    if (isNew) onChange();
  }
}
