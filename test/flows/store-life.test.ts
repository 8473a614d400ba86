/** Stores in use survive a process of the previous version next to the new one, and a restore, in both databases. */
import { copyFileSync, rmSync } from "node:fs";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";

import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";

import { openRecords } from "../../runtime/record-kinds.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { revokeGrants, revokeSessions } from "../../runtime/tools/commands/access.ts";
import { backUpStore } from "../../runtime/tools/commands/backup.ts";
import { clientProof } from "../support/oauth-client.ts";
import { OLD_PROGRAM } from "../support/old-program.ts";
import { findPostgres, startPostgres, type Postgres } from "../support/postgres.ts";
import { createDatabase, startReplicaWorld, type Person, type ReplicaWorld } from "../support/replica-world.ts";
import { runGateway } from "../support/run-gateway.ts";
import { LONG_MS } from "../support/limits.ts";

const REFUSED = { call: 401, isSignedIn: false };
const run = promisify(execFile);

interface Kind {
  /** Configuration of an empty store; undefined: a file in the world's directory. */
  newStore(name: string): Promise<string | undefined>;
  tables(world: ReplicaWorld): Promise<readonly string[]>;
  /** As operations/backup.md says it, while gateways serve. */
  backUp(world: ReplicaWorld): Promise<void>;
  /** The same, with no gateway running. */
  putBack(world: ReplicaWorld): Promise<void>;
}

let server: Postgres | undefined;
const found = findPostgres();
beforeAll(async () => {
  if ("bin" in found) server = await startPostgres(found.bin);
});
afterAll(() => server?.close());
afterEach(() => void vi.restoreAllMocks());

const file = ({ directory }: ReplicaWorld): string => join(directory, "gateway.db");
const sqlite: Kind = {
  newStore: async () => undefined,
  async tables(world) {
    const database = new DatabaseSync(file(world), { readOnly: true });
    const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    database.close();
    return rows.map(({ name }) => String(name));
  },
  async backUp(world) {
    expect(await backUpStore(join(world.directory, "backup.db"), { config: world.directory })).toBe(0);
  },
  async putBack(world) {
    for (const end of ["-wal", "-shm"]) rmSync(`${file(world)}${end}`, { force: true });
    copyFileSync(join(world.directory, "backup.db"), file(world));
    const database = new DatabaseSync(file(world));
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(database.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
    database.close();
  },
};

const bin = (name: string): string => join("bin" in found ? found.bin : "", name);
const postgres: Kind = {
  newStore: async (name) => server && createDatabase(server, name),
  async tables({ storageUrl }) {
    const client = new Client({ connectionString: storageUrl });
    await client.connect();
    const { rows } = await client.query<{ tablename: string }>("SELECT tablename FROM pg_tables");
    await client.end();
    return rows.map(({ tablename }) => tablename);
  },
  async backUp({ directory, storageUrl }) {
    await run(bin("pg_dump"), ["--format=custom", `--file=${join(directory, "backup.dump")}`, storageUrl]);
  },
  async putBack({ directory, storageUrl }) {
    const how = ["--clean", "--if-exists", "--exit-on-error", "--single-transaction"];
    await run(bin("pg_restore"), [...how, `--dbname=${storageUrl}`, join(directory, "backup.dump")]);
  },
};

/** Runs until stopped, without any failure. */
function keep(act: (times: number) => Promise<unknown>): { stop(): Promise<number> } {
  const end = new AbortController();
  const running = (async () => {
    let times = 0;
    for (; !end.signal.aborted; times += 1) await act(times);
    return times;
  })();
  // The caller of stop() gets the error.
  running.catch(() => {});
  return {
    stop() {
      end.abort();
      return running;
    },
  };
}

async function revoke(world: ReplicaWorld, { client }: Person, index: number): Promise<void> {
  const { revocation_endpoint: url } = await client.oauth.discover();
  const replica = world.replicas[index];
  if (!replica) throw new Error(`There is no replica ${index}`);
  const form = { token: client.tokens.refresh_token ?? "", ...clientProof(client.registration) };
  const answer = await world.sendTo(replica)({
    method: "POST",
    url,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  });
  expect(answer.status).toBe(200);
}

const kinds = [["SQLite", sqlite] as const, ...("bin" in found ? [["PostgreSQL", postgres] as const] : [])];
describe.each(kinds)("%s", (name, kind) => {
  test(
    "the program of before serves on, and starts again, while the new one brings the tables up to date and serves",
    async () => {
      const world = await startReplicaWorld(await kind.newStore("versions"), onTestFinished);
      const startOld = async (): Promise<void> => {
        const running = await runGateway({ replicaOf: world, program: OLD_PROGRAM });
        const close = (): Promise<void> => running.close();
        world.replicas[0] = { port: Number(new URL(running.origin).port), log: () => running.log(), close };
        kill = () => {
          running.process.kill("SIGKILL");
          return close();
        };
      };
      let kill = async (): Promise<void> => {};
      await startOld();
      const alice = await world.signIn("alice@example.com");
      const bob = await world.signIn("bob@example.com");
      expect(await kind.tables(world)).not.toContain("gateway_allotments");

      // Each refresh needs the result of the previous one.
      const refreshing = keep(() => alice.client.refresh());
      await world.start();
      expect(await refreshing.stop()).toBeGreaterThan(0);
      expect(await kind.tables(world)).toEqual(expect.arrayContaining(["gateway_allotments", "gateway_steps"]));
      const carol = await world.signIn("carol@example.com");
      for (const person of [alice, bob, carol]) await world.goesOn(person);

      const asked = (person: Person, index: number) =>
        world.ask(person, world.replicas[index] && world.sendTo(world.replicas[index]));
      await revoke(world, alice, 0);
      await revoke(world, bob, 1);
      await expect.poll(async () => (await asked(alice, 1)).call).toBe(401);
      await expect.poll(async () => (await asked(bob, 0)).call).toBe(401);

      if (name === "SQLite") return;
      await kill();
      await startOld();
      await world.goesOn(carol);
      expect([(await asked(alice, 0)).call, (await asked(bob, 0)).call]).toEqual([401, 401]);
    },
    LONG_MS,
  );

  test(
    "a backup of serving replicas has all confirmed writes; after a restore no revoked access comes back",
    async () => {
      vi.spyOn(console, "log").mockImplementation(() => {});
      const world = await startReplicaWorld(await kind.newStore("restored"), onTestFinished);
      await world.start();
      const alice = await world.signIn("alice@example.com");
      const bob = await world.signIn("bob@example.com");
      const store = await openRecords(world.storageUrl, { clock: systemClock, log: silentLog() });
      let confirmed = 0;
      const writing = keep(async (times) => {
        await store.put(`test:${String(times).padStart(8, "0")}`, { text: "x".repeat(1_000) });
        confirmed = times + 1;
      });
      const refreshing = keep(() => alice.client.refresh());
      await expect.poll(() => confirmed).toBeGreaterThan(50);
      const before = confirmed;
      await kind.backUp(world);
      await writing.stop();
      expect(await refreshing.stop()).toBeGreaterThan(0);
      await store.close();

      // Not in the backup: a rotation, two revocations, and a user who came and went.
      await world.goesOn(alice);
      const carol = await world.signIn("carol@example.com");
      await revoke(world, carol, 0);
      await Promise.all(world.replicas.splice(0).map((each) => each.close()));
      await kind.putBack(world);

      const restored = await openRecords(world.storageUrl, { clock: systemClock, log: silentLog() });
      const kept = (await restored.page({ prefix: "test:", limit: 1000 })).map(({ key }) => Number(key.slice(5)));
      await restored.close();
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(before, 1000));
      // It has a prefix of the concurrent writes, without a gap.
      expect(kept).toEqual(kept.map((_, index) => index));

      await world.start();
      // Sessions, grants and connections of that time; nothing about unknown users.
      await world.goesOn(bob);
      expect(await world.ask(carol)).toEqual(REFUSED);
      expect(await revokeSessions([], { config: world.directory, all: true })).toBe(0);
      expect(await revokeGrants([], { config: world.directory, all: true })).toBe(0);
      for (const person of [alice, bob, carol]) {
        await expect.poll(() => world.ask(person)).toEqual(REFUSED);
        // Carol's client is not known either.
        await expect(person.client.refresh()).rejects.toThrow(person === carol ? "invalid_client" : "invalid_grant");
      }
      // Connected and registered as before.
      const again = await world.signIn("alice@example.com", alice.client.registration);
      await world.goesOn(again);
    },
    LONG_MS,
  );
});
