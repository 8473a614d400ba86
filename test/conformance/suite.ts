/** Runs the official conformance suite against a server and reads what each check said. */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LONG_MS } from "../support/limits.ts";

export interface SuiteResult {
  /** 0 when every required scenario passed. */
  readonly exitCode: number | null;
  /** "scenario check-id" → statuses in order ("SUCCESS", "FAILURE", "SKIPPED", …). */
  readonly checks: ReadonlyMap<string, readonly string[]>;
  readonly output: string;
}

const cli = new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url).pathname;

/** All scenarios that a revision requires. */
export function runServerSuite(url: string, requirements: string): Promise<SuiteResult> {
  return runServer(url, ["--requirements", requirements]);
}

/** One scenario of an extension, which no revision requires. */
export function runServerScenario(url: string, scenario: string): Promise<SuiteResult> {
  return runServer(url, ["--scenario", scenario]);
}

async function runServer(url: string, options: readonly string[]): Promise<SuiteResult> {
  const results = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    const args = [cli, "server", "--url", url, ...options, "-o", results];
    const { exitCode, output } = await run(args);
    const checks = new Map<string, string[]>();
    for (const folder of (await readdir(results)).toSorted()) {
      // "server-tools-list-2026-11-20T17-22-57-993Z"
      const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
      const text = await readFile(join(results, folder, "checks.json"), "utf8");
      for (const check of JSON.parse(text) as { id: string; status: string }[]) {
        const name = `${scenario} ${check.id}`;
        checks.set(name, [...(checks.get(name) ?? []), check.status]);
      }
    }
    return { exitCode, checks, output };
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

function run(args: readonly string[]): Promise<{ exitCode: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], timeout: LONG_MS });
    let output = "";
    const collect = (chunk: Buffer) => void (output += chunk.toString("utf8"));
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ exitCode, output }));
  });
}
