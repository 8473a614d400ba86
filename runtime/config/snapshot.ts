/** The active configuration. */
import type { HostCertificate } from "../features/listener/compiled.ts";
import type { LiveSettings, CompiledRoute } from "./compiled.ts";

/** One consistent, immutable configuration. */
export interface Snapshot {
  /** SHA-256 (hex) of the canonical JSON of settings, routes and certificates. */
  readonly digest: string;
  /** Incremented with each swap of this process. */
  readonly generation: number;
  readonly settings: LiveSettings;
  /** Certificates of slices, at most one for a host. */
  readonly certificates?: readonly HostCertificate[];
  /** Sorted by key. */
  readonly routes: readonly CompiledRoute[];
  /** The main configuration file has `owners`: their applications are isolated from each other. */
  readonly separatesOwners?: boolean;
}

const known = new WeakMap<readonly CompiledRoute[], ReadonlyMap<string, CompiledRoute>>();

/** Finds a route by key. The index is built once per snapshot, which can have 100,000 routes. */
export function findRoute({ routes }: Pick<Snapshot, "routes">, key: string | undefined): CompiledRoute | undefined {
  if (key === undefined) return undefined;
  let byKey = known.get(routes);
  if (!byKey) known.set(routes, (byKey = new Map(routes.map((route) => [route.key, route]))));
  return byKey.get(key);
}

/** The active configuration and its changes; implemented by bundle/. */
export interface Snapshots {
  current(): Snapshot;
  /** Called after each swap, synchronously, with the new snapshot. @returns unsubscribe */
  subscribe(listener: (next: Snapshot, previous: Snapshot) => void): () => void;
  /** Called with a snapshot before it becomes active; activation waits for the work. @returns unsubscribe */
  prepare?(work: (next: Snapshot) => Promise<void>): () => void;
}
