/**
 * `gateway run` as a real process (with `--workers` several): for what signals, kills, workers, exit codes and output decide.
 * All else is faster and easier to look into with gateway.ts.
 */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { stringify } from "yaml";

import { HOOK_MS, POLL_MS } from "./limits.ts";
import { createAdminClient, type AdminClient } from "./admin-client.ts";
import { builtProgram } from "./built-program.ts";
import { stallLimit } from "./stall-limit.ts";
import { unitMicros } from "./work.ts";
import { TEST_SHARED_SECRET } from "./config.ts";

export interface RunOptions {
  /** More static settings, or other values for the default ones; `undefined` omits one. */
  readonly boot?: Readonly<Record<string, unknown>>;
  readonly workers?: number;
  /** Dynamic settings and routes of the main configuration file. */
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Limit of open files. */
  readonly descriptors?: number;
  /** Another replica: with the configuration of this one, which has to be closed after it. */
  readonly replicaOf?: Pick<RunningGateway, "directory">;
  /** Node's arguments, up to "run": another version's main.ts, options before it. Default: builtProgram(). */
  readonly program?: readonly string[];
  /** Whether the test and what it loads into the process talk to each other. */
  readonly channel?: boolean;
}

export interface RunningGateway {
  /** Where it listens, "http://127.0.0.1:PORT". */
  readonly origin: string;
  readonly adminOrigin: string;
  readonly admin: AdminClient;
  readonly process: ChildProcess;
  /** Directory of its configuration. */
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
/** Reports the longest turn of a hostile case's gateway: the probe of the test only measures its own process. */
const PROBE = ["--import", new URL("longest-turn.ts", import.meta.url).pathname];
const TURNS = "longest-turn.";

interface Spawned {
  readonly child: ChildProcess;
  /** All of its output so far. */
  readonly said: { readonly out: string; readonly err: string };
  /** Matches origin and admin origin. @throws Error with its log when it ends before it serves */
  readonly serves: Promise<RegExpExecArray>;
}

function spawnGateway(
  args: readonly string[],
  {
    program,
    descriptors,
    channel = false,
    ...options
  }: Pick<SpawnOptions, "cwd" | "env"> &
    Pick<RunOptions, "descriptors" | "channel"> & { readonly program: readonly string[] },
): Spawned {
  const command = [process.execPath, ...program, "run", ...args];
  const [file = "", ...rest] =
    descriptors === undefined ? command : ["sh", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`, ...command];
  const child = spawn(file, rest, {
    ...options,
    stdio: ["ignore", "pipe", "pipe", ...(channel ? (["ipc"] as const) : [])],
  });
  const said = { out: "", err: "" };
  const serves = new Promise<RegExpExecArray>((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => (said.out += chunk.toString("utf8")));
    child.stderr?.on("data", (chunk: Buffer) => {
      said.err += chunk.toString("utf8");
      const match =
        /gateway serves on (\S+?)(?: and all other addresses of this host)?(?: with \d+ workers)?, admin on (\S+)/.exec(
          said.err,
        );
      if (match) resolve(match);
    });
    child.once("close", () => reject(new Error(`The gateway did not start:\n${said.err}`)));
  });
  return { child, said, serves };
}

/**
 * Starts a gateway with a configuration of the test, for tests that kill and restart it. Resolves once it serves.
 *
 * @param onTestFinished of the test; the process ends with it at the latest
 */
export async function startGatewayProcess(
  config: string,
  onTestFinished: (end: () => void) => void,
): Promise<ChildProcess> {
  const { child, serves } = spawnGateway(["--config", config], { program: [await builtProgram()] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await serves;
  return child;
}

/** @throws Error when one of its processes was busy for longer than the case has stated */
function checkTurns(directory: string): void {
  // Closed already.
  if (!existsSync(directory)) return;
  const micros = readdirSync(directory).map((file) => Number(readFileSync(join(directory, file), "utf8")));
  rmSync(directory, { recursive: true, force: true });
  const units = Math.max(0, ...micros) / unitMicros();
  if (units < stallLimit.most) return;
  const most = `at most ${stallLimit.most} are stated`;
  throw new Error(`A turn of the event loop took ${Math.round(units)} units of work in a gateway, ${most}`);
}

/** In a directory of its own. Starts and waits until it serves. @throws Error with its log when it ends before */
export async function runGateway(options: RunOptions = {}): Promise<RunningGateway> {
  const directory = options.replicaOf?.directory ?? mkdtempSync(join(tmpdir(), "gateform-run-"));
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
  if (!options.replicaOf) write("gateway.yaml", `${stringify(boot)}${options.yaml ?? "routes: []\n"}`);
  const turns = stallLimit.isInCase ? mkdtempSync(join(tmpdir(), "gateform-turns-")) : undefined;
  const program = options.program ?? [await builtProgram()];
  const { child, said, serves } = spawnGateway(["--config", directory, "--workers", String(options.workers ?? 1)], {
    cwd: directory,
    env: { ...process.env, ...(turns !== undefined && { GATEWAY_TEST_TURNS: join(turns, TURNS) }), ...options.env },
    program: turns === undefined ? program : [...PROBE, ...program],
    ...(options.descriptors !== undefined && { descriptors: options.descriptors }),
    ...(options.channel === true && { channel: true }),
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const close = async (): Promise<void> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), POLL_MS);
    if (child.exitCode === null) child.kill("SIGTERM");
    await ended;
    clearTimeout(timer);
    if (!options.replicaOf) rmSync(directory, { recursive: true, force: true });
    if (turns !== undefined) checkTurns(turns);
  };

  const timer = setTimeout(() => child.kill("SIGKILL"), HOOK_MS);
  const [, origin = "", adminOrigin = ""] = await serves
    .catch(async (error: unknown) => {
      await close();
      throw error;
    })
    .finally(() => clearTimeout(timer));
  const admin = createAdminClient(adminOrigin, ADMIN_TOKEN);
  return {
    origin,
    adminOrigin,
    admin,
    process: child,
    directory,
    log: () => said.err,
    output: () => said.out,
    workers: async () => ((await admin.get("/status")).body["workers"] ?? []) as WorkerStatus[],
    write,
    ended,
    close,
  };
}
