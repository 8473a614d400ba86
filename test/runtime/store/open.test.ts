import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { openStore, redactUrl } from "../../../runtime/store/open.ts";

const deps = { clock: systemClock, log: silentLog() };
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gateform-open-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

test("openStore() opens a memory store", async () => {
  const store = await openStore("memory:", deps);
  await store.put("k", 1);
  expect((await store.get("k"))?.value).toBe(1);
  await store.close();
});

test.each<[string, (path: string) => string]>([
  ["sqlite:PATH, absolute", (path) => `sqlite:${path}`],
  ["sqlite:PATH, relative", (path) => `sqlite:${relative(process.cwd(), path)}`],
  ["sqlite:///PATH", (path) => `sqlite://${path}`],
])("openStore() opens %s", async (_, url) => {
  const path = join(directory, "gateway.db");
  await (await openStore(url(path), deps)).close();
  expect(existsSync(path)).toBe(true);
});

test.each([
  "",
  "memory",
  "memory:x",
  "sqlite:",
  "sqlite://host/path",
  "sqlite::memory:",
  "mysql://u:hunter2@h/db",
  "/var/lib/x.db",
])("openStore() rejects %j and names the accepted forms", async (url) => {
  const error: unknown = await openStore(url, deps).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "GatewayError", code: "store.url" });
  expect(String(error)).toContain('must be "memory:"');
  expect(String(error)).not.toContain("hunter2");
});

test.each([
  [
    "postgres://alice:hunter2@db.example.com:5432/gateway?sslmode=require",
    "postgres://alice@db.example.com:5432/gateway",
  ],
  ["postgres://db.example.com/gateway?user=alice&password=hunter2", "postgres://db.example.com/gateway"],
  ["postgres:///gateway?host=/run/postgresql", "postgres:///gateway"],
  // Not understood the way it was meant: nothing is quoted.
  ["postgres://alice:hunter2@h@db/gateway", "postgres:"],
  ["postgres://alice:12/hunter2@db/gateway", "postgres:"],
  ["postgres://alice:12#hunter2@db/gateway", "postgres:"],
  ["postgres://alice:hunter2@db:port/gateway", "postgres:"],
  ["hunter2", ""],
])("redactUrl(%j) is %j", (url, redacted) => {
  expect(redactUrl(url)).toBe(redacted);
});
