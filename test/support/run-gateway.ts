/** `gateway run` as a real process (with `--workers` several), in a directory of its own. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { stringify } from "yaml";

import { createAdminClient, type AdminClient } from "./admin-client.ts";
import { TEST_SHARED_SECRET } from "./config.ts";

export interface RunOptions {
  /** More boot settings, or others than the usual ones; `undefined` leaves one out. */
  readonly boot?: Readonly<Record<string, unknown>>;
  readonly workers?: number;
  /** Live settings and routes of the boot file. */
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningGateway {
  /** Where it listens, "http://127.0.0.1:PORT". */
  readonly origin: string;
  readonly adminOrigin: string;
  readonly admin: AdminClient;
  readonly process: ChildProcess;
  /** Of its configuration. */
  readonly directory: string;
  /** Everything it said on standard error. */
  log(): string;
  /** Everything it said on standard output: authorization records, where they go there. */
  output(): string;
  /** Process ids of the workers that serve. */
  workers(): Promise<readonly WorkerStatus[]>;
  /** Replaces a file of the configuration in one step. */
  write(name: string, text: string): void;
  /** Exit code, once it ended. */
  readonly ended: Promise<number | null>;
  /** Ends it, by force if it does not go; and removes its directory. */
  close(): Promise<void>;
}

export interface WorkerStatus {
  readonly name: string;
  readonly pid: number;
  readonly serving: boolean;
  readonly restarts: number;
  readonly digest?: string;
  readonly published?: number;
}

export const ADMIN_TOKEN = "admin-token-of-the-tests";
const START_WITHIN_MS = 30_000;
const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;

/** Starts and waits until it serves. @throws Error with its log when it ends before */
export async function runGateway(options: RunOptions = {}): Promise<RunningGateway> {
  const directory = mkdtempSync(join(tmpdir(), "gateform-run-"));
  const boot: Record<string, unknown> = {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    admin_token: ADMIN_TOKEN,
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: `sqlite:${join(directory, "gateway.db")}`,
    authorize_log: join(directory, "authorize.log"),
    drain_timeout: "2s",
    ...options.boot,
  };
  const write = (name: string, text: string): void => {
    writeFileSync(join(directory, `.${name}.tmp`), text);
    renameSync(join(directory, `.${name}.tmp`), join(directory, name));
  };
  write("gateway.yaml", `${stringify(boot)}${options.yaml ?? "routes: []\n"}`);
  const args = [MAIN, "run", "--config", directory, "--workers", String(options.workers ?? 1)];
  const child = spawn(process.execPath, args, {
    cwd: directory,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString("utf8")));
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const close = async (): Promise<void> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    if (child.exitCode === null) child.kill("SIGTERM");
    await ended;
    clearTimeout(timer);
    rmSync(directory, { recursive: true, force: true });
  };

  const deadline = performance.now() + START_WITHIN_MS;
  let serves: RegExpExecArray | null = null;
  while (!serves) {
    serves = /gateway serves on (\S+?)(?: with \d+ workers)?, admin on (\S+)/.exec(log);
    if (!serves && (child.exitCode !== null || performance.now() > deadline)) {
      await close();
      throw new Error(`The gateway did not start:\n${log}`);
    }
    if (!serves) await delay(20);
  }
  const [, origin = "", adminOrigin = ""] = serves;
  const admin = createAdminClient(adminOrigin, ADMIN_TOKEN);
  return {
    origin,
    adminOrigin,
    admin,
    process: child,
    directory,
    log: () => log,
    output: () => output,
    workers: async () => ((await admin.get("/status")).body["workers"] ?? []) as WorkerStatus[],
    write,
    ended,
    close,
  };
}
