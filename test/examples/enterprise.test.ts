/** examples/enterprise as its README tells it, on PostgreSQL and with Terraform where they have to be there. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { findPostgres } from "../support/postgres.ts";
import { terraformMissing } from "../support/terraform.ts";

const root = new URL("../../", import.meta.url).pathname;

test("the company's agent and pipeline get in and out: all steps pass", { timeout: 120_000 }, async () => {
  const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "enterprise"], { cwd: root });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  const lines = stdout.trim().split("\n");
  const passed = lines.filter((line) => line.startsWith("pass  "));
  expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(lines.at(-1)).toBe(`${passed.length} passed, 0 failed`);
  expect(passed.length).toBeGreaterThanOrEqual(13);
  expect(lines[0]).toContain("missing" in findPostgres() ? "SQLite" : "PostgreSQL");
  if (terraformMissing() === undefined) expect(stdout).not.toContain("skipped");
});

test("the configuration has no secret but the operator's own and the gateway's at the provider", () => {
  const bootFile = readFileSync(`${root}examples/enterprise/gateway.yaml`, "utf8");
  const secrets = [...bootFile.matchAll(/^\s*(\w*(?:secret|token|url)\w*_ref):/gm)].map(([, name]) => name);
  expect(secrets).toEqual(["shared_secret_ref", "storage_url_ref", "idp_client_secret_ref"]);
});
