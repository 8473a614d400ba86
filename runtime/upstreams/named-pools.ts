/** The connections to upstreams that routes need, by `poolKeyOf`; counted, so that a change costs only what it changes. */
import type { CompiledRoute } from "../config/compiled.ts";
import { poolKeyOf } from "../features/connection/pool-key.ts";
import { changedMembers } from "../shared/changes/changed-members.ts";
import { Counted } from "../shared/changes/counted.ts";

export interface NamedPools {
  has(key: string): boolean;
  /** In steps, see `SpreadWork`. */
  follow(routes: readonly CompiledRoute[]): Generator<void>;
}

export function createNamedPools(): NamedPools {
  const named = new Counted<string>();
  let followed: readonly CompiledRoute[] = [];
  return {
    has: (key) => named.has(key),
    *follow(routes) {
      const { added, removed } = changedMembers(followed, routes);
      followed = routes;
      for (const { to } of added) {
        for (const upstream of to) {
          named.add(poolKeyOf(upstream));
          yield;
        }
      }
      for (const { to } of removed) {
        for (const upstream of to) {
          named.remove(poolKeyOf(upstream));
          yield;
        }
      }
    },
  };
}
