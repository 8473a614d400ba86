/** The real Terraform, in a throw-away directory, against a provider in this process or one started from a mirror. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LONG_MS } from "./limits.ts";
import { QUICK_GO } from "./quick-start.ts";
import { bundleProvider } from "../../runtime/terraform/resource/bundle-provider.ts";
import { OPENTOFU_ADDRESS, PROVIDER_ADDRESS } from "../../runtime/terraform/schema/schema.ts";
import { serveProvider } from "../../runtime/terraform/protocol/server.ts";

/** Undefined when the tests can run; else why they are skipped. */
export function terraformMissing(): string | undefined {
  try {
    execFileSync("terraform", ["version"], {
      env: { ...process.env, ...BASE_ENV, TF_CLI_CONFIG_FILE: undefined },
      stdio: "pipe",
    });
    return undefined;
  } catch {
    if (process.env["GATEWAY_REQUIRE_ALL"] === "1")
      throw new Error("terraform is not on the PATH, and GATEWAY_REQUIRE_ALL is set");
    return "terraform is not on the PATH";
  }
}

const BASE_ENV = {
  CHECKPOINT_DISABLE: "1",
  TF_IN_AUTOMATION: "1",
  TF_INPUT: "0",
  ...QUICK_GO,
};

export interface Run {
  readonly code: number | null;
  /** Without colours. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface Workspace {
  readonly directory: string;
  path(...parts: string[]): string;
  write(name: string, text: string): void;
  read(name: string): string;
  /** Runs to its end, at most LONG_MS. */
  run(...args: string[]): Promise<Run>;
  /** Like `run`, but a failure is an error with the whole output. */
  succeed(...args: string[]): Promise<string>;
  start(...args: string[]): ChildProcess;
  close(): void;
}

/** @param env for example `TF_REATTACH_PROVIDERS` or `TF_CLI_CONFIG_FILE` */
export function createWorkspace(env: Readonly<Record<string, string>>): Workspace {
  const directory = mkdtempSync(join(tmpdir(), "gw-tf-"));
  const path = (...parts: string[]): string => join(directory, ...parts);
  const start = (...args: string[]): ChildProcess =>
    spawn("terraform", args, {
      cwd: directory,
      env: { PATH: process.env["PATH"], HOME: directory, TMPDIR: directory, ...BASE_ENV, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  const run = async (...args: string[]): Promise<Run> => {
    const child = start(...args, ...(TAKES_NO_COLOR.has(args[0] ?? "") ? ["-no-color"] : []));
    const timer = setTimeout(() => child.kill("SIGKILL"), LONG_MS);
    const output = { stdout: "", stderr: "" };
    child.stdout?.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    return { code, ...output };
  };
  return {
    directory,
    path,
    start,
    run,
    write: (name, text) => {
      writeFileSync(path(name), text);
    },
    read: (name) => readFileSync(path(name), "utf8"),
    async succeed(...args) {
      const { code, stdout, stderr } = await run(...args);
      if (code !== 0) throw new Error(`terraform ${args.join(" ")} ended with ${String(code)}:\n${stdout}\n${stderr}`);
      return stdout;
    },
    close: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const TAKES_NO_COLOR = new Set(["init", "validate", "plan", "apply", "destroy", "import", "show"]);

export interface InProcessProvider {
  readonly socketPath: string;
  /** For createWorkspace. */
  readonly env: Readonly<Record<string, string>>;
  close(): void;
}

/**
 * The provider in this process, as Terraform's reattach mode wants it: no TLS, nothing started.
 *
 * @param addresses under which Terraform finds it
 */
export async function serveInProcess(
  addresses: readonly string[] = [PROVIDER_ADDRESS, OPENTOFU_ADDRESS],
): Promise<InProcessProvider> {
  const directory = mkdtempSync(join(tmpdir(), "gw-re-"));
  const socketPath = join(directory, "s");
  const ignore = (): void => {};
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const server = await serveProvider({
    provider: bundleProvider(),
    log,
    listen: `unix:${socketPath}`,
    onShutdown: ignore,
  });
  const running = {
    Protocol: "grpc",
    ProtocolVersion: 6,
    Pid: process.pid,
    Test: true,
    Addr: { Network: "unix", String: socketPath },
  };
  const reattach = Object.fromEntries(addresses.map((address) => [address, running]));
  return {
    socketPath,
    env: { TF_REATTACH_PROVIDERS: JSON.stringify(reattach) },
    close: () => {
      server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A configuration with one bundle; `body` goes into the resource. */
export function bundleConfig(body: string, rest = ""): string {
  return `terraform {
  required_providers {
    gateway = {
      source = "gateform/gateway"
    }
  }
}

resource "gateway_bundle" "main" {
${body}
}
${rest}`;
}
