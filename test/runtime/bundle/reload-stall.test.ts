/** A report, not a timed test: how long a reload of 5,000 routes holds the event loop. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, test } from "vitest";

import { openBundle } from "../../../runtime/bundle/bundle.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { bootFile, createConfigFiles, sliceFile } from "../../support/bundle-files.ts";
import { LONG_MS } from "../../support/limits.ts";

const ROUTES = 5_000;

test(`a reload of ${ROUTES} routes reports how long it stalls the event loop`, { timeout: LONG_MS }, async () => {
  const files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  files.write("team-a.json", sliceFile("team-a", "0", ROUTES));
  const bundle = await openBundle({ path: files.directory, log: silentLog(), clock: systemClock });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  try {
    for (const [what, text] of [
      ["every route changed", sliceFile("team-a", "1", ROUTES)],
      ["one route changed", sliceFile("team-a", "1", ROUTES).replace('"X-Mark":"1"', '"X-Mark":"2"')],
    ] as const) {
      files.replace("team-a.json", text);
      delay.reset();
      delay.enable();
      const startedMs = performance.now();
      await bundle.reload();
      delay.disable();
      const [total, most] = [performance.now() - startedMs, delay.max / 1e6];
      console.info(`${ROUTES} routes, ${what}: ${total.toFixed(0)} ms, longest stall ${most.toFixed(1)} ms`);
    }
    expect(bundle.current().routes).toHaveLength(ROUTES);
    expect(bundle.current().routes.filter((route) => route.responseHeaders.set[0]?.value === "2")).toHaveLength(1);
    expect(bundle.current().generation).toBe(3);
  } finally {
    await bundle.close();
    files.close();
  }
});
