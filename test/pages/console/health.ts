/** The screen of health: problems, processes and plots of three replicas, one of which is this one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { keepTraffic } from "../../../runtime/health/keep-traffic.ts";
import { healthKey } from "../../../runtime/health/report-health.ts";
import { createTraffic } from "../../../runtime/health/traffic.ts";
import { openRecords } from "../../../runtime/record-kinds.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { POLL_MS } from "../../support/limits.ts";
import { type ConsoleWorld, expectGoodLook } from "./world.ts";

const HOSTILE = "http://<img src=x onerror=alert(1)>\u202E";

export function describeHealth(world: () => ConsoleWorld): void {
  describe("health", () => {
    let store: Store;
    beforeAll(async () => {
      store = await openRecords(world().storageUrl, { clock: systemClock, log: silentLog() });
      await addReplica(store, "gw-2-11-abcd", 2);
      await addReplica(store, "gw-3-12-abce", 5);
    });
    // Others look at processes, too.
    afterAll(async () => {
      for (const id of ["gw-2-11-abcd", "gw-3-12-abce"]) await store.delete(healthKey(id));
      await store.close();
    });

    test("says what is wrong first, then who runs what, and draws what was counted", async () => {
      const visitor = await world().visit("alice", "/health", { viewport: { width: 1280, height: 900 } });
      const { page, context } = visitor;
      const main = await page.locator("main").innerText();
      expect(main).toContain("team-z: new slice rejected, previous version active");
      expect(main).toContain("slices/x.yaml: routes.y.to");
      expect(main).toContain("http://<img src=x onerror=alert(1)>\\u202e: status 503");
      const processes = page.getByRole("region", { name: "Replicas and workers" });
      expect(await processes.getByRole("row").count()).toBe(4);
      expect(await processes.getByRole("row", { name: "this replica" }).count()).toBe(1);
      // Its upstreams are checked; those of the other routes have what requests told.
      const upstreams = page.locator("section", { has: page.getByRole("heading", { name: "Upstreams" }) });
      // Counts that another page has read are up to five seconds old: of before there were other replicas.
      const withErrors = /team-a\/wiki\s+[\d,]+ requests a minute · \d+ errors \([23]\.\d %\)/;
      const shown = async (): Promise<string> => {
        await page.reload();
        return upstreams.innerText();
      };
      await expect.poll(shown, { interval: 1_000, timeout: POLL_MS }).toMatch(withErrors);
      await page.getByRole("slider").nth(3).waitFor();
      await expectGoodLook(visitor, "health");
      const chart = page.getByRole("slider", { name: "Failures" });
      const readOut = page.locator(".timed", { has: chart }).locator(".at");
      await chart.focus();
      await page.keyboard.press("ArrowLeft");
      expect(await readOut.innerText()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d|^–/);
      await page.keyboard.press("Escape");
      expect(await readOut.innerText()).toBe("Latest, per second");
      await page.getByText("Show as a table: Failures").click();
      const numbers = page.getByRole("region", { name: "Failures, newest first" });
      // Its head, and a row for each minute of which something is known: this gateway has just started.
      expect(await numbers.getByRole("row").count()).toBeGreaterThan(1);
      await context.close();
    });

    test("has its ranges and routes behind addresses, without scripts too", async () => {
      const { page, context } = await world().visit("alice", "/health", { javaScript: false });
      await page.getByRole("link", { name: "6 hours" }).click();
      await page.getByLabel("Busiest routes").selectOption("team-a/wiki");
      await page.getByRole("button", { name: "Filter" }).click();
      expect(new URL(page.url()).search).toBe("?range=6h&route=team-a%2Fwiki");
      expect(await page.locator("main").innerText()).toContain("Of team-a/wiki, of all processes together.");
      await context.close();
    });
  });
}

/** Status of an absent replica for the last three quarters of an hour. */
async function addReplica(store: Store, id: string, perMinute: number): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const upstream = { route: "team-b/wiki", upstream: HOSTILE, healthy: false, left_out_until: null, ejections: 1 };
  const report = {
    id,
    version: "0.1.0",
    node: process.version,
    host: id.slice(0, 4),
    startedAt: now - 7200,
    seen: now,
    draining: false,
    storeAnswers: true,
    configuration: {
      digest: "3f9a1b2c4d5e6f70",
      generation: 3,
      loadedAt: now - 600,
      routes: 4,
      restartNeeded: false,
      degraded: [{ owner: "team-z", standing: "kept", since: now, problems: ["slices/x.yaml: routes.y.to: no"] }],
      moreDegraded: 0,
    },
    providers: [],
    loopMs: 4,
    memoryBytes: 90_000_000,
    openStreams: 2,
    connections: 17,
    upstreams: {
      known: 1,
      away: 1,
      shown: [{ ...upstream, checks: [{ kind: "http", healthy: false, last_error: "status 503" }] }],
    },
    certificates: [{ listener: "public", names: ["app.example.com"], ends: now + 9 * 86_400, time: "ending" }],
    refreshes: [{ of: "upstream", result: "refused", count: 3, lastAt: now - 90, route: "team-b/tools" }],
    records: [],
  };
  await store.put(healthKey(id), report, { tags: ["health"], expiresAt: now + 600 });

  let time = (Math.floor(now / 60) - 45) * 60_000;
  const traffic = createTraffic((owner) => owner === "team-a");
  const clock = { now: () => time };
  const kept = keepTraffic({ traffic, id, store, takeLoopMs: () => 1 + (time % 7), clock, log: silentLog() });
  for (let minute = 0; minute < 45; minute += 1) {
    const route = {
      key: minute % 3 === 0 ? "team-b/wiki" : "team-a/wiki",
      owner: minute % 3 === 0 ? "team-b" : "team-a",
    };
    for (let count = 0; count < perMinute * (60 + (minute % 9) * 4); count += 1) {
      traffic.count(route, count % 17 === 0 ? "denied" : "allowed");
      traffic.answered(route, count % 40 === 0 ? 502 : 200, 5 + (count % 50) * (count % 25 === 0 ? 20 : 1));
    }
    time += 60_000;
    // It was unavailable in between.
    if (minute < 20 || minute > 26) await kept.tick();
    else traffic.take();
  }
  await kept.close();
}
