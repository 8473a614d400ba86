/** The configuration in force. */
import type { HostCertificate } from "../features/listener/compiled.ts";
import type { LiveSettings, CompiledRoute } from "./compiled.ts";

/** One consistent configuration in force. */
export interface Snapshot {
  /** SHA-256 (hex) of the canonical JSON of settings, routes and certificates. */
  readonly digest: string;
  /** Grows by one with each swap of this process. */
  readonly generation: number;
  readonly settings: LiveSettings;
  /** Of slices, one for a host at most. */
  readonly certificates?: readonly HostCertificate[];
  /** Sorted by key. */
  readonly routes: readonly CompiledRoute[];
  /** The boot file has `owners`: their applications are held apart. */
  readonly holdsOwnersApart?: boolean;
}

const known = new WeakMap<readonly CompiledRoute[], ReadonlyMap<string, CompiledRoute>>();

/** By key; made once for each snapshot, which may have 100,000 routes. */
export function findRoute({ routes }: Pick<Snapshot, "routes">, key: string | undefined): CompiledRoute | undefined {
  if (key === undefined) return undefined;
  let byKey = known.get(routes);
  if (!byKey) known.set(routes, (byKey = new Map(routes.map((route) => [route.key, route]))));
  return byKey.get(key);
}

/** The configuration in force and its changes; implemented by bundle/. */
export interface Snapshots {
  current(): Snapshot;
  /** Called after each swap, synchronously, with the new snapshot. @returns unsubscribe */
  subscribe(listener: (next: Snapshot, previous: Snapshot) => void): () => void;
  /** Called with a snapshot before it is put in force, which waits for what takes long. @returns takes it back */
  prepare?(work: (next: Snapshot) => Promise<void>): () => void;
}
