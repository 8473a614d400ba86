/** examples/enterprise as its README tells it, on PostgreSQL where it has to be there. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { findPostgres } from "../support/postgres.ts";

const root = new URL("../../", import.meta.url).pathname;

test(
  "the company's agent and pipeline get in and out: a line per step, and all pass",
  { timeout: 60_000 },
  async () => {
    const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "enterprise"], { cwd: root });
    const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
    const lines = stdout.trim().split("\n");
    expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
    expect(lines.at(-1)).toBe(`${lines.length - 1} passed, 0 failed`);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines[0]).toContain("missing" in findPostgres() ? "SQLite" : "PostgreSQL");
  },
);

test("the story has no stored secret but those of the operator and of the client at the company", () => {
  const bootFile = readFileSync(`${root}examples/enterprise/gateway.yaml`, "utf8");
  const secrets = [...bootFile.matchAll(/^\s*(\w*(?:secret|token|url)\w*_ref):/gm)].map(([, name]) => name);
  expect(secrets).toEqual(["shared_secret_ref", "storage_url_ref", "idp_client_secret_ref"]);
});
