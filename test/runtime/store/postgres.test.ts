import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { openStore } from "../../../runtime/store/open.ts";
import { openPostgresStore } from "../../../runtime/store/postgres/postgres.ts";
import { findPostgres, startPostgres, type Postgres } from "../../support/postgres.ts";

const found = findPostgres();
if ("missing" in found) console.warn(`PostgreSQL: skipped, ${found.missing}`);
const deps = { clock: systemClock, log: silentLog() };
const LATER = 4_000_000_000;

describe.skipIf("missing" in found)("PostgreSQL store", () => {
  let server: Postgres;
  beforeAll(async () => {
    if (!("missing" in found)) server = await startPostgres(found.bin);
  });
  afterAll(() => server?.close());

  test("recovers automatically after the server was unavailable, with records, leases and notifications", async () => {
    const store = await openStore(server.url, deps);
    const other = await openStore(server.url, deps);
    let calls = 0;
    store.onAppend("feed", () => calls++);
    await store.put("k", 1);
    const lease = await store.lease("l", 60_000);

    await server.stop();
    await expect(store.get("k")).rejects.toMatchObject({ name: "GatewayError", code: "store.unavailable" });
    await expect(store.put("k", 2)).rejects.toMatchObject({ code: "store.unavailable" });
    await expect(store.append("feed", 1, LATER)).rejects.toMatchObject({ code: "store.unavailable" });
    await server.start();

    await expect.poll(() => store.get("k").catch(() => undefined)).toMatchObject({ value: 1, version: 1 });
    expect(await other.lease("l", 60_000)).toBeUndefined();
    expect(await lease?.renew(60_000)).toBe(true);
    const before = calls;
    await other.append("feed", 2, LATER);
    await expect.poll(() => calls).toBeGreaterThan(before);
    expect((await store.changesSince("feed", 0)).map((entry) => entry.entry)).toEqual([2]);
    await Promise.all([store.close(), other.close()]);
  });

  test("a connection that breaks in the middle of a transaction is a failure of that call alone", async () => {
    const store = await openStore(server.url, deps);
    const admin = new Client({ connectionString: server.url });
    admin.on("error", () => {});
    await admin.connect();
    await admin.query("SELECT pg_advisory_lock(1734440037, hashtext('held'))");
    const appending = expect(store.append("held", 1, LATER)).rejects.toMatchObject({ code: "store.unavailable" });
    const waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    await expect.poll(async () => (await admin.query(waiting)).rows.length).toBe(1);
    // Nobody says goodbye to it.
    await server.stop();
    await appending;
    await admin.end();
    await server.start();
    await expect.poll(() => store.append("held", 2, LATER).catch(() => 0)).toBeGreaterThan(0);
    await store.close();
  });

  test("a read-only server is not used as a store: neither a read-only database nor a primary that became a standby", async () => {
    const store = await openStore(server.url, deps);
    // Several connections.
    await Promise.all(Array.from({ length: 5 }, (_, at) => store.put(`k${at}`, at)));
    const expectAway = async (): Promise<void> => {
      for (const work of [() => store.put("k0", 9), () => store.take("k0"), () => store.append("feed", 1, LATER)])
        await expect(work()).rejects.toMatchObject({ code: "store.unavailable" });
      // What it still tells may be old: a revocation since then would be missing.
      for (let at = 0; at < 12; at++)
        await expect(store.get("k0")).rejects.toMatchObject({ code: "store.unavailable" });
      // Once the connections are gone that were open before.
      const said = () => store.get("k0").catch(String);
      await expect.poll(said).toContain("this server accepts no writes");
    };
    const administer = async (...statements: readonly string[]): Promise<readonly Record<string, unknown>[]> => {
      const admin = new Client({ connectionString: server.url });
      await admin.connect();
      let rows: readonly Record<string, unknown>[] = [];
      for (const statement of statements) ({ rows } = await admin.query<Record<string, unknown>>(statement));
      await admin.end();
      return rows;
    };

    await administer("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()");
    await expect
      .poll(() => administer("SHOW default_transaction_read_only"))
      .toEqual([{ default_transaction_read_only: "on" }]);
    await expect.poll(() => store.put("k0", 9).catch((error: unknown) => error)).toBeInstanceOf(Error);
    await expectAway();
    await administer("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()");
    await expect.poll(() => store.get("k0").catch(() => undefined)).toBeDefined();

    const [data] = await administer("SHOW data_directory");
    await server.stop();
    const signal = join(String(data?.["data_directory"]), "standby.signal");
    writeFileSync(signal, "");
    await server.start();
    expect(await administer("SELECT pg_is_in_recovery() AS standby")).toEqual([{ standby: true }]);
    await expectAway();
    await expect(openStore(server.url, deps)).rejects.toMatchObject({ code: "store.open" });
    await administer("SELECT pg_promote()");
    await expect.poll(() => store.put("k0", 9).catch(() => undefined)).toMatchObject({ ok: true });
    await store.close();
  });

  test("a statement that waits too long for a lock fails with store.unavailable", async () => {
    const store = await openStore(server.url, deps);
    await store.put("locked", 1);
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    await admin.query("BEGIN");
    await admin.query("SELECT 1 FROM gateway_records WHERE key = 'locked' FOR UPDATE");
    await expect(store.put("locked", 2)).rejects.toMatchObject({ code: "store.unavailable" });
    expect((await store.get("locked"))?.value).toBe(1);
    await admin.query("ROLLBACK");
    await admin.end();
    expect(await store.put("locked", 3)).toEqual({ ok: true, version: 2 });
    await store.close();
  });

  test("close() while connecting returns immediately", async () => {
    for (let round = 0; round < 10; round++) {
      const store = await openPostgresStore({ url: server.url, log: deps.log });
      await store.close();
    }
  });

  test("openStore() with a wrong password names the URL without it", async () => {
    const url = server.url.replace(server.password, "hunter2-wrong");
    const error: unknown = await openStore(url, deps).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "GatewayError", code: "store.open" });
    expect(String(error)).toMatch(
      /^GatewayError: Cannot open store "postgres:\/\/gateway@127\.0\.0\.1:\d+\/postgres": password authentication/,
    );
    expect(String(error)).not.toContain("hunter2");
  });

  test("openStore() opens a database that a newer version extended, and rejects an incompatible one; a running process continues", async () => {
    const before = await openStore(server.url, deps);
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    await admin.query("INSERT INTO gateway_steps VALUES (99, 0)");
    await (await openStore(server.url, deps)).close();
    await admin.query("INSERT INTO gateway_schema VALUES (99, 0)");
    await expect(openStore(server.url, deps)).rejects.toMatchObject({ code: "store.too-new" });
    expect(await before.put("meanwhile", 1)).toEqual({ ok: true, version: 1 });
    expect((await before.get("meanwhile"))?.value).toBe(1);
    await admin.query("DELETE FROM gateway_schema WHERE version = 99");
    await admin.query("DELETE FROM gateway_steps WHERE version = 99");
    await Promise.all([before.close(), admin.end()]);
  });

  test("openStore() brings tables of the first version up to date under a process that uses them", async () => {
    const old = await openStore(server.url, deps);
    await old.put("kept", { a: 1 }, { tags: ["t"] });
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    await admin.query("DROP TABLE gateway_allotments, gateway_history");
    await admin.query("DROP TABLE gateway_steps");
    const [one, other] = await Promise.all([openStore(server.url, deps), openStore(server.url, deps)]);
    expect((await one.list("t")).map(({ value }) => value)).toEqual([{ a: 1 }]);
    // An older program looks at the first table alone, and goes on.
    expect((await admin.query("SELECT version FROM gateway_schema")).rows).toEqual([{ version: 1 }]);
    expect((await admin.query("SELECT version FROM gateway_steps ORDER BY version")).rows).toEqual([
      { version: 2 },
      { version: 3 },
    ]);
    expect(await old.put("kept", { a: 2 }, { tags: ["t"] })).toMatchObject({ ok: true });
    expect((await other.get("kept"))?.value).toEqual({ a: 2 });
    await Promise.all([old.close(), one.close(), other.close(), admin.end()]);
  });

  test("a step does not wait for a table in use: others would wait behind it", async () => {
    await (await openStore(server.url, deps)).close();
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    await admin.query("DELETE FROM gateway_steps");
    await admin.query("DROP TABLE gateway_allotments, gateway_history");
    await admin.query("BEGIN");
    // As a copy holds all tables; the step wants to write into this one.
    await admin.query("LOCK TABLE gateway_steps IN SHARE MODE");
    await expect(openStore(server.url, deps)).rejects.toThrow("lock timeout");
    await admin.query("ROLLBACK");
    await (await openStore(server.url, deps)).close();
    expect((await admin.query("SELECT version FROM gateway_steps ORDER BY version")).rows).toEqual([
      { version: 2 },
      { version: 3 },
    ]);
    await admin.end();
  });

  test("a role without the right to create tables can use existing ones", async () => {
    await (await openStore(server.url, deps)).close();
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    await admin.query("CREATE ROLE narrow LOGIN PASSWORD 'narrow'");
    await admin.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    await admin.query("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO narrow");
    const store = await openStore(server.url.replace(`gateway:${server.password}`, "narrow:narrow"), deps);
    expect(await store.put("narrow", 1)).toEqual({ ok: true, version: 1 });
    expect(await store.append("feed", 1, LATER)).toBeGreaterThan(0);
    await store.close();
    await admin.end();
  });
});

test("openStore() names the server that it cannot reach", async () => {
  // Port 1 on loopback: nothing listens there.
  const error: unknown = await openStore("postgres://u:hunter2@127.0.0.1:1/db", deps).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ code: "store.open" });
  expect(String(error)).toContain('Cannot open store "postgres://u@127.0.0.1:1/db": connect ECONNREFUSED');
  expect(String(error)).not.toContain("hunter2");
});
