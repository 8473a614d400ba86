/**
 * The official conformance suite's scenarios for OAuth clients, against our upstream side through client-adapter.ts.
 *
 * Not run: dpop and dpop-nonce, since the gateway does not bind upstream tokens to a key.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startClientAdapter, type ClientAdapter } from "./client-adapter.ts";
import { LONG_MS } from "../support/limits.ts";

const cli = new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url).pathname;
const client = new URL("client-command.mjs", import.meta.url).pathname;

const SCENARIOS = [
  "metadata-default",
  "metadata-var1",
  "metadata-var2",
  "metadata-var3",
  "basic-cimd",
  "scope-from-www-authenticate",
  "scope-from-scopes-supported",
  "scope-omitted-when-undefined",
  "scope-step-up",
  "scope-retry-limit",
  "token-endpoint-auth-basic",
  "token-endpoint-auth-post",
  "token-endpoint-auth-none",
  "pre-registration",
  "2025-03-26-oauth-metadata-backcompat",
  "2025-03-26-oauth-endpoint-fallback",
  "resource-mismatch",
  "offline-access-scope",
  "offline-access-not-supported",
  "authorization-server-migration",
  "iss-supported",
  "iss-not-advertised",
  "iss-supported-missing",
  "iss-wrong-issuer",
  "iss-unexpected",
  "iss-normalized",
  "metadata-issuer-mismatch",
  "client-credentials-basic",
  "client-credentials-jwt",
  "enterprise-managed-authorization",
  "wif-jwt-bearer",
];

let adapter: ClientAdapter;
beforeAll(async () => {
  adapter = await startClientAdapter();
});
afterAll(() => adapter.close());

/** Each starts a suite and a gateway: more at once would only wait for each other. */
const limiter = Math.max(1, Math.min(3, availableParallelism() - 1));
let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= limiter) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

describe("conformance suite, clients: the gateway as an OAuth client toward upstreams", () => {
  test.concurrent.each(SCENARIOS)("auth/%s", { timeout: LONG_MS }, async (scenario) => {
    const { exitCode, output } = await inTurn(() => runScenario(`auth/${scenario}`));
    expect(output).toContain("OVERALL: PASSED");
    expect(exitCode).toBe(0);
  });
});

function runScenario(scenario: string): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const command = `${process.execPath} ${client} ${adapter.socketPath}`;
  const args = [cli, "client", "--command", command, "--scenario", scenario, "--timeout", "90000"];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], timeout: LONG_MS });
    let output = "";
    const collect = (chunk: Buffer): void => void (output += chunk.toString("utf8"));
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ exitCode, output }));
  });
}
