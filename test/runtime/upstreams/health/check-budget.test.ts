/** Health checks of owners with very many: only their own become less frequent. */
import { expect, test, vi } from "vitest";

import { createTransport } from "../../../../runtime/upstreams/transport.ts";
import { createHealthChecks } from "../../../../runtime/upstreams/health/health-checks.ts";
import { createCheckSlots, MOST_AT_A_TIME, paces } from "../../../../runtime/upstreams/health/check-budget.ts";
import { createSpreadWork } from "../../../../runtime/shared/changes/spread-work.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { snapshotFrom } from "../../../support/config.ts";

test("an owner's share is 100 a second, and the rest of 400 in total", () => {
  const stretches = (wanted: Record<string, number>): Record<string, number> =>
    Object.fromEntries(
      [...paces(new Map(Object.entries(wanted).map(([owner, perSecond]) => [owner, { checks: 10, perSecond }])))].map(
        ([owner, { stretch }]) => [owner, stretch],
      ),
    );
  expect(stretches({ small: 5, greedy: 20_000 })).toEqual({ small: 1, greedy: 200 });
  const many = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`o${at}`, 100]));
  expect(stretches(many)).toEqual(Object.fromEntries(Object.keys(many).map((owner) => [owner, 2])));
  expect(stretches({ ...many, small: 1 })).toMatchObject({ small: 1, o0: expect.closeTo(800 / 399, 5) });
  expect(stretches({})).toEqual({});
});

test("an owner's checks in progress are limited, and leave room for other owners'", () => {
  const slots = createCheckSlots();
  const takeAll = (owner: string): (() => void)[] => {
    const taken: (() => void)[] = [];
    for (let give = slots.take(owner); give; give = slots.take(owner)) taken.push(give);
    return taken;
  };
  const greedy = takeAll("greedy");
  expect(greedy).toHaveLength(MOST_AT_A_TIME.owner);
  expect(slots.take("team")).toBeDefined();
  greedy[0]?.();
  greedy[0]?.();
  expect(takeAll("greedy")).toHaveLength(1);
  const others = ["a", "b", "c", "d"].map((owner) => takeAll(owner).length);
  expect(others).toEqual([64, 64, 63, 0]);
});

/** As many upstreams, each checked once a second. */
const yaml = (greedy: number): string => {
  const route = (name: string, to: readonly string[], health: string): string =>
    `  - { name: ${name}, from: "https://${name}.example", to: ${JSON.stringify(to)}, allow_public_unauthenticated_access: true, health_checks: [${health}] }\n`;
  const upstreams = Array.from({ length: greedy }, (_, at) => `http://127.${at >> 8}.${at & 255}.1:9`);
  // A route has at most 1,000.
  const halves = [upstreams.slice(0, 1_000), upstreams.slice(1_000)].filter(({ length }) => length > 0);
  return `routes:\n${halves.map((to, at) => route(`greedy-${at}`, to, "{ interval: 1s, tcp_health_check: {} }")).join("")}`;
};

test("2,000 checks a second are spread over 20 seconds, with a warning, and go back when they are fewer", () => {
  const waits: number[] = [];
  const log = silentLog();
  const warned = vi.spyOn(log, "warn");
  const transport = createTransport();
  const checks = createHealthChecks({
    transport,
    log,
    spreadWork: createSpreadWork(Infinity),
    schedule: (_action, afterMs) => {
      waits.push(afterMs);
      return () => {};
    },
    random: (() => {
      let at = 0;
      return () => (at++ % 2_000) / 2_000;
    })(),
  });
  try {
    checks.follow(snapshotFrom(yaml(2_000)));
    expect(checks.size).toBe(2_000);
    const perSecond = Map.groupBy(waits, (ms) => Math.floor(ms / 1_000));
    expect(perSecond.size).toBe(20);
    expect(Math.max(...[...perSecond.values()].map(({ length }) => length))).toBeLessThanOrEqual(101);
    checks.follow(snapshotFrom(yaml(2_000)));
    const said = [{ owner: "default", factor: 20 }, "too many health checks, intervals extended"];
    expect(warned.mock.calls).toEqual([said]);

    waits.length = 0;
    checks.follow(snapshotFrom(yaml(50)));
    expect(checks.size).toBe(50);
    expect(waits).toHaveLength(50);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
  } finally {
    checks.close();
    void transport.close();
  }
});
