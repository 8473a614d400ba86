import { spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../runtime/shared/clock.ts";
import { migrations } from "../../../runtime/store/migrations.ts";
import { openSqliteStore } from "../../../runtime/store/sqlite/sqlite.ts";
import { watchStore } from "../../../runtime/store/watch/watched-store.ts";
import { mountSmallDisk } from "../../support/small-disk.ts";

const clock = systemClock;
let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gateform-sqlite-"));
  path = join(directory, "gateway.db");
});
afterEach(() => rmSync(directory, { recursive: true }));

test("openSqliteStore() keeps records over a restart", async () => {
  const first = await openSqliteStore({ path, clock });
  await first.put("k", { a: 1 }, { tags: ["t"] });
  await first.close();
  const second = await openSqliteStore({ path, clock });
  expect(await second.get("k")).toEqual({ key: "k", value: { a: 1 }, version: 1, tags: ["t"] });
  await second.close();
});

test("openSqliteStore() lets only the owner read the file and its side files", async () => {
  const store = await openSqliteStore({ path, clock });
  await store.put("k", 1);
  for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
  await store.close();
  chmodSync(path, 0o644);
  await (await openSqliteStore({ path, clock })).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("nothing of deleted data stays in the file", async () => {
  const store = await openSqliteStore({ path, clock });
  // Of many sizes, so that pages are split, joined and left.
  const text = (name: string, at: number): string => `${name}${at}-${"x".repeat((at * 379) % 3_000)}`;
  const numbers = Array.from({ length: 60 }, (_, at) => at);
  for (const round of [0, 1]) {
    await Promise.all(numbers.map((at) => store.put(`${(at * 37) % 60}`, text(`user-alice-${round}-`, at))));
    await Promise.all(numbers.map((at) => store.put(`${at}-${round}`, text("user-bob", at))));
  }
  await Promise.all(numbers.map((at) => store.delete(`${at}`)));
  await store.close();
  const file = readFileSync(path, "latin1");
  expect(file).toContain("user-bob");
  expect(file).not.toContain("user-alice");
});

test("on a full disk writes fail, reads continue, both are reported, and it recovers automatically", async (context) => {
  const disk = mountSmallDisk();
  if ("missing" in disk) {
    context.skip(disk.missing);
    return;
  }
  const soon = { interval: 20 };
  const opened = await openSqliteStore({ path: join(disk.directory, "gateway.db"), clock });
  const { store, health } = watchStore(opened, { clock });
  try {
    await store.put("k", "kept");
    expect(health.known()).toEqual({ store: "ok", serves: true });
    disk.fill();
    // What the log of the database had room for already is still taken.
    const written: string[] = [];
    const write = async (): Promise<unknown> => {
      const key = `more-${written.length}`;
      await store.put(key, 1).then(
        () => written.push(key),
        (error: unknown) => expect(error).toMatchObject({ code: "store.unavailable" }),
      );
      return health.known();
    };
    await expect.poll(write, soon).toMatchObject({ store: "read-only", serves: true });
    expect(await store.get("k")).toMatchObject({ value: "kept" });
    expect(await health.look()).toMatchObject({ store: "read-only" });
    await expect(store.put("k", "x".repeat(20_000))).rejects.toMatchObject({ code: "store.unavailable" });
    disk.clear();
    // Nobody writes but itself.
    await expect.poll(() => health.known(), soon).toEqual({ store: "ok", serves: true });
    expect(await store.put("k", "anew")).toMatchObject({ ok: true });
    for (const key of written) expect(await store.get(key)).toBeDefined();
  } finally {
    await store.close();
    disk.unmount();
  }
});

test("openSqliteStore() refuses a directory that is not there", async () => {
  await expect(openSqliteStore({ path: join(directory, "none", "x.db"), clock })).rejects.toMatchObject({
    code: "store.open",
  });
});

test("openSqliteStore() rejects a file that is not a database, and leaves it unchanged", async () => {
  writeFileSync(path, "shared_secret: not a database, but long enough for a header\n".repeat(20), { mode: 0o600 });
  const before = readFileSync(path, "utf8");
  await expect(openSqliteStore({ path, clock })).rejects.toMatchObject({ code: "store.open" });
  expect(readFileSync(path, "utf8")).toBe(before);
});

test("openSqliteStore() opens a database that a newer version extended, and rejects an incompatible one", async () => {
  await (await openSqliteStore({ path, clock })).close();
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE gateway_later (key text) STRICT; INSERT INTO gateway_steps VALUES (99, 0)");
  const store = await openSqliteStore({ path, clock });
  expect(await store.put("k", 1)).toEqual({ ok: true, version: 1 });
  await store.close();
  expect(database.prepare("SELECT max(version) AS version FROM gateway_steps").get()).toEqual({ version: 99 });

  const newest = migrations.at(-1)?.version ?? 0;
  database.exec(`INSERT INTO gateway_schema VALUES (${newest}, 0)`);
  await (await openSqliteStore({ path, clock })).close();
  database.exec(`INSERT INTO gateway_schema VALUES (${newest + 1}, 0)`);
  database.close();
  await expect(openSqliteStore({ path, clock })).rejects.toMatchObject({
    code: "store.too-new",
    message: `Cannot use the store: its tables require a gateway that supports version ${newest + 1}, this one supports versions up to ${newest}`,
  });
});

test("openSqliteStore() takes only later steps on tables that were upgraded before compatible steps existed", async () => {
  await (await openSqliteStore({ path, clock })).close();
  const database = new DatabaseSync(path);
  database.exec("DROP TABLE gateway_steps; INSERT INTO gateway_schema VALUES (2, 0)");
  await (await openSqliteStore({ path, clock })).close();
  expect(database.prepare("SELECT version FROM gateway_steps").all()).toEqual([{ version: 3 }]);
  expect(database.prepare("SELECT version FROM gateway_schema").all()).toEqual([{ version: 1 }, { version: 2 }]);
  database.close();
});

test("openSqliteStore() upgrades tables of the first version, and preserves their content", async () => {
  const old = await openSqliteStore({ path, clock });
  await old.put("kept", { a: 1 }, { tags: ["t"] });
  await old.close();
  const database = new DatabaseSync(path);
  database.exec("DROP TABLE gateway_allotments; DROP TABLE gateway_steps");
  const store = await openSqliteStore({ path, clock });
  expect((await store.list("t")).map(({ value }) => value)).toEqual([{ a: 1 }]);
  // An older program looks at the first table alone, and goes on.
  expect(database.prepare("SELECT version FROM gateway_schema").all()).toEqual([{ version: 1 }]);
  expect(database.prepare("SELECT version FROM gateway_steps").all()).toEqual([{ version: 2 }, { version: 3 }]);
  expect(database.prepare("SELECT count(*) AS rows FROM gateway_allotments").get()).toEqual({ rows: 0 });
  database.close();
  await store.close();
});

test("a lock held by another process stops neither reads nor the event loop, and the write is done after it", async () => {
  const store = await openSqliteStore({ path, clock });
  await store.put("k", "before");
  const foreign = new DatabaseSync(path);
  foreign.exec("BEGIN IMMEDIATE");
  let written = false;
  const write = store.put("k", "after").then(() => (written = true));
  for (let read = 0; read < 20; read++) {
    const started = performance.now();
    expect((await store.get("k"))?.value).toBe("before");
    // Far below the 5 s that the write may wait: reads do not queue behind it.
    expect(performance.now() - started).toBeLessThan(1000);
  }
  expect(written).toBe(false);
  foreign.exec("COMMIT");
  foreign.close();
  await write;
  expect((await store.get("k"))?.value).toBe("after");
  await store.close();
});

test("a write that waited too long for another process fails as store.unavailable, and later ones work", async () => {
  const store = await openSqliteStore({ path, clock, busyTimeoutMs: 100 });
  const foreign = new DatabaseSync(path);
  foreign.exec("BEGIN IMMEDIATE");
  await expect(store.put("k", 1)).rejects.toMatchObject({ code: "store.unavailable" });
  foreign.exec("ROLLBACK");
  foreign.close();
  expect(await store.put("k", 2)).toEqual({ ok: true, version: 1 });
  await store.close();
});

test("a read does not wait behind the writes of others", async () => {
  const store = await openSqliteStore({ path, clock });
  let written = 0;
  const writes = Array.from({ length: 3000 }, (_, index) => store.put(`k${index}`, index).then(() => (written += 1)));
  await store.get("other");
  // How many were written before the read was even sent depends on the scheduler; a read that waits comes behind all of them.
  expect(written).toBeLessThan(3000);
  await Promise.all(writes);
  expect((await store.get("k2999"))?.value).toBe(2999);
  await store.close();
});

test("of writes that are flushed together one that fails does not affect the others", async () => {
  const store = await openSqliteStore({ path, clock });
  await store.put("once", 1);
  const results = await Promise.all([
    store.put("a", 1),
    store.put("once", 2, { ifVersion: 0 }),
    store.take("once"),
    store.take("once"),
    store.put("a", 2, { ifVersion: 1 }),
    store.put("b", 1),
  ]);
  expect(results).toEqual([
    { ok: true, version: 1 },
    { ok: false, reason: "conflict" },
    { key: "once", value: 1, version: 1, tags: [] },
    undefined,
    { ok: true, version: 2 },
    { ok: true, version: 1 },
  ]);
  await store.close();
});

test("a write that fails does not affect others in the same flush", async () => {
  const store = await openSqliteStore({ path, clock });
  const foreign = new DatabaseSync(path);
  foreign.exec(
    "CREATE TRIGGER bad BEFORE INSERT ON gateway_records WHEN new.key = 'bad' BEGIN SELECT raise(ABORT, 'no'); END",
  );
  foreign.close();
  const [first, bad, last] = await Promise.allSettled([store.put("a", 1), store.put("bad", 1), store.put("b", 1)]);
  expect([first.status, bad.status, last.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect([(await store.get("a"))?.value, await store.get("bad"), (await store.get("b"))?.value]).toEqual([
    1,
    undefined,
    1,
  ]);
  await store.close();
});

test("close() finishes writes that were requested before", async () => {
  const store = await openSqliteStore({ path, clock });
  const writes = Array.from({ length: 50 }, (_, index) => store.put(`k${index}`, index, { tags: ["t"] }));
  await store.close();
  await Promise.all(writes);
  const next = await openSqliteStore({ path, clock });
  expect(await next.list("t")).toHaveLength(50);
  await next.close();
});

test("two processes on one file: each code is consumed exactly once", async () => {
  const store = await openSqliteStore({ path, clock });
  await Promise.all(Array.from({ length: 100 }, (_, index) => store.put(`code:${index}`, index)));
  const children = [startChild("take"), startChild("take")];
  // Read from the start: what nobody reads is thrown away when a child ends.
  const answers = Promise.all(children.map(firstLine));
  const mine = await Promise.all(Array.from({ length: 100 }, (_, index) => store.take(`code:${index}`)));
  let total = mine.filter(Boolean).length;
  for (const answer of await answers) total += Number(answer);
  await Promise.all(children.map((child) => ended(child)));
  expect(total).toBe(100);
  await store.close();
});

test("a process killed while writing loses nothing it confirmed and leaves nothing half done", async () => {
  const child = startChild("write");
  const exited = ended(child);
  let confirmed = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    confirmed = Number(line);
    if (confirmed === 100) child.kill("SIGKILL");
  }
  await exited;
  expect(confirmed).toBeGreaterThanOrEqual(100);

  const store = await openSqliteStore({ path, clock });
  const pair = await store.get<{ left: number; right: number }>("pair");
  expect(pair?.value.left).toBe(pair?.value.right);
  expect(pair?.value.left).toBeGreaterThanOrEqual(confirmed);
  // Record and tags were written in one transaction.
  expect(pair?.tags).toEqual([`number:${pair?.value.left}`]);
  expect(pair?.version).toBe(pair?.value.left);
  const numbers = (await store.changesSince("numbers", 0)).map((entry) => entry.entry);
  // One call answers at most 1000 entries.
  const known = Math.min(confirmed, 1000);
  expect(numbers.slice(0, known)).toEqual(Array.from({ length: known }, (_, index) => index + 1));
  expect(await store.put("pair", null)).toMatchObject({ ok: true });
  await store.close();
  const database = new DatabaseSync(path);
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
});

test("onAppend() notices what another process appended", async () => {
  const store = await openSqliteStore({ path, clock });
  let calls = 0;
  store.onAppend("numbers", () => calls++);
  const child = startChild("write");
  const exited = ended(child);
  await expect.poll(() => calls).toBeGreaterThan(0);
  expect((await store.changesSince("numbers", 0)).length).toBeGreaterThan(0);
  child.kill("SIGKILL");
  await exited;
  await store.close();
});

function startChild(job: string): ChildProcessByStdio<null, Readable, null> {
  const program = new URL("../../support/store-child.ts", import.meta.url).pathname;
  return spawn(process.execPath, [program, path, job], { stdio: ["ignore", "pipe", "inherit"] });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

async function firstLine(child: ReturnType<typeof startChild>): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout })) return line;
  return undefined;
}
