/** What is done with a configuration before it is put in force. */
import { afterEach, beforeEach, expect, test } from "vitest";

import { openBundle, type Bundle } from "../../../runtime/bundle/bundle.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { bootFile, createConfigFiles, sliceFile, type ConfigFiles } from "../../support/bundle-files.ts";
import { createTestClock } from "../../support/clock.ts";

let files: ConfigFiles;
let bundle: Bundle;
beforeEach(async () => {
  files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  files.write("team-a.json", sliceFile("team-a", "1"));
  const times = { quietMs: 5, pollEveryMs: 3_600_000 };
  bundle = await openBundle({ path: files.directory, log: silentLog(), clock: createTestClock(), env: {}, ...times });
});
afterEach(async () => {
  await bundle.close();
  files.close();
});

test("a snapshot becomes active, and listeners are called, after its preparation", async () => {
  const seen: string[] = [];
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  bundle.prepare?.(async (next) => {
    seen.push(`prepare ${next.generation} while ${bundle.current().generation}`);
    asked.resolve();
    await go.promise;
  });
  bundle.subscribe((next) => seen.push(`listen ${next.generation}, ${bundle.current() === next}`));
  files.replace("team-a.json", sliceFile("team-a", "2"));
  const reloaded = bundle.reload();
  await asked.promise;
  expect(bundle.current().generation).toBe(1);
  go.resolve();
  await reloaded;
  expect(bundle.current().generation).toBe(2);
  expect(seen).toEqual(["prepare 2 while 1", "listen 2, true"]);
});

test("a failed or cancelled preparation does not block activation", async () => {
  let calls = 0;
  const takeBack = bundle.prepare?.(() => {
    calls += 1;
    return Promise.reject(new Error("made"));
  });
  files.replace("team-a.json", sliceFile("team-a", "2"));
  await bundle.reload();
  expect(bundle.current().generation).toBe(2);
  takeBack?.();
  files.replace("team-a.json", sliceFile("team-a", "3"));
  await bundle.reload();
  expect(bundle.current().generation).toBe(3);
  expect(calls).toBe(1);
});

test("no snapshot becomes active after close", async () => {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  bundle.prepare?.(() => {
    asked.resolve();
    return go.promise;
  });
  files.replace("team-a.json", sliceFile("team-a", "2"));
  const reloaded = bundle.reload();
  await asked.promise;
  const closed = bundle.close();
  go.resolve();
  await Promise.all([reloaded, closed]);
  expect(bundle.current().generation).toBe(1);
});
