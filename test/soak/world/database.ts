/**
 * The store of a soak. PostgreSQL: a primary, where HAProxy is installed a synchronous standby and HAProxy before both, and for each
 * replica a forwarder of its own, so that it can lose its store alone. SQLite: one file for all replicas, on a disk of its own.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { until } from "../../../examples/demo/until.ts";
import { findPostgres } from "../../support/postgres.ts";
import { mountSmallDisk, type SmallDisk } from "../../support/small-disk.ts";
import { type Forwarder, startForwarder } from "./forwarder.ts";
import { findHaproxy, startDatabaseBalancer, type DatabaseBalancer } from "./haproxy.ts";
import { makeNode, type PostgresNode } from "./postgres-node.ts";

export interface SqliteDatabase {
  readonly kind: "sqlite";
  readonly file: string;
  readonly disk: SmallDisk | undefined;
  url(replica: number): string;
  close(): Promise<void>;
}

export interface PostgresDatabase {
  readonly kind: "postgres";
  /** Of each replica's way to it. */
  readonly forwarders: readonly Forwarder[];
  primary(): PostgresNode;
  standby(): PostgresNode | undefined;
  /** As a replica reaches it. */
  url(replica: number): string;
  /** The standby is the primary from now on. Whoever was it gets no connection any more. @throws Error without a standby */
  promote(): Promise<void>;
  /** The server that is not primary is made anew as its standby, and writes wait for it. */
  rejoin(): Promise<void>;
  close(): Promise<void>;
}

export type Database = SqliteDatabase | PostgresDatabase;

const DISK_MEBIBYTES = 128;
/** For databases and gateways to come back, on machines that do much else. */
export const WAITS_MS = 600_000;

export function openSqlite(directory: string): SqliteDatabase {
  const disk = mountSmallDisk(DISK_MEBIBYTES);
  const place = "missing" in disk ? join(directory, "store") : disk.directory;
  mkdirSync(place, { recursive: true });
  const file = join(place, "gateway.db");
  return {
    kind: "sqlite",
    file,
    disk: "missing" in disk ? undefined : disk,
    url: () => `sqlite:${file}`,
    async close() {
      if (!("missing" in disk)) disk.unmount();
    },
  };
}

/** @param wantsStandby and HAProxy, where it is installed */
export async function openPostgres(
  directory: string,
  replicas: number,
  wantsStandby: boolean,
): Promise<PostgresDatabase> {
  const found = findPostgres();
  if ("missing" in found) throw new Error(`Cannot start the store: ${found.missing}`);
  const nodes: PostgresNode[] = [];
  const forwarders: Forwarder[] = [];
  let balancer: DatabaseBalancer | undefined;
  let current = 0;
  const primary = (): PostgresNode => nodes[current] as PostgresNode;
  const standby = (): PostgresNode | undefined => nodes[1 - current];
  const close = async (): Promise<void> => {
    await Promise.all(forwarders.map((each) => each.close()));
    await balancer?.close();
    await Promise.all(nodes.map((each) => each.close()));
  };

  const rejoin = async (): Promise<void> => {
    const follower = standby();
    if (!follower) throw new Error("Cannot make a standby: there is one server");
    await follower.follow(primary());
    await until(() => streams(primary()), "the standby follows", WAITS_MS);
    await primary().query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await primary().query("SELECT pg_reload_conf()");
    await until(() => streams(primary(), "sync"), "the standby is synchronous", WAITS_MS);
  };

  try {
    nodes.push(await makeNode(found.bin, "n1", directory));
    await primary().create();
    let port = primary().port;
    if (wantsStandby && !findHaproxy()) {
      nodes.push(await makeNode(found.bin, "n2", directory));
      await rejoin();
      balancer = await startDatabaseBalancer(
        directory,
        nodes.map((each) => each.port),
        (index) => index === current && primary().running(),
      );
      ({ port } = balancer);
    }
    for (let count = 0; count < replicas; count += 1) forwarders.push(await startForwarder(port));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: "postgres",
    forwarders,
    primary,
    standby,
    url: (replica) => primary().url.replace(`:${primary().port}/`, `:${forwarders[replica]?.port}/`),
    async promote() {
      const next = standby();
      if (!next) throw new Error("Cannot fail over: there is no standby");
      await next.query("SELECT pg_promote(true, 60)");
      current = 1 - current;
    },
    rejoin,
    close,
  };
}

async function streams(primary: PostgresNode, state?: "sync"): Promise<boolean> {
  const rows = await primary.query<{ sync_state: string }>(
    "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'",
  );
  return rows.some(({ sync_state: is }) => state === undefined || is === state);
}
