/**
 * The Maglev tables of the configuration in force: one for all routes with equal upstreams, kept over reloads, and filled
 * between requests, a little at a time. A request that comes before its table is full fills the rest: by default that is
 * less than 4 ms once, and nobody meets another upstream because of it.
 */
import type { BalancedRoute } from "./compiled.ts";
import { createMaglevTable, type MaglevTable } from "./apply-maglev.ts";
import { addressOf } from "./apply-state.ts";
import { maglevKey, maglevMembers } from "./maglev-members.ts";
import { task } from "../../shared/faults/guard.ts";

/** A table, and the index in `to` of each of its members. */
export interface RouteMaglev {
  /** Equal for equal upstreams, weights and sizes. */
  readonly key: string;
  readonly table: MaglevTable;
  readonly order: readonly number[];
}

export interface MaglevTables {
  /** Before the routes are used. Tables that no route asks for any more are forgotten. */
  follow(next: { readonly routes: readonly BalancedRoute[] }): void;
  readonly size: number;
  close(): void;
}

/** Of a slice of filling: about half a millisecond. */
const STEPS_AT_ONCE = 20_000;

const byRoute = new WeakMap<BalancedRoute, RouteMaglev>();

export function maglevOf(route: BalancedRoute): RouteMaglev {
  let known = byRoute.get(route);
  if (!known) byRoute.set(route, (known = maglevWith(route, (_, make) => make())));
  return known;
}

/** @param defer calls back when requests have had their turn, and returns what takes it back */
export function createMaglevTables(defer: (action: () => void) => () => void = afterEvents): MaglevTables {
  let tables = new Map<string, MaglevTable>();
  let unfilled: MaglevTable[] = [];
  let cancel: (() => void) | undefined;

  const fillSome = (): void => {
    cancel = undefined;
    if (unfilled.at(-1)?.fill(STEPS_AT_ONCE) === true) unfilled.pop();
    if (unfilled.length > 0) cancel = defer(fillSome);
  };

  return {
    follow({ routes }) {
      const kept = new Map<string, MaglevTable>();
      const shared: Share = (key, make) => {
        const table = kept.get(key) ?? tables.get(key) ?? make();
        kept.set(key, table);
        return table;
      };
      for (const route of routes) {
        if (route.balancing?.policy !== "maglev" || route.to.length < 2) continue;
        const known = byRoute.get(route);
        if (known) shared(known.key, () => known.table);
        else byRoute.set(route, maglevWith(route, shared));
      }
      tables = kept;
      unfilled = [...kept.values()].filter(({ filled, size }) => filled < size).reverse();
      if (unfilled.length > 0) cancel ??= defer(fillSome);
    },
    get size() {
      return tables.size;
    },
    close() {
      cancel?.();
      cancel = undefined;
      unfilled = [];
      tables.clear();
    },
  };
}

type Share = (key: string, make: () => MaglevTable) => MaglevTable;

function maglevWith(route: BalancedRoute, share: Share): RouteMaglev {
  const members = maglevMembers(route.to.map((each) => ({ address: addressOf(each), weight: each.weight })));
  const size = route.balancing?.maglevTableSize ?? 0;
  const key = maglevKey(members, size);
  const table = share(key, () => createMaglevTable(members, size));
  return { key, table, order: members.map(({ index }) => index) };
}

function afterEvents(action: () => void): () => void {
  const immediate = setImmediate(task("the making of balancing tables", action));
  return () => clearImmediate(immediate);
}
