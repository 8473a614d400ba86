/** `gateway store backup`, while others write. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { openRecords } from "../../../../runtime/record-kinds.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { backUpStore } from "../../../../runtime/tools/commands/backup.ts";

let directory: string;
let config: string;
const deps = { clock: systemClock, log: silentLog() };

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gateway-backup-"));
  config = join(directory, "gateway.yaml");
  writeFileSync(config, `storage_url: sqlite:${join(directory, "gateway.db")}\nroutes: []\n`);
  vi.spyOn(console, "log").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

test("has all that was confirmed before, opens as a store, and never overwrites", async () => {
  const store = await openRecords(`sqlite:${join(directory, "gateway.db")}`, deps);
  for (let each = 0; each < 200; each += 1) await store.put(`test:${each}`, { text: "x".repeat(2_000) });
  const stop = new AbortController();
  let written = 0;
  const writing = (async () => {
    for (; !stop.signal.aborted; written += 1) await store.put(`later:${String(written).padStart(8, "0")}`, {});
  })();
  const file = join(directory, "backup.db");
  expect(await backUpStore(file, { config })).toBe(0);
  stop.abort();
  await writing;
  expect(written).toBeGreaterThan(0);
  await expect(backUpStore(file, { config })).rejects.toMatchObject({ code: "store.backup" });
  await store.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);

  const copy = await openRecords(`sqlite:${file}`, deps);
  expect((await copy.page({ prefix: "test:", limit: 1000 })).length).toBe(200);
  // Of what came meanwhile it has a beginning, without a gap.
  const later = (await copy.page({ prefix: "later:", limit: 1000 })).map(({ key }) => Number(key.slice(6)));
  expect(later.toSorted((a, b) => a - b)).toEqual(later.map((_, index) => index));
  await copy.close();
});

test("a store that is not there or is another's leaves no file behind", async () => {
  const file = join(directory, "backup.db");
  await expect(backUpStore(file, { config })).rejects.toMatchObject({ code: "store.backup" });
  writeFileSync(config, "storage_url: postgres://gateway@127.0.0.1/gateway\nroutes: []\n");
  await expect(backUpStore(file, { config })).rejects.toThrow("pg_dump");
  expect(readdirSync(directory)).toEqual(["gateway.yaml"]);
});
