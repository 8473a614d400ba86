/** The store goes away, changes places, is slow, or is out of reach. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { until } from "../../../examples/demo/until.ts";
import { type PostgresDatabase, WAITS_MS } from "../world/database.ts";
import type { SoakWorld } from "../world/world.ts";
import type { Fault } from "./fault.ts";

/** Whom a process has verified goes on for five minutes; sign-ins, tokens and whoever is new get 503 until it is back. */
export const DATABASE_KILLED: Fault = {
  name: "database-killed",
  disturbs: ["store", "writes"],
  lasts: [3, 12],
  briefly: 1,
  missing: needsPostgres,
  aim(world) {
    const database = postgresOf(world);
    return {
      replicas: world.replicas,
      strike: () => database.primary().kill(),
      heal: () => database.primary().start(),
    };
  },
};

/**
 * The primary dies and its standby takes its place; a write that was acknowledged is on both. With asynchronous replication what the
 * standby had not received yet would be lost: sessions and grants of its last moments, and revocations.
 */
export const DATABASE_FAILOVER: Fault = {
  name: "database-failover",
  disturbs: ["store", "writes"],
  lasts: [2, 6],
  missing: needsStandby,
  aim(world) {
    const database = postgresOf(world);
    return {
      replicas: world.replicas,
      strike: () => database.primary().kill(),
      heal: () => database.promote(),
      after: () => database.rejoin(),
    };
  },
};

/** The primary is told to take no writes any more, and stays reachable until its standby has taken its place. */
export const DATABASE_DEMOTED: Fault = {
  name: "database-demoted",
  disturbs: ["store", "writes"],
  lasts: [3, 8],
  missing: needsStandby,
  aim(world) {
    const database = postgresOf(world);
    return {
      replicas: world.replicas,
      async strike() {
        await database.primary().query("ALTER SYSTEM SET default_transaction_read_only = 'on'");
        await database.primary().query("SELECT pg_reload_conf()");
      },
      heal: () => database.promote(),
      after: () => database.rejoin(),
    };
  },
};

/** Every connection to the database breaks, by the network or by its own doing; the next one works. */
export const DATABASE_CUT: Fault = {
  name: "database-cut",
  disturbs: ["store", "writes"],
  lasts: [2, 4],
  briefly: 1,
  missing: needsPostgres,
  aim(world, random) {
    const database = postgresOf(world);
    const isNetwork = random() < 0.5;
    const cut = async (): Promise<void> => {
      if (isNetwork) for (const forwarder of database.forwarders) forwarder.cut();
      else
        await database
          .primary()
          .query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
          );
    };
    return {
      replicas: world.replicas,
      detail: isNetwork ? "by the network" : "by the server",
      async strike() {
        for (let count = 0; count < 3; count += 1) {
          await cut();
          await delay(200);
        }
      },
      async heal() {},
    };
  },
};

/** One replica alone cannot reach the store: the others do not know, and it learns nothing of what they do. */
export const DATABASE_UNREACHABLE: Fault = {
  name: "database-unreachable",
  disturbs: ["store", "writes"],
  lasts: [5, 20],
  briefly: 2,
  missing: needsPostgres,
  aim(world, random) {
    const index = Math.floor(random() * world.replicas.length);
    const forwarder = postgresOf(world).forwarders[index];
    return {
      replicas: world.replicas.slice(index, index + 1),
      strike: async () => forwarder?.refuse(true),
      heal: async () => forwarder?.refuse(false),
    };
  },
};

/** Every statement arrives late (PostgreSQL), or another program holds the lock for writing (SQLite). */
export const STORE_SLOW: Fault = {
  name: "store-slow",
  disturbs: ["store", "writes"],
  lasts: [6, 15],
  briefly: 2,
  missing: () => undefined,
  aim(world, random) {
    const { database } = world;
    if (database.kind === "sqlite") return holdsLock(world, database.file);
    const ms = Math.round(100 + random() * 700);
    const delayed = (by: number) => async () => {
      for (const forwarder of database.forwarders) forwarder.delay(by);
    };
    return { replicas: world.replicas, detail: `${ms} ms a statement`, strike: delayed(ms), heal: delayed(0) };
  },
};

const HELD_MS = 1_500;
const FREE_MS = 100;

function holdsLock(world: SoakWorld, file: string) {
  const end = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  return {
    replicas: world.replicas,
    detail: `locked for ${HELD_MS} ms at a time`,
    async strike() {
      const database = new DatabaseSync(file, { timeout: 10_000 });
      ended = (async () => {
        while (!end.signal.aborted) {
          database.exec("BEGIN IMMEDIATE");
          await delay(HELD_MS);
          database.exec("ROLLBACK");
          await delay(FREE_MS);
        }
        database.close();
      })();
    },
    async heal() {
      end.abort();
      await ended;
    },
  };
}

/** Nothing can be written: whoever has signed in goes on, nobody can sign in, nothing is revoked or published. */
export const STORE_DISK_FULL: Fault = {
  name: "store-disk-full",
  disturbs: ["store", "writes"],
  lasts: [5, 15],
  missing: ({ database }) =>
    (database.kind === "sqlite" ? database.disk : database.primary().disk) ? undefined : NO_MOUNT,
  aim(world) {
    const { database } = world;
    const disk = database.kind === "sqlite" ? database.disk : database.primary().disk;
    return {
      replicas: world.replicas,
      strike: async () => disk?.fill(),
      async heal() {
        disk?.clear();
        if (database.kind === "sqlite") return;
        // It ends itself when its write-ahead log finds no room.
        const node = database.primary();
        if (!node.running()) await node.start();
        await until(async () => (await node.query("SELECT 1")).length === 1, "the database answers", WAITS_MS);
      },
    };
  },
};

export const NO_MOUNT = "no file system can be mounted here";

function needsPostgres({ database }: SoakWorld): string | undefined {
  return database.kind === "postgres" ? undefined : "the store is SQLite";
}

function needsStandby(world: SoakWorld): string | undefined {
  const { database } = world;
  if (database.kind !== "postgres") return needsPostgres(world);
  return database.standby() ? undefined : "there is no standby: HAProxy is not installed";
}

function postgresOf({ database }: SoakWorld): PostgresDatabase {
  if (database.kind !== "postgres") throw new Error("The store is not PostgreSQL");
  return database;
}
