/** examples/enterprise as its README tells it, on PostgreSQL and with Terraform where they have to be there. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

import { expect, test } from "vitest";
import { parse } from "yaml";

import { findPostgres } from "../support/postgres.ts";
import { terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

// Most of the time is the secret store's, which is away for as long as it takes both replicas to say so.
test("people, the agent and the pipeline get in and out: all steps pass", { timeout: LONG_MS }, async () => {
  const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "enterprise"], { cwd: root });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  const lines = stdout.trim().split("\n");
  const passed = lines.filter((line) => line.startsWith("pass  "));
  expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(lines.at(-1)).toBe(`${passed.length} passed, 0 failed`);
  // Three of them are the pipeline's with Terraform.
  expect(passed.length).toBeGreaterThanOrEqual(terraformMissing() === undefined ? 34 : 31);
  expect(lines[0]).toContain("missing" in findPostgres() ? "SQLite" : "PostgreSQL");
  if (terraformMissing() === undefined) expect(stdout).not.toContain("skipped");
});

test("no secret stands in the configuration: the store's and the gateway's own are in the environment, all others in the store", () => {
  const refs = ["gateway.yaml", "code-host.yaml"].map((name) => {
    const secrets = secretsOf(parse(readFileSync(`${root}examples/enterprise/${name}`, "utf8")));
    expect(secrets.filter(([key]) => !key.endsWith("_ref"))).toEqual([]);
    return secrets.map(([, value]) => value);
  });
  expect(refs).toEqual([
    [
      "env:GATEWAY_ADMIN_TOKEN",
      "env:GATEWAY_SHARED_SECRET",
      "env:GATEWAY_STORAGE_URL",
      "env:VAULT_SECRET_ID",
      "vault:kv/gateway#idp_client_secret",
      "vault:kv/gateway#subsidiary_client_secret",
      "vault:kv/directory#token",
      "vault:kv/builds#key",
      "vault:kv/code#client_secret",
    ],
    ["env:CODE_HOST_SHARED_SECRET", "env:CODE_HOST_STORAGE_URL"],
  ]);
});

/** Settings that hold a secret or say where one is, in the order of the file. */
function secretsOf(value: unknown): (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === "string" &&
    /_ref$|(?:^|_)(?:secret|secret_id|token|password|key|storage_url)(?:_sealed)?$/.test(key)
      ? [[key, each] as const]
      : secretsOf(each),
  );
}
