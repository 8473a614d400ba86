/** The gateways of a soak: each is a process with workers, in a process group of its own, that can be struck and started again. */
import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { stringify } from "yaml";

import { createAdminClient } from "../../support/admin-client.ts";
import { freePort } from "../../support/ports.ts";
import { ADMIN_TOKEN, type WorkerStatus } from "../../support/run-gateway.ts";
import { mountSmallDisk, type SmallDisk } from "../../support/small-disk.ts";
import { type Forwarder, startForwarder } from "./forwarder.ts";
import type { Replica } from "./types.ts";

/** A replica, and what faults do to it. */
export interface SoakGateway extends Replica {
  /** What clients connect to. */
  readonly clients: Forwarder;
  /** Of its records and its spool; absent without the right to mount them. */
  readonly disks: { readonly records: SmallDisk; readonly spool: SmallDisk } | undefined;
  /** Waits until it serves. */
  start(): Promise<void>;
  /** Marks it as kept down or stopped by a fault, or no longer so. */
  struck(whether: boolean): void;
  /** Sends a signal to all of its processes. */
  signal(signal: NodeJS.Signals): void;
  /** kill -9 of all of its processes. */
  kill(): Promise<void>;
  /** Steps its clock; absent where it has none of its own. */
  readonly setClock: ((aheadSeconds: number) => void) | undefined;
  stop(): Promise<void>;
  /** Removes its files; after `stop`. */
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly name: string;
  /** Of the soak. */
  readonly root: string;
  readonly program: string;
  readonly workers: number;
  /** libfaketime.so; absent: its clock is the machine's. */
  readonly faketime: string | undefined;
  /** The whole configuration, but addresses and places of files. */
  readonly boot: Readonly<Record<string, unknown>>;
  /** File for its standard error. */
  readonly logFile: string;
}

const START_WITHIN_MS = 600_000;
/** Whoever is killed loses records. */
const STOP_WITHIN_MS = 120_000;
const SETPRIV = "/usr/bin/setpriv";

export async function makeGateway(options: GatewayOptions): Promise<SoakGateway> {
  const { name, root, program, workers, faketime, logFile } = options;
  const [ownPort, adminPort] = [await freePort(), await freePort()];
  const clients = await startForwarder(ownPort);
  const { port } = clients;
  const home = join(root, name);
  const directory = join(home, "config");
  mkdirSync(directory, { recursive: true });
  const disks = mountDisks();
  const recordsFile = join(disks?.records.directory ?? home, "authorize.log");
  const spool = join(disks?.spool.directory ?? home, "spool");
  const clockFile = join(home, "clock");
  writeFileSync(clockFile, "+0\n");
  const boot = {
    ...options.boot,
    address: `127.0.0.1:${ownPort}`,
    admin_address: `127.0.0.1:${adminPort}`,
    admin_token: ADMIN_TOKEN,
    authorize_log: recordsFile,
    record_spool: spool,
  };
  writeFileSync(join(directory, "gateway.yaml"), stringify(boot));
  const admin = createAdminClient(`http://127.0.0.1:${adminPort}`, ADMIN_TOKEN);
  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let log = "";
  let isStruck = false;
  const runs = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  const signal = (which: NodeJS.Signals): void => {
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, which);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  };
  const gateway: SoakGateway = {
    name,
    clients,
    port,
    origin: `http://127.0.0.1:${port}`,
    adminOrigin: `http://127.0.0.1:${adminPort}`,
    directory,
    recordsFile,
    disks,
    up: () => runs() && !isStruck,
    pid: () => (runs() ? child?.pid : undefined),
    workers: async () => ((await admin.get("/status")).body["workers"] ?? []) as WorkerStatus[],
    log: () => log,
    struck: (whether) => void (isStruck = whether),
    signal,
    setClock:
      faketime === undefined
        ? undefined
        : (seconds) => {
            // In one step: whoever reads it sees the old time or the new one.
            writeFileSync(`${clockFile}.new`, `${seconds < 0 ? "" : "+"}${seconds}\n`);
            renameSync(`${clockFile}.new`, clockFile);
          },
    async start() {
      // As tests have it: each of many processes would compile the same modules anew.
      const { PATH, HOME, NODE_COMPILE_CACHE = join(tmpdir(), "gateway-test-compile-cache") } = process.env;
      const env = { PATH, HOME, NODE_COMPILE_CACHE, ...(faketime === undefined ? {} : clockOf(faketime, clockFile)) };
      const args = [program, "run", "--config", directory, "--workers", String(workers)];
      // With us it ends, however we end; in a group of its own, so that all of its processes can be struck together.
      const started = spawn(SETPRIV, ["--pdeathsig=KILL", process.execPath, ...args], {
        cwd: home,
        env,
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
      });
      child = started;
      ended = once(started, "exit");
      const begins = log.length;
      started.stderr.on("data", (chunk: Buffer) => {
        log += chunk.toString("utf8");
        appendFileSync(logFile, chunk);
      });
      const deadline = performance.now() + START_WITHIN_MS;
      while (!/gateway serves on /.test(log.slice(begins))) {
        if (!runs() || performance.now() > deadline) {
          signal("SIGKILL");
          throw new Error(`The gateway ${name} did not start:\n${log.slice(begins).slice(-2000)}`);
        }
        await delay(50);
      }
    },
    async kill() {
      signal("SIGKILL");
      await ended;
    },
    async stop() {
      if (!runs()) return;
      const force = setTimeout(() => signal("SIGKILL"), STOP_WITHIN_MS);
      child?.kill("SIGTERM");
      await ended;
      clearTimeout(force);
      signal("SIGKILL");
    },
    async close() {
      await clients.close();
      disks?.records.unmount();
      disks?.spool.unmount();
      rmSync(home, { recursive: true, force: true });
    },
  };
  return gateway;
}

function mountDisks(): SoakGateway["disks"] {
  const records = mountSmallDisk(256);
  if ("missing" in records) return undefined;
  const spool = mountSmallDisk(64);
  if ("missing" in spool) throw new Error(spool.missing);
  return { records, spool };
}

/** Timers run by the monotonic clock, which stays true. */
function clockOf(library: string, file: string): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
}

/** @returns its path; undefined where it is not installed */
export function findFaketime(): string | undefined {
  const folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
  return folders.map((folder) => `${folder}/faketime/libfaketimeMT.so.1`).find((path) => existsSync(path));
}
