/** Policies of configurations that were active in this process, by digest: a record says which one decided. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshot, type Snapshots } from "../../config/snapshot.ts";
import type { Closable } from "../../shared/clock.ts";

export interface KnownPolicies extends Closable {
  /** @returns undefined: this process no longer has that configuration, or never had it */
  find(digest: string, route: string): CompiledRoute | undefined;
}

/** Routes that did not change are shared by all of them. */
const MAX_SNAPSHOTS = 16;

export function rememberPolicies(snapshots: Pick<Snapshots, "current" | "subscribe">): KnownPolicies {
  const known = new Map<string, Snapshot>();
  const add = (snapshot: Snapshot): void => {
    known.delete(snapshot.digest);
    known.set(snapshot.digest, snapshot);
    const oldest = known.keys().next();
    if (known.size > MAX_SNAPSHOTS && oldest.done !== true) known.delete(oldest.value);
  };
  add(snapshots.current());
  const unsubscribe = snapshots.subscribe(add);
  return {
    find(digest, route) {
      const current = snapshots.current();
      const snapshot = current.digest === digest ? current : known.get(digest);
      return snapshot && findRoute(snapshot, route);
    },
    close: () => {
      unsubscribe();
      return Promise.resolve();
    },
  };
}
