/**
 * A PostgreSQL server of a test's own: a new cluster in a temporary directory, on a Unix socket and a free loopback
 * port, with a password, gone at the end. It refuses to run as root, so there it runs as the user `postgres`.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";

import { POLL_MS } from "./limits.ts";

export interface Postgres {
  /** postgres://…, password included. */
  readonly url: string;
  readonly password: string;
  /** Ends every connection, as a crash or failover does. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and removes its files. */
  close(): Promise<void>;
}

const PREFIX = "gateform-postgres-";
/** No test run lasts longer. */
const ABANDONED_AFTER_MS = 4 * 3_600_000;
const PASSWORD = "correct-horse-battery";

/** Directory of the newest server installed here, the reason why there is none, or an error where one is required. */
export function findPostgres(): { readonly bin: string } | { readonly missing: string } {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions.map((version) => join(root, version, "bin")).find((path) => existsSync(join(path, "initdb")));
  if (bin !== undefined) return { bin };
  const missing = `no PostgreSQL server below ${root}`;
  if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(`${missing}, and GATEWAY_REQUIRE_ALL is set`);
  return { missing };
}

/** Starts a server and waits until it answers. */
export async function startPostgres(bin: string): Promise<Postgres> {
  removeAbandoned();
  const directory = mkdtempSync(join(tmpdir(), PREFIX));
  const data = join(directory, "data");
  const owner = postgresUser();
  if (owner) chownSync(directory, owner.uid, owner.gid);
  makeCluster({ bin, directory, data });

  const port = await freePort();
  const url = postgresUrl(port);
  let server: ChildProcess | undefined;
  // Last resort when a test run ends without its hooks.
  const cleanUp = (): void => {
    server?.kill("SIGQUIT");
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", cleanUp);

  const handle: Postgres = {
    url,
    password: PASSWORD,
    async start() {
      server = launchPostgres({ bin, directory, data, port });
      await untilReady(url, server);
    },
    async stop() {
      if (!server) return;
      const gone = once(server, "exit");
      // Immediate shutdown: connections break without a goodbye, recovery follows at the next start.
      server.kill("SIGQUIT");
      await gone;
      server = undefined;
    },
    async close() {
      await handle.stop();
      process.off("exit", cleanUp);
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await handle.start();
  return handle;
}

export function postgresUrl(port: number): string {
  return `postgres://gateway:${PASSWORD}@127.0.0.1:${port}/postgres`;
}

/** User of PostgreSQL's programs; undefined: our own. */
export function postgresUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}

export interface Cluster {
  readonly bin: string;
  /** Directory of its socket; belongs to PostgreSQL's user. */
  readonly directory: string;
  /** Directory of its files. */
  readonly data: string;
}

/** Creates files with one superuser, `gateway`, who may also replicate. */
export function makeCluster({ bin, directory, data }: Cluster): void {
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  const files = ["-D", data, `--pwfile=${passwordFile}`, "-N"];
  const login = ["-U", "gateway", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"];
  const made = spawnSync(join(bin, "initdb"), [...files, ...login], {
    ...postgresUser(),
    cwd: directory,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
}

/** Starts its server, which ends with this process. @param settings "name=value", in addition to the default ones */
export function launchPostgres(
  { bin, directory, data, port }: Cluster & { readonly port: number },
  settings: readonly string[] = [],
): ChildProcess {
  const owner = postgresUser();
  const command = [join(bin, "postgres"), "-D", data, "-p", String(port), "-k", directory];
  const usual = ["listen_addresses=127.0.0.1", "fsync=off", "max_connections=40", "shared_buffers=16MB"];
  command.push(...[...usual, ...settings].flatMap((setting) => ["-c", setting]));
  // setpriv makes the kernel end the server when this process is killed before it can do so itself.
  const setpriv = existsSync("/usr/bin/setpriv");
  const user = owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, "--clear-groups"] : [];
  if (setpriv) command.unshift("/usr/bin/setpriv", "--pdeathsig=QUIT", ...user);
  const [file = "", ...args] = command;
  return spawn(file, args, { cwd: directory, stdio: "ignore", ...(setpriv ? {} : owner) });
}

/** Files of test runs that were killed; their servers ended with them. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(tmpdir(), name);
    const made = statSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? Date.now();
    if (Date.now() - made > ABANDONED_AFTER_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** @throws Error when it ends, or does not answer in time */
export async function untilReady(url: string, server: ChildProcess): Promise<void> {
  const deadline = performance.now() + POLL_MS;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended at once with code ${server.exitCode}`);
    const client = new Client({ connectionString: url });
    client.on("error", () => {});
    try {
      await client.connect();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(50);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("No port was given");
  return address.port;
}
