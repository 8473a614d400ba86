/** When Maglev tables are made, filled, shared and forgotten. */
import { describe, expect, test } from "vitest";

import type { Snapshot } from "../../../../runtime/config/snapshot.ts";
import { createMaglevTables, maglevOf } from "../../../../runtime/features/balancing/apply-maglev-tables.ts";
import { snapshotFrom } from "../../../support/config.ts";

const route = (name: string, to: readonly string[], more = "load_balancing_policy: maglev"): string =>
  `  - { name: ${name}, from: "https://${name}.example", to: ${JSON.stringify(to)}, ${more}, policy: [{ allow: { and: [{ accept: true }] } }] }`;
const snapshotOf = (...routes: readonly string[]): Snapshot => snapshotFrom(`routes:\n${routes.join("\n")}`);
const [A, B, C] = ["http://a", "http://b", "http://c"];

/** Turns of the event loop that the test gives out. */
function limiter() {
  const waiting = new Set<() => void>();
  return {
    defer: (action: () => void) => {
      waiting.add(action);
      return () => void waiting.delete(action);
    },
    get waiting() {
      return waiting.size;
    },
    /** @returns how many it took */
    all(): number {
      let count = 0;
      for (const action of waiting) {
        waiting.delete(action);
        action();
        count += 1;
      }
      return count;
    },
  };
}

function routeOf(snapshot: Snapshot, name: string) {
  const found = snapshot.routes.find((each) => each.name === name);
  if (!found) throw new Error(`Cannot find route ${name}`);
  return found;
}

function tableOf(snapshot: Snapshot, name = "one") {
  return maglevOf(routeOf(snapshot, name)).table;
}

describe("createMaglevTables()", () => {
  test("fills tables in many small slices, before a request asks", () => {
    const time = limiter();
    const tables = createMaglevTables(time.defer);
    const snapshot = snapshotOf(route("one", [A, B]), route("other", [A, B, C]));
    tables.follow(snapshot);
    expect(tableOf(snapshot).filled).toBe(0);
    expect(time.all()).toBeGreaterThan(6);
    for (const name of ["one", "other"]) expect(tableOf(snapshot, name).filled).toBe(65_537);
    expect(time.waiting).toBe(0);
  });

  test("one upstream named many times is no more work than as many upstreams, and each has its share", () => {
    const time = limiter();
    const tables = createMaglevTables(time.defer);
    const snapshot = snapshotOf(route("one", [B, ...Array.from({ length: 500 }, () => A)]));
    tables.follow(snapshot);
    expect(time.all()).toBeLessThan(60);
    const { table } = maglevOf(routeOf(snapshot, "one"));
    const places = new Map<number, number>();
    for (let hash = 0; hash < table.size; hash += 1) places.set(table.at(hash), (places.get(table.at(hash)) ?? 0) + 1);
    expect(places.size).toBe(501);
    expect(new Set(places.values())).toEqual(new Set([130, 131]));
  });

  test("a request that comes earlier meets the upstream that it meets later", () => {
    const time = limiter();
    const tables = createMaglevTables(time.defer);
    const [early, late] = [snapshotOf(route("one", [A, B, C])), snapshotOf(route("one", [A, B, C]))];
    tables.follow(early);
    const before = Array.from({ length: 500 }, (_, hash) => tableOf(early).at(hash * 7_919));
    expect(tableOf(early).filled).toBe(65_537);
    createMaglevTables(time.defer).follow(late);
    time.all();
    expect(Array.from({ length: 500 }, (_, hash) => tableOf(late).at(hash * 7_919))).toEqual(before);
  });

  test("routes with the same upstreams and weights share a table, in whatever order they name them", () => {
    const tables = createMaglevTables(limiter().defer);
    const small = "load_balancing_policy: maglev, maglev_lb_config: { table_size: 101 }";
    const snapshot = snapshotOf(
      route("one", [A, B]),
      route("turned", [B, A]),
      route("heavier", [`${A},2`, B]),
      route("small", [A, B], small),
      route("alone", [A]),
      route("turns", [A, B], "load_balancing_policy: round_robin"),
    );
    tables.follow(snapshot);
    expect(tables.size).toBe(3);
    expect(tableOf(snapshot, "turned")).toBe(tableOf(snapshot));
    expect(tableOf(snapshot, "small").size).toBe(101);
    expect(maglevOf(routeOf(snapshot, "turned")).order).toEqual([1, 0]);
  });

  test("keeps tables over a reload, forgets those that nobody asks for, and stops filling when closed", () => {
    const time = limiter();
    const tables = createMaglevTables(time.defer);
    const first = snapshotOf(route("one", [A, B]), route("other", [A, C]));
    tables.follow(first);
    time.all();
    const kept = tableOf(first);
    const next = snapshotOf(route("renamed", [B, A]), route("third", [B, C]));
    tables.follow(next);
    expect(tableOf(next, "renamed")).toBe(kept);
    expect(tables.size).toBe(2);
    expect(time.waiting).toBe(1);
    tables.follow(next);
    expect(time.waiting).toBe(1);
    tables.close();
    expect(time.waiting).toBe(0);
    expect(tableOf(next, "third").filled).toBe(0);
  });
});
