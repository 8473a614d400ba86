/** Cost of a change of one owner's routes for others: their upstreams are not visited, however many there are. */
import { expect, test } from "vitest";

import type { CompiledRoute } from "../../../../runtime/config/compiled.ts";
import { createUpstreamStates, statesOf } from "../../../../runtime/features/balancing/apply-state.ts";
import type { HealthCheckSettings as CheckSettings } from "../../../../runtime/features/balancing/compiled.ts";
import { createNamedPools } from "../../../../runtime/upstreams/named-pools.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createSpreadWork } from "../../../../runtime/shared/changes/spread-work.ts";
import { HealthCheck, type HealthCheckDeps } from "../../../../runtime/upstreams/health/health-check.ts";
import { createHealthChecks } from "../../../../runtime/upstreams/health/health-checks.ts";
import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";

const CHECK: CheckSettings = {
  intervalMs: 10_000,
  timeoutMs: 60_000,
  unhealthyThreshold: 1,
  healthyThreshold: 1,
  probe: { kind: "http", path: "/", host: undefined, statuses: [] },
};
let looks = 0;

/** Counts the looks at its upstreams. */
function routeOf(owner: string, hosts: readonly string[], isChecked = true): CompiledRoute {
  const to = hosts.map((host) => ({ origin: `http://${host}`, host, basePath: "", weight: 1 }));
  return {
    key: `${owner}/app`,
    owner,
    get to() {
      looks += 1;
      return to;
    },
    balancing: { policy: "round_robin", healthChecks: isChecked ? [CHECK] : [] },
  } as unknown as CompiledRoute;
}

function followers() {
  const timers = new Set<object>();
  const spreadWork = createSpreadWork(Infinity);
  const checks = createHealthChecks({
    transport: {} as Transport,
    log: silentLog(),
    spreadWork,
    schedule: () => {
      const timer = {};
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  });
  const [states, pools] = [createUpstreamStates(), createNamedPools()];
  return {
    timers,
    checks,
    states,
    pools,
    follow: (routes: readonly CompiledRoute[]): void => {
      states.follow({ routes });
      checks.follow({ routes });
      spreadWork.add(pools.follow(routes));
    },
  };
}

test("a publish of one owner looks at no upstream of others", () => {
  const { follow, checks, pools, timers } = followers();
  const routes = Array.from({ length: 300 }, (_, at) => routeOf(`o${at}`, [`a${at}`, `b${at}`]));
  follow(routes);
  expect([checks.size, timers.size]).toEqual([600, 600]);

  const next = routes.with(150, routeOf("o150", ["a150", "new"]));
  looks = 0;
  follow(next);
  // Visits of the two versions of its route.
  expect(looks).toBeLessThan(10);
  expect([checks.size, timers.size]).toEqual([600, 600]);
  expect(["http://a150", "http://b150", "http://new", "http://a0"].map((key) => pools.has(key))).toEqual([
    true,
    false,
    true,
    true,
  ]);
  expect(checks.usesPool("health check http://b150")).toBe(false);
  expect(checks.usesPool("health check http://new")).toBe(true);
});

test("state of an upstream passes to the next route version, also over versions without requests; checks go with their route", () => {
  const { follow, checks, states, timers } = followers();
  const first = routeOf("o", ["a", "b"]);
  follow([first]);
  const known = statesOf(first)[0];
  follow([routeOf("o", ["a", "c"])]);
  const third = routeOf("o", ["c", "a"], false);
  follow([third]);
  expect(statesOf(third)[1]).toBe(known);
  expect(known?.checks).toEqual([]);
  expect([checks.size, timers.size, [...states.all()].length]).toEqual([0, 0, 2]);

  // Two routes of one owner share a check, which stays with the second.
  const other = { ...routeOf("o", ["a"]), key: "o/other" } as CompiledRoute;
  follow([routeOf("o", ["a"]), other]);
  expect(checks.size).toBe(1);
  follow([other]);
  expect([checks.size, timers.size]).toEqual([1, 1]);
  follow([]);
  expect([checks.size, timers.size, [...states.all()].length]).toEqual([0, 0, 0]);
});

test("a check that was made before comes sooner when its owner's are stretched less", () => {
  const waits: { readonly action: () => void; readonly afterMs: number; isOver: boolean }[] = [];
  const deps: HealthCheckDeps = {
    transport: { send: () => ({ abort: () => {} }) } as unknown as Transport,
    random: () => 0.5,
    takeSlot: () => () => {},
    onChange: () => {},
    schedule: (action, afterMs) => {
      const wait = { action, afterMs, isOver: false };
      waits.push(wait);
      return () => void (wait.isOver = true);
    },
  };
  const pace = { stretch: 20, firstRoundMs: 0 };
  const check = new HealthCheck(deps, { origin: "http://a", host: "a", basePath: "", weight: 1 }, CHECK, pace);
  check.begin();
  waits[0]?.action();
  // In progress: the next one starts when this one is over.
  check.hurry();
  expect(waits.map(({ afterMs }) => afterMs)).toEqual([500, 60_000]);
  waits[1]?.action();
  expect(waits.at(-1)).toMatchObject({ afterMs: 200_000, isOver: false });
  pace.stretch = 1;
  check.hurry();
  expect(waits.slice(2)).toMatchObject([{ isOver: true }, { afterMs: 5_000, isOver: false }]);
  check.stop();
  expect(waits.at(-1)).toMatchObject({ isOver: true });
});
