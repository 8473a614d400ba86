/** One PostgreSQL server of a soak, on a disk of its own where there can be one: killed, started, copied, promoted. */
import { spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chownSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { Client, type QueryResultRow } from "pg";

import { freePort } from "../../support/ports.ts";
import { launchPostgres, makeCluster, postgresUrl, postgresUser, untilReady } from "../../support/postgres.ts";
import { mountSmallDisk, type SmallDisk } from "../../support/small-disk.ts";

export interface PostgresNode {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  /** Absent without the right to mount one. */
  readonly disk: SmallDisk | undefined;
  running(): boolean;
  /** A new cluster of its own. */
  create(): Promise<void>;
  /** A copy of another server that follows it. */
  follow(primary: PostgresNode): Promise<void>;
  /** Waits until it takes connections. */
  start(): Promise<void>;
  /** kill -9; its children go by themselves. */
  kill(): Promise<void>;
  /** One statement, on a connection of its own. */
  query<T extends QueryResultRow>(sql: string): Promise<readonly T[]>;
  close(): Promise<void>;
}

/** Room for two copies of the write-ahead log that a soak leaves. */
const DISK_MEBIBYTES = 400;
const SETTINGS = ["max_connections=200", "max_wal_size=96MB", "min_wal_size=32MB", "wal_keep_size=64MB"];
const START_WITHIN_MS = 600_000;

export async function makeNode(bin: string, name: string, parent: string): Promise<PostgresNode> {
  const port = await freePort();
  const url = postgresUrl(port);
  const owner = postgresUser();
  const disk = mountSmallDisk(DISK_MEBIBYTES);
  const directory = "missing" in disk ? join(parent, name) : disk.directory;
  mkdirSync(directory, { recursive: true });
  if (owner) chownSync(directory, owner.uid, owner.gid);
  const cluster = { bin, directory, data: join(directory, "data") };
  let server: ChildProcess | undefined;

  const node: PostgresNode = {
    name,
    port,
    url,
    disk: "missing" in disk ? undefined : disk,
    running: () => server !== undefined && server.exitCode === null && server.signalCode === null,
    async create() {
      makeCluster(cluster);
      await node.start();
    },
    async follow(primary) {
      await node.kill();
      rmSync(cluster.data, { recursive: true, force: true });
      const args = ["-D", cluster.data, "-d", primary.url, "-R", "-X", "stream", "--checkpoint=fast"];
      const copied = spawnSync(join(bin, "pg_basebackup"), args, { ...owner, cwd: directory, encoding: "utf8" });
      if (copied.status !== 0) throw new Error(`pg_basebackup failed: ${copied.stderr}`);
      // A promoted server has nobody who follows it: it must not wait for one.
      appendFileSync(join(cluster.data, "postgresql.auto.conf"), "synchronous_standby_names = ''\n");
      appendFileSync(join(cluster.data, "postgresql.auto.conf"), "default_transaction_read_only = 'off'\n");
      await node.start();
    },
    async start() {
      const deadline = performance.now() + START_WITHIN_MS;
      for (;;) {
        server = launchPostgres({ ...cluster, port }, SETTINGS);
        try {
          await untilReady(url, server);
          return;
        } catch (error) {
          // After a kill the shared memory belongs to its children for a moment more.
          server.kill("SIGKILL");
          if (performance.now() > deadline) throw error;
          await delay(200);
        }
      }
    },
    async kill() {
      if (!server || !node.running()) return;
      const gone = once(server, "exit");
      server.kill("SIGKILL");
      await gone;
    },
    async query<T extends QueryResultRow>(sql: string) {
      const client = new Client({ connectionString: url, application_name: "soak", connectionTimeoutMillis: 5_000 });
      client.on("error", () => {});
      try {
        await client.connect();
        return (await client.query<T>(sql)).rows;
      } finally {
        await client.end().catch(() => {});
      }
    },
    async close() {
      await node.kill();
      if ("missing" in disk) rmSync(directory, { recursive: true, force: true });
      else disk.unmount();
    },
  };
  return node;
}
