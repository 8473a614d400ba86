/** Route of a question: by its key, or by the address, as the gateway's own table finds it. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import { buildHostIndex, type HostIndex } from "../../features/routing/apply-find-route.ts";
import type { RouteChoice } from "../../simulation/protocol.ts";

/** Made when the first address of a snapshot is asked for. */
const indexes = new WeakMap<Snapshot, HostIndex<CompiledRoute>>();

export function findRouteOf(snapshot: Snapshot, choice: RouteChoice): CompiledRoute | undefined {
  if ("key" in choice) return findRoute(snapshot, choice.key);
  let index = indexes.get(snapshot);
  if (!index) {
    const authenticateUrl = snapshot.settings.authenticateServiceUrl;
    index = buildHostIndex({ routes: snapshot.routes, authenticateUrl, prepare: (route) => route });
    indexes.set(snapshot, index);
  }
  const found = index.findHost(choice.host)?.findRoute(choice.path);
  return found?.ok === true ? found.prepared : undefined;
}
