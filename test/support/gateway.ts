/**
 * A whole gateway in this process, on a free loopback port, with its log and records at hand: for flows through all of it.
 *
 * Variants for one kind of flow: sign-in-gateway.ts (users and a provider), and based on that mcp-gateway.ts (a real MCP
 * server), upstream-gateway.ts (a service that requires OAuth), device-world.ts; live-gateway.ts (a watched directory, for
 * examples). For the proxy only, pipeline.ts is faster and more exact, for sign-in session.ts. Tests of signals, kills,
 * workers or exit codes need run-gateway.ts.
 */
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { pino } from "pino";
import { stringify } from "yaml";

import { startGateway as startRuntime, type Gateway } from "../../runtime/gateway.ts";
import type { Clock } from "../../runtime/shared/clock.ts";
import { TEST_SHARED_SECRET } from "./config.ts";
import { freePort } from "./ports.ts";

export interface TestGatewayOptions {
  /**
   * Dynamic settings and routes; static settings are added. `{origin}` in the text becomes the gateway's origin,
   * `{origin-ip}` the same with 127.0.0.1.
   */
  readonly yaml: string;
  /** More static settings, or other values for the default ones. */
  readonly boot?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
  /** Replaces the address of the gateway's client ID metadata documents. */
  readonly clientDocumentUrl?: string;
  /** Serve on this port again (restarts); a free one when absent. */
  readonly port?: number;
  /** Watches the whole directory, to which slices may be published; only the one file when absent. */
  readonly watchesDirectory?: boolean;
}

export interface TestGateway {
  /** "http://localhost:PORT": what routes have as `from`. */
  readonly origin: string;
  readonly port: number;
  readonly adminOrigin: string;
  readonly adminToken: string;
  readonly runtime: Gateway;
  /** For commands that are given the configuration. */
  readonly configFile: string;
  /** Where it lies, with the records. */
  readonly directory: string;
  /** Everything the operator's log said, as text. */
  log(): string;
  /** Authorization records written so far. */
  records(): Promise<readonly Record<string, unknown>[]>;
  /** The authorization log as text. */
  recordText(): Promise<string>;
  /** Runs a change of the configuration, and resolves when the gateway has processed it. */
  change<T>(act: () => Promise<T>): Promise<T>;
  /** Writes another configuration; resolves when it is active. */
  reconfigure(yaml: string): Promise<void>;
  close(): Promise<void>;
}

const ADMIN_TOKEN = "admin-token-of-the-tests";

export async function startGateway(options: TestGatewayOptions): Promise<TestGateway> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(options, options.port ?? (await freePort()));
    } catch (error) {
      // Another process took the port between our look and our listening.
      if (options.port !== undefined || attempt === 3 || !String(error).includes("EADDRINUSE")) throw error;
    }
  }
}

async function start(options: TestGatewayOptions, port: number): Promise<TestGateway> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-test-"));
  const origin = `http://localhost:${port}`;
  const recordFile = join(directory, "authorize.log");
  const configFile = join(directory, "gateway.yaml");
  const boot = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    admin_token: ADMIN_TOKEN,
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: "memory:",
    authorize_log: recordFile,
    drain_timeout: "2s",
    ...options.boot,
  };
  const write = async (yaml: string): Promise<void> => {
    // As editors and Terraform do it: the file is whole at every moment.
    await writeFile(
      `${configFile}.new`,
      `${stringify(boot)}${yaml.replaceAll("{origin}", origin).replaceAll("{origin-ip}", `http://127.0.0.1:${port}`)}`,
    );
    await rename(`${configFile}.new`, configFile);
  };
  let logText = "";
  const log = pino({ level: "debug" }, { write: (line: string) => void (logText += line) });
  await write(options.yaml);
  let runtime: Gateway;
  try {
    runtime = await startRuntime({
      config: options.watchesDirectory ? directory : configFile,
      log,
      ...(options.clock && { clock: options.clock }),
      ...(options.clientDocumentUrl !== undefined && { clientDocumentUrl: options.clientDocumentUrl }),
    });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
  const change = async <T>(act: () => Promise<T>): Promise<T> => {
    let stop = (): void => {};
    const changed = new Promise<void>((resolve) => {
      stop = runtime.onChange(resolve);
    });
    try {
      const result = await act();
      await changed;
      return result;
    } finally {
      stop();
    }
  };
  const recordText = async (): Promise<string> => {
    await runtime.flushRecords();
    return readFile(recordFile, "utf8");
  };
  return {
    origin,
    port,
    adminOrigin: runtime.adminOrigin,
    adminToken: ADMIN_TOKEN,
    runtime,
    configFile,
    directory,
    change,
    log: () => logText,
    recordText,
    records: async () =>
      (await recordText())
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    reconfigure: (yaml) => change(() => write(yaml)),
    async close() {
      await runtime.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
