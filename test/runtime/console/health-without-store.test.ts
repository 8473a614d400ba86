/** The screen of health on real sockets: while the store answers, and when it has stopped (K-23). */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createConsole, type Console } from "../../../runtime/console/module.ts";
import { startHealth, type Health } from "../../../runtime/health/health.ts";
import { compileConsole, consoleOwners } from "../../../runtime/features/access/console.ts";
import { closeAll } from "../../../runtime/shared/faults/close-all.ts";
import { watchStore } from "../../../runtime/store/watch/watched-store.ts";
import type { Closable } from "../../../runtime/shared/clock.ts";
import { AUTH, startSessionBench, type SessionBench } from "../../support/session-bench.ts";

const HOME = `${AUTH}/.gateway/console/health`;
const settings = compileConsole({ viewer: { allow: { and: [{ groups: { has: "admins" } }] } } });
const STATUS = {
  digest: "3f9a1b2c4d5e6f70",
  generation: 1,
  loadedAt: 1_799_999_000,
  slices: [],
  degraded: [],
} as const;

let bench: SessionBench;
let shown: Console;
let health: Health;
const told: Closable[] = [];
beforeAll(async () => {
  bench = await startSessionBench({
    endpoints: ({ session, snapshots, store, keys, clock, log }) => {
      const status = () => ({
        ...STATUS,
        owners: { current: 1, kept: 0, absent: 0 },
        restartNeeded: false,
        reloads: { ok: 1, failed: 0 },
      });
      const { health: storeHealth } = watchStore(store, { clock });
      const bundle = { status, current: () => snapshots.current() };
      health = startHealth({
        store,
        storeHealth,
        id: "gw-1-7-abcd",
        bundle,
        isApart: consoleOwners(settings),
        clock,
        log,
      });
      told.push(
        health,
        health.observe({
          isDraining: () => false,
          upstreams: () => [],
          openStreams: () => 3,
          connections: async () => 4,
          certificates: () => [],
          records: () => [],
          webhook: () => undefined,
          acme: () => undefined,
        }),
      );
      shown = createConsole({
        ...session,
        settings,
        snapshots,
        keys,
        clock,
        log,
        reader: undefined,
        deviceProofs: { addressOf: () => undefined },
        recordAction: () => {},
        screens: { health: { health: health.reader } },
      });
      return shown.endpoints;
    },
  });
});
afterAll(async () => {
  bench.store.broken = false;
  await closeAll([bench, shown, ...told]);
});

test("it has what this process knows by itself, and says what failed", async () => {
  const browser = bench.browser();
  const before = await browser.signIn(HOME, "alice@example.com");
  expect(before.status).toBe(200);
  expect(before.text).not.toContain("cannot be asked");
  expect(before.text).toContain("3f9a1b2c4d5e");
  bench.store.broken = true;
  // Behind what health remembers of the store's answers.
  bench.clock.advance(10_000);
  const page = await browser.open(HOME);
  expect(page.status).toBe(200);
  for (const text of [
    "The store is unavailable",
    'gw-1 <span class="badge">this replica',
    "3f9a1b2c4d5e",
    '<time datetime="2027-01-15T07:43:20.000Z"',
    "This process only",
  ])
    expect(page.text).toContain(text);
});
